package trial

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// lab are the arguments that judge the lab's reference manager, with a fault or none.
func lab(fault string) string {
	manager := "reference"
	if fault != "" {
		manager += "=" + fault
	}
	return "--hub\nlab\n--manager\n" + manager + "\n"
}

// An archive with the real suite, packed once: it is large.
var real struct{ folder, archive string }

func TestMain(m *testing.M) {
	folder, err := os.MkdirTemp("", "clusterprofile-conformance-trial")
	if err != nil {
		panic(err)
	}
	real.folder = folder
	code := m.Run()
	os.RemoveAll(folder)
	os.Exit(code)
}

// realRelease is a folder with an archive of the real suite and its sums: what ci/release made, or one of our own.
func realRelease(t *testing.T) string {
	t.Helper()
	if released := os.Getenv("ARCHIVES"); released != "" {
		return released
	}
	suite := fromEnvironment(t, "SUITE")
	if real.archive == "" {
		// Most of a debug binary is for debuggers, and each trial unpacks it.
		stripped := filepath.Join(real.folder, "suite")
		if exec.Command("strip", "-o", stripped, suite).Run() == nil {
			suite = stripped
		}
		real.archive = pack(t, real.folder, version(t), suite)
	}
	return real.folder
}

// recorder is a suite that only writes down its arguments, each ended by a zero byte; `says` is its version.
func recorder(t *testing.T, says string) string {
	t.Helper()
	return script(t, filepath.Join(t.TempDir(), "suite"), `#!/bin/bash
if [ "$1" = --version ]; then echo "clusterprofile-conformance `+says+`"; exit; fi
printf '%s\0' "$@" >"$TRIAL/arguments"
`)
}

// recorded is a local archive with that suite.
func recorded(t *testing.T, name, says string) string {
	t.Helper()
	return pack(t, t.TempDir(), name, recorder(t, says))
}

