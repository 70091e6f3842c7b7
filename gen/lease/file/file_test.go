//go:build unix

package file_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pgidproxy/pgidproxy/gen/lease"
	"github.com/pgidproxy/pgidproxy/gen/lease/file"
	"github.com/pgidproxy/pgidproxy/gen/lease/leasetest"
)

func open(t *testing.T, path, holder string) *file.Store {
	t.Helper()
	s, err := file.Open(path, holder)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func TestSuite(t *testing.T) {
	t.Parallel()
	var path string
	leasetest.Run(t, leasetest.Subject{
		New: func(t *testing.T) lease.Store {
			path = filepath.Join(t.TempDir(), "state")
			return open(t, path, "test")
		},
		Empty: func(t *testing.T, _ lease.Store) {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		},
	})
}

func TestSecondProcess(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state")
	first := open(t, path, "host a, process 7")
	_, err := file.Open(path, "another")
	var locked *file.LockedError
	if !errors.As(err, &locked) || locked.Holder != "host a, process 7" {
		t.Fatalf("got %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	open(t, path, "another")
}

// A record of a process that died is no lease: the next one need not wait.
func TestDeadHolder(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state")
	first := open(t, path, "first")
	snap, err := (&lease.Registry{Store: first}).Init(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := first.Swap(t.Context(), lease.Swap{Era: snap.Head.Era, Expect: []string{""}, Node: 5, Kind: lease.KindLease,
		Token: "t", Mark: 99, TTL: lease.DefaultTTL}); err != nil {
		t.Fatal(err)
	}
	live := func(s *file.Store) bool {
		snap, err := s.Load(t.Context())
		if err != nil || len(snap.Records) != 1 || snap.Records[0].Mark != 99 {
			t.Fatalf("got %+v, %v", snap.Records, err)
		}
		return snap.Records[0].Live
	}
	if !live(first) {
		t.Error("the holder's own record is not live")
	}
	first.Close()
	if live(open(t, path, "second")) {
		t.Error("the record of a process that is gone is live")
	}
}

func TestUnreadable(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state")
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	var setup *lease.SetupError
	if _, err := file.Open(path, "x"); !errors.As(err, &setup) || !strings.Contains(err.Error(), "restore it") {
		t.Errorf("got %v", err)
	}
	if _, err := file.Open(filepath.Join(path, "below"), "x"); err == nil {
		t.Error("opened below a file")
	}
}

// What was set up without a wait has none later either, when the clock has
// stepped back to before that.
func TestStepBackBehindInit(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state")
	store := open(t, path, "test")
	leasetest.Begin(t, store)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// The clock cannot be set here: the file is as one of a minute later would be.
	var content map[string]any
	if err := json.Unmarshal(text, &content); err != nil {
		t.Fatal(err)
	}
	ready, err := time.Parse(time.RFC3339, content["ready"].(string))
	if err != nil {
		t.Fatal(err)
	}
	if !ready.IsZero() {
		content["ready"] = ready.Add(time.Minute)
	}
	if text, err = json.Marshal(content); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if snap, err := store.Load(t.Context()); err != nil || snap.Wait != 0 {
		t.Errorf("got a wait of %s, %v", snap.Wait, err)
	}
}
