package conformance_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clusterprofile-conformance/clusterprofile-conformance/go/conformance"
)

func TestOptionsBecomeFlags(t *testing.T) {
	seen := t.TempDir()
	useFake(t, fakeSeen+"="+seen, fakeChanges+"="+withoutViolation)
	_, err := conformance.Judge(t.Context(), hub(),
		conformance.Namespace("fleet", "-odd"),
		conformance.ClusterManager("hangar"),
		conformance.ClusterManagerUser("admin"),
		conformance.ClusterManagerAgent("manager", "hub"),
		conformance.ClusterManagerFieldManager("manager"),
		conformance.SchedulerUser("s"),
		conformance.SchedulerAgent("placement"),
		conformance.SchedulerFieldManager("placement"),
		conformance.ConsumerAgent("sync"),
		conformance.ExpectProfiles(3),
		conformance.Edition("2026-09"),
		conformance.Observe(90*time.Second),
		conformance.Role("manager", "consumer"),
		conformance.Driver("driver.yaml"),
		conformance.AllowMutations(),
		conformance.Strict(),
		conformance.Config("conformance.yaml"),
		conformance.Waivers("waivers.yaml"),
		conformance.Members("from-secrets"),
		conformance.AuditLog("a.log", "b"),
		conformance.Args("identity/", "--skip", "label"),
	)
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(filepath.Join(seen, "arguments"))
	if err != nil {
		t.Fatal(err)
	}
	arguments := strings.Split(string(content), "\n")
	if arguments[0] != "run" {
		t.Errorf("expected run, got %q", arguments[0])
	}
	own := slices.Index(arguments, "--observe=1m30s")
	if own < 0 {
		t.Fatalf("no --observe=1m30s in %q", arguments)
	}
	expected := []string{
		"--observe=1m30s", "--namespace=fleet", "--namespace=-odd", "--cluster-manager=hangar",
		"--cluster-manager-user=admin", "--cluster-manager-agent=manager", "--cluster-manager-agent=hub",
		"--cluster-manager-field-manager=manager", "--scheduler-user=s", "--scheduler-agent=placement",
		"--scheduler-field-manager=placement", "--consumer-agent=sync", "--expect-profiles=3", "--edition=2026-09",
		"--role=manager,consumer", "--driver=driver.yaml", "--allow-mutations", "--strict",
		"--config=conformance.yaml", "--waivers=waivers.yaml", "--members=from-secrets", "--audit-log=a.log",
		"--audit-log=b", "identity/", "--skip", "label",
	}
	if got := arguments[own:]; !slices.Equal(got, expected) {
		t.Errorf("expected %q, got %q", expected, got)
	}
}

func TestJudgeReturnsTheReportWhateverTheDecision(t *testing.T) {
	folder := t.TempDir()
	stale := filepath.Join(folder, "report.html")
	if err := os.WriteFile(stale, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	useFake(t, fakeExit+"=1")
	report, err := conformance.Judge(t.Context(), hub(), conformance.Artifacts(folder))
	if err != nil {
		t.Fatal(err)
	}
	if report.Decision != conformance.NotConformant || len(report.Verdicts) != 7 || report.Folder != folder {
		t.Errorf("%+v", report)
	}
	if failed := report.Failed(); len(failed) != 1 || failed[0].Findings[0].Observed[:3] != "red" {
		t.Errorf("%+v", failed)
	}
	err = report.Err()
	if err == nil || !strings.Contains(err.Error(), "alpha/broken\n[MUST derived] This is broken") || errors.Is(err, conformance.ErrInconclusive) {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(stale); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an earlier run's report is still there: %v", err)
	}
}

func TestAnInconclusiveReportIsAnErrorOfItsOwn(t *testing.T) {
	useFake(t, fakeExit+"=3", fakeChanges+`={"decision": "inconclusive"}`)
	report, err := conformance.Judge(t.Context(), hub())
	if err != nil {
		t.Fatal(err)
	}
	if err := report.Err(); !errors.Is(err, conformance.ErrInconclusive) || !strings.Contains(err.Error(), "alpha/unseen: no permission to list Secrets") {
		t.Errorf("%v", err)
	}
}

func TestExitCodesAreExplained(t *testing.T) {
	for code, says := range map[string]string{
		"2":   "refuses its arguments or a file (exit code 2):\nerror: unknown edition",
		"3":   "was stopped before it saw anything (exit code 3):\nerror: unknown edition",
		"4":   "could not run",
		"130": "ended unexpectedly (exit code 130)",
	} {
		useFake(t, fakeExit+"="+code, fakeStderr+"=a warning\nerror: unknown edition `x`\n")
		report, err := conformance.Judge(t.Context(), hub())
		var exit *conformance.ExitError
		if report != nil || !errors.As(err, &exit) {
			t.Fatalf("exit code %s: expected an ExitError, got %v", code, err)
		}
		if !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "a warning") {
			t.Errorf("exit code %s: %v", code, err)
		}
	}
}

