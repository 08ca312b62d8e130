package trial

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// action is what the trials need of action.yml.
type action struct {
	Inputs  entries
	Outputs entries
	Runs    struct {
		Steps []struct {
			Name, Uses, Run, Shell string
			Env                    map[string]string
		}
	}
}

// entry is an input or an output; the last three are of GitLab's inputs.
type entry struct {
	Name        string
	Description string
	Default     string
	Type, Regex string
	Options     []string
}

// entries are those of a mapping, in its order.
type entries []entry

func (all *entries) UnmarshalYAML(node *yaml.Node) error {
	for i := 0; i+1 < len(node.Content); i += 2 {
		one := entry{Name: node.Content[i].Value}
		if err := node.Content[i+1].Decode(&one); err != nil {
			return err
		}
		*all = append(*all, one)
	}
	return nil
}

func readAction(t *testing.T) action {
	t.Helper()
	var found action
	check(t, yaml.Unmarshal([]byte(read(t, root, "action.yml")), &found))
	return found
}

// table shows entries in Markdown. A default that only says "nothing" is explained by the description.
func (all entries) table(withDefault bool) string {
	var out strings.Builder
	if withDefault {
		out.WriteString("| Input | Default | Meaning |\n| --- | --- | --- |\n")
	} else {
		out.WriteString("| Output | Meaning |\n| --- | --- |\n")
	}
	for _, one := range all {
		meaning := strings.ReplaceAll(strings.Join(strings.Fields(one.Description), " "), "|", `\|`)
		shown := ""
		if one.Default != "" {
			shown = "`" + one.Default + "`"
		}
		if withDefault {
			fmt.Fprintf(&out, "| `%s` | %s | %s |\n", one.Name, shown, meaning)
		} else {
			fmt.Fprintf(&out, "| `%s` | %s |\n", one.Name, meaning)
		}
	}
	return out.String()
}

// The tables of docs/ci.md stand between two comments each.
func TestDocumentedTables(t *testing.T) {
	path := filepath.Join(root, "docs/ci.md")
	page := read(t, path)
	written := page
	found := readAction(t)
	for name, table := range map[string]string{
		"inputs of action.yml":           found.Inputs.table(true),
		"outputs of action.yml":          found.Outputs.table(false),
		"inputs of the GitLab component": readComponent(t).inputs.table(true),
	} {
		begin, end := "<!-- "+name+" -->\n", "<!-- end -->"
		before, rest, ok := strings.Cut(written, begin)
		_, after, closed := strings.Cut(rest, end)
		if !ok || !closed {
			t.Fatalf("docs/ci.md lacks %q", begin)
		}
		written = before + begin + "\n" + table + "\n" + end + after
	}
	if written == page {
		return
	}
	if os.Getenv("UPDATE") == "" {
		t.Fatal("docs/ci.md is out of date: renew it with UPDATE=1 ci/action/try TestDocumentedTables")
	}
	check(t, os.WriteFile(path, []byte(written), 0o644))
}

// Every input reaches a script, through env alone.
func TestInputsReachScriptsThroughEnv(t *testing.T) {
	text := read(t, root, "action.yml")
	steps := readAction(t).Runs.Steps
	for _, step := range steps {
		if strings.Contains(step.Run, "${{") {
			t.Errorf("step %s lets the shell read %s", step.Name, step.Run)
		}
	}
	for _, input := range readAction(t).Inputs {
		if !strings.Contains(text, "${{ inputs."+input.Name+" }}") {
			t.Errorf("nothing reads the input %s", input.Name)
		}
	}
}

// What the page shows can be copied: the newest version, inputs that exist, workflows that actionlint accepts.
func TestDocumentedSnippets(t *testing.T) {
	page := read(t, root, "docs/ci.md")
	for _, found := range regexp.MustCompile(`\bv?(\d+\.\d+\.\d+)\b`).FindAllStringSubmatch(page, -1) {
		if found[1] != version(t) {
			t.Errorf("the page names version %s, Cargo.toml has %s", found[1], version(t))
		}
	}
	workflows := 0
	for _, block := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(page, -1) {
		var parsed yaml.Node
		check(t, yaml.Unmarshal([]byte(block[1]), &parsed))
		for _, key := range keysIn(&parsed, "with", "kubeconfig", "archive") {
			if !readAction(t).Inputs.has(key) {
				t.Errorf("the action has no input %s", key)
			}
		}
		for _, key := range keysIn(&parsed, "inputs", "observe") {
			if !readComponent(t).inputs.has(key) {
				t.Errorf("the component has no input %s", key)
			}
		}
		if strings.Contains(block[1], "\njobs:\n") {
			workflows++
			path := filepath.Join(t.TempDir(), "workflow.yaml")
			check(t, os.WriteFile(path, []byte(block[1]), 0o644))
			if out, err := exec.Command(fromEnvironment(t, "ACTIONLINT"), path).CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		}
	}
	if workflows == 0 {
		t.Error("the page shows no workflow")
	}
}

func (all entries) has(name string) bool {
	return slices.ContainsFunc(all, func(one entry) bool { return one.Name == name })
}

// keysIn are the keys of every mapping under the key `parent` that has one of the others.
func keysIn(node *yaml.Node, parent string, oneOf ...string) []string {
	var found []string
	for i, child := range node.Content {
		if node.Kind == yaml.MappingNode && i%2 == 1 && node.Content[i-1].Value == parent {
			var keys []string
			for k := 0; k < len(child.Content); k += 2 {
				keys = append(keys, child.Content[k].Value)
			}
			if slices.ContainsFunc(keys, func(key string) bool { return slices.Contains(oneOf, key) }) {
				found = append(found, keys...)
			}
		}
		found = append(found, keysIn(child, parent, oneOf...)...)
	}
	return found
}
