//go:build unix

package conformance

import (
	"os"
	"syscall"
)

// stop asks the suite to judge and report what it saw.
func stop(process *os.Process) error { return process.Signal(syscall.SIGTERM) }
