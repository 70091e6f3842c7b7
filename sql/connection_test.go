package sql

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/pgidproxy/pgidproxy/internal/devpg"
	"github.com/pgidproxy/pgidproxy/internal/devpg/devpgtest"
)

// poolerTo listens, passes connections on to a server, and gives clients a process
// number of its own making, as poolers do.
func poolerTo(t *testing.T, address string) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", address)
			if err != nil {
				client.Close()
				return
			}
			go func() {
				io.Copy(server, client)
				server.Close()
			}()
			go func() {
				defer client.Close()
				for {
					header := make([]byte, 5)
					if _, err := io.ReadFull(server, header); err != nil {
						return
					}
					body := make([]byte, binary.BigEndian.Uint32(header[1:])-4)
					if _, err := io.ReadFull(server, body); err != nil {
						return
					}
					if header[0] == 'K' {
						binary.BigEndian.PutUint32(body, 7)
					}
					if _, err := client.Write(append(header, body...)); err != nil {
						return
					}
				}
			}()
		}
	}()
	return l.Addr().String()
}

// TestNothingIsLeftBehindAPooler holds that the server's session, which others get
// too, is as before once it was polled and read, and that directly it listens.
func TestNothingIsLeftBehindAPooler(t *testing.T) {
	devpgtest.Each(t, func(t *testing.T, s *devpg.Server) {
		_, url := installed(t, s)
		config, err := pgx.ParseConfig(url)
		if err != nil {
			t.Fatal(err)
		}
		const settings = `SELECT concat_ws(' ', current_setting('search_path'), current_setting('statement_timeout'), current_setting('jit'),
			(SELECT count(*) FROM pg_listening_channels()), (SELECT count(*) FROM pg_prepared_statements))`
		direct, err := pgx.ConnectConfig(t.Context(), config)
		if err != nil {
			t.Fatal(err)
		}
		defer direct.Close(context.Background())
		var want string
		if err := direct.QueryRow(t.Context(), settings, pgx.QueryExecModeSimpleProtocol).Scan(&want); err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			address string
			same    bool
		}{{s.Addr(), false}, {poolerTo(t, s.Addr()), true}} {
			config := config.Copy()
			address, err := net.ResolveTCPAddr("tcp", c.address)
			if err != nil {
				t.Fatal(err)
			}
			config.Host, config.Port = address.IP.String(), uint16(address.Port)
			ws, _ := testWatchers(t, config)
			w := ws.Database(config.Database).w
			conn := w.attempt(t.Context(), nil)
			if conn == nil || w.Current() == nil {
				t.Fatal("not read")
			}
			var got string
			if err := conn.QueryRow(t.Context(), settings, pgx.QueryExecModeSimpleProtocol).Scan(&got); err != nil {
				t.Fatal(err)
			}
			conn.Close(context.Background())
			if (got == want) != c.same {
				t.Errorf("pooled %t: %s, and for others %s", c.same, got, want)
			}
		}
	})
}
