//go:build unix

package main

import (
	"path/filepath"
	"syscall"
	"testing"
)

// Who puts another proxy in front of dev gets ids of another node.
func TestServeBehindDev(t *testing.T) {
	t.Parallel()
	data := filepath.Join(tempDir(t), "data")
	for range 2 { // the second time where no proxy before has freed its node
		dev := start(t, "dev", "--listen", "127.0.0.1:0", "--data-dir", data)
		through := dev.match(t, psqlURL)
		conn := session(t, through)
		if got := node(t, conn, "SELECT next_snowflake()"); got != 0 {
			t.Errorf("dev mints under node %d", got)
		}
		if p := start(t, "nodes", "init", "--registry", through); p.wait(t) != exitDone {
			t.Fatal(p.output)
		}
		other := start(t, "serve", "--database-url", through, "--listen", "127.0.0.1:0")
		if got := other.match(t, `msg=ready .*node=(\S+)`); got == "0" {
			t.Errorf("another proxy has dev's node:\n%s", other.output)
		}
		other.end(t, syscall.SIGKILL)
		if code := dev.end(t, interrupt); code != exitDone {
			t.Errorf("got exit code %d:\n%s", code, dev.output)
		}
	}
}
