package servers

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// PgBouncer starts a pooler in front of a PostgreSQL server: in transaction mode,
// with two connections to the server for each role and database. It lets roles in
// without a password.
func PgBouncer(t testing.TB, server string, roles ...string) *Server {
	t.Helper()
	host, port, err := net.SplitHostPort(server)
	if err != nil {
		t.Fatal(err)
	}
	program := "/usr/sbin/pgbouncer" // where Debian puts it, which is on root's path alone
	if path, err := exec.LookPath("pgbouncer"); err == nil {
		program = path
	}
	s := &Server{t: t, program: find(t, program, "pgbouncer"), ready: "process up", as: ordinary(t)}
	// A directory of the test's is closed to the user that it runs as.
	dir, err := os.MkdirTemp("", "pgidproxy-pgbouncer-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	ini, users := filepath.Join(dir, "pgbouncer.ini"), filepath.Join(dir, "users.txt")
	var list strings.Builder
	for _, r := range roles {
		fmt.Fprintf(&list, "\"%s\" \"\"\n", strings.ReplaceAll(r, `"`, `""`))
	}
	s.first(func(_ string, ports []string) []string {
		text := fmt.Sprintf(`[databases]
* = host=%s port=%s
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %s
unix_socket_dir =
auth_type = trust
auth_file = %s
pool_mode = transaction
default_pool_size = 2
server_login_retry = 0.1
`, host, port, ports[0], users)
		if err := errors.Join(os.Chmod(dir, 0o755), os.WriteFile(ini, []byte(text), 0o644), os.WriteFile(users, []byte(list.String()), 0o644)); err != nil {
			t.Fatal(err)
		}
		return []string{ini}
	})
	return s
}

// ordinary is a user for programs that refuse to run as root; nil where we are
// not root.
func ordinary(t testing.TB) *syscall.Credential {
	t.Helper()
	if os.Geteuid() != 0 {
		return nil
	}
	u, err := user.Lookup("nobody")
	if err != nil {
		t.Fatal(err)
	}
	uid, uerr := strconv.ParseUint(u.Uid, 10, 32)
	gid, gerr := strconv.ParseUint(u.Gid, 10, 32)
	if err := errors.Join(uerr, gerr); err != nil {
		t.Fatal(err)
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}
