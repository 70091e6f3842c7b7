package devpgtest

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/pgidproxy/pgidproxy/internal/devpg"
)

func TestEachServerHasFreshDatabases(t *testing.T) {
	t.Parallel()
	Each(t, func(t *testing.T, s *devpg.Server) {
		for range 2 {
			conn, err := pgx.Connect(t.Context(), DatabaseOn(t, s))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close(t.Context())
			if _, err := conn.Exec(t.Context(), "CREATE TABLE t ()"); err != nil {
				t.Error(err)
			}
			var version int
			if err := conn.QueryRow(t.Context(), "SELECT current_setting('server_version_num')::int / 10000").Scan(&version); err != nil || version != s.Major() {
				t.Errorf("got version %d, %v, want %d", version, err, s.Major())
			}
		}
	})
}
