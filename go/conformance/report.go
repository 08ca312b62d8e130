package conformance

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
)

// Decision is the suite's decision on the implementation.
type Decision string

// The decisions.
const (
	// Conformant: no MUST rule fails, none is inconclusive, and at least one was judged.
	Conformant Decision = "conformant"
	// NoViolation: no MUST rule fails, but some were not judged.
	NoViolation Decision = "no-violation"
	// Inconclusive: no rule fails, but a MUST rule is inconclusive or none was judged.
	Inconclusive Decision = "inconclusive"
	// NotConformant: a rule fails.
	NotConformant Decision = "not-conformant"
)

// Outcome is the suite's verdict on one rule.
type Outcome string

// The outcomes.
const (
	// Pass: the rule examined something and found no violation.
	Pass Outcome = "pass"
	// Fail: the rule is broken, and it counts: a MUST rule, or a SHOULD rule with [Strict].
	Fail Outcome = "fail"
	// Warn: the rule is broken or in doubt, and it does not count.
	Warn Outcome = "warn"
	// Waived: the rule is broken, and a waiver covers each violation.
	Waived Outcome = "waived"
	// Unjudged: evidence was requested but unavailable, or there was no profile to examine.
	Unjudged Outcome = "inconclusive"
	// NotApplicable: nothing on the hub that the rule applies to.
	NotApplicable Outcome = "not-applicable"
	// Skipped: the rule was deselected, or the evidence that it needs was not requested.
	Skipped Outcome = "skipped"
)

// Report is the suite's JSON report, in the parts that a test needs. The file report.json has all of it, as
// docs/schemas/json-report.v1.schema.json describes it.
type Report struct {
	// The folder of report.json, report.html, report.yaml and evidence.jsonl.zst; empty if they were not kept.
	Folder string `json:"-"`

	APIVersion string    `json:"apiVersion"`
	Suite      Suite     `json:"suite"`
	JudgedAt   time.Time `json:"judgedAt"`
	// Who was judged: manager, scheduler, consumer.
	Roles   []string `json:"roles"`
	Edition string   `json:"edition"`
	// The number of profiles in scope.
	Profiles int `json:"profiles"`
	// Whether the profiles were watched, rather than read as a single snapshot.
	Watched bool `json:"watched"`
	// Whether the run was cut short, so that evidence may be missing.
	Partial  bool     `json:"partial"`
	Decision Decision `json:"decision"`
	// Kinds of evidence that were not requested, each with the reason.
	NotAsked map[string]string `json:"notAsked"`
	// Every rule of the edition.
	Verdicts []Verdict `json:"verdicts"`
	// The waivers, if there are any.
	Waivers []Waiver `json:"waivers"`
}

// Suite is the suite that judged.
type Suite struct {
	Version string `json:"version"`
}

// Verdict is the verdict on one rule.
type Verdict struct {
	// The rule's id, such as identity/manager-label-matches.
	Rule  string `json:"rule"`
	Title string `json:"title"`
	// MUST, SHOULD or MAY.
	Level string `json:"level"`
	// Explicit if the documents state the rule, derived if it follows from them.
	Basis string `json:"basis"`
	// Document and section.
	Source  string  `json:"source"`
	Outcome Outcome `json:"verdict"`
	// How many things the rule examined.
	Examined int `json:"examined"`
	// Why the rule neither passed nor failed nor warned.
	Reason string `json:"reason"`
	// The violations, except those that are waived.
	Findings []Finding `json:"findings"`
	// The violations that are waived.
	Waived []WaivedFinding `json:"waived"`
	Notes  []string        `json:"notes"`
	// What to do about the findings.
	Remedy string `json:"remedy"`
}

// Finding is one violation. Its text comes from the hub and is not escaped.
type Finding struct {
	Object   Object `json:"object"`
	Path     string `json:"path"`
	Expected string `json:"expected"`
	Observed string `json:"observed"`
	Message  string `json:"message"`
	// Whether it is a warning only, even for a MUST rule.
	Advisory bool `json:"advisory"`
}

