package conformance_test

import (
	"encoding/json"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/clusterprofile-conformance/clusterprofile-conformance/go/conformance"
)

// results returns the lines in which go test says how tests ended, without their times.
func results(printed string) []string {
	var results []string
	for _, line := range strings.Split(printed, "\n") {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "--- ") {
			results = append(results, line[:strings.LastIndex(line, " (")])
		}
	}
	return results
}

func TestEachRuleIsASubtest(t *testing.T) {
	printed := inner(t, fakeExit+"=1")
	expected := []string{
		"--- FAIL: TestInner",
		"--- PASS: TestInner/alpha/kept",
		"--- FAIL: TestInner/alpha/broken",
		"--- SKIP: TestInner/alpha/unseen",
		"--- PASS: TestInner/beta/doubtful",
		"--- SKIP: TestInner/beta/accepted",
		"--- SKIP: TestInner/beta/absent",
		"--- SKIP: TestInner/gamma/left-out",
	}
	if got := results(printed); !slices.Equal(got, expected) {
		t.Errorf("expected %q, got %q in\n%s", expected, got, printed)
	}
}

func TestRulesCanBePicked(t *testing.T) {
	printed := innerWith(t, []string{"-test.run=^TestInner$/^beta$"}, fakeExit+"=1")
	expected := []string{
		"--- PASS: TestInner",
		"--- PASS: TestInner/beta/doubtful",
		"--- SKIP: TestInner/beta/accepted",
		"--- SKIP: TestInner/beta/absent",
	}
	if got := results(printed); !slices.Equal(got, expected) {
		t.Errorf("expected %q, got %q in\n%s", expected, got, printed)
	}
}

func TestASubtestSaysWhatWasFound(t *testing.T) {
	printed := inner(t, fakeExit+"=1", fakeStderr+"=not conformant with edition standard\n")
	for _, expected := range []string{
		// The line of the caller, not of this package.
		"fake_test.go:",
		"pass: [MUST] This is kept\n",
		"fail: [MUST] This is broken\n",
		"finding   the colour differs\n",
		"object    ClusterProfile fleet/lisbon\n",
		"path      metadata.labels[colour]\n",
		"expected  blue\n",
		"remedy    Mend it.\n",
		"explain   clusterprofile-conformance explain alpha/broken\n",
		"inconclusive: [MUST] This was not seen\n",
		"reason    no permission to list Secrets\n",
		"warn: [SHOULD] This is doubtful\n",
		"object    Namespace fleet\n",
		"waived: ",
		"observed  old\n",
		"reason    no profile has a member id\n",
		"reason    no driver was given\n",
		// What the suite prints while it runs.
		"not conformant with edition standard\n",
		"returned a report on 2 profiles\n",
	} {
		if !strings.Contains(printed, expected) {
			t.Errorf("%q is missing in\n%s", expected, printed)
		}
	}
	if strings.Contains(printed, " conformance.go:") {
		t.Errorf("a line names this package's own file:\n%s", printed)
	}
}

func TestAShortTestTakesASnapshot(t *testing.T) {
	for _, test := range []struct {
		short, passes string
	}{{"-test.short=true", "--observe=0s"}, {"-test.short=false", "--observe=3m0s"}} {
		seen := t.TempDir()
		innerWith(t, []string{test.short}, fakeChanges+"="+withoutViolation, fakeSeen+"="+seen, innerVariable+"=observe")
		arguments, err := os.ReadFile(filepath.Join(seen, "arguments"))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(arguments), test.passes+"\n") && !strings.HasSuffix(string(arguments), test.passes) {
			t.Errorf("%s: expected %s, got %s", test.short, test.passes, arguments)
		}
	}
}

func TestTextFromAHubStaysOnItsLine(t *testing.T) {
	printed := inner(t, fakeExit+"=1")
	expected := `observed  red\n--- PASS: forged\x1b[2J #\x23[error]x` + "\n"
	if !strings.Contains(printed, expected) {
		t.Errorf("%q is missing in\n%s", expected, printed)
	}
}

func TestOnlyTheFirstFindingsAreShown(t *testing.T) {
	finding := `{"object": {"kind": "ClusterProfile", "namespace": "fleet", "name": "x"}, "message": "wrong"}`
	verdict := `{"rule": "alpha/broken", "level": "MUST", "verdict": "fail", "findings": [` +
		strings.Repeat(finding+",", 24) + finding + `]}`
	printed := inner(t, fakeExit+"=1", fakeChanges+`={"verdicts": [`+verdict+`]}`)
	if shown := strings.Count(printed, "finding   wrong"); shown != 10 {
		t.Errorf("expected 10 findings, got %d", shown)
	}
	if !strings.Contains(printed, "… and 15 more, in report.json") {
		t.Errorf("the others are not counted:\n%s", printed)
	}
}

