//! Composing the report from a judgement, and whether a report is consistent.

use std::{collections::BTreeSet, path::Path};

use evidence::{Checksum, Claim, Evidence, ReasonId, api::Edition};
use jiff::{Timestamp, civil::Date};
use judge::{
    Count, Decision, Extent, Outcome, RuleVerdict, Selection, Verdict, WaiverOutcome, decide_with,
    rules::{self, Facts, Level},
};

use super::document::{Covered, Document, Entry, Group, Judged, KIND, Kept, SuiteResult};
use crate::{
    Coverage, Report,
    formats::json::API_VERSION,
    text::{count, file_argument},
};

/// Composes a report. `sum` is the checksum of the evidence file, if there is one.
pub fn compose(report: &Report, sum: Option<&Checksum>) -> Document {
    compose_as_of(report, sum, rules::as_of())
}

/// Composes the report that a suite with the rules of that day would have written. A change to a rule still shows.
pub(super) fn compose_as_of(report: &Report, sum: Option<&Checksum>, day: Option<Date>) -> Document {
    let header = &report.evidence.header;
    let mut document = Document {
        api_version: API_VERSION.to_owned(),
        kind: KIND.to_owned(),
        // Seconds are enough for readers.
        date: Timestamp::from_second(report.judged_at.as_second()).unwrap_or(report.judged_at),
        suite_version: env!("CARGO_PKG_VERSION").to_owned(),
        rules_as_of: day.min(rules::as_of()),
        edition: report.judgement.edition,
        cluster_profile_api_version: header.hub.api_version.clone(),
        hub_version: header.hub.server_version.clone(),
        implementation: header.claim.about.implementation.clone(),
        submitted_by: header.claim.about.submitted_by.clone(),
        environment: header.claim.about.environment.clone(),
        decision: report.judgement.decision,
        editions: report.editions.to_vec(),
        claim: Claim {
            edition: Edition::default(),
            also: None,
            about: Default::default(),
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
    let entries: Vec<Entry> = verdicts
        .filter(|verdict| document.has(&verdict.rule.facts))
        .map(|verdict| entry(verdict, report.evidence))
        .collect();
    document.suites = suites(&entries);
    // Without the rules of later days it may be another.
    document.decision = decision(
        &entries,
        document.extent(),
        &document.waivers,
        document.claim.strict,
    );
    document.public()
}

fn entry(verdict: &RuleVerdict, evidence: &Evidence) -> Entry {
    let hints = verdict.findings.iter().filter(|finding| finding.advisory).count();
    let reasons: BTreeSet<String> = match verdict.verdict {
        Verdict::Pass | Verdict::Fail | Verdict::Warn => BTreeSet::new(),
        Verdict::Inconclusive => unknowns(verdict, evidence),
        Verdict::Waived | Verdict::NotApplicable | Verdict::Skipped => verdict.reason().into_iter().collect(),
    };
    Entry {
        rule: verdict.rule.id.to_owned(),
        level: verdict.level(),
        verdict: verdict.verdict,
        title: verdict.rule.facts.title.clone(),
        examined: verdict.examined,
        violations: verdict.findings.len() - hints,
        hints,
        waived: verdict.waived.len(),
        reasons,
        reason_id: match verdict.verdict {
            Verdict::NotApplicable | Verdict::Skipped => verdict.reason_id(),
            _ => None,
        },
    }
}

/// Why the evidence does not decide a rule, without names of objects: gaps quote names and addresses, which are not
/// public.
fn unknowns(verdict: &RuleVerdict, evidence: &Evidence) -> BTreeSet<String> {
    let facts = &verdict.rule.facts;
    let kinds = facts.needs.iter().chain(&facts.needs_one_of);
    let mut unknowns: BTreeSet<String> = kinds
        .filter_map(|kind| match evidence.gaps(*kind).count() {
            0 => None,
            gaps => Some(format!("evidence is missing: {kind} ({})", count(gaps, "gap"))),
        })
        .collect();
    if !evidence.unreadable.is_empty() {
        unknowns.insert(format!(
            "{} could not be read",
            count(evidence.unreadable.len(), "object")
        ));
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
    Covered {
        namespaces: header.scope.namespaces.clone(),
        cluster_manager: header.scope.cluster_manager.clone(),
        scheduler: header.scope.scheduler.clone(),
        selection: Some(report.selection.clone()).filter(|selection| *selection != Selection::default()),
        profiles: coverage.profiles,
        slices: report.evidence.slices().count(),
        unreadable: report.evidence.unreadable.len(),
        window: header.window,
        watched: coverage.watched.is_some(),
        not_asked: coverage
            .not_asked
            .iter()
            .map(|(kind, why)| (*kind, why.to_string()))
            .collect(),
        partial: report.cut_short().map(str::to_owned),
    }
}

fn kept(sum: &Checksum, file: &str, collected_by: &str) -> Kept {
    // The names of folders may reveal the machine and its user.
    let name = Path::new(file).file_name().unwrap_or_default().to_string_lossy();
    Kept {
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
pub(super) fn suites(entries: &[Entry]) -> Vec<SuiteResult> {
    let suites = entries.chunk_by(|one, next| one.suite() == next.suite());
    suites
        .map(|entries| {
            let group = |is_core| {
                group(
                    entries
                        .iter()
                        .filter(|entry| (entry.level == Level::Must) == is_core),
                )
            };
            SuiteResult {
                name: entries[0].suite().to_owned(),
                core: group(true),
                extended: group(false),
            }
        })
        .collect()
}

/// `None` if there are no such rules.
fn group<'a>(entries: impl Iterator<Item = &'a Entry>) -> Option<Group> {
    let mut statistics = Count::default();
    let (mut failed_rules, mut warned_rules, mut skipped_rules) = (Vec::new(), Vec::new(), Vec::new());
    for entry in entries {
        statistics.add(entry.verdict);
        match entry.verdict {
            Verdict::Pass => {}
            Verdict::Fail => failed_rules.push(entry.clone()),
            Verdict::Warn | Verdict::Waived => warned_rules.push(entry.clone()),
            _ => skipped_rules.push(entry.clone()),
        }
    }
    let Count {
        waived,
        inconclusive,
        skipped,
        ..
    } = statistics;
    let result = match statistics.judged() {
        _ if statistics.failed > 0 => Judged::Failure,
        judged if judged == 0 || waived + inconclusive + skipped > 0 => Judged::Partial,
        _ => Judged::Success,
    };
    (statistics.rules > 0).then_some(Group {
        result,
        statistics,
        failed_rules,
        warned_rules,
        skipped_rules,
    })
}

pub(super) fn decision(
    entries: &[Entry],
    extent: Extent,
    waivers: &[WaiverOutcome],
    strict: bool,
) -> Decision {
    let outcomes = entries.iter().map(Entry::outcome);
    decide_with(&outcomes.collect(), extent, waivers, strict)
}

impl Entry {
    fn outcome(&self) -> Outcome {
        Outcome {
            level: self.level,
            verdict: self.verdict,
            reason: self.reason_id,
        }
    }

    /// Whether it was not judged only because the user deselected it.
    pub(crate) fn is_deselected(&self) -> bool {
        self.verdict == Verdict::Skipped && self.reason_id == Some(ReasonId::Deselected)
    }

    pub(crate) fn suite(&self) -> &str {
        self.rule.split_once('/').map_or(&*self.rule, |(suite, _)| suite)
    }
}

impl Document {
    /// The rules that it lists: those that did not pass.
    pub(crate) fn listed(&self) -> impl Iterator<Item = &Entry> {
        let groups = self
            .suites
            .iter()
            .flat_map(|suite| suite.core.iter().chain(&suite.extended));
        groups.flat_map(|group| {
            [&group.failed_rules, &group.warned_rules, &group.skipped_rules]
                .into_iter()
                .flatten()
        })
    }

    /// How its decision contradicts its own verdicts, or its decisions by edition.
    pub(super) fn contradiction(&self) -> Option<String> {
        let decision = self.decision.name();
        let follows = self.decision_by_verdicts();
        if follows != self.decision {
            return Some(format!(
                "it is {decision}, and its verdicts make {}",
                follows.name()
            ));
        }
        let own = self.editions.iter().find(|one| one.edition == self.edition)?;
        let other = own.decision.filter(|own| *own != self.decision)?;
        Some(format!(
            "it is {decision}, and {} by edition {}",
            other.name(),
            self.edition
        ))
    }

    /// The decision that follows from the rules that it lists, and from whether others passed.
    fn decision_by_verdicts(&self) -> Decision {
        let listed = self.listed().map(Entry::outcome);
        let passed = self.suites.iter().flat_map(|suite| {
            let groups = [(Level::Must, &suite.core), (Level::Should, &suite.extended)];
            groups.into_iter().filter_map(|(level, group)| {
                let passed = group.as_ref()?.statistics.passed;
                (passed > 0).then_some(Outcome {
                    level,
                    verdict: Verdict::Pass,
                    reason: None,
                })
            })
        });
        let tally = listed.chain(passed).collect();
        decide_with(&tally, self.extent(), &self.waivers, self.claim.strict)
    }

    /// Whether its edition has a rule with these facts, and its suite had it.
    pub(crate) fn has(&self, facts: &Facts) -> bool {
        // `None` comes before each day.
        facts.added <= self.rules_as_of && facts.in_edition(self.edition).is_some()
    }

    /// How much of the hub the run has seen.
    pub(super) fn extent(&self) -> Extent {
        let confined = !self.scope.namespaces.is_empty();
        Extent::of(self.edition.role(), self.scope.partial.is_some(), confined)
    }

    /// Whether it judged all rules on all profiles to its end.
    pub fn is_whole_run(&self) -> bool {
        self.scope.selection.is_none() && self.scope.partial.is_none()
    }
}
