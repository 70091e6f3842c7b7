package migrate

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// A table is what the catalog says of one.
type table struct {
	oid         uint32
	schema      string
	name        string
	kind        string // r, p (partitioned), f, …
	owner       string
	permanent   bool
	partition   bool
	children    bool // has some, by inheritance
	parents     bool
	forced      bool   // row security holds for the owner too
	identity    string // replica identity: d, n, f, i
	rows        int64
	bytes       int64
	published   []string
	columns     []*column
	indexes     []*index
	checks      []constraint // that mention a column of the job
	ourTriggers []string     // user triggers that an UPDATE fires
	parts       []*table     // of a partitioned table, those of parts too, from the top down
	top         *table       // of a partition
}

// tree are the names of a table and of its partitions.
func (t *table) tree() []string {
	l := []string{t.ident()}
	for _, p := range t.parts {
		l = append(l, p.ident())
	}
	return l
}

// only names a table alone where a statement would go on to its partitions.
func (t *table) only() string {
	if t.kind == "p" {
		return "ONLY " + t.ident()
	}
	return t.ident()
}

func (t *table) ident() string { return ident(t.schema, t.name) }

func (t *table) column(num int16) *column {
	for _, c := range t.columns {
		if c.num == num {
			return c
		}
	}
	return nil
}

type column struct {
	num       int16
	name      string
	typ       string // as it is written
	notNull   bool
	nnName    string // of the constraint, from PostgreSQL 18 on
	def       string // default, "" for none
	identity  string // a, d or ""
	generated bool
	stats     int // -1: the server's
	options   []string
	comment   string
	grants    []string // statements
	sequence  *sequence
}

// A sequence is what a column's default or identity counts with.
type sequence struct {
	oid                           uint32
	schema, name, typ             string
	start, increment, least, most int64
	cache                         int64
	cycle                         bool
	last                          *int64
	owned                         bool // by the column
	logged                        bool
	comment                       string
	grants                        []string
	users                         []string // other columns whose default counts with it
	mentions                      []string // functions whose text names it
}

func (s *sequence) ident() string { return ident(s.schema, s.name) }

type index struct {
	oid                uint32
	schema, name       string
	unique, valid      bool
	clustered, replica bool
	columns            []int16 // all that it uses, in expressions too
	keys               []int16 // 0 for an expression
	partial            bool
	constraint         string // "", p, u or x
	conName            string
	deferrable         bool
	tablespace         string
	comment            string // of the constraint, else of the index
	indexComment       string
	stats              map[int]int // of expressions' columns
	parent             uint32      // index of the partitioned table, 0 for none
	whole              string      // statement that makes it, or its constraint's definition
	bytes              int64
	withoutOverlaps    bool
}

type constraint struct {
	oid     uint32
	name    string
	def     string
	valid   bool
	columns []int16
	comment string
	local   bool // it is no copy of the partitioned table's
}

// catalog reads what a plan needs.
type catalog struct {
	conn    *pgx.Conn
	version int
	tables  map[uint32]*table
	foreign []*foreign
	db      string
}

func (c *catalog) load(ctx context.Context, oid uint32) (*table, error) {
	if t := c.tables[oid]; t != nil {
		return t, nil
	}
	t := &table{oid: oid}
	err := c.conn.QueryRow(ctx, `SELECT n.nspname, c.relname, c.relkind::text, c.relowner::regrole::text, c.relpersistence <> 't', c.relispartition,
			c.relhassubclass AND EXISTS (SELECT FROM pg_inherits WHERE inhparent = c.oid), EXISTS (SELECT FROM pg_inherits WHERE inhrelid = c.oid),
			c.relrowsecurity AND c.relforcerowsecurity, c.relreplident::text, CASE WHEN c.reltuples < 0 THEN pg_relation_size(c.oid) / 64 ELSE c.reltuples END::bigint, pg_table_size(c.oid),
			ARRAY(SELECT p.pubname::text FROM pg_publication p WHERE EXISTS (SELECT FROM pg_get_publication_tables(p.pubname) g WHERE g.relid = c.oid) ORDER BY 1)
		FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = $1`, oid).
		Scan(&t.schema, &t.name, &t.kind, &t.owner, &t.permanent, &t.partition, &t.children, &t.parents, &t.forced, &t.identity, &t.rows, &t.bytes, &t.published)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, fmt.Errorf("table %d is gone", oid)
	}
	if err != nil {
		return nil, fmt.Errorf("read the catalog: %w", err)
	}
	for _, read := range []func(context.Context, *table) error{c.loadColumns, c.loadIndexes, c.loadChecks, c.loadTriggers} {
		if err := read(ctx, t); err != nil {
			return nil, fmt.Errorf("read the catalog of %s: %w", t.ident(), err)
		}
	}
	c.tables[oid] = t
	return t, nil
}

