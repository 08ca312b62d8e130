package conformance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// How long a stopped process may take to write its reports, before it is killed.
const stopPatience = reserve - 3*time.Second

// ending is how the suite's process ended.
type ending struct {
	// The exit code; -1 if a signal killed it.
	code int
	// The lines of standard error.
	stderr []string
}

// start runs the suite until it ends. When the context ends, it stops the process.
func start(ctx context.Context, binary string, arguments, environment []string, logf func(string, ...any)) (ending, error) {
	// Where the kernel ends the process together with its parent, the parent is the thread that started it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	stderr := &lineWriter{logf: logf}
	command := exec.CommandContext(ctx, binary, arguments...)
	command.Env = environment
	// The report has everything that the list of rules says.
	command.Stdout = io.Discard
	command.Stderr = stderr
	command.SysProcAttr = endWithParent()
	command.Cancel = func() error { return stop(command.Process) }
	command.WaitDelay = stopPatience
	err := command.Run()
	stderr.flush()
	if command.ProcessState == nil {
		return ending{}, fmt.Errorf("failed to start the suite: %w", err)
	}
	if errors.Is(err, exec.ErrWaitDelay) {
		stderr.lines = append(stderr.lines, fmt.Sprintf("error: it did not end within %s", stopPatience))
	}
	return ending{code: command.ProcessState.ExitCode(), stderr: stderr.lines}, nil
}

// lineWriter collects lines, and logs each.
type lineWriter struct {
	logf  func(string, ...any)
	lines []string
	rest  []byte
}

func (w *lineWriter) Write(content []byte) (int, error) {
	w.rest = append(w.rest, content...)
	for {
		line, rest, whole := bytes.Cut(w.rest, []byte("\n"))
		if !whole {
			return len(content), nil
		}
		w.take(string(line))
		w.rest = rest
	}
}

// flush takes a last line without an end.
func (w *lineWriter) flush() {
	if len(w.rest) > 0 {
		w.take(string(w.rest))
		w.rest = nil
	}
}

func (w *lineWriter) take(line string) {
	line = strings.TrimSuffix(line, "\r")
	w.lines = append(w.lines, line)
	if w.logf != nil && line != "" {
		w.logf("%s", line)
	}
}
