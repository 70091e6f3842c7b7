package etcd

import (
	"crypto/rand"
	"strconv"
	"strings"
	"sync"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
)

// A history is what a store has seen of the cluster, by which it tells that the
// cluster was set back: revisions only grow. Its methods are safe for concurrent
// use.
type history struct {
	mu sync.Mutex
	moment
	// lost is the era of the head that was there when the cluster was found set
	// back; until another has begun the server is another one than the head's.
	lost, mark string
}

// A moment is how far a cluster was at least when a call was sent.
type moment struct {
	cluster  uint64
	revision int64
	turns    int // how often it became another cluster, or was set back
}

// now returns the moment at which a call is sent.
func (h *history) now() moment {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.moment
}

// wrote takes note of the reply to a write that was sent at a moment, and tells
// whether it is of a cluster that was set back. What follows from that is left to
// the next read.
func (h *history) wrote(sent moment, reply *etcdserverpb.ResponseHeader) (back bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.back(sent, reply) {
		return true
	}
	h.note(reply)
	return false
}

// back tells whether the cluster was set back. Replies that cross each other do
// not count: when this call was sent the cluster was further already.
func (h *history) back(sent moment, reply *etcdserverpb.ResponseHeader) bool {
	return reply.ClusterId == h.cluster && sent.turns == h.turns && reply.Revision < sent.revision
}

func (h *history) note(reply *etcdserverpb.ResponseHeader) {
	if reply.ClusterId != h.cluster {
		h.moment = moment{reply.ClusterId, reply.Revision, h.turns + 1}
	}
	h.revision = max(h.revision, reply.Revision)
}

// server takes note of the reply to a read, and names what serves the head that it
// has: the head's own server where that is the same cluster. There may be no head.
func (h *history) server(sent moment, reply *etcdserverpb.ResponseHeader, head *head) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	back := h.back(sent, reply)
	if back {
		h.moment = moment{reply.ClusterId, reply.Revision, h.turns + 1}
	}
	h.note(reply)
	cluster := strconv.FormatUint(reply.ClusterId, 16)
	if head == nil {
		return cluster
	}
	if back && h.lost != head.Era {
		h.lost, h.mark = head.Era, rand.Text()
	}
	if h.lost == head.Era {
		return cluster + "+" + h.mark
	}
	if same, _, _ := strings.Cut(head.Server, "+"); same == cluster {
		return head.Server
	}
	return cluster
}
