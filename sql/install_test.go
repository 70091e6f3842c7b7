package sql

import (
	"context"
	"encoding/json"
	"os"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/pgidproxy/pgidproxy/internal/devpg"
	"github.com/pgidproxy/pgidproxy/internal/devpg/devpgtest"
)

// connect opens a connection that ends with the test.
func connect(tb testing.TB, url string) *pgx.Conn {
	tb.Helper()
	conn, err := pgx.Connect(context.Background(), url)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

// installed returns a connection to a fresh database with the functions.
func installed(tb testing.TB, s *devpg.Server) (*pgx.Conn, string) {
	tb.Helper()
	url := devpgtest.DatabaseOn(tb, s)
	conn := connect(tb, url)
	if _, err := Install(context.Background(), conn, InstallOptions{}); err != nil {
		tb.Fatal(err)
	}
	return conn, url
}

func exec(tb testing.TB, conn *pgx.Conn, text string) {
	tb.Helper()
	if _, err := conn.Exec(context.Background(), text, pgx.QueryExecModeSimpleProtocol); err != nil {
		tb.Fatalf("%s: %v", text, err)
	}
}

func TestGoldenVectors(t *testing.T) {
	data, err := os.ReadFile("../gen/testdata/golden.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors []struct {
		Type, ID string
		Time     *string
	}
	if err := json.Unmarshal(data, &vectors); err != nil {
		t.Fatal(err)
	}
	devpgtest.Each(t, func(t *testing.T, s *devpg.Server) {
		conn, _ := installed(t, s)
		exec(t, conn, "SET TimeZone = 'UTC'; SET DateStyle = 'ISO'")
		for _, v := range vectors {
			var got *string
			err := conn.QueryRow(context.Background(), "SELECT id_to_timestamp($1::text::"+v.Type+")::text", v.ID).Scan(&got)
			if err != nil {
				t.Fatalf("%s %q: %v", v.Type, v.ID, err)
			}
			switch {
			case (got == nil) != (v.Time == nil), got != nil && *got != *v.Time:
				t.Errorf("id_to_timestamp(%s %q) = %v, want %v", v.Type, v.ID, show(got), show(v.Time))
			}
		}
	})
}

func show(s *string) string {
	if s == nil {
		return "NULL"
	}
	return *s
}

func TestInstallIsRepeatable(t *testing.T) {
	devpgtest.Each(t, func(t *testing.T, s *devpg.Server) {
		ctx := context.Background()
		conn, _ := installed(t, s)
		exec(t, conn, "CREATE TABLE t (id bigint DEFAULT next_snowflake(), u uuid DEFAULT uuidv7()); INSERT INTO t DEFAULT VALUES")
		report, err := Install(ctx, conn, InstallOptions{FunctionNode: 77})
		if err != nil {
			t.Fatal(err)
		}
		if !report.Updated || report.FunctionNode != 77 {
			t.Errorf("report %+v", report)
		}
		if _, err := Install(ctx, conn, InstallOptions{}); err != nil {
			t.Fatal(err)
		}
		var node int
		if err := conn.QueryRow(ctx, "INSERT INTO t DEFAULT VALUES RETURNING id >> 12 & 1023").Scan(&node); err != nil || node != 77 {
			t.Errorf("node %d, %v, want 77 kept", node, err)
		}
		if err := Uninstall(ctx, conn); err == nil {
			t.Error("uninstalled although a default uses the functions")
		}
		exec(t, conn, "DROP TABLE t")
		if err := Uninstall(ctx, conn); err != nil {
			t.Error(err)
		}
		var left int
		err = conn.QueryRow(ctx, `SELECT count(*) FROM pg_proc WHERE proname IN ('next_snowflake', 'id_to_timestamp')`).Scan(&left)
		if err != nil || left != 0 {
			t.Errorf("%d functions left, %v", left, err)
		}
	})
}

func TestForeignFunctionIsNotReplaced(t *testing.T) {
	devpgtest.Each(t, func(t *testing.T, s *devpg.Server) {
		conn := connect(t, devpgtest.DatabaseOn(t, s))
		exec(t, conn, "CREATE FUNCTION public.next_snowflake() RETURNS bigint LANGUAGE sql AS 'SELECT 42::bigint'")
		if _, err := Install(context.Background(), conn, InstallOptions{}); err == nil {
			t.Error("replaced a function that is not ours")
		}
	})
}
