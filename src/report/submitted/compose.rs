//! Composing the report from a judgement, and whether a report is consistent.

use std::{collections::BTreeSet, path::Path};

use evidence::{About, Checksum, Claim, Evidence, ReasonId, Scope, api::Edition};
use jiff::{Timestamp, civil::Date};
use judge::{
    Count, Decision, Extent, Outcome, RuleVerdict, Selection, Verdict, decide_with,
    rules::{self, Facts, Level},
};

use super::document::{
    ConformanceReport, Covered, EvidenceFile, GroupResult, KIND, RuleEntry, RuleGroup, SuiteResult,
};
use crate::{
    Coverage, Report,
    formats::json::API_VERSION,
    text::{count, file_argument},
};

/// Composes a report. `sum` is the checksum of the evidence file, if there is one.
pub fn compose(report: &Report, sum: Option<&Checksum>) -> ConformanceReport {
    compose_as_of(report, sum, rules::as_of())
}

/// Composes the report that a suite with the rules of that day would have written. A change to a rule still shows.
pub(super) fn compose_as_of(report: &Report, sum: Option<&Checksum>, day: Option<Date>) -> ConformanceReport {
    let header = &report.evidence.header;
    let mut document = ConformanceReport {
        api_version: API_VERSION.to_owned(),
        kind: KIND.to_owned(),
        // Seconds are enough for readers.
        date: Timestamp::from_second(report.judged_at.as_second()).unwrap_or(report.judged_at),
        suite_version: crate::VERSION.to_owned(),
        rules_as_of: day.min(rules::as_of()),
        edition: report.judgement.edition,
        cluster_profile_api_version: header.hub.api_version.clone(),
        hub_version: header.hub.server_version.clone(),
        about: header.claim.about.clone(),
        decision: report.judgement.decision,
        editions: report.editions.to_vec(),
        claim: Claim {
            edition: Edition::default(),
            also: None,
            about: About::default(),
            ..header.claim.clone()
        },
        scope: covered(report),
        evidence: sum
            .zip(report.file)
            .map(|(sum, file)| kept(sum, file, &header.suite_version)),
        suites: Vec::new(),
        waivers: report.judgement.waivers.clone(),
    };
    let verdicts = report.judgement.verdicts.iter();
    let entries: Vec<RuleEntry> = verdicts
        .filter(|verdict| document.has(&verdict.rule.facts))
        .map(|verdict| entry(verdict, report.evidence))
        .collect();
    document.suites = suites(&entries);
    // Without the rules of later days it may be another.
    document.decision = document.decision_by_verdicts();
    document.public()
}

fn entry(verdict: &RuleVerdict, evidence: &Evidence) -> RuleEntry {
    let hints = verdict.findings.iter().filter(|finding| finding.advisory).count();
    let (reasons, reason_id) = match verdict.verdict {
        Verdict::Pass | Verdict::Fail | Verdict::Warn => (BTreeSet::new(), None),
        Verdict::Inconclusive => (unknowns(verdict, evidence), None),
        Verdict::Waived => (verdict.reason().into_iter().collect(), None),
        Verdict::NotApplicable | Verdict::Skipped => {
            (verdict.reason().into_iter().collect(), verdict.reason_id())
        }
    };
    RuleEntry {
        rule: verdict.rule.id.to_owned(),
        level: verdict.level(),
        verdict: verdict.verdict,
        title: verdict.rule.facts.title.clone(),
        examined: verdict.examined,
        violations: verdict.findings.len() - hints,
        hints,
        waived: verdict.waived.len(),
        reasons,
        reason_id,
    }
}

/// Why the evidence does not decide a rule, without names of objects: gaps quote names and addresses, which are not
/// public.
fn unknowns(verdict: &RuleVerdict, evidence: &Evidence) -> BTreeSet<String> {
    let facts = &verdict.rule.facts;
    let mut unknowns = BTreeSet::new();
    for kind in facts.needs.iter().chain(&facts.needs_one_of) {
        let gaps = evidence.gaps(*kind).count();
        if gaps > 0 {
            unknowns.insert(format!("evidence is missing: {kind} ({})", count(gaps, "gap")));
        }
    }
    if !evidence.unreadable.is_empty() {
        let unreadable = count(evidence.unreadable.len(), "object");
        unknowns.insert(format!("{unreadable} could not be read"));
    }
    let kind = verdict.rule.role().objects();
    if !evidence.has_any(kind) {
        unknowns.insert(format!("there is no {} to examine", kind.name()));
    }
    if unknowns.is_empty() {
        unknowns.insert("the evidence does not decide it: replay it to see why".to_owned());
    }
    unknowns
}

fn covered(report: &Report) -> Covered {
    let header = &report.evidence.header;
    let coverage = Coverage::of(report);
    let not_asked = coverage.not_asked.iter();
    Covered {
        scope: Scope {
            manager_by_default: false,
            ..header.scope.clone()
        },
        selection: Some(report.selection.clone()).filter(|selection| *selection != Selection::default()),
        profiles: coverage.profiles,
        slices: report.evidence.slices().count(),
        unreadable: report.evidence.unreadable.len(),
        window: header.window,
        watched: coverage.watched.is_some(),
        not_asked: not_asked.map(|(kind, why)| (*kind, why.to_string())).collect(),
        partial: report.cut_short().map(str::to_owned),
    }
}

