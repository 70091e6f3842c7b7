//go:build unix

// Package file keeps the registry of one machine's only holder in a file: what a
// generator with a number of its own needs to go on above its last ids after a
// restart, whatever the clock did, and to notice a second process with the same
// file. The file is written anew, synced and renamed at each heartbeat; a lock
// beside it is held as long as the store is open, so that a record of a process
// that died counts as free at once.
package file

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/pgidproxy/pgidproxy/gen/lease"
)

// server is what serves every file: a file has no identity but its content.
const server = "file"

// content is what is in the file, as JSON.
type content struct {
	Head    *lease.Head    `json:"head"`
	Ready   time.Time      `json:"ready"`
	Records []lease.Record `json:"records"`
}

// A Store is a lease.Store in a file.
type Store struct {
	path string
	lock *os.File

	mu  sync.Mutex
	own map[string]bool // tokens that were written by this process
}

// A LockedError says that another process has the file.
type LockedError struct {
	Path   string
	Holder string // "" where it could not be read
}

func (e *LockedError) Error() string {
	return fmt.Sprintf("state file %s is held by another process (%s): give each its own file and node number, or end that one",
		e.Path, cmp.Or(e.Holder, "unknown"))
}

// Open opens the file, which is made at the first write, for this process alone.
// holder tells others who that is. It fails with a *LockedError while another
// process has it open.
func Open(path, holder string) (*Store, error) {
	lock, err := os.OpenFile(path+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the state file's lock: %w", err)
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		defer lock.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			text, _ := os.ReadFile(lock.Name())
			return nil, &LockedError{Path: path, Holder: strings.TrimSpace(string(text))}
		}
		return nil, fmt.Errorf("lock the state file: %w", err)
	}
	s := &Store{path: path, lock: lock, own: map[string]bool{}}
	err = errors.Join(lock.Truncate(0), write(lock, []byte(holder+"\n")))
	if err == nil {
		_, err = s.read()
	}
	if err != nil {
		lock.Close()
		return nil, err
	}
	return s, nil
}

func write(f *os.File, b []byte) error {
	_, err := f.WriteAt(b, 0)
	return err
}

// Close lets others have the file.
func (s *Store) Close() error { return s.lock.Close() }

func (s *Store) read() (content, error) {
	var c content
	text, err := os.ReadFile(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &c)
	}
	if err != nil {
		return c, &lease.SetupError{Err: fmt.Errorf("read state file %s: %w", s.path, err),
			Hint: "without it ids of before may be repeated if the clock has stepped back; restore it, or remove it where that cannot be"}
	}
	return c, nil
}

// write replaces the file, so that it has the old content or the new one
// whenever the machine stops.
func (s *Store) write(c content) (err error) {
	text, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	f, err := os.OpenFile(s.path+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	err = errors.Join(err, f.Sync(), f.Close())
	if err != nil {
		return err
	}
	if err := os.Rename(f.Name(), s.path); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(s.path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// Load implements lease.Store.
func (s *Store) Load(ctx context.Context) (lease.Snapshot, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return lease.Snapshot{}, err
	}
	c, err := s.read()
	if err != nil {
		return lease.Snapshot{}, err
	}
	for i := range c.Records {
		r := &c.Records[i]
		r.Live = r.Kind == lease.KindFunctions || r.Kind == lease.KindLease && s.own[r.Token] && r.Until.After(time.Now())
	}
	return lease.Snapshot{Head: c.Head, Server: server, Wait: max(time.Until(c.Ready), 0), Records: c.Records}, nil
}

// Found implements lease.Store.
func (s *Store) Found(ctx context.Context, old string, head lease.Head, wait time.Duration) error {
	return s.change(ctx, func(c *content) error {
		era := ""
		if c.Head != nil {
			era = c.Head.Era
		}
		if era != old {
			return lease.ErrChanged
		}
		c.Head, c.Ready = &head, time.Time{}
		if wait > 0 {
			c.Ready = time.Now().Add(wait)
		}
		return nil
	})
}

// Swap implements lease.Store.
func (s *Store) Swap(ctx context.Context, w lease.Swap) (int64, error) {
	err := s.change(ctx, func(c *content) error {
		if c.Head == nil || c.Head.Era != w.Era || c.Head.Server != server {
			return lease.ErrEra
		}
		i, there := slices.BinarySearchFunc(c.Records, w.Node, func(r lease.Record, node int) int { return cmp.Compare(r.Node, node) })
		if !there {
			c.Records = slices.Insert(c.Records, i, lease.Record{})
		}
		old, now := c.Records[i], time.Now().UTC().Round(0)
		if !slices.Contains(w.Expect, old.Token) {
			return lease.ErrChanged
		}
		r := lease.Record{Node: w.Node, Kind: w.Kind, Token: w.Token, Holder: w.Holder, Mark: max(w.Mark, old.Mark),
			Every: w.Every, TTL: w.TTL, Since: now, Until: now.Add(w.TTL)}
		if w.Renew {
			r.Since = old.Since
		}
		c.Records[i] = r
		clear(s.own)
		s.own[w.Token] = true
		return nil
	})
	return 0, err
}

// change writes what do makes of the content.
func (s *Store) change(ctx context.Context, do func(*content) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	c, err := s.read()
	if err != nil {
		return err
	}
	if err := do(&c); err != nil {
		return err
	}
	if err := s.write(c); err != nil {
		return fmt.Errorf("write state file: %w", err)
	}
	return nil
}