func TestRuns(t *testing.T) {
	release := realRelease(t)
	server := serveRelease(t, version(t), release)

	t.Run("conforming manager, from the release", func(t *testing.T) {
		t.Parallel()
		done := run(t, job{server: server, with: map[string]string{"args": lab("")}})
		done.expect(t, "success", "0")
		done.expectOutputs(t, map[string]string{"decision": "conformant", "failed": "0", "warned": "0"})
		done.expectReports(t, "clusterprofile-conformance")
		done.expectSummary(t, "## ✅ ClusterProfile: conformant")
		done.expectLog(t, "::notice title=clusterprofile-conformance::conformant")
		verified := strings.Split(done.gh, "\n")
		for _, word := range []string{
			"attestation", "verify", "--repo", repository, "--signer-workflow", repository + "/.github/workflows/release.yaml",
		} {
			if !slices.Contains(verified, word) {
				t.Errorf("gh was called without %s: %s", word, done.gh)
			}
		}
	})
	t.Run("failing manager", func(t *testing.T) {
		t.Parallel()
		done := run(t, job{server: server, with: map[string]string{
			"args": lab("identity/manager-label-matches,version/well-formed"), "version": "latest", "artifact-name": "mine",
		}})
		done.expect(t, "failure", "1")
		done.expectOutputs(t, map[string]string{"decision": "not-conformant", "failed": "1", "warned": "1"})
		done.expectReports(t, "mine")
		done.expectSummary(t, "## ❌ ClusterProfile: not conformant")
		done.expectLog(t, "::error title=identity/manager-label-matches", "::not conformant (exit code 1)")
	})
	t.Run("failing manager, accepted by fail-on", func(t *testing.T) {
		t.Parallel()
		done := run(t, job{server: server, with: map[string]string{
			"args": lab("identity/manager-label-matches"), "fail-on": "never", "artifact-name": "",
		}})
		done.expect(t, "success", "1")
		done.expectOutputs(t, map[string]string{"decision": "not-conformant"})
		done.expectLog(t, "::warning title=clusterprofile-conformance::not conformant, which fail-on: never accepts")
		if len(done.artifacts) > 0 {
			t.Errorf("an empty artifact-name uploads %v", done.artifacts)
		}
	})
	t.Run("hub by kubeconfig", func(t *testing.T) {
		t.Parallel()
		kubeconfig := hub(t, "--manager", "reference")
		done := run(t, job{server: server, with: map[string]string{
			"kubeconfig": kubeconfig, "context": "lab", "namespace": "lab-fleet\nlab-edge", "observe": "0s", "fail-on": "never",
		}})
		done.expect(t, "success", done.Outputs["exit-code"])
		report := read(t, done.folder, "artifacts/clusterprofile-conformance/report.json")
		if !strings.Contains(report, `"lab-fleet"`) || !strings.Contains(report, `"lab-edge"`) {
			t.Errorf("the report is not about both namespaces\n%s", report)
		}
	})
	t.Run("inconclusive", func(t *testing.T) {
		t.Parallel()
		with := map[string]string{"kubeconfig": hub(t), "observe": "0s"}
		done := run(t, job{server: server, with: with})
		done.expect(t, "failure", "3")
		done.expectOutputs(t, map[string]string{"decision": "inconclusive", "failed": "0"})
		done.expectReports(t, "clusterprofile-conformance")

		with["fail-on"] = "not-conformant"
		done = run(t, job{server: server, with: with})
		done.expect(t, "success", "3")
	})
	t.Run("no hub, which fail-on does not accept", func(t *testing.T) {
		t.Parallel()
		done := run(t, job{
			server: server,
			with:   map[string]string{"kubeconfig": "hub.kubeconfig", "fail-on": "never"},
			files: map[string]string{"hub.kubeconfig": `
apiVersion: v1
kind: Config
current-context: hub
contexts: [{name: hub, context: {cluster: hub, user: hub}}]
clusters: [{name: hub, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: hub, user: {token: none}}]
`},
		})
		done.expect(t, "failure", "4")
		done.expectOutputs(t, map[string]string{"decision": "inconclusive"})
		done.expectSummary(t, "## ❔ ClusterProfile: inconclusive")
		done.expectLog(t, "::could not run (exit code 4)")
	})
	t.Run("argument that the suite refuses", func(t *testing.T) {
		t.Parallel()
		done := run(t, job{server: server, with: map[string]string{"args": "--nonsense", "fail-on": "never"}})
		done.expect(t, "failure", "2")
		done.expectOutputs(t, map[string]string{"decision": "", "failed": ""})
		done.expectLog(t, "unexpected argument '--nonsense'")
		done.expectSummary(t, "### clusterprofile-conformance: no report\n\n    bad usage or configuration (exit code 2); the log above says why")
	})
}

