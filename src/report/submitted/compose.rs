//! Composing the report from a judgement.

use std::{collections::BTreeSet, path::Path};

use evidence::{Checksum, Claim, Evidence};
use jiff::{Timestamp, civil::Date};
use judge::{
    RuleVerdict, Selection, Verdict,
    rules::{self, Facts},
};

use super::{
    document::{Claimed, Covered, Document, Entry, KIND, Kept, Picked, Span, Waived},
    outcome::{decision, suites},
};
use crate::{Coverage, Report, formats::json::API_VERSION, partial, text::number::count};

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
        claim: Claimed::of(&header.claim),
        scope: covered(report),
        evidence: sum
            .zip(report.file)
            .map(|(sum, file)| kept(sum, file, &header.suite_version)),
        suites: Vec::new(),
        waivers: report.judgement.waivers.iter().map(Waived::from).collect(),
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
    document.made_public()
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
        Verdict::Inconclusive => doubts(verdict, evidence),
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

/// Why the evidence does not tell, in words that name no object: gaps quote names and addresses, which are not for the
/// public.
fn doubts(verdict: &RuleVerdict, evidence: &Evidence) -> BTreeSet<String> {
    let facts = &verdict.rule.facts;
    let kinds = facts.needs.iter().chain(&facts.needs_one_of);
    let mut doubts: BTreeSet<String> = kinds
        .filter_map(|kind| match evidence.gaps(*kind).count() {
            0 => None,
            gaps => Some(format!("evidence is missing: {kind} ({})", count(gaps, "gap"))),
        })
        .collect();
    if !evidence.unreadable.is_empty() {
        doubts.insert(format!(
            "{} could not be read",
            count(evidence.unreadable.len(), "object")
        ));
    }
    let kind = verdict.rule.role().objects();
    if !evidence.has_any(kind) {
        doubts.insert(format!("there is no {} to examine", kind.name()));
    }
    if doubts.is_empty() {
        doubts.insert("the evidence does not decide it: replay it to see why".to_owned());
    }
    doubts
}

fn covered(report: &Report) -> Covered {
    let header = &report.evidence.header;
    let coverage = Coverage::of(report);
    Covered {
        namespaces: header.scope.namespaces.clone(),
        cluster_manager: header.scope.cluster_manager.clone(),
        scheduler: header.scope.scheduler.clone(),
        selection: Picked::of(report.selection),
        profiles: coverage.profiles,
        slices: report.evidence.slices().count(),
        unreadable: report.evidence.unreadable.len(),
        window: header.window.map(|window| Span {
            from: window.from,
            until: window.until,
        }),
        watched: coverage.watched.is_some(),
        not_asked: coverage
            .not_asked
            .iter()
            .map(|(kind, why)| (*kind, why.to_string()))
            .collect(),
        partial: partial(report).map(str::to_owned),
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

impl Claimed {
    fn of(claim: &Claim) -> Self {
        Self {
            features: claim.features.clone(),
            no_features: claim.no_features.clone(),
            strict: claim.strict,
            consumers: claim.consumers.clone(),
            cluster_manager: claim.cluster_manager.clone(),
            scheduler: claim.scheduler.clone(),
            consumer_agents: claim.consumer_agents.clone(),
            expected_profiles: claim.expected_profiles,
            node_tolerance: claim.node_tolerance,
            clustersets: claim.clustersets.clone(),
        }
    }

    /// Has it count instead of what the evidence recorded.
    pub(super) fn apply(&self, claim: &mut Claim) {
        claim.features.clone_from(&self.features);
        claim.no_features.clone_from(&self.no_features);
        claim.strict = self.strict;
        claim.consumers.clone_from(&self.consumers);
        claim.cluster_manager.clone_from(&self.cluster_manager);
        claim.scheduler.clone_from(&self.scheduler);
        claim.consumer_agents.clone_from(&self.consumer_agents);
        claim.expected_profiles = self.expected_profiles;
        claim.node_tolerance = self.node_tolerance;
        claim.clustersets.clone_from(&self.clustersets);
    }
}

impl Picked {
    /// None where all rules were picked.
    fn of(selection: &Selection) -> Option<Self> {
        (*selection != Selection::default()).then(|| Self {
            filters: selection.filters.clone(),
            skip: selection.skip.clone(),
            exact: selection.exact,
            basis: selection.basis,
        })
    }

    pub(super) fn selection(&self) -> Selection {
        Selection {
            filters: self.filters.clone(),
            skip: self.skip.clone(),
            exact: self.exact,
            basis: self.basis,
        }
    }
}
