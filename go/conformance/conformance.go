// Package conformance judges a ClusterProfile hub in a Go test, with the clusterprofile-conformance suite.
//
// A test of a cluster manager needs one call once its envtest hub and its manager run:
//
//	func TestConformance(t *testing.T) {
//		conformance.Run(t, cfg, conformance.Options{Observe: 3 * time.Minute})
//	}
//
// Each rule of the suite becomes a subtest: a broken rule fails it, and a rule that could not be judged skips it with the
// reason. [Judge] does the same without a *testing.T, for Ginkgo and for programs.
//
// A run writes report.json, report.html, report.yaml (to submit) and evidence.jsonl.zst (to judge again). They are the
// test's artifacts: `go test -artifacts` keeps them.
package conformance

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

const (
	// Version is the version of the suite that this package runs.
	Version = "0.1.0"
	// BinaryVariable names the suite's binary, as [Options.Binary] does.
	BinaryVariable = "CLUSTERPROFILE_CONFORMANCE_BINARY"
	// ArtifactsVariable names the folder for reports and evidence, as [Options.Artifacts] does.
	ArtifactsVariable = "CLUSTERPROFILE_CONFORMANCE_ARTIFACTS"

	program = "clusterprofile-conformance"
	// The time before a deadline in which the suite judges what it saw and writes its reports.
	reserve = 15 * time.Second
)

// Options changes how a hub is judged. The zero value judges a cluster manager for five minutes.
type Options struct {
	// How long to watch the hub. The default is five minutes, or what a configuration file in Args says.
	//
	// Most wrong states count once they have lasted for two minutes, so watch for more than that.
	Observe time.Duration
	// Further arguments of `clusterprofile-conformance run`, for example "--cluster-manager=hangar" or "identity/". The
	// package itself sets --kubeconfig, --context, --json, --html, --report and --record.
	Args []string
	// The suite's binary. By default that of $CLUSTERPROFILE_CONFORMANCE_BINARY, then clusterprofile-conformance on PATH.
	Binary string
	// The folder for reports and evidence, by default that of $CLUSTERPROFILE_CONFORMANCE_ARTIFACTS. In it, [Run] makes a
	// folder for each test.
	Artifacts string
	// Accepts a run without a failure in which a MUST rule was inconclusive, or none could be judged.
	AllowInconclusive bool
	// Receives what the suite prints while it runs. [Run] logs it to the test by default.
	Log io.Writer
}

// Run judges a hub and reports each rule as a subtest, named suite/rule. A broken rule fails its subtest and logs the
// findings with their remedy. A warning is logged. A rule that is inconclusive, not applicable, skipped or waived skips its
// subtest and says why. The test also fails if there is no verdict, and if the run proves nothing.
//
// With `go test -short`, it takes a single snapshot instead of watching the hub.
func Run(t *testing.T, cfg *rest.Config, options Options) *Report {
	t.Helper()
	if options.Log == nil {
		options.Log = t.Output()
	}
	if options.Artifacts = cmp.Or(options.Artifacts, os.Getenv(ArtifactsVariable)); options.Artifacts != "" {
		options.Artifacts = filepath.Join(options.Artifacts, filepath.FromSlash(t.Name()))
	} else {
		options.Artifacts = t.ArtifactDir()
	}
	if testing.Short() {
		options.Observe = -1
	}
	ctx := t.Context()
	if deadline, ok := t.Deadline(); ok {
		limited, cancel := context.WithDeadline(ctx, deadline)
		defer cancel()
		ctx = limited
	}
	report, err := Judge(ctx, cfg, options)
	if err != nil {
		t.Fatalf("failed to judge the hub: %v", err)
	}
	for _, verdict := range report.Verdicts {
		t.Run(verdict.Rule, func(t *testing.T) {
			t.Helper()
			switch verdict.Outcome {
			case Pass, Warn:
				t.Log(verdict.String())
			case Waived, Inconclusive, NotApplicable, Skipped:
				t.Skip(verdict.String())
			default:
				t.Error(verdict.String())
			}
		})
	}
	err = report.Err()
	isAccepted := options.AllowInconclusive && errors.Is(err, ErrInconclusive) && !report.Partial
	isShown := len(report.Failed()) > 0 && !report.Partial
	if err != nil && !isAccepted && !isShown {
		t.Error(err)
	}
	t.Logf("reports and evidence: %s (kept with go test -artifacts, or with $%s)", options.Artifacts, ArtifactsVariable)
	return report
}

