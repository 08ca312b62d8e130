// Package trial runs what stands in ci/ and in action.yml for other people's pipelines.
package trial

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"
)

// root is the repository's folder.
var root = func() string {
	folder, err := filepath.Abs("../../..")
	if err != nil {
		panic(err)
	}
	return folder
}()

// fromEnvironment is a path that ci/action/try sets.
func fromEnvironment(t *testing.T, name string) string {
	t.Helper()
	value := os.Getenv(name)
	if value == "" {
		t.Skipf("%s is not set: ci/action/try sets it", name)
	}
	return value
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(path...))
	check(t, err)
	return string(text)
}

// version is that of the suite, from Cargo.toml.
func version(t *testing.T) string {
	t.Helper()
	found := regexp.MustCompile(`(?m)^version = "(.*)"$`).FindStringSubmatch(read(t, root, "Cargo.toml"))
	if found == nil {
		t.Fatal("Cargo.toml has no version")
	}
	return found[1]
}

// The programs that the action may rely on besides gh: those of every runner. act itself needs git.
var tools = []string{
	"awk", "bash", "cat", "cp", "curl", "cut", "dirname", "env", "git", "gzip", "head", "mkdir", "mktemp", "rm", "sed",
	"sh", "sha256sum", "sleep", "tail", "tar", "touch", "uname",
}

// toolsIn links those programs into a folder, which then serves as PATH.
func toolsIn(t *testing.T, folder string) {
	t.Helper()
	check(t, os.MkdirAll(folder, 0o755))
	for _, tool := range tools {
		path, err := exec.LookPath(tool)
		check(t, err)
		check(t, os.Symlink(path, filepath.Join(folder, tool)))
	}
}

func script(t *testing.T, path, text string) string {
	t.Helper()
	check(t, os.WriteFile(path, []byte(text), 0o755))
	return path
}

// job is one use of the action in a workflow.
type job struct {
	// with holds the inputs.
	with map[string]string
	// server is the address that answers for github.com; by default nothing answers.
	server string
	// noGh leaves the GitHub CLI out; refuted makes it find no attestation.
	noGh, refuted bool
	// files are laid into the workspace.
	files map[string]string
}

// result is what the rest of a workflow sees of the step, and what people see of the job.
type result struct {
	Outcome       string
	Outputs       map[string]string
	log           string
	artifacts     []string
	gh, arguments string
	folder        string
}

// The one action that ours uses: a stand-in that copies what it is given to where the trial looks.
const upload = `
name: upload
description: stand-in of actions/upload-artifact
inputs:
  name: {description: the artifact}
  path: {description: the folder}
runs:
  using: composite
  steps:
    - shell: bash
      env:
        NAME: ${{ inputs.name }}
        FROM: ${{ inputs.path }}
      run: cp -r "$FROM" "$TRIAL/artifacts/$NAME"
`

const gh = `#!/bin/bash
printf '%s\n' "$@" >"$TRIAL/gh"
[ -z "$REFUTED" ] || { echo "no attestations found" >&2; exit 1; }
`

// run runs the job with act, on this machine and without a network.
func run(t *testing.T, given job) result {
	t.Helper()
	act := fromEnvironment(t, "ACT")
	folder := t.TempDir()
	for _, name := range []string{"home/.config/act", "workspace/.github/workflows", "upload", "artifacts"} {
		check(t, os.MkdirAll(filepath.Join(folder, name), 0o755))
	}
	check(t, os.WriteFile(filepath.Join(folder, "home/.config/act/actrc"), nil, 0o644))
	check(t, os.WriteFile(filepath.Join(folder, "upload/action.yml"), []byte(upload), 0o644))
	for name, text := range given.files {
		check(t, os.WriteFile(filepath.Join(folder, "workspace", name), []byte(text), 0o644))
	}
	path := filepath.Join(folder, "bin")
	toolsIn(t, path)
	if !given.noGh {
		script(t, filepath.Join(path, "gh"), gh)
	}
	playGitHub(t, filepath.Join(folder, "home"), given.server)
	copyAction(t, filepath.Join(folder, "action"))
	workspace := filepath.Join(folder, "workspace")
	check(t, os.WriteFile(filepath.Join(workspace, ".github/workflows/trial.yaml"), workflow(t, given), 0o644))
	// act asks for the commit that it is at.
	for _, arguments := range [][]string{{"init", "--quiet"}, {"commit", "--quiet", "--allow-empty", "--message", "trial"}} {
		command := exec.Command("git", append([]string{"-c", "user.name=trial", "-c", "user.email=trial"}, arguments...)...)
		command.Dir = workspace
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("git: %v\n%s", err, out)
		}
	}

	limit, stop := context.WithTimeout(context.Background(), 2*time.Minute)
	defer stop()
	command := exec.CommandContext(limit, act, "push", "--platform", "ubuntu-latest=-self-hosted", "--no-cache-server",
		"--local-repository", repository+"@v"+version(t)+"="+filepath.Join(folder, "action"),
		"--local-repository", uploadAction(t)+"="+filepath.Join(folder, "upload"),
		"--env", "NO_COLOR=1", "--env", "TRIAL="+folder, "--env", "REFUTED="+map[bool]string{true: "yes"}[given.refuted])
	command.Dir = workspace
	command.Env = []string{"PATH=" + path, "HOME=" + filepath.Join(folder, "home")}
	var log bytes.Buffer
	command.Stdout, command.Stderr = &log, &log
	if err := command.Run(); err != nil {
		t.Fatalf("act: %v\n%s", err, log.String())
	}

	done := result{log: log.String(), folder: folder}
	if err := json.Unmarshal([]byte(read(t, folder, "result")), &done); err != nil {
		t.Fatalf("%v\n%s", err, done.log)
	}
	done.gh = readIfThere(t, folder, "gh")
	done.arguments = readIfThere(t, folder, "arguments")
	check(t, filepath.WalkDir(filepath.Join(folder, "artifacts"), func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			name, _ := filepath.Rel(filepath.Join(folder, "artifacts"), path)
			done.artifacts = append(done.artifacts, name)
		}
		return err
	}))
	return done
}

