package fleet_test

import (
	"bytes"
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
	user, err := hub.AddUser(envtest.User{Name: "without-permission"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name     string
		cfg      *rest.Config
		argument string
		says     []string
	}{
		{"an unknown edition", cfg, "--edition=1999-01", []string{"exit status 2", "1999-01"}},
		{"a flag twice", cfg, "--json=x", []string{"exit status 2", "--json"}},
		{"no hub", &rest.Config{Host: "https://127.0.0.1:1"}, "identity/", []string{"exit status 4", "127.0.0.1:1"}},
		{"no token", &rest.Config{Host: cfg.Host, BearerTokenFile: "/nowhere/token"}, "identity/", []string{"exit status 4", "tokenFile"}},
		{"no permission", user.Config(), "identity/", []string{"exit status 4", "kind: ClusterRole"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			options := conformance.Options{Args: []string{"--observe=0s", test.argument}}
			_, err := conformance.Judge(t.Context(), test.cfg, options)
			for _, says := range test.says {
				if err == nil || !strings.Contains(err.Error(), says) {
					t.Errorf("expected %q, got %v", says, err)
				}
			}
		})
	}
}

// stopper stops a run once it watches.
type stopper struct {
	bytes.Buffer
	stop func()
}

func (s *stopper) Write(content []byte) (int, error) {
	if strings.Contains(string(content), " of 1h: 3 profiles") {
		s.stop()
	}
	return s.Buffer.Write(content)
}

func TestAStoppedSuiteLeavesAPartialReport(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	options := conformance.Options{Observe: time.Hour, Artifacts: t.TempDir(), Log: &stopper{stop: stop}}
	report, err := conformance.Judge(ctx, cfg, options)
	if err != nil {
		t.Fatal(err)
	}
	if !report.Partial || report.Profiles != 3 || !errors.Is(report.Err(), conformance.ErrInconclusive) {
		t.Errorf("expected a partial report on 3 profiles, got %+v", report)
	}
}

func TestTheSuiteJudgesOnlyWhatItIsAskedFor(t *testing.T) {
	options := conformance.Options{Args: []string{"--observe=0s", "--namespace=elsewhere", "--cluster-manager=other", "--wait", "identity/"}}
	report, err := conformance.Judge(t.Context(), cfg, options)
	if err != nil {
		t.Fatal(err)
	}
	if report.Profiles != 0 || report.Decision != conformance.Inconclusive {
		t.Errorf("expected no profile and no decision, got %d and %s", report.Profiles, report.Decision)
	}
}

func TestTheEnvironmentDoesNotChooseAnotherContext(t *testing.T) {
	t.Setenv("CLUSTERPROFILE_CONFORMANCE_CONTEXT", "other")
	options := conformance.Options{Args: []string{"--observe=0s", "identity/"}}
	if report, err := conformance.Judge(t.Context(), cfg, options); err != nil || report.Profiles != 3 {
		t.Errorf("expected a report on 3 profiles, got %+v (%v)", report, err)
	}
}

func TestAnEmptyHubIsInconclusive(t *testing.T) {
	empty := &envtest.Environment{CRDDirectoryPaths: hub.CRDDirectoryPaths, ErrorIfCRDPathMissing: true}
	cfg, err := empty.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := empty.Stop(); err != nil {
			t.Error(err)
		}
	}()
	report, err := conformance.Judge(t.Context(), cfg, conformance.Options{Args: []string{"--observe=0s"}})
	if err != nil {
		t.Fatal(err)
	}
	err = report.Err()
	if !errors.Is(err, conformance.ErrInconclusive) || !strings.Contains(err.Error(), "inconclusive: the hub has no ClusterProfile") {
		t.Errorf("expected an inconclusive report on an empty hub, got %v", err)
	}
}
