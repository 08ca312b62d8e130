package trial

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// prowJob is what the trials need of ci/prow/job.yaml.
type prowJob struct {
	Periodics []struct {
		Name     string
		Decorate bool
		Spec     struct {
			ServiceAccountName string `yaml:"serviceAccountName"`
			Containers         []struct {
				Image         string
				Command, Args []string
			}
		}
	}
}

func TestProw(t *testing.T) {
	var found prowJob
	check(t, yaml.Unmarshal([]byte(read(t, root, "ci/prow/job.yaml")), &found))
	job := found.Periodics[0]
	container := job.Spec.Containers[0]

	t.Run("the job's command judges a hub, and writes where Prow looks", func(t *testing.T) {
		if !job.Decorate || !slices.Equal(container.Command, []string{"/clusterprofile-conformance"}) {
			t.Errorf("Prow does not run %v", container.Command)
		}
		artifacts := t.TempDir()
		var arguments []string
		for _, argument := range container.Args {
			// As the kubelet does with the variable that Prow sets; ten minutes are too long for a trial.
			argument = strings.ReplaceAll(argument, "$(ARTIFACTS)", artifacts)
			arguments = append(arguments, strings.Replace(argument, "--observe=10m", "--observe=0s", 1))
		}
		command := exec.Command(fromEnvironment(t, "SUITE"), arguments...)
		command.Env = []string{"KUBECONFIG=" + hub(t, "--manager", "reference")}
		out, err := command.CombinedOutput()
		if code := exitCode(command); code != "0" && code != "3" {
			t.Fatalf("%v\n%s", err, out)
		}
		tests, err := filepath.Glob(filepath.Join(artifacts, "junit*.xml"))
		check(t, err)
		if len(tests) != 1 {
			t.Errorf("Prow finds no tests: %v", tests)
		}
		for _, name := range []string{"report.html", "report.json", "report.yaml", "evidence.jsonl.zst"} {
			read(t, artifacts, name)
		}
	})
	t.Run("the image is of this version", func(t *testing.T) {
		if !strings.HasSuffix(container.Image, "/clusterprofile-conformance:"+version(t)) {
			t.Errorf("the job runs %s", container.Image)
		}
	})
	t.Run("the account has the role, in the namespace of Prow's Pods", func(t *testing.T) {
		if _, err := os.Stat(filepath.Join(root, "ci/in-cluster")); errors.Is(err, fs.ErrNotExist) {
			t.Skip("there is no ci/in-cluster, on which ci/prow builds")
		}
		kubectl, err := exec.LookPath("kubectl")
		if assets := os.Getenv("KUBEBUILDER_ASSETS"); err != nil && assets != "" {
			kubectl, err = exec.LookPath(filepath.Join(assets, "kubectl"))
		}
		if err != nil {
			t.Skip("there is no kubectl, on PATH or in KUBEBUILDER_ASSETS")
		}
		out, err := exec.Command(kubectl, "kustomize", filepath.Join(root, "ci/prow")).Output()
		check(t, err)
		type object struct {
			Kind     string
			Metadata struct{ Name, Namespace string }
			Subjects []struct{ Kind, Name, Namespace string }
		}
		kinds := map[string]object{}
		for _, text := range strings.Split(string(out), "\n---\n") {
			var one object
			check(t, yaml.Unmarshal([]byte(text), &one))
			kinds[one.Kind] = one
		}
		if len(kinds) != 3 || kinds["ClusterRole"].Kind == "" {
			t.Errorf("expected an account, a role and a binding\n%s", out)
		}
		account, subjects := kinds["ServiceAccount"].Metadata, kinds["ClusterRoleBinding"].Subjects
		if account.Name != job.Spec.ServiceAccountName || account.Namespace != "test-pods" {
			t.Errorf("the job's Pods have another account\n%s", out)
		}
		if len(subjects) != 1 || subjects[0].Name != account.Name || subjects[0].Namespace != account.Namespace {
			t.Errorf("the role is bound to another account\n%s", out)
		}
	})
}
