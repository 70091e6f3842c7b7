package devpg

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// parentVariable makes the test binary a parent that starts a server, prints
// its process and data directory, and waits to be killed.
const parentVariable = "PGIDPROXY_DEVPG_PARENT"

func TestMain(m *testing.M) {
	if os.Getenv(parentVariable) != "" {
		s, err := Start(context.Background(), Config{})
		if err != nil {
			println(err.Error())
			os.Exit(1)
		}
		os.Stdout.WriteString(s.root + "\n")
		<-s.Done()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func start(t *testing.T, c Config) *Server {
	t.Helper()
	s, err := Start(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func query(t *testing.T, s *Server, sql string) string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), s.URL(Superuser))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	var got string
	if err := conn.QueryRow(t.Context(), sql).Scan(&got); err != nil {
		t.Fatal(err)
	}
	return got
}

// tempDir is a directory that the server's account can reach, which t.TempDir's
// are not for root.
func tempDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "pgidproxy-test-")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func TestTemporaryServer(t *testing.T) {
	t.Parallel()
	s := start(t, Config{Settings: map[string]string{"work_mem": "5MB"}})
	for sql, want := range map[string]string{
		"SHOW work_mem": "5MB", "SHOW server_encoding": "UTF8", "SHOW listen_addresses": "127.0.0.1",
	} {
		if got := query(t, s, sql); got != want {
			t.Errorf("%s: got %q, want %q", sql, got, want)
		}
	}
	if dir := s.SocketDir(); dir != "" {
		if _, err := os.Stat(filepath.Join(dir, ".s.PGSQL."+query(t, s, "SHOW port"))); err != nil {
			t.Error(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(s.root); !os.IsNotExist(err) {
		t.Errorf("temporary data is still there: %v", err)
	}
}

func TestDataIsKept(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(tempDir(t), "data")
	s := start(t, Config{DataDir: dir})
	query(t, s, "WITH a AS (SELECT pg_notify('x', '')) SELECT 'a'")
	conn, err := pgx.Connect(t.Context(), s.URL(Superuser))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.Exec(t.Context(), "CREATE TABLE kept AS SELECT 'here' AS x"); err != nil {
		t.Fatal(err)
	}
	if err := s.Crash(); err != nil {
		t.Fatal(err)
	}
	addr := s.Addr()
	if err := s.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := s.Addr(); got != addr {
		t.Errorf("restarted at %s, want %s", got, addr)
	}
	if got := query(t, s, "SELECT x FROM kept"); got != "here" {
		t.Errorf("got %q after a crash", got)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if got := query(t, start(t, Config{DataDir: dir}), "SELECT x FROM kept"); got != "here" {
		t.Errorf("got %q after a start on kept data", got)
	}
}

func TestFailuresSayWhy(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	full := filepath.Join(dir, "full")
	if err := errors.Join(os.Mkdir(full, 0o755), os.WriteFile(filepath.Join(full, "x"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		config Config
		want   string
	}{
		{Config{BinDir: dir}, "find PostgreSQL's server programs"},
		{Config{DataDir: full}, "holds files but no PostgreSQL data"},
		{Config{Settings: map[string]string{"work_mem": "nonsense"}}, `invalid value for parameter "work_mem"`},
	} {
		s, err := Start(t.Context(), c.config)
		if err == nil {
			s.Close()
			t.Errorf("%+v: started", c.config)
			continue
		}
		if !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: got %q, want %q in it", c.config, err, c.want)
		}
	}
}

// The server ends and its temporary data goes even when its parent is killed.
func TestServerDoesNotOutliveItsParent(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), parentVariable+"=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	root := strings.TrimSpace(line)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	deadline := time.Now().Add(20 * time.Second)
	for {
		if _, err := os.Stat(root); os.IsNotExist(err) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s is still there", root)
		}
		time.Sleep(20 * time.Millisecond)
	}
}