func readIfThere(t *testing.T, folder, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, name))
	if !errors.Is(err, fs.ErrNotExist) {
		check(t, err)
	}
	return string(text)
}

// workflow uses the action, then writes down what a later step sees of it.
func workflow(t *testing.T, given job) []byte {
	t.Helper()
	type step map[string]any
	text, err := yaml.Marshal(map[string]any{
		"on": "push",
		"jobs": map[string]any{"trial": map[string]any{
			"runs-on": "ubuntu-latest",
			"steps": []step{
				{"id": "suite", "uses": repository + "@v" + version(t), "with": given.with, "continue-on-error": true},
				{"if": "always()", "shell": "bash", "env": map[string]string{
					"OUTCOME": "${{ steps.suite.outcome }}",
					"OUTPUTS": "${{ toJSON(steps.suite.outputs) }}",
				}, "run": `printf '{"outcome":"%s","outputs":%s}' "$OUTCOME" "$OUTPUTS" >"$TRIAL/result"`},
			},
		}},
	})
	check(t, err)
	return text
}

// playGitHub lets curl find the server where it looks for github.com.
func playGitHub(t *testing.T, home, server string) {
	t.Helper()
	address := strings.TrimPrefix(server, "https://")
	if server == "" {
		address = "127.0.0.1:1"
	}
	// The server has a certificate of its own, for another name.
	text := "insecure\nconnect-to = \"github.com:443:" + address + "\"\n"
	check(t, os.WriteFile(filepath.Join(home, ".curlrc"), []byte(text), 0o644))
}

// copyAction lays out what the action is made of: act copies the folder for each use.
func copyAction(t *testing.T, folder string) {
	t.Helper()
	check(t, os.MkdirAll(filepath.Join(folder, "ci/action"), 0o755))
	for _, name := range []string{
		"action.yml", "Cargo.toml", "ci/action/lib.sh", "ci/action/fetch", "ci/action/judge", "ci/action/decide",
	} {
		// The scripts must not need their executable bit: Windows has none.
		check(t, os.WriteFile(filepath.Join(folder, name), []byte(read(t, root, name)), 0o644))
	}
}

// uploadAction is the action that action.yml uploads with: owner/name@commit.
func uploadAction(t *testing.T) string {
	t.Helper()
	for _, step := range readAction(t).Runs.Steps {
		if step.Uses != "" {
			return step.Uses
		}
	}
	t.Fatal("action.yml uploads nothing")
	return ""
}

// expect compares what matters to a trial, and shows the log where it differs.
func (done result) expect(t *testing.T, outcome, exitCode string) {
	t.Helper()
	if done.Outcome != outcome || done.Outputs["exit-code"] != exitCode {
		t.Errorf("outcome %s with exit code %q, expected %s with %q\n%s",
			done.Outcome, done.Outputs["exit-code"], outcome, exitCode, done.log)
	}
}

func (done result) expectOutputs(t *testing.T, wanted map[string]string) {
	t.Helper()
	for name, value := range wanted {
		if done.Outputs[name] != value {
			t.Errorf("output %s is %q, expected %q\n%s", name, done.Outputs[name], value, done.log)
		}
	}
}

func (done result) expectLog(t *testing.T, wanted ...string) {
	t.Helper()
	for _, text := range wanted {
		if !strings.Contains(done.log, text) {
			t.Errorf("the log lacks %q\n%s", text, done.log)
		}
	}
}

// expectSummary looks for Markdown in the log: act prints there what a step writes into the job's summary.
func (done result) expectSummary(t *testing.T, wanted string) {
	t.Helper()
	if !strings.Contains(done.log, "Summary - "+wanted) {
		t.Errorf("the summary lacks %q\n%s", wanted, done.log)
	}
}

// The reports that an artifact holds after a run which wrote all.
func (done result) expectReports(t *testing.T, artifact string) {
	t.Helper()
	for _, name := range []string{
		"evidence.jsonl.zst", "junit.xml", "report.html", "report.json", "report.sarif", "report.yaml",
	} {
		if !slices.Contains(done.artifacts, artifact+"/"+name) {
			t.Errorf("the artifact lacks %s: %v\n%s", name, done.artifacts, done.log)
		}
	}
}