func TestARunThatProvesNothingFails(t *testing.T) {
	inconclusive := fakeChanges + `={"decision": "inconclusive", "verdicts": [
		{"rule": "alpha/unseen", "level": "MUST", "verdict": "inconclusive", "reason": "no permission", "findings": []},
		{"rule": "beta/unseen", "level": "SHOULD", "verdict": "inconclusive", "reason": "no time", "findings": []}]}`
	nothing := fakeChanges + `={"decision": "inconclusive", "verdicts": []}`
	partial := fakeChanges + `={"decision": "conformant", "partial": true, "verdicts": []}`
	violated := fakeChanges + `={"decision": "not-conformant", "partial": true, "verdicts": []}`
	for _, test := range []struct {
		name, mode, changes, result, says string
	}{
		{"a MUST rule is inconclusive", "1", inconclusive, "FAIL", "inconclusive: in the suite's words"},
		{"the same, accepted", "allow-inconclusive", inconclusive, "PASS", "no permission"},
		{"no rule was judged", "1", nothing, "FAIL", "inconclusive: in the suite's words"},
		{"cut short", "1", partial, "FAIL", "inconclusive: in the suite's words"},
		{"cut short by a violation", "1", violated, "FAIL", ": in the suite's words"},
		{"cut short, whatever is accepted", "allow-inconclusive", partial, "FAIL", "inconclusive: in the suite's words"},
	} {
		t.Run(test.name, func(t *testing.T) {
			printed := inner(t, fakeExit+"=3", fakeStdout+"=in the suite's words", test.changes, innerVariable+"="+test.mode)
			if !strings.Contains(printed, "--- "+test.result+": TestInner ") || !strings.Contains(printed, test.says) {
				t.Errorf("expected %s and %q, got\n%s", test.result, test.says, printed)
			}
		})
	}
}

func TestAnEmptyHubFailsUnlessAccepted(t *testing.T) {
	for mode, result := range map[string]string{"1": "FAIL", "allow-inconclusive": "PASS"} {
		printed := inner(t, append(emptyHub, innerVariable+"="+mode)...)
		if !strings.Contains(printed, "--- "+result+": TestInner ") || !strings.Contains(printed, "--- SKIP: TestInner/alpha/unseen ") {
			t.Errorf("expected %s, got\n%s", result, printed)
		}
	}
}

func TestADecisionThatNoRuleExplainsFails(t *testing.T) {
	complaint := "the waiver of beta/accepted expired on 2026-01-31"
	printed := inner(t, fakeExit+"=1", fakeStdout+"="+complaint, fakeChanges+`={"decision": "not-conformant", "verdicts": []}`)
	if !strings.Contains(printed, "--- FAIL: TestInner ") || !strings.Contains(printed, complaint) {
		t.Error(printed)
	}
}

func TestAConformingHubPasses(t *testing.T) {
	for _, decision := range []string{"conformant", "no-violation"} {
		changes, err := json.Marshal(map[string]any{"decision": decision, "verdicts": []any{}})
		if err != nil {
			t.Fatal(err)
		}
		if printed := inner(t, fakeChanges+"="+string(changes)); !strings.Contains(printed, "--- PASS: TestInner ") {
			t.Error(printed)
		}
	}
}

func TestAVerdictOfALaterSuiteFails(t *testing.T) {
	verdict := `{"rule": "alpha/new", "level": "MUST", "verdict": "perhaps", "findings": []}`
	printed := inner(t, fakeChanges+`={"decision": "conformant", "verdicts": [`+verdict+`]}`)
	if !strings.Contains(printed, `--- FAIL: TestInner/alpha/new`) || !strings.Contains(printed, "perhaps: [MUST]") {
		t.Error(printed)
	}
}

func TestReportsAndEvidenceAreKept(t *testing.T) {
	root := t.TempDir()
	printed := inner(t, fakeExit+"=1", conformance.ArtifactsVariable+"="+root)
	folder := filepath.Join(root, "TestInner")
	for _, name := range []string{"report.json", "evidence.jsonl.zst"} {
		if _, err := os.Stat(filepath.Join(folder, name)); err != nil {
			t.Error(err)
		}
	}
	if !strings.Contains(printed, "reports and evidence: "+folder) {
		t.Error(printed)
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if strings.Contains(entry.Name(), "kubeconfig") {
			t.Errorf("credentials are kept: %s", entry.Name())
		}
	}
}

func TestGoTestKeepsTheReports(t *testing.T) {
	if flag.Lookup("test.artifacts") == nil {
		t.Skip("this Go has no -artifacts: it came with 1.26")
	}
	root := t.TempDir()
	flags := []string{"-test.artifacts", "-test.outputdir=" + root}
	printed := innerWith(t, flags, fakeExit+"=1", conformance.ArtifactsVariable+"=")
	var kept []string
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Name() == "report.json" {
			kept = append(kept, path)
		}
		return err
	})
	if err != nil || len(kept) != 1 {
		t.Fatalf("expected one report, got %q (%v)", kept, err)
	}
	if !strings.Contains(printed, "reports and evidence: "+filepath.Dir(kept[0])) {
		t.Error(printed)
	}
}

func TestARunThatCannotStartFailsWithoutSubtests(t *testing.T) {
	printed := inner(t, fakeExit+"=4", fakeStderr+"=error: no hub at https://hub.example:6443\n  caused by: connection refused\n")
	expected := []string{"--- FAIL: TestInner"}
	if got := results(printed); !slices.Equal(got, expected) {
		t.Errorf("expected %q, got %q", expected, got)
	}
	for _, said := range []string{"failed to judge the hub", "exit status 4", "no hub at https://hub.example:6443", "caused by: connection refused"} {
		if !strings.Contains(printed, said) {
			t.Errorf("%q is missing in\n%s", said, printed)
		}
	}
}
