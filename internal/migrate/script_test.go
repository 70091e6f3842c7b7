package migrate_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/pgidproxy/pgidproxy/internal/devpg"
	"github.com/pgidproxy/pgidproxy/internal/devpg/devpgtest"
)

// The script does what apply does.
func TestScriptDoesTheSame(t *testing.T) {
	t.Parallel()
	devpgtest.Each(t, func(t *testing.T, s *devpg.Server) {
		kinds := slices.Concat(bigints[2:3], integers[len(integers)-5:], uuids)
		if !thorough(s) {
			kinds = kinds[:2]
		}
		for _, k := range kinds {
			t.Run(k.name+" "+k.options.Target, func(t *testing.T) {
				t.Parallel()
				other := k.scene(t, s)
				other.apply(k.options)
				want := snapshotOf(t, other.url)
				if strings.Contains(k.setup, "{role}") {
					other.exec("DROP OWNED BY " + k.role(t) + " CASCADE; DROP ROLE " + k.role(t))
				}
				c := k.scene(t, s)
				before := c.data(k.data)
				var b strings.Builder
				if err := c.plan(k.options).Script(&b); err != nil {
					t.Fatal(err)
				}
				cmd := exec.Command("psql", "-X", "-q", "-d", c.url)
				cmd.Stdin = strings.NewReader(strings.ReplaceAll(b.String(), "pg_sleep(5.5)", "pg_sleep(0)"))
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("%v: %s", err, out)
				}
				if got := settled(snapshotOf(t, c.url)); got != settled(want) {
					t.Errorf("the schema differs from that after apply:%s", different(got, settled(want)))
				}
				if got := c.data(k.data); got != before {
					t.Errorf("the rows have changed:%s", different(got, before))
				}
				c.exec(k.insert)
			})
		}
	})
}

// settled leaves out the job's own tables.
func settled(snapshot string) string {
	var l []string
	for line := range strings.SplitSeq(snapshot, "\n") {
		if !strings.HasPrefix(line, "left in pgid: migration") {
			l = append(l, line)
		}
	}
	return strings.Join(l, "\n")
}