func TestInputs(t *testing.T) {
	t.Run("wrong values stop before anything is fetched", func(t *testing.T) {
		t.Parallel()
		for input, message := range map[string]string{
			"fail-on":         `input fail-on: unknown value "x%0Ay"; use one of not-conformant, inconclusive, never`,
			"strict":          `input strict: unknown value "x%0Ay"; use one of true, false`,
			"allow-mutations": `input allow-mutations: unknown value`,
			"verify":          `input verify: unknown value`,
			"version":         `input version: "x%0Ay" is no version`,
			"sha256":          `input sha256: "x%0Ay" is no SHA-256`,
			"archive":         `input archive: there is no file "x%0Ay"`,
		} {
			wrong := job{with: map[string]string{input: "x\ny"}}
			annotation := "::error title=clusterprofile-conformance::" + message
			done := run(t, wrong)
			if !strings.Contains(done.log, annotation) {
				// act may lose the output of a step that ends within milliseconds.
				done = run(t, wrong)
			}
			done.expect(t, "failure", "2")
			done.expectLog(t, annotation)
			done.expectSummary(t, "### clusterprofile-conformance: no report\n\n    input "+input+": ")
			done.expectOutputs(t, map[string]string{"decision": "", "reports": ""})
		}
	})
	t.Run("hostile values stay one word", func(t *testing.T) {
		t.Parallel()
		hostile := "a b\"c'd $(touch pwned) `touch pwned`; touch pwned #\\ %s $HOME * ::set-output name=x::y"
		done := run(t, job{with: map[string]string{
			"archive": recorded(t, version(t), version(t)), "verify": "false",
			"kubeconfig":      hostile,
			"context":         hostile + "\nsecond line",
			"namespace":       hostile + "\r\n\n  two  \n",
			"cluster-manager": "--allow-mutations",
			"edition":         hostile,
			"observe":         hostile,
			"strict":          "true",
			"config":          hostile,
			"waivers":         hostile,
			"driver":          hostile,
			"allow-mutations": "true",
			"args":            "--skip\n" + hostile + "\n\nidentity/\n",
		}})
		done.expect(t, "success", "0")
		wanted := []string{
			"--kubeconfig=" + hostile, "--context=" + hostile + "\nsecond line", "--namespace=" + hostile, "--namespace=  two  ",
			"--cluster-manager=--allow-mutations", "--edition=" + hostile, "--observe=" + hostile, "--strict",
			"--config=" + hostile, "--waivers=" + hostile, "--driver=" + hostile, "--allow-mutations",
			"--skip", hostile, "identity/",
		}
		found := strings.Split(strings.TrimSuffix(done.arguments, "\x00"), "\x00")
		if len(found) < len(wanted) || !slices.Equal(found[len(found)-len(wanted):], wanted) {
			t.Errorf("the suite was called with %q\n%s", found, done.log)
		}
		command := exec.Command("find", done.folder, "-name", "pwned*")
		if out, err := command.Output(); err != nil || len(out) > 0 {
			t.Errorf("a value was executed: %s %v", out, err)
		}
	})
	t.Run("empty values leave the suite its defaults", func(t *testing.T) {
		t.Parallel()
		done := run(t, job{with: map[string]string{"archive": recorded(t, version(t), version(t)), "verify": "false"}})
		done.expect(t, "success", "0")
		for _, argument := range strings.Split(done.arguments, "\x00") {
			name, _, _ := strings.Cut(argument, "=")
			outputs := []string{
				"run", "", "--format", "--json", "--junit", "--html", "--sarif", "--record", "--report", "--markdown",
			}
			if !slices.Contains(outputs, name) {
				t.Errorf("unexpected argument %q", argument)
			}
		}
	})
	t.Run("hostile archive name and artifact name", func(t *testing.T) {
		t.Parallel()
		archive := recorded(t, version(t), version(t))
		hostile := filepath.Join(filepath.Dir(archive), "a b:$(touch pwned)'\"*.tar.gz")
		check(t, os.Rename(archive, hostile))
		done := run(t, job{with: map[string]string{
			"archive": hostile, "verify": "false", "sha256": sumOf(t, hostile), "artifact-name": "$(touch pwned) '\"",
		}})
		done.expect(t, "success", "0")
	})
}

