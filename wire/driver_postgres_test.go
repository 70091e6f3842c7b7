package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pgidproxy/pgidproxy/internal/devpg"
	"github.com/pgidproxy/pgidproxy/internal/devpg/devpgtest"
)

func bounded(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(bounded(t), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

func run(t *testing.T, conn *pgx.Conn, sql string, args ...any) {
	t.Helper()
	if _, err := conn.Exec(bounded(t), sql, args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

func ask[T any](t *testing.T, conn *pgx.Conn, sql string, args ...any) T {
	t.Helper()
	var v T
	if err := conn.QueryRow(bounded(t), sql, args...).Scan(&v); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return v
}

// through returns the URL that leads to the same database through the proxy.
func (r *running) through(t *testing.T, direct string, change func(q url.Values)) string {
	t.Helper()
	u, err := url.Parse(direct)
	if err != nil {
		t.Fatal(err)
	}
	u.Host = r.address
	q := u.Query()
	if change != nil {
		change(q)
	}
	u.RawQuery = q.Encode()
	return u.String()
}

// eventually asks the server until it says true.
func eventually(t *testing.T, conn *pgx.Conn, sql string, args ...any) {
	t.Helper()
	for deadline := time.Now().Add(patience); !ask[bool](t, conn, sql, args...); {
		if time.Now().After(deadline) {
			t.Fatalf("still not: %s", sql)
		}
	}
}

const nobodyElse = `SELECT count(*) = 0 FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`

// raw signs on by hand and returns a connection whose bytes the test sees.
func (r *running) raw(t *testing.T, direct string) net.Conn {
	t.Helper()
	cfg := mustParse(t, direct)
	conn := r.dial(t)
	put(t, conn, startupPacket(3<<16, "user\x00"+cfg.User+"\x00database\x00"+cfg.Database+"\x00\x00"))
	untilReady(t, conn)
	return conn
}

// untilReady reads up to ReadyForQuery, and returns the types of the messages.
func untilReady(t *testing.T, conn net.Conn) (types string) {
	t.Helper()
	for !strings.HasSuffix(types, "Z") {
		header := make([]byte, headerLen)
		if _, err := io.ReadFull(conn, header); err != nil {
			t.Fatalf("after %q: %v", types, err)
		}
		if _, err := io.CopyN(io.Discard, conn, int64(frameSize(header)-headerLen)); err != nil {
			t.Fatalf("after %q: %v", types, err)
		}
		types += string(header[0])
	}
	return types
}

func TestPostgresEnds(t *testing.T) {
	t.Parallel()
	devpgtest.Each(t, func(t *testing.T, s *devpg.Server) {
		direct := devpgtest.DatabaseOn(t, s)
		watch := connect(t, direct)
		run(t, watch, `CREATE TABLE lockable AS SELECT 1 AS a`)
		r := serve(t, direct, nil)

		t.Run("reset in a transaction", func(t *testing.T) {
			conn := r.raw(t, direct)
			put(t, conn, []byte(frame('Q', "BEGIN; UPDATE lockable SET a = 2\x00")))
			untilReady(t, conn)
			conn.(*net.TCPConn).SetLinger(0)
			conn.Close()
			run(t, watch, `UPDATE lockable SET a = 3`)
			eventually(t, watch, nobodyElse)
		})
		t.Run("half-close", func(t *testing.T) {
			conn := r.raw(t, direct)
			put(t, conn, []byte(frame('Q', "SELECT 1\x00")))
			conn.(*net.TCPConn).CloseWrite()
			got := readRest(t, conn)
			if !strings.HasSuffix(got, frame('C', "SELECT 1\x00")+frame('Z', "I")) {
				t.Errorf("got %q", got)
			}
			eventually(t, watch, nobodyElse)
		})
		t.Run("terminated", func(t *testing.T) {
			conn := r.raw(t, direct)
			run(t, watch, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`)
			got := readRest(t, conn)
			if strings.Count(got, "SFATAL") != 1 || !strings.Contains(got, "C57P01") {
				t.Errorf("got %q", got)
			}
			eventually(t, watch, nobodyElse)
		})
		t.Run("drained", func(t *testing.T) {
			r := serve(t, direct, func(c *Config) { c.DrainTimeout = patience })
			idle := r.raw(t, direct)
			busy := r.raw(t, direct)
			put(t, busy, []byte(frame('Q', "BEGIN; UPDATE lockable SET a = 4\x00")))
			untilReady(t, busy)
			r.cancel()
			if got := readRest(t, idle); got != string(shutdownReport) {
				t.Errorf("an idle client is told %q", got)
			}
			put(t, busy, []byte(frame('Q', "COMMIT\x00")))
			if got, want := readRest(t, busy), frame('C', "COMMIT\x00")+frame('Z', "I")+string(shutdownReport); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
			r.stop(t)
			if a := ask[int](t, watch, `SELECT a FROM lockable`); a != 4 {
				t.Errorf("a = %d, want 4", a)
			}
			eventually(t, watch, nobodyElse)
		})
	})
}

func TestPostgresCancel(t *testing.T) {
	t.Parallel()
	devpgtest.Each(t, func(t *testing.T, s *devpg.Server) {
		direct := s.URL(devpg.Superuser)
		r, second := serve(t, direct, nil), serve(t, direct, nil)
		versions := []string{"3.0"}
		if s.Major() >= 18 {
			versions = append(versions, "3.2")
		}
		for _, version := range versions {
			through := func(q url.Values) { q.Set("max_protocol_version", version) }
			a := connect(t, r.through(t, direct, through))
			b := connect(t, r.through(t, direct, nil))
			run(t, b, "BEGIN")
			pg := a.PgConn()
			for _, tc := range []struct {
				name  string
				proxy *running
				key   []byte
				hits  bool
			}{
				{"wrong key", r, append(pg.SecretKey()[1:], pg.SecretKey()[0]^1), false},
				{"its proxy", r, pg.SecretKey(), true},
				{"second proxy", second, pg.SecretKey(), true},
			} {
				done := make(chan error, 1)
				go func() {
					_, err := a.Exec(bounded(t), "SELECT pg_sleep(20)")
					done <- err
				}()
				eventually(t, b, `SELECT count(*) = 1 FROM pg_stat_activity WHERE pid = $1 AND wait_event = 'PgSleep'`, pg.PID())
				if tc.hits {
					cancelAt(t, tc.proxy, pg.PID(), tc.key)
				} else {
					cancelAt(t, tc.proxy, pg.PID(), tc.key)
					eventually(t, b, `SELECT count(*) = 1 FROM pg_stat_activity WHERE pid = $1 AND wait_event = 'PgSleep'`, pg.PID())
					cancelAt(t, tc.proxy, pg.PID(), pg.SecretKey())
				}
				var pgErr *pgconn.PgError
				if err := <-done; !errors.As(err, &pgErr) || pgErr.Code != "57014" {
					t.Errorf("%s, %s: %v, want 57014", version, tc.name, err)
				}
			}
			run(t, b, "COMMIT")
		}
	})
}

// cancelAt sends a CancelRequest and waits for the end of its connection.
func cancelAt(t *testing.T, r *running, pid uint32, key []byte) {
	t.Helper()
	conn := r.dial(t)
	body := string([]byte{byte(pid >> 24), byte(pid >> 16), byte(pid >> 8), byte(pid)}) + string(key)
	put(t, conn, startupPacket(codeCancel, body))
	if got := readRest(t, conn); got != "" {
		t.Errorf("a cancel request is answered with %q", got)
	}
}

// TestPostgresTLS signs on with SCRAM through a TLS connection that only the
// proxy has.
func TestPostgresTLS(t *testing.T) {
	t.Parallel()
	devpgtest.Each(t, func(t *testing.T, s *devpg.Server) {
		admin := connect(t, s.URL(devpg.Superuser))
		enableTLS(t, admin)
		direct, err := url.Parse(s.URL(devpg.Superuser))
		if err != nil {
			t.Fatal(err)
		}
		direct.User = url.UserPassword("wire_scram", "right")
		certFile, _ := certificateFiles(t)
		for _, params := range []string{"sslmode=prefer", "sslmode=require", "sslmode=verify-ca&sslrootcert=" + certFile, "sslmode=allow"} {
			direct.RawQuery = params
			r := serve(t, direct.String(), nil)
			plain := func(q url.Values) {
				clear(q)
				q.Set("sslmode", "disable")
			}
			conn := connect(t, r.through(t, direct.String(), plain))
			if params != "sslmode=allow" && !ask[bool](t, conn, "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()") {
				t.Errorf("%s: the server is reached without TLS", params)
			}
			if got := ask[string](t, conn, "SELECT repeat('x', 1000000)"); len(got) != 1_000_000 {
				t.Errorf("%s: %d bytes", params, len(got))
			}
			wrong := strings.Replace(r.through(t, direct.String(), plain), "right", "wrong", 1)
			var pgErr *pgconn.PgError
			if _, err := pgx.Connect(bounded(t), wrong); !errors.As(err, &pgErr) || pgErr.Code != "28P01" {
				t.Errorf("%s: a wrong password: %v", params, err)
			}
			pid := conn.PgConn().PID()
			done := make(chan error, 1)
			go func() {
				_, err := conn.Exec(bounded(t), "SELECT pg_sleep(20)")
				done <- err
			}()
			eventually(t, admin, `SELECT count(*) = 1 FROM pg_stat_activity WHERE pid = $1 AND wait_event = 'PgSleep'`, pid)
			cancelAt(t, r, pid, conn.PgConn().SecretKey())
			if err := <-done; !errors.As(err, &pgErr) || pgErr.Code != "57014" {
				t.Errorf("%s: cancelled: %v", params, err)
			}
			half := r.dial(t)
			half.Close()
			conn.Close(bounded(t))
			eventually(t, admin, `SELECT count(*) = 0 FROM pg_stat_activity WHERE pid = $1`, pid)
		}
	})
}

// enableTLS gives a running server the tests' certificate, and a role that has
// to sign on with SCRAM. The files are written by the server, which has to own
// them.
func enableTLS(t *testing.T, admin *pgx.Conn) {
	t.Helper()
	c := testCertificate(t)
	dir := ask[string](t, admin, "SELECT current_setting('data_directory')")
	for name, content := range map[string][]byte{"wire.crt": c.certPEM, "wire.key": c.keyPEM} {
		file := dir + "/" + name
		copyTo := fmt.Sprintf(`COPY (SELECT unnest(string_to_array('%s', E'\n'))) TO PROGRAM 'umask 077; cat > %s'`,
			strings.TrimSpace(string(content)), file)
		run(t, admin, copyTo)
	}
	hba := ask[string](t, admin, "SELECT current_setting('hba_file')")
	run(t, admin, fmt.Sprintf(`COPY (SELECT 'host all wire_scram all scram-sha-256')
		TO PROGRAM 'cat - %[1]s > %[1]s.new && cat %[1]s.new > %[1]s'`, hba))
	run(t, admin, "ALTER SYSTEM SET ssl_cert_file = 'wire.crt'")
	run(t, admin, "ALTER SYSTEM SET ssl_key_file = 'wire.key'")
	run(t, admin, "ALTER SYSTEM SET ssl = on")
	run(t, admin, "DROP ROLE IF EXISTS wire_scram")
	run(t, admin, "SET password_encryption = 'scram-sha-256'")
	run(t, admin, "CREATE ROLE wire_scram LOGIN PASSWORD 'right'")
	run(t, admin, "SELECT pg_reload_conf()")
	eventually(t, admin, "SELECT count(*) > 0 FROM pg_hba_file_rules WHERE user_name = '{wire_scram}' AND error IS NULL")
	eventually(t, admin, "SELECT setting = 'on' FROM pg_settings WHERE name = 'ssl'")
}
