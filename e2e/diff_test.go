package e2e

import (
	"slices"
	"strings"
)

// diff returns "" for equal lists, or both with what they share at their
// beginnings and ends marked as such.
func diff(want, got []string) string {
	if slices.Equal(want, got) {
		return ""
	}
	head := 0
	for head < min(len(want), len(got)) && want[head] == got[head] {
		head++
	}
	tail := 0
	for tail < min(len(want), len(got))-head && want[len(want)-1-tail] == got[len(got)-1-tail] {
		tail++
	}
	var b strings.Builder
	write := func(mark string, lines []string) {
		for i, line := range lines {
			if len(lines) > 40 && i == 20 {
				b.WriteString("  …\n")
			}
			if len(lines) <= 40 || i < 20 || i >= len(lines)-20 {
				b.WriteString(mark + line + "\n")
			}
		}
	}
	write("  ", want[:head])
	write("- ", want[head:len(want)-tail])
	write("+ ", got[head:len(got)-tail])
	write("  ", want[len(want)-tail:])
	return b.String()
}
