package conformance

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/client-go/rest"
)

// The files that a run writes.
const (
	jsonReport      = "report.json"
	htmlReport      = "report.html"
	submittedReport = "report.yaml"
	evidenceFile    = "evidence.jsonl.zst"
)

// reserve is the time before a deadline in which the suite judges what it saw and writes its reports.
const reserve = 15 * time.Second

// The suite's exit codes.
const (
	exitConformant    = 0
	exitNotConformant = 1
	exitUsage         = 2
	exitInconclusive  = 3
	exitCouldNotRun   = 4
)

// ExitError is the error of a run that ended without a verdict.
type ExitError struct {
	// The exit code: 2 bad usage or configuration, 3 stopped before it saw anything, 4 could not run; others if the
	// process was killed.
	Code int
	// What the suite said about it on standard error.
	Stderr string
}

func (e *ExitError) Error() string {
	reason := fmt.Sprintf("the suite ended unexpectedly (exit code %d)", e.Code)
	switch e.Code {
	case exitUsage:
		reason = "the suite refuses its arguments or a file (exit code 2)"
	case exitInconclusive:
		reason = "the suite was stopped before it saw anything (exit code 3)"
	case exitCouldNotRun:
		reason = "the suite could not run: it reached no hub, found no ClusterProfile CRD, lacks a permission or could not write a report (exit code 4)"
	case -1:
		reason = "the suite was killed before it could write its reports"
	}
	if e.Stderr == "" {
		return reason
	}
	return reason + ":\n" + e.Stderr
}

// Judge runs the suite against a hub and returns its report, whatever the decision: [Report.Err] says whether the hub
// conforms. It returns an error if there is no verdict: the configuration cannot be passed on, the binary is missing or
// has another version, or the suite could not run (an [*ExitError]).
//
// When the context ends, the suite is stopped, and judges and reports what it saw. If the context has a deadline, that
// happens 15 s before.
func Judge(ctx context.Context, cfg *rest.Config, options ...Option) (*Report, error) {
	s := newSettings(options)
	folder := s.artifacts
	if folder == "" {
		folder = os.Getenv(ArtifactsVariable)
	}
	return judge(ctx, cfg, s, folder)
}

// judge runs the suite. Its files go to the folder, or are deleted in the end if that is empty.
func judge(ctx context.Context, cfg *rest.Config, s *settings, folder string) (*Report, error) {
	hub, err := accessOf(cfg)
	if err != nil {
		return nil, err
	}
	if err := fits(ctx, s.observe); err != nil {
		return nil, err
	}
	binary, err := findBinary(ctx, s.binary)
	if err != nil {
		return nil, err
	}
	// Apart from the artifacts: it holds credentials.
	private, err := os.MkdirTemp("", "clusterprofile-conformance-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(private)
	files := folder
	if folder == "" {
		files = private
	} else if err := prepare(folder); err != nil {
		return nil, err
	}
	kubeconfig := filepath.Join(private, "kubeconfig")
	if err := hub.write(kubeconfig); err != nil {
		return nil, err
	}
	arguments := append([]string{
		"run", "--kubeconfig=" + kubeconfig, "--context=" + hub.context(), "--format=json",
		"--json=" + filepath.Join(files, jsonReport), "--html=" + filepath.Join(files, htmlReport),
		"--report=" + filepath.Join(files, submittedReport), "--record=" + filepath.Join(files, evidenceFile),
	}, s.arguments()...)
	ctx, cancel := stopBeforeDeadline(ctx)
	defer cancel()
	ended, err := start(ctx, binary, arguments, hub.environment(), s.logf)
	if err != nil {
		return nil, err
	}
	return verdictOf(ended, files, folder)
}

// verdictOf reads the report of a run that led to a verdict.
func verdictOf(ended ending, files, folder string) (*Report, error) {
	failed := &ExitError{Code: ended.code, Stderr: ended.errors()}
	switch ended.code {
	case exitConformant, exitNotConformant, exitInconclusive:
	default:
		return nil, failed
	}
	report, err := readReport(filepath.Join(files, jsonReport))
	if err != nil {
		return nil, errors.Join(err, failed)
	}
	// A run that was stopped before it saw anything says so on standard error only.
	if ended.code == exitInconclusive && failed.Stderr != "" {
		return nil, failed
	}
	report.Folder = folder
	return report, nil
}

// prepare makes the folder, and removes what an earlier run left there: it must not pass for this run's.
func prepare(folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("failed to make the folder for reports: %w", err)
	}
	for _, name := range []string{jsonReport, htmlReport, submittedReport, evidenceFile} {
		if err := os.Remove(filepath.Join(folder, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("failed to remove an earlier report: %w", err)
		}
	}
	return nil
}

// fits returns an error if a watch would end after its deadline: its report could only be partial.
func fits(ctx context.Context, observe *time.Duration) error {
	deadline, limited := ctx.Deadline()
	if !limited || observe == nil {
		return nil
	}
	left := time.Until(deadline)
	if *observe+reserve <= left {
		return nil
	}
	return fmt.Errorf("a watch of %s does not fit: the test ends in %s, and judging takes up to %s: "+
		"watch for less (conformance.Observe), or raise the timeout (go test -timeout %s)",
		*observe, left.Round(time.Second), reserve, (*observe + 4*reserve).Round(time.Minute))
}

// stopBeforeDeadline returns a context that ends early enough for the suite to write its reports.
func stopBeforeDeadline(ctx context.Context) (context.Context, context.CancelFunc) {
	deadline, limited := ctx.Deadline()
	if !limited {
		return context.WithCancel(ctx)
	}
	early := min(reserve, time.Until(deadline)/2)
	return context.WithDeadline(ctx, deadline.Add(-early))
}

// errors returns what the suite printed about an error: from the first line that says so.
func (e ending) errors() string {
	for place, line := range e.stderr {
		if strings.HasPrefix(line, "error:") {
			return strings.Join(e.stderr[place:], "\n")
		}
	}
	return ""
}
