package orm

import "syscall"

// dieWithParent makes a child end when the test process does, also when that
// is killed or panics.
func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