fn kept(sum: &Checksum, file: &str, collected_by: &str) -> EvidenceFile {
    // The names of folders may reveal the machine and its user.
    let name = Path::new(file).file_name().unwrap_or_default().to_string_lossy();
    EvidenceFile {
        file: name.to_string(),
        sha256: sum.sha256.clone(),
        bytes: sum.bytes,
        collected_by: collected_by.to_owned(),
        judge_again: format!(
            "clusterprofile-conformance report verify REPORT {}",
            file_argument(&name)
        ),
    }
}

/// Groups entries by suite. `entries` include rules that passed, in the order of the rules.
pub(super) fn suites(entries: &[RuleEntry]) -> Vec<SuiteResult> {
    let suites = entries.chunk_by(|one, next| one.suite() == next.suite());
    suites
        .map(|entries| {
            let (must, optional): (Vec<&RuleEntry>, Vec<&RuleEntry>) =
                entries.iter().partition(|entry| entry.level == Level::Must);
            SuiteResult {
                name: entries[0].suite().to_owned(),
                core: group(&must),
                extended: group(&optional),
            }
        })
        .collect()
}

/// `None` if there are no such rules.
fn group(entries: &[&RuleEntry]) -> Option<RuleGroup> {
    let mut group = RuleGroup::default();
    for entry in entries {
        group.statistics.add(entry.verdict);
        let list = match entry.verdict {
            Verdict::Pass => continue,
            Verdict::Fail => &mut group.failed_rules,
            Verdict::Warn | Verdict::Waived => &mut group.warned_rules,
            Verdict::Inconclusive | Verdict::NotApplicable | Verdict::Skipped => &mut group.skipped_rules,
        };
        list.push((*entry).clone());
    }
    group.result = result(&group.statistics);
    (!entries.is_empty()).then_some(group)
}

fn result(count: &Count) -> GroupResult {
    let is_judged = count.judged() > 0 && count.waived + count.inconclusive + count.skipped == 0;
    match (count.failed, is_judged) {
        (0, true) => GroupResult::Success,
        (0, false) => GroupResult::Partial,
        _ => GroupResult::Failure,
    }
}

impl RuleEntry {
    /// Whether it was not judged only because the user deselected it.
    pub(super) fn is_deselected(&self) -> bool {
        self.verdict == Verdict::Skipped && self.reason_id == Some(ReasonId::Deselected)
    }

    fn suite(&self) -> &str {
        self.rule.split_once('/').map_or(&*self.rule, |(suite, _)| suite)
    }
}

impl ConformanceReport {
    /// Its groups of rules. Decisions do not distinguish SHOULD and MAY rules that passed.
    fn groups(&self) -> impl Iterator<Item = (Level, &RuleGroup)> {
        self.suites.iter().flat_map(|suite| {
            let core = suite.core.iter().map(|group| (Level::Must, group));
            core.chain(suite.extended.iter().map(|group| (Level::Should, group)))
        })
    }

    /// The rules that it lists: those that did not pass.
    pub(super) fn listed(&self) -> impl Iterator<Item = &RuleEntry> {
        self.groups().flat_map(|(_, group)| {
            [&group.failed_rules, &group.warned_rules, &group.skipped_rules]
                .into_iter()
                .flatten()
        })
    }

    /// How its decision contradicts its verdicts or its decision by its own edition.
    pub(super) fn contradiction(&self) -> Option<String> {
        let (decision, by_verdicts) = (self.decision, self.decision_by_verdicts());
        if by_verdicts != decision {
            return Some(format!("it is {decision}, and its verdicts make {by_verdicts}"));
        }
        let own = self.editions.iter().find(|one| one.edition == self.edition)?;
        let by_edition = own.decision.filter(|by_edition| *by_edition != decision)?;
        Some(format!(
            "it is {decision}, and {by_edition} by edition {}",
            own.edition
        ))
    }

    /// The decision that follows from the rules that it lists, and from whether others passed.
    pub(super) fn decision_by_verdicts(&self) -> Decision {
        let outcomes = self.listed().map(|entry| Outcome {
            level: entry.level,
            verdict: entry.verdict,
            reason: entry.reason_id,
        });
        let passed = self.groups().filter(|(_, group)| group.statistics.passed > 0);
        let passed = passed.map(|(level, _)| Outcome {
            level,
            verdict: Verdict::Pass,
            reason: None,
        });
        let tally = outcomes.chain(passed).collect();
        decide_with(&tally, self.extent(), &self.waivers, self.claim.strict)
    }

    /// Whether its edition has a rule with these facts, and its suite had it.
    pub(super) fn has(&self, facts: &Facts) -> bool {
        // `None` comes before each day.
        facts.added <= self.rules_as_of && facts.in_edition(self.edition).is_some()
    }

    /// How much of the hub the run has seen.
    fn extent(&self) -> Extent {
        let confined = !self.scope.scope.namespaces.is_empty();
        Extent::of(self.edition.role(), self.scope.partial.is_some(), confined)
    }

    /// Whether it judged all rules on all profiles to its end.
    pub fn is_whole_run(&self) -> bool {
        self.scope.selection.is_none() && self.scope.partial.is_none()
    }
}
