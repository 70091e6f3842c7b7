package migrate_test

import (
	"context"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/pgidproxy/pgidproxy/internal/devpg"
)

// snapshotQuery writes a schema down, a line for each thing that has a
// definition: what pg_dump -s says, for servers newer than the pg_dump there is.
const snapshotQuery = `WITH rel AS (
	SELECT c.*, format('%I.%I', n.nspname, c.relname) AS id FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
	WHERE n.nspname NOT IN ('pg_catalog', 'information_schema', 'pgid', 'pg_toast') AND n.nspname NOT LIKE 'pg_temp%' AND n.nspname NOT LIKE 'pg_toast%')
SELECT line FROM (
	SELECT concat_ws(' ', 'relation', id, relkind, relowner::regrole, relacl::text, reloptions::text, relreplident, relpersistence, obj_description(oid, 'pg_class')) FROM rel
	UNION ALL SELECT concat_ws(' ', 'column', id, row_number() OVER (PARTITION BY a.attrelid ORDER BY a.attnum), a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attidentity, a.attgenerated,
		pg_get_expr(d.adbin, d.adrelid), a.attacl::text, coalesce(a.attstattarget, -1), a.attoptions::text, col_description(a.attrelid, a.attnum))
		FROM rel JOIN pg_attribute a ON a.attrelid = rel.oid AND a.attnum > 0 AND NOT a.attisdropped LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum WHERE relkind <> 'i'
	UNION ALL SELECT concat_ws(' ', 'constraint', id, k.conname, pg_get_constraintdef(k.oid), k.convalidated, obj_description(k.oid, 'pg_constraint')) FROM rel JOIN pg_constraint k ON k.conrelid = rel.oid
	UNION ALL SELECT concat_ws(' ', 'index', id, pg_get_indexdef(i.indexrelid), i.indisclustered, i.indisreplident, i.indisvalid) FROM rel JOIN pg_index i ON i.indexrelid = rel.oid
	UNION ALL SELECT concat_ws(' ', 'trigger', id, pg_get_triggerdef(t.oid), t.tgenabled, obj_description(t.oid, 'pg_trigger')) FROM rel JOIN pg_trigger t ON t.tgrelid = rel.oid WHERE NOT t.tgisinternal
	UNION ALL SELECT concat_ws(' ', 'rule', id, pg_get_ruledef(r.oid)) FROM rel JOIN pg_rewrite r ON r.ev_class = rel.oid
	UNION ALL SELECT concat_ws(' ', 'sequence', id, s.seqtypid::regtype, s.seqstart, s.seqincrement, s.seqmin, s.seqmax, s.seqcache, s.seqcycle,
		(SELECT d.deptype::text || d.refobjid::regclass::text || '.' || a.attname FROM pg_depend d JOIN pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid
			WHERE d.classid = 'pg_class'::regclass AND d.objid = rel.oid AND d.deptype IN ('a', 'i'))) FROM rel JOIN pg_sequence s ON s.seqrelid = rel.oid
	UNION ALL SELECT concat_ws(' ', 'statistics', pg_get_statisticsobjdef(oid), stxowner::regrole, obj_description(oid, 'pg_statistic_ext')) FROM pg_statistic_ext
	UNION ALL SELECT concat_ws(' ', 'publication', p.pubname, p.puballtables) FROM pg_publication p
	UNION ALL SELECT concat_ws(' ', 'function', p.oid::regprocedure, md5(p.prosrc)) FROM pg_proc p WHERE p.oid >= 16384 AND p.pronamespace <> 'pgid'::regnamespace
	UNION ALL SELECT concat_ws(' ', 'left in pgid:', p.oid::regprocedure) FROM pg_proc p WHERE p.pronamespace = 'pgid'::regnamespace AND p.proname LIKE 'migrate%'
	UNION ALL SELECT concat_ws(' ', 'left in pgid:', c.relname) FROM pg_class c WHERE c.relnamespace = 'pgid'::regnamespace AND c.relname LIKE 'migrat%' AND c.relkind IN ('r', 'S')
) x(line) ORDER BY line COLLATE "C"`

// snapshotOf is the schema of a database as its catalog tells it.
func snapshotOf(t *testing.T, url string) string {
	t.Helper()
	conn := connect(t, url)
	defer conn.Close(context.Background())
	lines, err := pgx.CollectRows(must(conn.Query(context.Background(), snapshotQuery)), pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return numbered.ReplaceAllString(strings.Join(lines, "\n"), "migrate_N")
}

// numbered are names that hold a table's number.
var numbered = regexp.MustCompile(`migrate_\d+`)

// snapshot is snapshotOf and what pg_dump says, where it can.
func snapshot(t *testing.T, s *devpg.Server, url string) string {
	t.Helper()
	text := snapshotOf(t, url)
	if s.Major() > dumpMajor() {
		return text
	}
	dump, err := exec.Command("pg_dump", "-s", "-N", "pgid", "-d", url).Output()
	if err != nil {
		t.Fatalf("pg_dump: %v", err)
	}
	for line := range strings.Lines(string(dump)) {
		if !strings.HasPrefix(line, `\restrict`) && !strings.HasPrefix(line, `\unrestrict`) {
			text += "\n" + strings.TrimSuffix(line, "\n")
		}
	}
	return text
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// dumpMajor is the version of pg_dump, 0 where there is none.
func dumpMajor() (n int) {
	out, err := exec.Command("pg_dump", "--version").Output()
	if err != nil {
		return 0
	}
	for _, r := range strings.TrimLeft(string(out), "pg_dum(PostreSQL) ") {
		if r < '0' || r > '9' {
			break
		}
		n = n*10 + int(r-'0')
	}
	return n
}

// different shows the lines that two texts do not share.
func different(got, want string) string {
	var b strings.Builder
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	count := map[string]int{}
	for _, l := range w {
		count[l]++
	}
	for _, l := range g {
		count[l]--
	}
	for _, l := range w {
		if count[l] > 0 {
			b.WriteString("\n- " + l)
			count[l] = 0
		}
	}
	for _, l := range g {
		if count[l] < 0 {
			b.WriteString("\n+ " + l)
			count[l] = 0
		}
	}
	return b.String()
}
