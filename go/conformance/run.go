package conformance

import (
	"context"
	stdflag "flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

// Run judges a hub and reports each rule as a subtest, named suite/rule. A broken rule fails its subtest and logs the
// findings with their remedy. A warning is logged. A rule that is inconclusive, not applicable, skipped or waived skips
// its subtest and says why.
//
// The test also fails if there is no verdict (no binary, no hub, a file that cannot be used), and if the run proves
// nothing: see [AllowInconclusive].
//
// With `go test -short`, it takes a single snapshot instead of watching the hub.
//
// `go test -run 'TestConformance/identity'` reports the rules of one suite, and fails for these only. To judge only
// these, pass the filter with [Args].
func Run(t *testing.T, cfg *rest.Config, options ...Option) *Report {
	t.Helper()
	s := newSettings(options)
	if s.logf == nil {
		s.logf = logTo(t)
	}
	if testing.Short() && (s.observe == nil || *s.observe > 0) {
		t.Log("taking a single snapshot of the hub instead of watching it (-short)")
		s.observe = new(time.Duration)
	}
	ctx := t.Context()
	if deadline, limited := t.Deadline(); limited {
		limit, cancel := context.WithDeadline(ctx, deadline)
		defer cancel()
		ctx = limit
	}
	folder, kept := artifactFolder(t, s)
	report, err := judge(ctx, cfg, s, folder)
	if err != nil {
		t.Fatalf("failed to judge the hub: %v", err)
	}
	failures := 0
	for _, verdict := range report.Verdicts {
		t.Run(verdict.Rule, func(t *testing.T) {
			t.Helper()
			show(t, &verdict, report.Waivers)
		})
		if verdict.Outcome == Fail {
			failures++
		}
	}
	conclude(t, report, s, failures)
	switch {
	case kept:
		t.Logf("reports and evidence: %s", folder)
	case t.Failed():
		t.Logf("to keep the reports and the evidence, set $%s to a folder, or run go test -artifacts (Go 1.26)", ArtifactsVariable)
	}
	return report
}

// logTo returns a function that logs a line of the suite's to the test.
func logTo(t *testing.T) func(format string, args ...any) {
	// Since Go 1.25. Logf would name a line of this package.
	if test, ok := any(t).(interface{ Output() io.Writer }); ok {
		output := test.Output()
		return func(format string, args ...any) { fmt.Fprintf(output, format+"\n", args...) }
	}
	return t.Logf
}

// show reports the verdict on one rule.
func show(t *testing.T, verdict *Verdict, waivers []Waiver) {
	t.Helper()
	headline := verdict.headline()
	switch verdict.Outcome {
	case Pass:
		t.Log(strings.Join(append([]string{headline}, verdict.notes()...), "\n"))
	case Fail:
		t.Error(strings.Join(verdict.lines(), "\n"))
	case Warn:
		t.Log("warning: " + strings.Join(verdict.lines(), "\n"))
	case Waived:
		t.Log(strings.Join(verdict.lines(), "\n"))
		t.Skipf("waived: %s", reasonOf(verdict, waivers))
	case Unjudged, NotApplicable, Skipped:
		outcome := strings.ReplaceAll(string(verdict.Outcome), "-", " ")
		t.Skipf("%s\n%s: %s", headline, outcome, escape(verdict.Reason))
	default:
		t.Errorf("%s\nthe report has a verdict that this package does not know: %q", headline, verdict.Outcome)
	}
}

// reasonOf returns why a violation is accepted.
func reasonOf(verdict *Verdict, waivers []Waiver) string {
	for _, finding := range verdict.Waived {
		if finding.Waiver >= 0 && finding.Waiver < len(waivers) {
			waiver := waivers[finding.Waiver]
			return escape(waiver.Reason) + ", " + escape(waiver.Link)
		}
	}
	return "the report names no waiver"
}

// conclude fails the test for what no subtest shows.
func conclude(t *testing.T, report *Report, s *settings, failures int) {
	t.Helper()
	err := report.Err()
	inconclusive := report.Decision == Inconclusive && !report.Partial
	if err == nil || (inconclusive && s.allowInconclusive) || (failures > 0 && !report.Partial) {
		return
	}
	t.Error(err)
}

// artifactFolder returns the folder for reports and evidence, and whether it outlives the test.
func artifactFolder(t *testing.T, s *settings) (folder string, kept bool) {
	root := s.artifacts
	if root == "" {
		root = os.Getenv(ArtifactsVariable)
	}
	if root != "" {
		return filepath.Join(root, filepath.FromSlash(safePath(t.Name()))), true
	}
	// Since Go 1.26.
	if test, ok := any(t).(interface{ ArtifactDir() string }); ok {
		artifacts := stdflag.Lookup("test.artifacts")
		return test.ArtifactDir(), artifacts != nil && artifacts.Value.String() == "true"
	}
	return t.TempDir(), false
}

// safePath replaces what not every file system takes in a name.
func safePath(name string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(`<>:"\|?*`, r) {
			return '_'
		}
		return r
	}, name)
}