func TestAnEndedContextStopsTheSuiteWhichReports(t *testing.T) {
	useFake(t, fakeExit+"=3", fakeWaits+"=1", fakeChanges+`={"decision": "inconclusive"}`)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var lines []string
	report, err := conformance.Judge(ctx, hub(), conformance.Logf(func(format string, args ...any) {
		lines = append(lines, args[0].(string))
		cancel()
	}))
	if err != nil {
		t.Fatal(err)
	}
	if !report.Partial || !errors.Is(report.Err(), conformance.ErrInconclusive) {
		t.Errorf("the report is not partial: %v", report.Err())
	}
	if !slices.Equal(lines, []string{"watching for 1h: 2 profiles, 0 writes"}) {
		t.Errorf("%q", lines)
	}
}

func TestTheSuiteIsStoppedBeforeTheDeadline(t *testing.T) {
	useFake(t, fakeExit+"=3", fakeWaits+"=1", fakeChanges+`={"decision": "inconclusive"}`)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	report, err := conformance.Judge(ctx, hub())
	if err != nil {
		t.Fatal(err)
	}
	if !report.Partial || ctx.Err() != nil {
		t.Errorf("partial: %v; the context: %v", report.Partial, ctx.Err())
	}
}

func TestAWatchThatCannotFitIsRefused(t *testing.T) {
	useFake(t)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	_, err := conformance.Judge(ctx, hub(), conformance.Observe(30*time.Minute))
	if err == nil || !strings.Contains(err.Error(), "a watch of 30m0s does not fit") || !strings.Contains(err.Error(), "-timeout 31m0s") {
		t.Errorf("%v", err)
	}
}

func TestABinaryOfAnotherVersionIsRefused(t *testing.T) {
	for _, test := range []struct{ printed, says string }{
		{"clusterprofile-conformance 9.9.9", "has version 9.9.9, this package runs version " + conformance.Version},
		{"kubectl 1.36", "is not the suite"},
	} {
		useFake(t, fakeVersion+"="+test.printed)
		_, err := conformance.Judge(t.Context(), hub())
		if err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%v", err)
		}
	}
}

func TestAMissingBinaryIsAClearError(t *testing.T) {
	t.Setenv(conformance.BinaryVariable, "")
	t.Setenv("PATH", t.TempDir())
	_, err := conformance.Judge(t.Context(), hub())
	for _, says := range []string{"clusterprofile-conformance is not on PATH", "$" + conformance.BinaryVariable} {
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("expected %q, got %v", says, err)
		}
	}
	t.Setenv(conformance.BinaryVariable, "/nowhere/suite")
	if _, err := conformance.Judge(t.Context(), hub()); err == nil || !strings.HasPrefix(err.Error(), "$"+conformance.BinaryVariable+" names no program") {
		t.Errorf("%v", err)
	}
	if _, err := conformance.Judge(t.Context(), hub(), conformance.Binary("/nowhere/else")); err == nil || !strings.HasPrefix(err.Error(), "conformance.Binary names no program") {
		t.Errorf("%v", err)
	}
}

// The module is part of the suite's repository, so both have one version.
func TestTheVersionIsThatOfTheSuite(t *testing.T) {
	if version := inManifest(t, "version"); version != conformance.Version {
		t.Errorf("the suite has version %q, the package runs %q", version, conformance.Version)
	}
}

func TestAnErrorNamesTheReleaseOfTheSuite(t *testing.T) {
	release := inManifest(t, "repository") + "/releases/tag/v" + conformance.Version
	t.Setenv(conformance.BinaryVariable, "")
	t.Setenv("PATH", t.TempDir())
	if _, err := conformance.Judge(t.Context(), hub()); err == nil || !strings.Contains(err.Error(), release) {
		t.Errorf("expected %s, got %v", release, err)
	}
}

// inManifest returns a value that the suite's Cargo.toml states.
func inManifest(t *testing.T, key string) string {
	t.Helper()
	manifest, err := os.ReadFile(filepath.Join("..", "..", "Cargo.toml"))
	if errors.Is(err, os.ErrNotExist) {
		t.Skip("the suite's source is not beside this module")
	}
	if err != nil {
		t.Fatal(err)
	}
	value := regexp.MustCompile(`(?m)^` + key + ` = "(.*)"$`).FindSubmatch(manifest)
	if value == nil {
		t.Fatalf("Cargo.toml states no %s", key)
	}
	return string(value[1])
}
