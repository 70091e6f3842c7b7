package leasetest

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/pgidproxy/pgidproxy/gen/lease"
)

// Begin sets up a registry.
func Begin(t *testing.T, s lease.Store) lease.Snapshot {
	t.Helper()
	snap, err := (&lease.Registry{Store: s}).Init(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	return snap
}

// Put puts a token in the place of another in the record of node 0.
func Put(s lease.Store, snap lease.Snapshot, expect, token string) error {
	_, err := s.Swap(context.Background(), lease.Swap{Era: snap.Head.Era, Expect: []string{expect}, Node: 0, Kind: lease.KindLease,
		Token: token, Holder: "test", Mark: time.Now().Add(12 * time.Second).UnixMilli(), Every: 5 * time.Second, TTL: 30 * time.Second})
	return err
}

// SetupError checks that a store's error is a *lease.SetupError that has a text,
// and not the password, which is secret.
func SetupError(t *testing.T, s lease.Store, text string) {
	t.Helper()
	_, err := s.Load(t.Context())
	var e *lease.SetupError
	if !errors.As(err, &e) || e.Hint == "" || !strings.Contains(err.Error(), text) || strings.Contains(err.Error(), "secret") {
		t.Errorf("got %v, want %s", err, text)
	}
}

// URLs checks which URLs a store takes, and that no error has their password,
// which is secret.
func URLs(t *testing.T, open func(url string) (lease.Store, error), urls map[string]bool) {
	t.Helper()
	for url, fine := range urls {
		s, err := open(url)
		if (err == nil) != fine {
			t.Errorf("%s: got %v", url, err)
		}
		if err == nil {
			s.Close()
		} else if strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "cret@") {
			t.Errorf("%s: the error has the password: %v", url, err)
		}
	}
}
