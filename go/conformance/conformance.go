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
	// BinaryVariable names the suite's binary. By default it is searched on PATH.
	BinaryVariable = "CLUSTERPROFILE_CONFORMANCE_BINARY"

	program = "clusterprofile-conformance"
	// The time before the deadline of a test in which the suite judges what it saw and writes its reports.
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
	// The folder for reports and evidence. By default, [Run] makes them artifacts of the test, and [Judge] keeps none.
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
	if options.Artifacts == "" {
		options.Artifacts = t.ArtifactDir()
	}
	if testing.Short() {
		options.Observe = -1
	}
	ctx := t.Context()
	if deadline, ok := t.Deadline(); ok {
		early := min(reserve, time.Until(deadline)/2)
		limited, cancel := context.WithDeadline(ctx, deadline.Add(-early))
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
	t.Logf("reports and evidence: %s (go test -artifacts keeps them)", options.Artifacts)
	return report
}

// Judge runs the suite against a hub and returns its report, whatever the decision: [Report.Err] says whether the hub
// conforms. It returns an error if there is no verdict: rest.Config cannot be passed on, the binary is missing or has
// another version, or the suite could not run.
//
// When the context ends, the suite judges and reports what it saw, for which it has 12 s.
func Judge(ctx context.Context, cfg *rest.Config, options Options) (*Report, error) {
	binary, err := exec.LookPath(cmp.Or(os.Getenv(BinaryVariable), program))
	if err != nil {
		return nil, fmt.Errorf("install %s %s, or name its binary by $%s: %w", program, Version, BinaryVariable, err)
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
	folder := cmp.Or(options.Artifacts, private)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, err
	}
	jsonReport := filepath.Join(folder, "report.json")
	// The report of an earlier run must not pass for this run's.
	if err := os.Remove(jsonReport); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	arguments := []string{
		"run", "--kubeconfig=" + kubeconfig,
		// Without it, a configuration file or the environment could choose a context that this kubeconfig lacks.
		"--context=" + hubContext,
		"--json=" + jsonReport,
		"--html=" + filepath.Join(folder, "report.html"),
		"--report=" + filepath.Join(folder, "report.yaml"),
		"--record=" + filepath.Join(folder, "evidence.jsonl.zst"),
	}
	if options.Observe != 0 {
		arguments = append(arguments, "--observe="+max(options.Observe, 0).String())
	}
	command := exec.CommandContext(ctx, binary, append(arguments, options.Args...)...)
	command.Env = append(os.Environ(), "NO_COLOR=1")
	if !hasProxy {
		// The suite would take HTTPS_PROXY for every hub, also for one on this machine.
		command.Env = append(command.Env, "NO_PROXY=*")
	}
	code, err := run(command, options.Log)
	const conforms, violated, inconclusive = 0, 1, 3
	if code != conforms && code != violated && code != inconclusive {
		return nil, fmt.Errorf("the suite could not judge the hub: %w", err)
	}
	content, readErr := os.ReadFile(jsonReport)
	if readErr != nil {
		return nil, fmt.Errorf("the suite wrote no report: %w", errors.Join(err, readErr))
	}
	report := &Report{Folder: options.Artifacts}
	if err := json.Unmarshal(content, report); err != nil {
		return nil, fmt.Errorf("failed to read the report: %w", err)
	}
	if report.Suite.Version != Version {
		return nil, fmt.Errorf("%s has version %q, this package needs version %s", binary, report.Suite.Version, Version)
	}
	return report, nil
}

// run runs the suite until it ends, and returns its exit code (-1 if a signal killed it, or it did not start).
//
// The error does not decide: after a request to stop, os/exec returns one for exit code 0 as well.
func run(command *exec.Cmd, log io.Writer) (int, error) {
	var stderr strings.Builder
	command.Stderr = &stderr
	if log != nil {
		command.Stderr = io.MultiWriter(&stderr, log)
	}
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.WaitDelay = reserve - 3*time.Second
	err := command.Run()
	if _, message, ok := strings.Cut("\n"+stderr.String(), "\nerror: "); ok && err != nil {
		err = fmt.Errorf("%w: %s", err, strings.TrimSpace(message))
	}
	return command.ProcessState.ExitCode(), err
}