func (c *catalog) loadColumns(ctx context.Context, t *table) error {
	notNull := "NULL::text"
	if c.version >= 180000 {
		notNull = "(SELECT k.conname::text FROM pg_constraint k WHERE k.conrelid = a.attrelid AND k.contype = 'n' AND k.conkey = ARRAY[a.attnum])"
	}
	rows, err := c.conn.Query(ctx, `SELECT a.attnum, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, coalesce(`+notNull+`, ''),
			coalesce(pg_get_expr(d.adbin, d.adrelid), ''), a.attidentity::text, a.attgenerated <> '', coalesce(a.attstattarget, -1)::int, coalesce(a.attoptions, '{}'),
			coalesce(col_description(a.attrelid, a.attnum), '')
		FROM pg_attribute a LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
		WHERE a.attrelid = $1 AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum`, t.oid)
	if err != nil {
		return err
	}
	t.columns, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (*column, error) {
		k := &column{}
		return k, row.Scan(&k.num, &k.name, &k.typ, &k.notNull, &k.nnName, &k.def, &k.identity, &k.generated, &k.stats, &k.options, &k.comment)
	})
	return err
}

// grantsQuery gives the statements that grant what an ACL $1 holds on what $2
// says ("TABLE x" or a column list's end); $3 is put behind each privilege.
const grantsQuery = `SELECT format('GRANT %s ON %s TO %s%s', string_agg(a.privilege_type || $3, ', ' ORDER BY a.privilege_type), $2::text,
		CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE a.grantee::regrole::text END, CASE WHEN a.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END)
	FROM aclexplode($1::aclitem[]) a GROUP BY a.grantee, a.is_grantable ORDER BY 1`

// grants reads an ACL, given by a query with the argument oid, and returns what
// grants it.
func (c *catalog) grants(ctx context.Context, query string, args []any, on, columns string) ([]string, error) {
	var acl []string
	err := c.conn.QueryRow(ctx, query, args...).Scan(&acl)
	if err != nil || len(acl) == 0 {
		return nil, err
	}
	return list[string](ctx, c.conn, grantsQuery, acl, on, columns)
}

// list runs a query with one column.
func list[T any](ctx context.Context, q querier, sql string, args ...any) ([]T, error) {
	rows, err := q.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[T])
}

// details reads what only columns of the job need.
func (c *catalog) details(ctx context.Context, t *table, k *column) (err error) {
	k.grants, err = c.grants(ctx, "SELECT attacl::text[] FROM pg_attribute WHERE attrelid = $1 AND attnum = $2", []any{t.oid, k.num},
		"TABLE "+t.ident(), " ("+ident(k.name)+")")
	if err != nil {
		return err
	}
	s := &sequence{}
	err = c.conn.QueryRow(ctx, `SELECT c.oid, n.nspname, c.relname, format_type(s.seqtypid, NULL), s.seqstart, s.seqincrement, s.seqmin, s.seqmax, s.seqcache, s.seqcycle,
			pg_sequence_last_value(c.oid), u.owned, c.relpersistence <> 'u', coalesce(obj_description(c.oid, 'pg_class'), '')
		FROM (SELECT d.objid AS seq, true AS owned FROM pg_depend d
			WHERE d.classid = 'pg_class'::regclass AND d.refclassid = 'pg_class'::regclass AND d.refobjid = $1 AND d.refobjsubid = $2 AND d.deptype = 'i'
			UNION ALL
			SELECT d.refobjid, EXISTS (SELECT FROM pg_depend o WHERE o.classid = 'pg_class'::regclass AND o.objid = d.refobjid
				AND o.refclassid = 'pg_class'::regclass AND o.refobjid = $1 AND o.refobjsubid = $2 AND o.deptype = 'a')
			FROM pg_attrdef e JOIN pg_depend d ON d.classid = 'pg_attrdef'::regclass AND d.objid = e.oid AND d.refclassid = 'pg_class'::regclass
			WHERE e.adrelid = $1 AND e.adnum = $2) u
		JOIN pg_class c ON c.oid = u.seq AND c.relkind = 'S' JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_sequence s ON s.seqrelid = c.oid LIMIT 1`, t.oid, k.num).
		Scan(&s.oid, &s.schema, &s.name, &s.typ, &s.start, &s.increment, &s.least, &s.most, &s.cache, &s.cycle, &s.last, &s.owned, &s.logged, &s.comment)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	k.sequence = s
	if s.grants, err = c.grants(ctx, "SELECT relacl::text[] FROM pg_class WHERE oid = $1", []any{s.oid}, "SEQUENCE "+s.ident(), ""); err != nil {
		return err
	}
	s.users, err = list[string](ctx, c.conn, `SELECT format('%s.%I', e.adrelid::regclass, a.attname)
		FROM pg_depend d JOIN pg_attrdef e ON d.classid = 'pg_attrdef'::regclass AND e.oid = d.objid JOIN pg_attribute a ON a.attrelid = e.adrelid AND a.attnum = e.adnum
		WHERE d.refclassid = 'pg_class'::regclass AND d.refobjid = $1 AND NOT (e.adrelid = $2 AND e.adnum = $3)`, s.oid, t.oid, k.num)
	if err != nil {
		return err
	}
	s.mentions, err = list[string](ctx, c.conn, `SELECT p.oid::regprocedure::text FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
		WHERE p.oid >= 16384 AND n.nspname <> 'pgid' AND position($1 in p.prosrc) > 0 ORDER BY 1`, s.name)
	return err
}

