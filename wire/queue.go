package wire

import "github.com/pgidproxy/pgidproxy/rewrite"

// A request is what one entry of the queue stands for.
type request uint8

const (
	reqStartup  request = iota // everything before the first ReadyForQuery
	reqParse                   // answered by ParseComplete
	reqBind                    // by BindComplete
	reqDescribe                // of a statement or portal: by RowDescription or NoData
	reqExecute                 // by CommandComplete, EmptyQueryResponse or PortalSuspended
	reqClose                   // by CloseComplete
	reqSync                    // by ReadyForQuery
	reqQuery                   // by anything up to ReadyForQuery
	reqCall                    // FunctionCall: by anything up to ReadyForQuery
	reqCopyEnd                 // CopyDone or CopyFail: no reply of its own
)

// extended tells the requests after whose failure the server drops all that
// follows up to Sync.
func (r request) extended() bool { return r >= reqParse && r <= reqClose }

// running tells the requests that may run statements, and so change settings
// or schema.
func (r request) running() bool { return r == reqExecute || r == reqQuery || r == reqCall }

// An entry pairs one request that was sent to the server with its replies.
type entry struct {
	req       request
	swallow   bool                 // the request is ours: its reply does not reach the client
	doubtful  bool                 // a Sync that the server may have read as part of copy data
	schema    bool                 // may change what the catalog describes
	unnamed   bool                 // decides what the unnamed statement is, for all that follows up to Sync
	afterCopy bool                 // sent while the server was taken to be reading copy data
	hidden    int                  // of a Describe: parameters that its reply is cut by
	recount   int                  // of a Bind that will be refused: by how much the server counts too many
	st        *statement           // the statement that is parsed, described, bound or executed
	pos       *rewrite.PositionMap // of the text that errors and notices refer to; nil: not edited
	undo      *undo                // what the request changed in the session's records
}

// queue is the ordered list of requests whose replies are outstanding: the
// only state that both directions of a session share. It is a ring that grows.
type queue struct {
	ring []entry
	head int
	size int
}

func (q *queue) at(i int) *entry { return &q.ring[(q.head+i)&(len(q.ring)-1)] }

// push appends an entry and returns it for filling in; the pointer is valid
// until the next push.
func (q *queue) push(r request) *entry {
	if q.size == len(q.ring) {
		ring := make([]entry, max(8, 2*len(q.ring)))
		for i := range q.size {
			ring[i] = *q.at(i)
		}
		q.ring, q.head = ring, 0
	}
	q.size++
	e := q.at(q.size - 1)
	*e = entry{req: r}
	return e
}

func (q *queue) pop() {
	*q.at(0) = entry{}
	q.head = (q.head + 1) & (len(q.ring) - 1)
	q.size--
	if q.size == 0 && len(q.ring) > 256 {
		q.ring, q.head = nil, 0
	}
}

// remove takes out the n entries from index i on.
func (q *queue) remove(i, n int) {
	for ; i+n < q.size; i++ {
		*q.at(i) = *q.at(i + n)
	}
	for ; i < q.size; i++ {
		*q.at(i) = entry{}
	}
	q.size -= n
}

// find returns the index of the first entry from index i on for which a
// request of that kind is outstanding, or -1.
func (q *queue) find(i int, r request) int {
	for ; i < q.size; i++ {
		if q.at(i).req == r {
			return i
		}
	}
	return -1
}
