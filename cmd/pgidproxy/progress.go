package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/pgidproxy/pgidproxy/internal/migrate"
)

// A bar shows how far a job is: on a terminal one line that changes, else a log
// line for each step.
type bar struct {
	env      *environment
	terminal bool
	step     int
	name     string
	drawn    time.Time
}

func newBar(env *environment) *bar { return &bar{env: env, terminal: isTerminal(env.err), step: -1} }

func (b *bar) tell(p migrate.Progress) {
	fresh := p.Step != b.step || p.Name != b.name
	b.step, b.name = p.Step, p.Name
	if !b.terminal {
		if fresh {
			b.env.log.Info(p.Name, "step", p.Step, "of", p.Steps)
		}
		return
	}
	if !fresh && time.Since(b.drawn) < 100*time.Millisecond {
		return
	}
	b.drawn = time.Now()
	line := fmt.Sprintf("[%d/%d] %s", p.Step, p.Steps, p.Name)
	if p.Total > 0 {
		const width = 20
		full := int(width * p.Done / p.Total)
		line += fmt.Sprintf(" [%s%s] %d of about %d rows, %.0f rows/s, %s left, lag %s", strings.Repeat("#", full), strings.Repeat(".", width-full),
			p.Done, p.Total, p.Rate, p.Left.Round(time.Second), p.Lag.Round(time.Millisecond))
	}
	if p.Waiting != "" {
		line += ", waits for " + p.Waiting
	}
	fmt.Fprintf(b.env.err, "\r\x1b[K%s", line)
}

func (b *bar) end() {
	if b.terminal && b.step >= 0 {
		fmt.Fprintln(b.env.err)
	}
}
