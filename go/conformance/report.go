package conformance

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The decisions.
const (
	// Conformant: no MUST rule fails, none is inconclusive, and at least one was judged.
	Conformant = "conformant"
	// NoViolation: no MUST rule fails, but some were not judged.
	NoViolation = "no-violation"
	// NotConformant: a rule fails.
	NotConformant = "not-conformant"
)

// The verdicts on a rule. [Inconclusive] is also a decision: no rule fails, but a MUST rule is inconclusive, or none was
// judged.
const (
	Pass = "pass"
	// Fail: the rule is broken, and it counts: a MUST rule, or a SHOULD rule with --strict.
	Fail = "fail"
	// Warn: the rule is broken, and it does not count.
	Warn = "warn"
	// Waived: the rule is broken, and a waiver covers each violation.
	Waived = "waived"
	// Inconclusive: evidence was requested but unavailable, or there was no profile to examine.
	Inconclusive = "inconclusive"
	// NotApplicable: the hub has nothing that the rule applies to.
	NotApplicable = "not-applicable"
	// Skipped: the rule was deselected, or the evidence that it needs was not requested.
	Skipped = "skipped"
)

// ErrInconclusive is what [Report.Err] returns if the run proves nothing.
var ErrInconclusive = errors.New("inconclusive")

// Report is the suite's JSON report, in the parts that a test needs. The file report.json has all of it, as
// docs/schemas/json-report.v1.schema.json describes it.
type Report struct {
	// The folder of report.json, report.html, report.yaml and evidence.jsonl.zst; empty if they were not kept.
	Folder string `json:"-"`
	// The suite that judged.
	Suite struct {
		Version string `json:"version"`
	} `json:"suite"`
	JudgedAt time.Time `json:"judgedAt"`
	Edition  string    `json:"edition"`
	// The number of profiles in scope.
	Profiles int `json:"profiles"`
	// Whether the run was cut short, so that evidence may be missing.
	Partial  bool   `json:"partial"`
	Decision string `json:"decision"`
	// Every rule of the edition.
	Verdicts []Verdict `json:"verdicts"`
	// What the suite printed: the violations, the decision and its reasons; or why it has no evidence of the hub.
	printed string
}

// Verdict is the verdict on one rule.
type Verdict struct {
	// The rule's id, for example identity/manager-label-matches.
	Rule  string `json:"rule"`
	Title string `json:"title"`
	// MUST, SHOULD or MAY.
	Level   string `json:"level"`
	Outcome string `json:"verdict"`
	// Why the rule neither passed nor failed nor warned.
	Reason string `json:"reason"`
	// The violations, except those that are waived.
	Findings []Finding `json:"findings"`
	// The violations that are waived.
	Waived []Finding `json:"waived"`
	Remedy string    `json:"remedy"`
}

// Finding is one violation. Its text comes from the hub and is not escaped.
type Finding struct {
	Object   Object `json:"object"`
	Path     string `json:"path"`
	Expected string `json:"expected"`
	Observed string `json:"observed"`
	Message  string `json:"message"`
}

// Object names the object of a finding.
type Object struct {
	Kind string `json:"kind"`
	// Empty for a cluster-scoped object.
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// String returns kind, namespace and name.
func (o Object) String() string {
	return strings.TrimSpace(o.Kind + " " + path.Join(o.Namespace, o.Name))
}

// String describes the verdict with its findings and the remedy, in escaped lines.
func (v *Verdict) String() string {
	text := fmt.Sprintf("%s: [%s] %s", strings.ReplaceAll(v.Outcome, "-", " "), v.Level, escape(v.Title))
	add := func(name, value string) {
		if value != "" {
			text += fmt.Sprintf("\n%-10s%s", name, escape(value))
		}
	}
	add("reason", v.Reason)
	findings := slices.Concat(v.Findings, v.Waived)
	for place, finding := range findings {
		if place == shownFindings {
			text += fmt.Sprintf("\n… and %d more, in report.json", len(findings)-place)
			break
		}
		add("finding", finding.Message)
		add("object", finding.Object.String())
		add("path", finding.Path)
		add("expected", finding.Expected)
		add("observed", finding.Observed)
	}
	if len(findings) > 0 {
		add("remedy", v.Remedy)
		add("explain", program+" explain "+v.Rule)
	}
	return text
}

// The most findings of a rule to show; report.json has all of them.
const shownFindings = 10

// Failed returns the verdicts of the broken rules that count.
func (r *Report) Failed() []Verdict {
	return slices.DeleteFunc(slices.Clone(r.Verdicts), func(verdict Verdict) bool { return verdict.Outcome != Fail })
}

// Err returns nil if the hub conforms, and an error with the suite's own words if it does not.
func (r *Report) Err() error {
	switch {
	case r.Decision == NotConformant:
		return errors.New(r.printed)
	case r.Partial, r.Decision == Inconclusive:
		return fmt.Errorf("%w: %s", ErrInconclusive, r.printed)
	case r.Decision == Conformant, r.Decision == NoViolation:
		return nil
	}
	return fmt.Errorf("unknown decision %q", r.Decision)
}

// The most characters to show of one text.
const longest = 2000

// escape makes one visible line of text from a hub. Anyone who can write a ClusterProfile controls its values: they
// must not move a terminal's cursor, forge a line of the log, or give a command to a CI system.
func escape(text string) string {
	characters := []rune(text)
	if len(characters) > longest {
		text = string(characters[:longest]) + "…"
	}
	quoted := strconv.Quote(text)
	text = strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(quoted[1 : len(quoted)-1])
	// Workflow runners act on `##[error]` and `##vso[…]` anywhere in a line.
	return strings.ReplaceAll(text, "##", `#\x23`)
}
