package conformance_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/clusterprofile-conformance/clusterprofile-conformance/go/conformance"
)

// What an envtest suite has anyway: the test, and the configuration of its hub.
var (
	t   *testing.T
	cfg *rest.Config
)

func ExampleRun() {
	conformance.Run(t, cfg, conformance.Options{Observe: 3 * time.Minute})
}

func ExampleRun_options() {
	conformance.Run(t, cfg, conformance.Options{
		Artifacts: os.Getenv("ARTIFACTS"),
		// Everything that `clusterprofile-conformance run` takes.
		Args: []string{"--cluster-manager=hangar", "--waivers=waivers.yaml", "--skip=lifecycle/"},
	})
}

func ExampleJudge() {
	defer exampleSuite()()
	cfg := &rest.Config{Host: "https://hub.example:6443", BearerToken: "…"}

	report, err := conformance.Judge(context.Background(), cfg, conformance.Options{})
	if err != nil {
		fmt.Println("no verdict:", err)
		return
	}
	fmt.Println(report.Decision)
	for _, verdict := range report.Failed() {
		for _, finding := range verdict.Findings {
			fmt.Printf("%s: %s: %s\n", verdict.Rule, finding.Object, finding.Message)
		}
	}
	// Output:
	// not-conformant
	// alpha/broken: ClusterProfile fleet/lisbon: the colour differs
}

// exampleSuite lets an example run without a hub.
func exampleSuite() (restore func()) {
	binary, err := os.Executable()
	check(err)
	environment := map[string]string{fakeVariable: "1", fakeExit: "1", conformance.BinaryVariable: binary}
	for name, value := range environment {
		check(os.Setenv(name, value))
	}
	return func() {
		for name := range environment {
			check(os.Unsetenv(name))
		}
	}
}
