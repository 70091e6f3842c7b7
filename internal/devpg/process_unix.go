//go:build unix && !linux

package devpg

import "syscall"

// attributes makes the child a process group of its own, so that a terminal's
// Ctrl-C reaches only us.
func attributes(syscall.Signal) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