// Judge runs the suite against a hub and returns its report, whatever the decision: [Report.Err] says whether the hub
// conforms. It returns an error if there is no verdict: rest.Config cannot be passed on, the binary is missing or has
// another version, or the suite could not run.
//
// When the context ends, the suite judges and reports what it saw; if the context has a deadline, 15 s before.
func Judge(ctx context.Context, cfg *rest.Config, options Options) (*Report, error) {
	binary, err := exec.LookPath(cmp.Or(options.Binary, os.Getenv(BinaryVariable), program))
	if err != nil {
		return nil, fmt.Errorf("install %s %s, or name the binary by Options.Binary or $%s: %w", program, Version, BinaryVariable, err)
	}
	// The kubeconfig holds credentials, so it is not an artifact.
	private, err := os.MkdirTemp("", program+"-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(private)
	kubeconfig := filepath.Join(private, "kubeconfig")
	hubContext, hasProxy, err := writeKubeconfig(kubeconfig, cfg)
	if err != nil {
		return nil, err
	}
	folder := cmp.Or(options.Artifacts, os.Getenv(ArtifactsVariable))
	files := cmp.Or(folder, private)
	if err := os.MkdirAll(files, 0o755); err != nil {
		return nil, err
	}
	// Without --context, a configuration file or the environment could choose a context that this kubeconfig lacks.
	arguments := []string{"run", "--kubeconfig=" + kubeconfig, "--context=" + hubContext}
	for _, output := range []struct{ flag, name string }{
		{"--json", "report.json"}, {"--html", "report.html"}, {"--report", "report.yaml"}, {"--record", "evidence.jsonl.zst"},
	} {
		path := filepath.Join(files, output.name)
		// The files of an earlier run must not pass for this run's.
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
		arguments = append(arguments, output.flag+"="+path)
	}
	if options.Observe != 0 {
		arguments = append(arguments, "--observe="+max(options.Observe, 0).String())
	}
	code, printed, err := start(ctx, binary, append(arguments, options.Args...), environment(hasProxy), options.Log)
	const inconclusive = 3
	if code != 0 && code != 1 && code != inconclusive {
		return nil, fmt.Errorf("the suite could not judge the hub: %w\n%s", err, printed)
	}
	content, err := os.ReadFile(filepath.Join(files, "report.json"))
	if err != nil {
		return nil, fmt.Errorf("the suite wrote no report: %w\n%s", err, printed)
	}
	report := &Report{Folder: folder, printed: printed}
	if err := json.Unmarshal(content, report); err != nil {
		return nil, fmt.Errorf("failed to read the report: %w", err)
	}
	if report.Suite.Version != Version {
		return nil, fmt.Errorf("%s has version %q, this package needs version %s", binary, report.Suite.Version, Version)
	}
	return report, nil
}

// start runs the suite until it ends, and returns its exit code (-1 if a signal killed it, or it did not start), and what it
// printed: the verdicts, or an error. Before the deadline it asks the suite to stop.
//
// The error does not decide: after a request to stop, os/exec returns one for exit code 0 as well.
func start(ctx context.Context, binary string, arguments, environment []string, log io.Writer) (int, string, error) {
	if deadline, ok := ctx.Deadline(); ok {
		early := min(reserve, time.Until(deadline)/2)
		limited, cancel := context.WithDeadline(ctx, deadline.Add(-early))
		defer cancel()
		ctx = limited
	}
	var stdout, stderr strings.Builder
	command := exec.CommandContext(ctx, binary, arguments...)
	command.Env = environment
	command.Stdout = &stdout
	command.Stderr = &stderr
	if log != nil {
		command.Stderr = io.MultiWriter(&stderr, log)
	}
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.WaitDelay = reserve - 3*time.Second
	err := command.Run()
	_, failure, _ := strings.Cut("\n"+stderr.String(), "\nerror: ")
	code := command.ProcessState.ExitCode()
	printed := cmp.Or(stdout.String(), failure)
	if code != 0 && code != 1 && code != 3 {
		// The verdicts of a run that failed later do not say why.
		printed = cmp.Or(failure, stdout.String())
	}
	return code, strings.TrimSpace(printed), err
}
