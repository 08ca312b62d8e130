package conformance

import (
	"fmt"
	"strings"
)

// The most findings of a rule to show; report.json has all of them.
const shownFindings = 10

// headline names the level, the basis and the rule's title.
func (v *Verdict) headline() string {
	return "[" + strings.TrimSpace(v.Level+" "+v.Basis) + "] " + escape(v.Title)
}

// lines describes a verdict: the rule, the findings and the remedy.
func (v *Verdict) lines() []string {
	lines := []string{
		v.headline(),
		fmt.Sprintf("%s; %d found, %d examined", escape(v.Source), len(v.Findings)+len(v.Waived), v.Examined),
	}
	findings := v.Findings
	for _, waived := range v.Waived {
		findings = append(findings[:len(findings):len(findings)], waived.Finding)
	}
	for place, finding := range findings {
		if place == shownFindings {
			lines = append(lines, "", fmt.Sprintf("… and %d more, in report.json", len(findings)-place))
			break
		}
		lines = append(lines, "", "finding   "+escape(finding.Message))
		lines = append(lines, field("object", finding.Object.String())...)
		lines = append(lines, field("path", finding.Path)...)
		lines = append(lines, field("expected", finding.Expected)...)
		lines = append(lines, field("observed", finding.Observed)...)
	}
	if len(findings) > 0 {
		lines = append(lines, "")
	}
	lines = append(lines, v.notes()...)
	lines = append(lines, field("remedy", v.Remedy)...)
	return append(lines, field("explain", "clusterprofile-conformance explain "+v.Rule)...)
}

// notes describes what the verdict rests on.
func (v *Verdict) notes() []string {
	var lines []string
	for _, note := range v.Notes {
		lines = append(lines, field("note", note)...)
	}
	return lines
}

// field shows a value behind its name, and nothing for an empty value.
func field(name, value string) []string {
	if value == "" {
		return nil
	}
	return []string{fmt.Sprintf("%-10s%s", name, escape(value))}
}