// WaivedFinding is a violation that a waiver covers.
type WaivedFinding struct {
	Finding
	// The place of its waiver in Report.Waivers.
	Waiver int `json:"waiver"`
}

// Object names the object of a finding.
type Object struct {
	Kind string `json:"kind"`
	// Empty for a cluster-scoped object.
	Namespace       string `json:"namespace"`
	Name            string `json:"name"`
	UID             string `json:"uid"`
	ResourceVersion string `json:"resourceVersion"`
}

// String returns kind, namespace and name.
func (o Object) String() string {
	if o.Namespace == "" {
		return o.Kind + " " + o.Name
	}
	return o.Kind + " " + o.Namespace + "/" + o.Name
}

// Waiver is the outcome of a waiver.
type Waiver struct {
	Rule   string `json:"rule"`
	Object string `json:"object"`
	Reason string `json:"reason"`
	Link   string `json:"link"`
	// The last day on which it counts, in UTC, as 2027-03-31.
	Expires string `json:"expires"`
	// How many violations it has waived.
	Waived  int  `json:"waived"`
	Expired bool `json:"expired"`
	// What is wrong with the waiver itself.
	Complaint string `json:"complaint"`
}

// ErrInconclusive is what [Report.Err] returns if the run proves nothing: a MUST rule could not be judged, none was, or
// the run was cut short.
var ErrInconclusive = errors.New("inconclusive")

// Failed returns the verdicts of the broken rules that count.
func (r *Report) Failed() []Verdict { return r.with(Fail) }

// Err returns nil if the hub conforms, and an error that lists the broken or inconclusive rules if it does not.
func (r *Report) Err() error {
	switch {
	case r.Partial && r.Decision != NotConformant:
		return fmt.Errorf("%w: the run was cut short, so its reports are partial", ErrInconclusive)
	case r.Decision == Conformant || r.Decision == NoViolation:
		return nil
	case r.Decision == NotConformant:
		return r.violations()
	case r.Decision == Inconclusive:
		return fmt.Errorf("%w: %s", ErrInconclusive, r.doubts())
	default:
		return fmt.Errorf("the report has a decision that this package does not know: %q", r.Decision)
	}
}

func (r *Report) violations() error {
	var text strings.Builder
	text.WriteString("not conformant with edition " + escape(r.Edition))
	if r.Partial {
		text.WriteString("; the run was cut short, so its reports are partial")
	}
	for _, verdict := range r.Failed() {
		text.WriteString("\n\n" + verdict.Rule + "\n" + strings.Join(verdict.lines(), "\n"))
	}
	for _, waiver := range r.Waivers {
		if waiver.Complaint != "" {
			text.WriteString("\n\nwaiver for " + escape(waiver.Rule) + ": " + escape(waiver.Complaint))
		}
	}
	return errors.New(text.String())
}

// doubts says why a run without a failure proves nothing.
func (r *Report) doubts() string {
	var doubts []string
	for _, verdict := range r.with(Unjudged) {
		if verdict.Level == "MUST" {
			doubts = append(doubts, "\n  "+verdict.Rule+": "+escape(verdict.Reason))
		}
	}
	switch len(doubts) {
	case 0:
		return "no MUST rule was judged"
	case 1:
		return "1 MUST rule could not be judged:" + doubts[0]
	default:
		return fmt.Sprintf("%d MUST rules could not be judged:%s", len(doubts), strings.Join(doubts, ""))
	}
}

func (r *Report) with(outcome Outcome) []Verdict {
	var found []Verdict
	for _, verdict := range r.Verdicts {
		if verdict.Outcome == outcome {
			found = append(found, verdict)
		}
	}
	return found
}

// readReport reads the suite's JSON report. Fields that this package does not know are fine: the suite may add some.
func readReport(path string) (*Report, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("the suite left no report: %w", err)
	}
	report := &Report{}
	if err := json.Unmarshal(content, report); err != nil {
		return nil, fmt.Errorf("failed to read the suite's report %s: %w", path, err)
	}
	return report, nil
}
