package devpg

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"strings"
	"syscall"
)

// An account is whom PostgreSQL runs as: it refuses to run as root. The zero
// value is ourselves.
type account struct {
	name       string // "" is ourselves
	credential *syscall.Credential
}

// unprivileged returns ourselves, or if that is root: the owner of an existing
// data directory, or postgres, or nobody.
func unprivileged(dataDir string) (account, error) {
	if os.Geteuid() != 0 {
		return account{}, nil
	}
	candidates := []string{"postgres", "nobody"}
	if info, err := os.Stat(dataDir); err == nil {
		if owner, ok := info.Sys().(*syscall.Stat_t); ok && owner.Uid != 0 {
			if u, err := user.LookupId(strconv.FormatUint(uint64(owner.Uid), 10)); err == nil {
				candidates = []string{u.Username}
			}
		}
	}
	for _, name := range candidates {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err := strconv.ParseUint(u.Uid, 10, 32)
		if err != nil {
			return account{}, fmt.Errorf("look up user %s: %w", name, err)
		}
		gid, err := strconv.ParseUint(u.Gid, 10, 32)
		if err != nil {
			return account{}, fmt.Errorf("look up user %s: %w", name, err)
		}
		return account{name, &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}, nil
	}
	return account{}, errors.New("PostgreSQL does not run as root, and this machine has neither a user postgres nor nobody: run as an ordinary user")
}

// own gives path to the account.
func (a account) own(path string) error {
	if a.credential == nil {
		return nil
	}
	if err := os.Chown(path, int(a.credential.Uid), int(a.credential.Gid)); err != nil {
		return fmt.Errorf("give the data directory to user %s: %w", a.name, err)
	}
	return nil
}

// command is a program of b run by the account. The working directory is one
// that every user can read.
func (a account) command(ctx context.Context, b Binaries, death syscall.Signal, path string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir = "/"
	cmd.Env = b.environment()
	cmd.SysProcAttr = attributes(death)
	cmd.SysProcAttr.Credential = a.credential
	return cmd
}

// check finds out whether the account can run b's programs and reach dir, which
// fails where a parent directory is closed to other users.
func (a account) check(ctx context.Context, b Binaries, dir string) error {
	if a.credential == nil {
		return nil
	}
	out, err := a.command(ctx, b, syscall.SIGKILL, b.path("postgres"), "--version").CombinedOutput()
	switch {
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("run PostgreSQL as user %s: the programs in %s, or a directory above, are closed to that user; as root name others with --postgres-bin or %s, or run as an ordinary user: %w", a.name, b.Dir, BinVariable, err)
	case err != nil:
		return fmt.Errorf("run PostgreSQL as user %s: %w: %s", a.name, err, strings.TrimSpace(string(out)))
	}
	if err := a.command(ctx, b, syscall.SIGKILL, "/bin/sh", "-c", `cd "$1"`, "sh", dir).Run(); err != nil {
		return fmt.Errorf("use %s as user %s: it, or a directory above, is closed to that user; choose another with --data-dir or TMPDIR", dir, a.name)
	}
	return nil
}
