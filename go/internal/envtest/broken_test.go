package fleet_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/clusterprofile-conformance/clusterprofile-conformance/go/conformance"
	"github.com/clusterprofile-conformance/clusterprofile-conformance/go/internal/envtest/hangar"
)

// outcome is how a test ended, and what it printed.
type outcome struct{ action, printed string }

// testConformance runs TestConformance in a process of its own, as `go test -json` does, with a fault of hangar.
func testConformance(t *testing.T, fault string) map[string]*outcome {
	t.Helper()
	arguments := []string{"test", "-json", "-count=1", "-run=^TestConformance$", "."}
	if testing.Short() {
		arguments = append(arguments, "-short")
	}
	command := exec.Command("go", arguments...)
	command.Env = append(os.Environ(), faultVariable+"="+fault, conformance.ArtifactsVariable+"="+t.TempDir())
	printed, err := command.Output()
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		t.Fatal(err)
	}
	outcomes := make(map[string]*outcome)
	events := json.NewDecoder(bytes.NewReader(printed))
	for {
		var event struct{ Action, Test, Output string }
		if err := events.Decode(&event); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("%v in\n%s", err, printed)
		}
		if outcomes[event.Test] == nil {
			outcomes[event.Test] = &outcome{}
		}
		switch event.Action {
		case "output":
			outcomes[event.Test].printed += event.Output
		case "pass", "fail", "skip":
			outcomes[event.Test].action = event.Action
		}
	}
	if len(outcomes) < 80 {
		t.Fatalf("expected a subtest for each rule, got %d: %s", len(outcomes), printed)
	}
	return outcomes
}

func TestABrokenManagerFailsItsRuleAlone(t *testing.T) {
	for fault := range hangar.Faults {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			if testing.Short() && hangar.NeedsWatch(fault) {
				t.Skip("the rule has a grace period, and a snapshot shows only young objects")
			}
			outcomes := testConformance(t, fault)
			delete(outcomes, "")
			broken := outcomes["TestConformance/"+fault]
			if broken == nil {
				t.Fatalf("no subtest for %s among %q", fault, slices.Sorted(maps.Keys(outcomes)))
			}
			for _, expected := range []string{"finding   ", "object    ClusterProfile fleet/hangar-lisbon\n", "observed  ", "remedy    "} {
				if !strings.Contains(broken.printed, expected) {
					t.Errorf("%q is missing in\n%s", expected, broken.printed)
				}
			}
			var failed []string
			for name, outcome := range outcomes {
				if outcome.action == "fail" {
					failed = append(failed, name)
				}
			}
			slices.Sort(failed)
			expected := []string{"TestConformance", "TestConformance/" + fault}
			if hangar.Warns(fault) {
				expected = nil
				if !strings.Contains(broken.printed, "warn: [SHOULD]") {
					t.Errorf("no warning in\n%s", broken.printed)
				}
			}
			if !slices.Equal(failed, expected) {
				t.Errorf("expected %q to fail, got %q", expected, failed)
			}
		})
	}
}

func TestTheReadmeShowsTheTestOfThisSuite(t *testing.T) {
	shown, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	ours, err := os.ReadFile("conformance_test.go")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(shown), "```go\n"+string(ours)+"```\n") {
		t.Errorf("go/README.md does not show\n%s", ours)
	}
}
