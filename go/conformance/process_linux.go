package conformance

import "syscall"

// endWithParent has the kernel stop the suite if the test's process is killed, as go test does at its timeout.
func endWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
}