func (c *catalog) loadIndexes(ctx context.Context, t *table) error {
	period := "false"
	if c.version >= 180000 {
		period = "coalesce(k.conperiod, false)"
	}
	rows, err := c.conn.Query(ctx, `SELECT i.indexrelid, n.nspname, c.relname, i.indisunique, i.indisvalid, i.indisclustered, i.indisreplident,
			ARRAY(SELECT DISTINCT d.refobjsubid::smallint FROM pg_depend d WHERE d.refclassid = 'pg_class'::regclass AND d.refobjid = i.indrelid AND d.refobjsubid > 0
				AND (d.classid = 'pg_class'::regclass AND d.objid = i.indexrelid OR d.classid = 'pg_constraint'::regclass AND d.objid = k.oid)),
			i.indkey::smallint[], i.indpred IS NOT NULL, coalesce(k.contype::text, CASE WHEN i.indisexclusion THEN 'x' ELSE '' END), coalesce(k.conname, ''), i.indisunique AND NOT i.indimmediate,
			coalesce(s.spcname, ''), coalesce(obj_description(k.oid, 'pg_constraint'), ''), coalesce(obj_description(c.oid, 'pg_class'), ''), pg_relation_size(c.oid), `+period+`,
			ARRAY(SELECT a.attnum::int FROM pg_attribute a WHERE a.attrelid = c.oid AND coalesce(a.attstattarget, -1) >= 0 ORDER BY 1),
			ARRAY(SELECT a.attstattarget::int FROM pg_attribute a WHERE a.attrelid = c.oid AND coalesce(a.attstattarget, -1) >= 0 ORDER BY a.attnum),
			coalesce((SELECT h.inhparent FROM pg_inherits h WHERE h.inhrelid = c.oid), 0), coalesce(pg_get_constraintdef(k.oid), pg_get_indexdef(c.oid))
		FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_namespace n ON n.oid = c.relnamespace
		LEFT JOIN pg_constraint k ON k.conindid = i.indexrelid AND k.contype IN ('p', 'u', 'x') LEFT JOIN pg_tablespace s ON s.oid = c.reltablespace
		WHERE i.indrelid = $1 AND i.indislive ORDER BY i.indexrelid`, t.oid)
	if err != nil {
		return err
	}
	t.indexes, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (*index, error) {
		i := &index{stats: map[int]int{}}
		var nums, stats []int
		err := row.Scan(&i.oid, &i.schema, &i.name, &i.unique, &i.valid, &i.clustered, &i.replica, &i.columns, &i.keys, &i.partial, &i.constraint, &i.conName, &i.deferrable,
			&i.tablespace, &i.comment, &i.indexComment, &i.bytes, &i.withoutOverlaps, &nums, &stats, &i.parent, &i.whole)
		for n, num := range nums {
			i.stats[num] = stats[n]
		}
		return i, err
	})
	return err
}

func (c *catalog) loadChecks(ctx context.Context, t *table) error {
	rows, err := c.conn.Query(ctx, `SELECT k.oid, k.conname, pg_get_constraintdef(k.oid), k.convalidated, coalesce(k.conkey, '{}'), coalesce(obj_description(k.oid, 'pg_constraint'), ''), k.conislocal
		FROM pg_constraint k WHERE k.conrelid = $1 AND k.contype = 'c' ORDER BY k.conname`, t.oid)
	if err != nil {
		return err
	}
	t.checks, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (k constraint, err error) {
		return k, row.Scan(&k.oid, &k.name, &k.def, &k.valid, &k.columns, &k.comment, &k.local)
	})
	return err
}

func (c *catalog) loadTriggers(ctx context.Context, t *table) (err error) {
	t.ourTriggers, err = list[string](ctx, c.conn, `SELECT tgname::text FROM pg_trigger WHERE tgrelid = $1 AND NOT tgisinternal AND tgenabled <> 'D' AND tgtype & 16 <> 0
		AND NOT starts_with(tgname::text, '~pgidproxy') ORDER BY 1`, t.oid)
	return err
}
