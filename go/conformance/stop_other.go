//go:build !unix

package conformance

import "os"

// stop kills the suite: this system has no signal to ask it with, so there will be no reports.
func stop(process *os.Process) error { return process.Kill() }
