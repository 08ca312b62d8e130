package trial

import (
	"bytes"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// component is templates/conformance/template.yml: its inputs, and the text below them.
type component struct {
	inputs entries
	body   string
}

// gitlabJob is what GitLab makes of the component's body.
type gitlabJob struct {
	Stage, Image string
	Variables    map[string]struct {
		Value  string
		Expand *bool
	}
	Script    []string
	Artifacts struct {
		When    string
		Paths   []string
		Reports struct{ Junit string }
	}
}

func readComponent(t *testing.T) component {
	t.Helper()
	head, body, ok := strings.Cut(read(t, root, "templates/conformance/template.yml"), "\n---\n")
	if !ok {
		t.Fatal("the component has no header")
	}
	var spec struct{ Spec struct{ Inputs entries } }
	check(t, yaml.Unmarshal([]byte(head), &spec))
	return component{spec.Spec.Inputs, body}
}

// with is the job for these inputs. As GitLab does, it refuses values by `regex` and `options`, puts the others into the
// text, and reads that as YAML.
func (found component) with(t *testing.T, inputs map[string]string) (gitlabJob, error) {
	t.Helper()
	text := found.body
	for _, input := range found.inputs {
		value, ok := inputs[input.Name]
		if !ok {
			value = input.Default
		}
		if input.Regex != "" && !regexp.MustCompile(input.Regex).MatchString(value) {
			return gitlabJob{}, fmt.Errorf("input %s: %q does not match %s", input.Name, value, input.Regex)
		}
		if len(input.Options) > 0 && !slices.Contains(input.Options, value) {
			return gitlabJob{}, fmt.Errorf("input %s: %q is none of %v", input.Name, value, input.Options)
		}
		text = strings.ReplaceAll(text, "$[[ inputs."+input.Name+" ]]", value)
	}
	if strings.Contains(text, "$[[") {
		t.Fatalf("the component uses an input that it does not have\n%s", text)
	}
	var jobs map[string]gitlabJob
	check(t, yaml.Unmarshal([]byte(text), &jobs))
	for _, job := range jobs {
		return job, nil
	}
	t.Fatal("the component has no job")
	return gitlabJob{}, nil
}

// pipeline is how a job ended, and the folder that it ran in.
type pipeline struct{ code, log, folder string }

// runJob runs the job's script as the runner does in an image with that shell.
func runJob(t *testing.T, shell, server string, inputs map[string]string) pipeline {
	t.Helper()
	job, err := readComponent(t).with(t, inputs)
	check(t, err)
	folder := t.TempDir()
	path := filepath.Join(folder, "bin")
	toolsIn(t, path)
	playGitHub(t, folder, server)
	command := exec.Command(shell, "-e", "-c", strings.Join(job.Script, "\n"))
	command.Dir = folder
	command.Env = []string{"PATH=" + path, "HOME=" + folder, "TMPDIR=" + folder, "TRIAL=" + folder}
	for name, variable := range job.Variables {
		command.Env = append(command.Env, name+"="+variable.Value)
	}
	var log bytes.Buffer
	command.Stdout, command.Stderr = &log, &log
	_ = command.Run()
	return pipeline{exitCode(command), log.String(), folder}
}

func (done pipeline) expect(t *testing.T, code string, wanted ...string) {
	t.Helper()
	if done.code != code {
		t.Errorf("exit code %s, expected %s\n%s", done.code, code, done.log)
	}
	for _, text := range wanted {
		if !strings.Contains(done.log, text) {
			t.Errorf("the log lacks %q\n%s", text, done.log)
		}
	}
}

func TestGitLab(t *testing.T) {
	release := realRelease(t)
	server := serveRelease(t, version(t), release)
	lab := func(fault string) string { return strings.ReplaceAll(strings.TrimSpace(lab(fault)), "\n", " ") }

	t.Run("conforming manager, from the release", func(t *testing.T) {
		t.Parallel()
		done := runJob(t, "sh", server, map[string]string{"args": lab("")})
		done.expect(t, "0", "conformant with edition standard")
		job, err := readComponent(t).with(t, nil)
		check(t, err)
		if !strings.Contains(read(t, done.folder, job.Artifacts.Reports.Junit), "<testsuites") {
			t.Error("GitLab finds no JUnit report")
		}
		if job.Artifacts.When != "always" {
			t.Error("the reports of a failing job are lost")
		}
		for _, name := range []string{"report.json", "report.html", "report.md", "report.yaml", "evidence.jsonl.zst"} {
			read(t, done.folder, job.Artifacts.Paths[0], name)
		}
	})
	t.Run("failing manager", func(t *testing.T) {
		t.Parallel()
		archive := filepath.Join(release, stem(version(t))+".tar.gz")
		inputs := map[string]string{"args": lab("identity/manager-label-matches"), "archive": archive}
		runJob(t, "bash", "", inputs).expect(t, "1", "not conformant with edition standard")
		inputs["fail-on"] = "never"
		runJob(t, "bash", "", inputs).expect(t, "0", "exit code 1, which fail-on: never accepts")
	})
	t.Run("inconclusive, and an argument that the suite refuses", func(t *testing.T) {
		t.Parallel()
		inputs := map[string]string{"kubeconfig": hub(t), "observe": "0s"}
		runJob(t, "sh", server, inputs).expect(t, "3")
		inputs["fail-on"] = "not-conformant"
		runJob(t, "sh", server, inputs).expect(t, "0", "exit code 3, which fail-on: not-conformant accepts")
		inputs["fail-on"], inputs["args"] = "never", "--nonsense"
		runJob(t, "sh", server, inputs).expect(t, "2", "unexpected argument '--nonsense'")
	})
	t.Run("hostile values stay one word", func(t *testing.T) {
		t.Parallel()
		hostile := "a b\"c\\d $(touch pwned) `touch pwned`; touch pwned #\\ %s $HOME * ]]"
		inputs := map[string]string{
			"archive": recorded(t, version(t), version(t)), "kubeconfig": hostile, "context": hostile, "namespace": " one * $(two) ",
			"cluster-manager": "--allow-mutations", "edition": hostile, "observe": hostile, "strict": "true", "config": hostile,
			"waivers": hostile, "driver": hostile, "allow-mutations": "true", "args": "--skip * $(touch${IFS}pwned)  identity/",
		}
		wanted := []string{
			"--kubeconfig=" + hostile, "--context=" + hostile, "--namespace=one", "--namespace=*", "--namespace=$(two)",
			"--cluster-manager=--allow-mutations", "--edition=" + hostile, "--observe=" + hostile, "--strict",
			"--config=" + hostile, "--waivers=" + hostile, "--driver=" + hostile, "--allow-mutations",
			"--skip", "*", "$(touch${IFS}pwned)", "identity/",
		}
		for _, shell := range []string{"sh", "bash"} {
			done := runJob(t, shell, "", inputs)
			done.expect(t, "0")
			found := strings.Split(strings.TrimSuffix(readIfThere(t, done.folder, "arguments"), "\x00"), "\x00")
			if len(found) < len(wanted) || !slices.Equal(found[len(found)-len(wanted):], wanted) {
				t.Errorf("the suite was called with %q\n%s", found, done.log)
			}
			if readIfThere(t, done.folder, "pwned") != "" {
				t.Error("a value was executed")
			}
		}
		job, err := readComponent(t).with(t, inputs)
		check(t, err)
		for name, variable := range job.Variables {
			if variable.Expand == nil || *variable.Expand {
				t.Errorf("GitLab expands variables in the value of %s", name)
			}
		}
	})
	t.Run("values that would leave their quotes are refused", func(t *testing.T) {
		t.Parallel()
		found := readComponent(t)
		for _, input := range found.inputs {
			for _, value := range []string{"it's", "two\nlines"} {
				// GitLab takes true and false alone for a boolean.
				if input.Type == "boolean" {
					continue
				}
				if _, err := found.with(t, map[string]string{input.Name: value}); err == nil {
					t.Errorf("input %s takes %q", input.Name, value)
				}
			}
			if !strings.Contains(found.body, "'$[[ inputs."+input.Name+" ]]'") {
				t.Errorf("the input %s does not stand in single quotes", input.Name)
			}
		}
	})
	t.Run("shellcheck", func(t *testing.T) {
		t.Parallel()
		if _, err := exec.LookPath("shellcheck"); err != nil {
			t.Skip("shellcheck is not installed")
		}
		job, err := readComponent(t).with(t, nil)
		check(t, err)
		command := exec.Command("shellcheck", "--shell=sh", "-")
		command.Stdin = strings.NewReader(strings.Join(job.Script, "\n"))
		if out, err := command.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	})
	t.Run("no network", func(t *testing.T) {
		t.Parallel()
		runJob(t, "sh", "", nil).expect(t, "4", "failed to download https://github.com/"+repository)
	})
	t.Run("tampered archive", func(t *testing.T) {
		t.Parallel()
		inputs := map[string]string{"archive": recorded(t, version(t), version(t))}
		check(t, writeArchive(inputs["archive"], "other/clusterprofile-conformance", recorder(t, "9.9.9")))
		done := runJob(t, "sh", "", inputs)
		done.expect(t, "4", "the archive is damaged or was changed; it was not unpacked")
		inputs["sha256"] = sumOf(t, inputs["archive"])
		runJob(t, "sh", "", inputs).expect(t, "0")
	})
	t.Run("release with another version in it", func(t *testing.T) {
		t.Parallel()
		server := serveRelease(t, version(t), filepath.Dir(recorded(t, version(t), "9.9.9")))
		runJob(t, "sh", server, nil).expect(t, "4", "holds version 9.9.9 of the suite, not "+version(t))
	})
	t.Run("the release that it fetches is this one", func(t *testing.T) {
		found := readComponent(t)
		if !strings.Contains(found.body, "repository=https://github.com/"+repository+"\n") {
			t.Error("the component fetches from another repository")
		}
		for _, input := range found.inputs {
			if input.Name == "version" && input.Default != version(t) {
				t.Errorf("the component fetches version %s, Cargo.toml has %s", input.Default, version(t))
			}
		}
	})
}
