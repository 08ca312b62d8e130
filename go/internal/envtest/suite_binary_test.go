package fleet_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/clusterprofile-conformance/clusterprofile-conformance/go/conformance"
)

// What the unit tests assume of the suite, asked of the suite itself.

func TestTheSuiteSaysWhyThereIsNoVerdict(t *testing.T) {
	nobody, err := hub.AddUser(envtest.User{Name: "nobody"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name    string
		cfg     *rest.Config
		options []conformance.Option
		code    int
		says    string
	}{
		{"an unknown edition", cfg, []conformance.Option{conformance.Edition("1999-01")}, 2, "1999-01"},
		{"a flag twice", cfg, []conformance.Option{conformance.Args("--json", "x")}, 2, "--json"},
		{"no hub", &rest.Config{Host: "https://127.0.0.1:1"}, nil, 4, "127.0.0.1:1"},
		{"no permission", nobody.Config(), nil, 4, "kind: ClusterRole"},
	} {
		t.Run(test.name, func(t *testing.T) {
			options := append(test.options, conformance.Observe(0))
			_, err := conformance.Judge(t.Context(), test.cfg, options...)
			var exit *conformance.ExitError
			if !errors.As(err, &exit) || exit.Code != test.code || !strings.Contains(exit.Stderr, test.says) {
				t.Errorf("expected exit code %d and %q, got %v", test.code, test.says, err)
			}
		})
	}
}

func TestAStoppedSuiteLeavesAPartialReport(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	folder := t.TempDir()
	report, err := conformance.Judge(ctx, cfg, conformance.Observe(time.Hour), conformance.Artifacts(folder),
		conformance.Logf(func(_ string, arguments ...any) {
			if strings.HasPrefix(arguments[0].(string), "watching for 1h: 3 profiles") {
				stop()
			}
		}))
	if err != nil {
		t.Fatal(err)
	}
	if !report.Partial || report.Profiles != 3 || !errors.Is(report.Err(), conformance.ErrInconclusive) {
		t.Errorf("expected a partial report on 3 profiles, got %+v", report)
	}
}

func TestTheSuiteJudgesOnlyWhatItIsAskedFor(t *testing.T) {
	report, err := conformance.Judge(t.Context(), cfg, conformance.Observe(0),
		conformance.Namespace("elsewhere"), conformance.ClusterManager("somebody"), conformance.Strict(), conformance.Args("identity/", "--wait"))
	if err != nil {
		t.Fatal(err)
	}
	if report.Profiles != 0 || report.Decision != conformance.Inconclusive {
		t.Errorf("expected no profile and no decision, got %d and %s", report.Profiles, report.Decision)
	}
}