func TestArchives(t *testing.T) {
	t.Run("no network", func(t *testing.T) {
		t.Parallel()
		done := run(t, job{})
		done.expect(t, "failure", "4")
		done.expectLog(t, "::failed to download https://github.com/"+repository+"/releases/download/v"+version(t)+"/"+stem(version(t)))
		done.expectSummary(t, "### clusterprofile-conformance: no report\n\n    failed to download https://github.com/")
	})
	t.Run("no such release", func(t *testing.T) {
		t.Parallel()
		done := run(t, job{
			server: serveRelease(t, version(t), t.TempDir()),
			with:   map[string]string{"version": "v9.9.9"},
		})
		done.expect(t, "failure", "4")
		done.expectLog(t, "releases/download/v9.9.9/"+stem("9.9.9")+".tar.gz: check version and archive")
	})
	t.Run("tampered archive", func(t *testing.T) {
		t.Parallel()
		folder := t.TempDir()
		honest := read(t, pack(t, folder, version(t), recorder(t, version(t))))
		sums := read(t, folder, "SHA256SUMS")
		archive := pack(t, folder, version(t), script(t, filepath.Join(folder, "evil"), "#!/bin/bash\ntouch \"$TRIAL/pwned\"\n"))
		check(t, os.WriteFile(filepath.Join(folder, "SHA256SUMS"), []byte(sums), 0o644))
		done := run(t, job{server: serveRelease(t, version(t), folder)})
		done.expect(t, "failure", "4")
		done.expectLog(t, "::the SHA-256 of "+stem(version(t))+".tar.gz is "+sumOf(t, archive)+", not ")
		if done.gh != "" || readIfThere(t, done.folder, "pwned") != "" || honest == read(t, archive) {
			t.Errorf("it went on after a wrong sum\n%s", done.log)
		}
	})
	t.Run("archive that its sums do not list", func(t *testing.T) {
		t.Parallel()
		archive := recorded(t, version(t), version(t))
		check(t, os.WriteFile(filepath.Join(filepath.Dir(archive), "SHA256SUMS"), []byte("0000  other.tar.gz\n"), 0o644))
		done := run(t, job{with: map[string]string{"archive": archive}})
		done.expect(t, "failure", "4")
		done.expectLog(t, "::SHA256SUMS does not list "+stem(version(t))+".tar.gz")
	})
	t.Run("archive without sums", func(t *testing.T) {
		t.Parallel()
		archive := recorded(t, version(t), version(t))
		check(t, os.Remove(filepath.Join(filepath.Dir(archive), "SHA256SUMS")))
		done := run(t, job{with: map[string]string{"archive": archive}})
		done.expect(t, "failure", "2")
		done.expectLog(t, "put it beside the archive, or set sha256")
	})
	t.Run("archive by address", func(t *testing.T) {
		t.Parallel()
		archive := recorded(t, version(t), version(t))
		server := serveRelease(t, version(t), filepath.Dir(archive))
		address := server + "/" + repository + "/releases/download/v" + version(t) + "/" + filepath.Base(archive)
		done := run(t, job{with: map[string]string{"archive": address}})
		done.expect(t, "success", "0")
	})
	t.Run("no attestation", func(t *testing.T) {
		t.Parallel()
		done := run(t, job{refuted: true, with: map[string]string{"archive": recorded(t, version(t), version(t))}})
		done.expect(t, "failure", "4")
		done.expectLog(t, "no attestations found", "could not be verified: gh says why above; the archive was not unpacked")
		if done.arguments != "" {
			t.Error("the suite ran")
		}
	})
	t.Run("no gh", func(t *testing.T) {
		t.Parallel()
		with := map[string]string{"archive": recorded(t, version(t), version(t))}
		done := run(t, job{noGh: true, with: with})
		done.expect(t, "failure", "4")
		done.expectLog(t, "is not installed: install the GitHub CLI, or set verify to false")

		with["verify"] = "false"
		done = run(t, job{noGh: true, with: with})
		done.expect(t, "success", "0")
	})
	t.Run("another version than asked for", func(t *testing.T) {
		t.Parallel()
		done := run(t, job{with: map[string]string{"archive": recorded(t, version(t), "9.9.9"), "version": version(t)}})
		done.expect(t, "failure", "4")
		done.expectLog(t, "holds version 9.9.9 of the suite, not "+version(t))
	})
	t.Run("release with another version in it", func(t *testing.T) {
		t.Parallel()
		archive := recorded(t, version(t), "9.9.9")
		done := run(t, job{server: serveRelease(t, version(t), filepath.Dir(archive))})
		done.expect(t, "failure", "4")
		done.expectLog(t, "holds version 9.9.9 of the suite, not "+version(t))
	})
	t.Run("archives that hold no suite", func(t *testing.T) {
		t.Parallel()
		for message, path := range map[string]string{
			"failed to unpack": script(t, filepath.Join(t.TempDir(), "page.tar.gz"), "<html>"),
			"does not hold the suite": func() string {
				path := filepath.Join(t.TempDir(), "other.tar.gz")
				check(t, writeArchive(path, "folder/other", recorder(t, "")))
				return path
			}(),
			"does not run on this machine": recorded(t, version(t), `"; exit 1; #`),
		} {
			done := run(t, job{with: map[string]string{"archive": path, "sha256": sumOf(t, path), "verify": "false"}})
			done.expect(t, "failure", "4")
			done.expectLog(t, message)
		}
	})
}

