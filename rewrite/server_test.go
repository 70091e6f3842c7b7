package rewrite

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pgidproxy/pgidproxy/internal/devpg"
	"github.com/pgidproxy/pgidproxy/internal/devpg/devpgtest"
)

// TestStringsOnServers holds that what the lexer takes for one string is one to
// every server, and what it takes for two is a syntax error: also where
// pg_query's scanner differs from PostgreSQL's.
func TestStringsOnServers(t *testing.T) {
	devpgtest.Each(t, func(t *testing.T, s *devpg.Server) {
		ctx := t.Context()
		conn, err := pgx.Connect(ctx, s.URL("postgres"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(ctx)
		for _, text := range []string{
			"'a'\n'b'", "'a'\r'b'", "'a' 'b'", "'a' -- x\n'b'", "'a'\n-- x\n  -- y'\n'b'", "'a'\n--\n--\n\n'b'", "'a' /* x */\n'b'",
			"'a'\n/* x */ 'b'", "'a'\n- -'b'", "E'a'\n'\\''", "'a'\nE'b'", "N'a'\n'b'", "B'0'\n'1'", "B'0''1'", "X'f'\n -- '\n'f'",
			"$$a$$\n'b'", "$a$ $$ $a $a$", "U&'\\0041'\n'\\0042'", "'a\\'", "E'\\\\'", "'''' -- '", "'a'/**/\n/*'*/",
		} {
			tokens, err := lexAll(text)
			if err != nil {
				t.Errorf("%q: %v", text, err)
				continue
			}
			_, err = conn.Exec(ctx, "SELECT "+text, pgx.QueryExecModeSimpleProtocol)
			var pgErr *pgconn.PgError
			if err != nil && !errors.As(err, &pgErr) {
				t.Fatal(err)
			}
			if one := len(tokens) == 1; one != (err == nil) {
				t.Errorf("%q: %d tokens, the server says %v", text, len(tokens), err)
			}
		}
	})
}
