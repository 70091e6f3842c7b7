package servers

import "syscall"

// attributes make the kernel kill the server when the thread that started it
// ends, which is when the test binary does, however that ends.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
