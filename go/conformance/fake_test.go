package conformance_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/clusterprofile-conformance/clusterprofile-conformance/go/conformance"
)

// The variables that control the fake suite.
const (
	// That this process is the fake suite.
	fakeVariable = "FAKE_SUITE"
	// Changes to testdata/report.json: a JSON object.
	fakeChanges = "FAKE_SUITE_CHANGES"
	// Its exit code (-1: it is killed), and what it prints to standard error.
	fakeExit   = "FAKE_SUITE_EXIT"
	fakeStderr = "FAKE_SUITE_STDERR"
	// What it prints to standard output.
	fakeStdout = "FAKE_SUITE_STDOUT"
	// Whether it runs until it is interrupted. Then its report is partial, unless this is "judging".
	fakeWaits = "FAKE_SUITE_WAITS"
	// Whether it writes no report.
	fakeSilent = "FAKE_SUITE_SILENT"
	// The folder for a copy of its arguments, environment and kubeconfig.
	fakeSeen = "FAKE_SUITE_SEEN"
)

// The test binary plays the suite when it is called as that, so no test needs a shell.
func TestMain(m *testing.M) {
	if os.Getenv(fakeVariable) != "" {
		os.Exit(playSuite(os.Args[1:]))
	}
	os.Exit(m.Run())
}

func playSuite(arguments []string) int {
	flags := make(map[string]string)
	for _, argument := range arguments {
		name, value, _ := strings.Cut(argument, "=")
		flags[name] = value
	}
	if folder := os.Getenv(fakeSeen); folder != "" {
		kubeconfig, err := os.ReadFile(flags["--kubeconfig"])
		check(err)
		info, err := os.Stat(flags["--kubeconfig"])
		check(err)
		for name, content := range map[string]string{
			"kubeconfig":  string(kubeconfig),
			"mode":        info.Mode().String(),
			"arguments":   strings.Join(arguments, "\n"),
			"environment": strings.Join(os.Environ(), "\n"),
		} {
			check(os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600))
		}
	}
	content, err := os.ReadFile(filepath.Join("testdata", "report.json"))
	check(err)
	var report map[string]any
	check(json.Unmarshal(content, &report))
	report["suite"] = map[string]any{"version": conformance.Version}
	if changes := os.Getenv(fakeChanges); changes != "" {
		check(json.Unmarshal([]byte(changes), &report))
	}
	if os.Getenv(fakeWaits) != "" {
		stopped := make(chan os.Signal, 1)
		signal.Notify(stopped, os.Interrupt)
		fmt.Fprintln(os.Stderr, "watched 1s of 1h: 2 profiles, 0 writes")
		<-stopped
		report["partial"] = os.Getenv(fakeWaits) != "judging"
	}
	fmt.Fprint(os.Stderr, os.Getenv(fakeStderr))
	fmt.Print(os.Getenv(fakeStdout))
	content, err = json.Marshal(report)
	check(err)
	if os.Getenv(fakeSilent) == "" {
		check(os.WriteFile(flags["--json"], content, 0o600))
	}
	check(os.WriteFile(flags["--record"], []byte("evidence"), 0o600))
	code := 0
	_, err = fmt.Sscan(os.Getenv(fakeExit)+" 0", &code)
	check(err)
	if code < 0 {
		process, err := os.FindProcess(os.Getpid())
		check(err)
		check(process.Kill())
		select {}
	}
	return code
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// useFake makes the fake the suite of this test, in this process and in those that it starts.
func useFake(t *testing.T, environment ...string) {
	t.Helper()
	for _, variable := range append(environment, fakeVariable+"=1") {
		name, value, _ := strings.Cut(variable, "=")
		t.Setenv(name, value)
	}
	t.Setenv(conformance.BinaryVariable, self(t))
}

// self is the path of this test's binary.
func self(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// hub is a hub that is never called.
func hub() *rest.Config { return &rest.Config{Host: "https://hub.example:6443"} }

// withoutViolation makes the fake's report one of a hub without a violation.
const withoutViolation = `{"decision": "conformant", "verdicts": []}`

// innerVariable lets [TestInner] run.
const innerVariable = "CONFORMANCE_INNER"

// TestInner is a test of a user. Other tests start it in a process of its own, as it shall fail.
func TestInner(t *testing.T) {
	if os.Getenv(innerVariable) == "" {
		t.Skip("other tests start this one")
	}
	t.Setenv(fakeVariable, "1")
	options := conformance.Options{AllowInconclusive: os.Getenv(innerVariable) == "allow-inconclusive"}
	if os.Getenv(innerVariable) == "observe" {
		options.Observe = 3 * time.Minute
	}
	report := conformance.Run(t, hub(), options)
	t.Logf("returned a report on %d profiles", report.Profiles)
}

// inner runs [TestInner] on the fake suite, and returns what go test prints.
func inner(t *testing.T, environment ...string) string {
	t.Helper()
	return innerWith(t, nil, environment...)
}

// innerWith does the same with flags of go test.
func innerWith(t *testing.T, flags []string, environment ...string) string {
	t.Helper()
	printed, err := innerCommand(t, flags, environment...).CombinedOutput()
	if _, failed := err.(*exec.ExitError); err != nil && !failed {
		t.Fatal(err)
	}
	return string(printed)
}

func innerCommand(t *testing.T, flags []string, environment ...string) *exec.Cmd {
	t.Helper()
	command := exec.Command(self(t), append([]string{"-test.v", "-test.run=^TestInner$", "-test.timeout=1h"}, flags...)...)
	command.Env = append(os.Environ(), innerVariable+"=1", conformance.BinaryVariable+"="+self(t))
	command.Env = append(command.Env, environment...)
	return command
}
