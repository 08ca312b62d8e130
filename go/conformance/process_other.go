//go:build !linux

package conformance

import "syscall"

// endWithParent does nothing: this system cannot tie a process to its parent.
func endWithParent() *syscall.SysProcAttr { return nil }
