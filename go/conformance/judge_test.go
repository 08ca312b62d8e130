package conformance_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/clusterprofile-conformance/clusterprofile-conformance/go/conformance"
)

func TestOptionsBecomeFlags(t *testing.T) {
	seen := t.TempDir()
	useFake(t, fakeSeen+"="+seen, fakeChanges+"="+withoutViolation)
	_, err := conformance.Judge(t.Context(), hub(), conformance.Options{
		Observe: 90 * time.Second,
		Args:    []string{"--cluster-manager=hangar", "identity/"},
	})
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(filepath.Join(seen, "arguments"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(content), "run\n") || !strings.Contains(string(content), "\n--context=hub.example:6443\n") ||
		!strings.HasSuffix(string(content), "\n--observe=1m30s\n--cluster-manager=hangar\nidentity/") {
		t.Errorf("%s", content)
	}
}

func TestJudgeReturnsTheReportWhateverTheDecision(t *testing.T) {
	folder := t.TempDir()
	stale := []string{filepath.Join(folder, "report.html"), filepath.Join(folder, "report.yaml")}
	for _, path := range stale {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	useFake(t, fakeExit+"=1", fakeStdout+"=FAIL [MUST] alpha/broken\n")
	report, err := conformance.Judge(t.Context(), hub(), conformance.Options{Artifacts: folder})
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
	if err == nil || err.Error() != "FAIL [MUST] alpha/broken" || errors.Is(err, conformance.ErrInconclusive) {
		t.Errorf("%v", err)
	}
	for _, path := range stale {
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s of an earlier run is still there: %v", path, err)
		}
	}
}

func TestAnInconclusiveReportIsAnErrorOfItsOwn(t *testing.T) {
	printed := "no permission to list Secrets (alpha/unseen)"
	useFake(t, fakeExit+"=3", fakeStdout+"="+printed, fakeChanges+`={"decision": "inconclusive"}`)
	report, err := conformance.Judge(t.Context(), hub(), conformance.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := report.Err(); !errors.Is(err, conformance.ErrInconclusive) || !strings.Contains(err.Error(), printed) {
		t.Errorf("%v", err)
	}
}

func TestARunWithoutAVerdictIsAnError(t *testing.T) {
	for _, code := range []string{"2", "4"} {
		useFake(t, fakeExit+"="+code, fakeStdout+"=the verdicts", fakeStderr+"=a warning\nerror: unknown edition `x`\n")
		report, err := conformance.Judge(t.Context(), hub(), conformance.Options{})
		if report != nil || err == nil || !strings.HasSuffix(err.Error(), "exit status "+code+"\nunknown edition `x`") {
			t.Errorf("exit code %s: %v", code, err)
		}
	}
}

func TestARunThatEndsAbnormallyIsAnError(t *testing.T) {
	for _, test := range []struct{ code, says string }{
		{"101", "exit status 101"}, {"130", "exit status 130"}, {"-1", "signal: killed"},
	} {
		useFake(t, fakeExit+"="+test.code, fakeChanges+"="+withoutViolation)
		report, err := conformance.Judge(t.Context(), hub(), conformance.Options{})
		if report != nil || err == nil || !strings.HasSuffix(err.Error(), "could not judge the hub: "+test.says+"\n") {
			t.Errorf("exit code %s: %v", test.code, err)
		}
	}
}

func TestAnErrorOfACredentialPluginDoesNotChangeTheVerdict(t *testing.T) {
	for code, decision := range map[string]string{"0": conformance.Conformant, "1": conformance.NotConformant} {
		useFake(t, fakeExit+"="+code, fakeStdout+"=the verdicts", fakeStderr+"=error: the cached token is stale\n", fakeChanges+`={"decision": "`+decision+`"}`)
		report, err := conformance.Judge(t.Context(), hub(), conformance.Options{})
		if err != nil {
			t.Fatalf("exit code %s: %v", code, err)
		}
		if err := report.Err(); (err == nil) != (code == "0") || (err != nil && strings.Contains(err.Error(), "stale")) {
			t.Errorf("exit code %s: %v", code, err)
		}
	}
}

// emptyHub makes the fake the suite of a hub without profiles.
var emptyHub = []string{
	fakeExit + "=3",
	fakeStderr + "=error: the hub has no ClusterProfile\n",
	fakeChanges + `={"decision": "inconclusive", "verdicts": [
		{"rule": "alpha/unseen", "level": "MUST", "verdict": "inconclusive", "reason": "the hub has no ClusterProfile"}]}`,
}

func TestAnEmptyHubIsInconclusive(t *testing.T) {
	useFake(t, emptyHub...)
	report, err := conformance.Judge(t.Context(), hub(), conformance.Options{})
	if err != nil {
		t.Fatal(err)
	}
	err = report.Err()
	if !errors.Is(err, conformance.ErrInconclusive) || err.Error() != "inconclusive: the hub has no ClusterProfile" {
		t.Errorf("%v", err)
	}
	// The report of an earlier run does not pass for this run's.
	t.Setenv(fakeSilent, "1")
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "report.json"), []byte(`{"decision": "conformant"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	report, err = conformance.Judge(t.Context(), hub(), conformance.Options{Artifacts: folder})
	if report != nil || err == nil || !strings.Contains(err.Error(), "report.json: no such file or directory\nthe hub has no ClusterProfile") {
		t.Errorf("without a report: %v", err)
	}
}

func TestAVerdictAfterAnInterruptCounts(t *testing.T) {
	useFake(t, fakeWaits+"=judging", fakeChanges+"="+withoutViolation)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	report, err := conformance.Judge(ctx, hub(), conformance.Options{Log: &lineWriter{cancel: cancel}})
	if err != nil {
		t.Fatal(err)
	}
	if ctx.Err() == nil || report.Err() != nil {
		t.Errorf("the context: %v; the report: %v", ctx.Err(), report.Err())
	}
}

func TestAnEndedContextStopsTheSuiteWhichReports(t *testing.T) {
	useFake(t, fakeExit+"=3", fakeWaits+"=1", fakeChanges+`={"decision": "inconclusive"}`)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	lines := &lineWriter{cancel: cancel}
	report, err := conformance.Judge(ctx, hub(), conformance.Options{Log: lines})
	if err != nil {
		t.Fatal(err)
	}
	if !report.Partial || !errors.Is(report.Err(), conformance.ErrInconclusive) {
		t.Errorf("the report is not partial: %v", report.Err())
	}
	if lines.text.String() != "watched 1s of 1h: 2 profiles, 0 writes\n" {
		t.Errorf("%q", lines.text.String())
	}
}

// lineWriter cancels a run once it prints a line.
type lineWriter struct {
	text   strings.Builder
	cancel func()
}

func (w *lineWriter) Write(content []byte) (int, error) {
	w.cancel()
	return w.text.Write(content)
}

func TestTheSuiteIsStoppedBeforeTheDeadline(t *testing.T) {
	useFake(t, fakeExit+"=3", fakeWaits+"=1", fakeChanges+`={"decision": "inconclusive"}`)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	report, err := conformance.Judge(ctx, hub(), conformance.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if !report.Partial || ctx.Err() != nil {
		t.Errorf("partial: %v; the context: %v", report.Partial, ctx.Err())
	}
}

func TestABinaryOfAnotherVersionIsRefused(t *testing.T) {
	useFake(t, fakeChanges+`={"suite": {"version": "9.9.9"}}`)
	_, err := conformance.Judge(t.Context(), hub(), conformance.Options{})
	if err == nil || !strings.Contains(err.Error(), `has version "9.9.9", this package needs version `+conformance.Version) {
		t.Errorf("%v", err)
	}
}

func TestAMissingBinaryIsAClearError(t *testing.T) {
	t.Setenv(conformance.BinaryVariable, "")
	t.Setenv("PATH", t.TempDir())
	_, err := conformance.Judge(t.Context(), hub(), conformance.Options{})
	if err == nil || !strings.Contains(err.Error(), "install clusterprofile-conformance "+conformance.Version) {
		t.Errorf("%v", err)
	}
	_, err = conformance.Judge(t.Context(), hub(), conformance.Options{Binary: "/nowhere/else"})
	if err == nil || !strings.Contains(err.Error(), "/nowhere/else") {
		t.Errorf("%v", err)
	}
}

// The module is part of the suite's repository, so both have one version.
func TestTheVersionIsThatOfTheSuite(t *testing.T) {
	if version := inManifest(t, "version"); version != conformance.Version {
		t.Errorf("the suite has version %q, the package runs %q", version, conformance.Version)
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
