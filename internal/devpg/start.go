package devpg

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// prepare makes the data directory unless it is there.
func (s *Server) prepare(ctx context.Context) error {
	var err error
	if s.account, err = unprivileged(s.config.DataDir); err != nil {
		return err
	}
	if s.config.DataDir == "" {
		if s.root, err = os.MkdirTemp("", "pgidproxy-"); err != nil {
			return fmt.Errorf("make a data directory: %w", err)
		}
		s.data = filepath.Join(s.root, "data")
		if err := s.account.own(s.root); err != nil {
			return err
		}
	} else if s.data, err = filepath.Abs(s.config.DataDir); err != nil {
		return fmt.Errorf("make a data directory: %w", err)
	}
	if s.janitor, err = hire(ctx, s); err != nil {
		return err
	}
	version, err := os.ReadFile(filepath.Join(s.data, "PG_VERSION"))
	if err == nil {
		if major := strings.TrimSpace(string(version)); major != strconv.Itoa(s.binaries.Major) {
			return fmt.Errorf("the data in %s was made by PostgreSQL %s, but the programs in %s are PostgreSQL %d", s.data, major, s.binaries.Dir, s.binaries.Major)
		}
		return s.account.check(ctx, s.binaries, s.data)
	}
	return s.initialize(ctx)
}

// initialize runs initdb beside the place of the data directory and moves the
// result there, so that an interrupted run leaves nothing that looks whole.
func (s *Server) initialize(ctx context.Context) error {
	if entries, err := os.ReadDir(s.data); err == nil && len(entries) > 0 {
		return fmt.Errorf("%s holds files but no PostgreSQL data: name an empty directory, or one that is not there yet", s.data)
	}
	if err := os.MkdirAll(filepath.Dir(s.data), 0o755); err != nil {
		return fmt.Errorf("make a data directory: %w", err)
	}
	half := s.data + ".init"
	// UTF-8 with C's order is there on every recent system, but not on all.
	for _, locale := range []string{"C.UTF-8", "C"} {
		if err := errors.Join(os.RemoveAll(half), os.Mkdir(half, 0o700), s.account.own(half)); err != nil {
			return fmt.Errorf("make a data directory: %w", err)
		}
		if err := s.account.check(ctx, s.binaries, half); err != nil {
			return errors.Join(err, os.RemoveAll(half))
		}
		out, err := s.account.command(ctx, s.binaries, syscall.SIGKILL, s.binaries.path("initdb"), "-D", half, "-U", Superuser,
			"--auth=trust", "--encoding=UTF8", "--locale="+locale, "--lc-messages=C", "--no-sync", "--no-instructions").CombinedOutput()
		if err == nil {
			if err := os.Rename(half, s.data); err != nil {
				return fmt.Errorf("make a data directory: %w", err)
			}
			return nil
		}
		if locale == "C" || !strings.Contains(string(out), "locale") {
			return errors.Join(fmt.Errorf("run initdb: %w\n%s", err, strings.TrimSpace(string(out))), os.RemoveAll(half))
		}
	}
	return nil
}

// launch starts the process and waits until it answers. The first time it
// chooses a port, again if another process takes it meanwhile.
func (s *Server) launch(ctx context.Context) error {
	if s.external != nil {
		return errExternal
	}
	const attempts = 5
	fixed := s.port != 0
	for attempt := 1; ; attempt++ {
		if !fixed {
			var err error
			if s.port, err = freePort(); err != nil {
				return err
			}
		}
		if err := s.spawn(); err != nil {
			return err
		}
		err := s.ready(ctx)
		if err == nil {
			return nil
		}
		if serr := s.end(syscall.SIGQUIT); serr != nil {
			return errors.Join(err, serr)
		}
		log := s.logTail()
		if !fixed && attempt < attempts && strings.Contains(log, "Address already in use") {
			continue
		}
		if log != "" {
			err = fmt.Errorf("%w; its log ends with:\n%s", err, log)
		}
		return err
	}
}

// deathSignal is what the server gets when we die: a quick end where its data
// is thrown away, an orderly one where it is kept.
func (s *Server) deathSignal() syscall.Signal {
	if s.root != "" {
		return syscall.SIGQUIT
	}
	return syscall.SIGINT
}

// spawn starts the process. A goroutine keeps the thread that started it, since
// to the kernel that thread is the parent, whose end the server is told of.
func (s *Server) spawn() error {
	log, err := os.OpenFile(s.LogFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open the server's log: %w", err)
	}
	defer log.Close()
	if s.logFrom, err = log.Seek(0, io.SeekEnd); err != nil {
		return fmt.Errorf("open the server's log: %w", err)
	}
	if err := s.account.own(s.LogFile()); err != nil {
		return err
	}
	// The server outlives ctx of its start: it is ended by Stop.
	cmd := s.account.command(context.Background(), s.binaries, s.deathSignal(), s.binaries.path("postgres"), s.arguments()...)
	cmd.Stdout, cmd.Stderr = log, log
	if s.config.Log != nil {
		file, err := os.OpenFile(s.LogFile(), os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			return fmt.Errorf("open the server's log: %w", err)
		}
		w := &lockedWriter{w: io.MultiWriter(file, s.config.Log)}
		cmd.Stdout, cmd.Stderr = w, w
		cmd.WaitDelay = time.Second // a killed server's children hold the pipe a little longer
	}
	started, done := make(chan error, 1), make(chan struct{})
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // how it ended is in its log
			close(done)
		}
	}()
	if err := <-started; err != nil {
		return fmt.Errorf("start PostgreSQL: %w", err)
	}
	s.command, s.done = cmd, done
	return nil
}

// ready waits until the server answers a query, and is ours.
func (s *Server) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		err := s.ping(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-s.done:
			return errors.New("PostgreSQL ended while it started")
		case <-ctx.Done():
			return fmt.Errorf("wait for PostgreSQL: %w", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (s *Server) ping(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, s.URL(Superuser))
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	var dir string
	if err := conn.QueryRow(ctx, "SHOW data_directory").Scan(&dir); err != nil {
		return err
	}
	if dir != s.data {
		return fmt.Errorf("another server, of %s, answers on port %d", dir, s.port)
	}
	return nil
}
