package devpg

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"syscall"
)

// A janitor is a shell that outlives us: it waits for a word, or for our end
// whatever that is, and in the second case stops the server and removes what is
// temporary. It runs as the server's account, so that it can do no more harm
// than the server could.
type janitor struct {
	command *exec.Cmd
	word    io.WriteCloser // of ours alone; its other end is the shell's input
}

// cleaning takes the data directory, the signal and the directory to remove.
const cleaning = `trap '' HUP INT TERM
read -r word && exit 0
pid=$(head -n 1 "$1/postmaster.pid" 2>/dev/null)
if [ -n "$pid" ]; then
	kill "-$2" "$pid" 2>/dev/null
	tries=0
	while kill -0 "$pid" 2>/dev/null && [ $tries -lt 100 ]; do sleep 0.1; tries=$((tries + 1)); done
	kill -9 "$pid" 2>/dev/null
fi
[ -z "$3" ] || rm -rf "$3"`

// hire starts the janitor of s.
func hire(ctx context.Context, s *Server) (*janitor, error) {
	signal := "INT"
	if s.deathSignal() == syscall.SIGQUIT {
		signal = "QUIT"
	}
	cmd := s.account.command(context.WithoutCancel(ctx), s.binaries, 0, "/bin/sh", "-c", cleaning, "sh", s.data, signal, s.root)
	word, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start the janitor: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the janitor: %w", err)
	}
	return &janitor{cmd, word}, nil
}

// dismiss lets the janitor go without cleaning. A nil janitor is none.
func (j *janitor) dismiss() {
	if j == nil {
		return
	}
	_, _ = io.WriteString(j.word, "done\n") // if it is gone already there is none to tell
	_ = j.word.Close()
	_ = j.command.Wait()
}
