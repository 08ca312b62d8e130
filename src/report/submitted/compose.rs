//! Composing the report from a judgement.

use std::{collections::BTreeSet, path::Path};

use evidence::{Checksum, Claim, Evidence, api::Edition};
use jiff::{Timestamp, civil::Date};
use judge::{
    RuleVerdict, Selection, Verdict,
    rules::{self, Facts},
};

use super::{
    document::{Covered, Document, Entry, KIND, Kept},
    entries::{decision, suites},
};
use crate::{Coverage, Report, formats::json::API_VERSION, text::number::count};

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
    let entries = entries_where(report, |facts| document.has(facts));
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

/// Every rule of the edition, those that passed too.
pub(super) fn entries(report: &Report) -> Vec<Entry> {
    entries_where(report, |_| true)
}

fn entries_where(report: &Report, is_wanted: impl Fn(&Facts) -> bool) -> Vec<Entry> {
    let verdicts = report.judgement.verdicts.iter();
    let wanted = verdicts.filter(|verdict| is_wanted(&verdict.rule.facts));
    wanted.map(|verdict| entry(verdict, report.evidence)).collect()
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
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | '+' | ':' | '@');
    let quoted = if name.chars().all(is_plain) && !name.starts_with('-') {
        name.to_string()
    } else {
        format!("./'{}'", name.replace('\'', r"'\''"))
    };
    Kept {
        file: name.to_string(),
        sha256: sum.sha256.clone(),
        bytes: sum.bytes,
        collected_by: collected_by.to_owned(),
        judge_again: format!("clusterprofile-conformance report verify REPORT {quoted}"),
    }
}