// The scripts without act: what act cannot play.
func TestScripts(t *testing.T) {
	t.Run("a cancelled job ends the run once, and keeps its report", func(t *testing.T) {
		t.Parallel()
		folder := t.TempDir()
		suite := script(t, filepath.Join(folder, "suite"), `#!/bin/bash
signals=0
trap 'signals=$((signals + 1))' TERM
touch "$TRIAL/started"
while [ $signals = 0 ]; do sleep 0.05; done
touch "$TRIAL/stopping"
sleep 0.5
for argument; do
    case $argument in --json=*) printf '{\n  "decision": "inconclusive",\n  "tally": {\n  }\n}\n' >"${argument#--json=}" ;; esac
done
echo "$signals" >"$TRIAL/signals"
exit 3
`)
		command := exec.Command("bash", filepath.Join(root, "ci/action/judge"))
		command.Env = append(environment(t, folder), "SUITE="+suite)
		check(t, command.Start())
		waitFor(t, filepath.Join(folder, "started"))
		check(t, command.Process.Signal(syscall.SIGINT))
		waitFor(t, filepath.Join(folder, "stopping"))
		check(t, command.Process.Signal(syscall.SIGTERM))
		check(t, command.Wait())
		outputs := read(t, folder, "output")
		if !strings.Contains(outputs, "exit-code=3\ndecision=inconclusive\nfailed=0\n") {
			t.Errorf("unexpected outputs\n%s", outputs)
		}
		if signals := read(t, folder, "signals"); signals != "1\n" {
			t.Errorf("the suite got %s signals", signals)
		}
	})
	t.Run("platforms", func(t *testing.T) {
		t.Parallel()
		for platform, wanted := range map[string]string{
			"Linux X64": "x86_64-unknown-linux-musl", "Linux ARM64": "aarch64-unknown-linux-musl",
			"macOS X64": "x86_64-apple-darwin", "macOS ARM64": "aarch64-apple-darwin",
			"Windows X64": "x86_64-pc-windows-msvc", "Linux ARM": "there are no archives for Linux on ARM",
		} {
			system, processor, _ := strings.Cut(platform, " ")
			folder := t.TempDir()
			command := exec.Command("bash", filepath.Join(root, "ci/action/fetch"))
			command.Env = append(environment(t, folder), "RUNNER_OS="+system, "RUNNER_ARCH="+processor)
			playGitHub(t, folder, serveRelease(t, "0.0.0", folder))
			out, err := command.CombinedOutput()
			if err == nil || command.ProcessState.ExitCode() != 4 || !strings.Contains(string(out), wanted) {
				t.Errorf("%s: %v\n%s", platform, err, out)
			}
		}
	})
	t.Run("paths on Windows", func(t *testing.T) {
		t.Parallel()
		folder := t.TempDir()
		command := exec.Command("bash", filepath.Join(root, "ci/action/fetch"))
		backslashes := func(path string) string { return strings.ReplaceAll(path, "/", `\`) }
		command.Env = append(environment(t, folder), "RUNNER_OS=Windows", "RUNNER_TEMP="+backslashes(folder),
			"INPUT_ARCHIVE="+backslashes(recorded(t, version(t), version(t))))
		if out, err := command.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	})
	t.Run("exit codes, by fail-on", func(t *testing.T) {
		t.Parallel()
		for failOn, failing := range map[string]string{
			"not-conformant": "1 2 4 130", "inconclusive": "1 2 3 4 130", "never": "2 4 130",
		} {
			for _, code := range []string{"0", "1", "2", "3", "4", "130"} {
				folder := t.TempDir()
				command := exec.Command("bash", filepath.Join(root, "ci/action/decide"))
				command.Env = append(environment(t, folder), "INPUT_FAIL_ON="+failOn, "EXIT_CODE="+code, "REPORT=none")
				out, _ := command.CombinedOutput()
				fails := slices.Contains(strings.Fields(failing), code)
				if wanted := map[bool]string{true: code, false: "0"}[fails]; wanted != exitCode(command) {
					t.Errorf("fail-on %s, code %s: exit %s\n%s", failOn, code, exitCode(command), out)
				}
			}
		}
	})
}
