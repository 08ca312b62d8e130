package trial

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// hub serves a lab's hub until the test ends, and returns its kubeconfig.
func hub(t *testing.T, flags ...string) string {
	t.Helper()
	kubeconfig := filepath.Join(t.TempDir(), "hub.kubeconfig")
	command := exec.Command(fromEnvironment(t, "SUITE"), append([]string{"hub", "--kubeconfig-out", kubeconfig}, flags...)...)
	check(t, command.Start())
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	})
	waitFor(t, kubeconfig)
	return kubeconfig
}

// waitFor waits until there is such a file.
func waitFor(t *testing.T, path string) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if _, err := os.Stat(path); err == nil {
			return
		} else if !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
	t.Fatalf("no %s after 30 s", path)
}

// environment is that of a step of the action, with every input at its default.
func environment(t *testing.T, folder string) []string {
	t.Helper()
	path := filepath.Join(folder, "bin")
	toolsIn(t, path)
	variables := []string{
		"PATH=" + path, "HOME=" + folder, "TRIAL=" + folder, "RUNNER_TEMP=" + folder, "ACTION_PATH=" + root,
		"ACTION_REPOSITORY=" + repository, "GITHUB_OUTPUT=" + filepath.Join(folder, "output"),
	}
	for _, input := range readAction(t).Inputs {
		variable := "INPUT_" + strings.ToUpper(strings.ReplaceAll(input.Name, "-", "_"))
		variables = append(variables, variable+"="+input.Default)
	}
	return append(variables, "INPUT_VERIFY=false")
}

func exitCode(command *exec.Cmd) string {
	return strconv.Itoa(command.ProcessState.ExitCode())
}
