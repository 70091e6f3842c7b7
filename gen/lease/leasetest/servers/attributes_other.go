//go:build !linux

package servers

import "syscall"

// attributes are the system's own.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }
