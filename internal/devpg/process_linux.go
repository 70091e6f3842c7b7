package devpg

import "syscall"

// attributes makes the child a process group of its own, so that a terminal's
// Ctrl-C reaches only us, which the kernel signals when the thread that started
// it ends.
func attributes(death syscall.Signal) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: death}
}
