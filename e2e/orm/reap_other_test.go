//go:build !linux

package orm

import "syscall"

func dieWithParent() *syscall.SysProcAttr { return nil }
