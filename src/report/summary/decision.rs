//! The decision in words, with its basis.

use std::{cmp::Reverse, collections::BTreeSet};

use evidence::{
    Evidence, Kind, ReasonId, Requested,
    api::{Role, Status},
    runs,
};
use jiff::SignedDuration;
use judge::{
    Decision, EditionOutcome, Judgement, RuleVerdict, Verdict,
    rules::{Basis, Level},
};

use crate::{
    Coverage, Report,
    summary::shown_verdict,
    text::{count, escape, listed},
};

/// The decision in one sentence; for several editions, a sentence for each.
pub fn headline(report: &Report) -> String {
    let judgement = report.judgement;
    let sentences: Vec<String> = judgement
        .parts()
        .iter()
        .map(|part| sentence(judgement, part))
        .collect();
    let sentences = match no_status(report.evidence) {
        Some(cause) => format!("{}; {cause}: fix that first", sentences.join("; ")),
        None => sentences.join("; "),
    };
    // Only waivers make the decision worse than the rules do.
    if judgement.decision > judgement.worst() {
        return format!("not conformant: a waiver has expired or waives nothing (strict); {sentences}");
    }
    sentences
}

/// Says that no profile has a status: that alone breaks many rules. `None` if one has, or no manager is judged.
pub fn no_status(evidence: &Evidence) -> Option<String> {
    evidence.header.claim.edition_of(Role::Manager)?;
    let mut number = 0;
    for history in evidence.histories() {
        if history.last().status != Status::default() {
            return None;
        }
        number += 1;
    }
    match number {
        0 => None,
        1 => Some("the profile has no status".to_owned()),
        number => Some(format!("none of {} has a status", count(number, "profile"))),
    }
}

/// The decision by one edition.
fn sentence(judgement: &Judgement, part: &EditionOutcome) -> String {
    let EditionOutcome { edition, tally, .. } = part;
    let must = &tally.must;
    let waived = match tally.waived() {
        0 => String::new(),
        waived => format!(", {} waived", count(waived, "rule")),
    };
    match part.decision {
        Decision::Conformant => format!("conformant with edition {edition}{waived}"),
        Decision::NoViolation => {
            let other_rules = match must.judged() {
                0 => format!(" (and {})", count(tally.judged(), "other rule")),
                _ => String::new(),
            };
            format!(
                "no violation found: {} of {} judged{other_rules}, edition {edition}{waived}",
                must.judged(),
                count(must.rules, "MUST rule")
            )
        }
        Decision::NotConformant => {
            let levels = [(Level::Must, ""), (Level::Should, ", strict")];
            let failing = levels
                .into_iter()
                .filter_map(|(level, remark)| failing(judgement, part, level, remark));
            let failing: Vec<String> = failing.collect();
            format!("not conformant with edition {edition}: {}", failing.join(", "))
        }
        Decision::Inconclusive => {
            let why = match must.inconclusive {
                _ if judgement.partial => "the run was cut short".to_owned(),
                0 => "no MUST rule was judged".to_owned(),
                number => format!("{} could not be judged", count(number, "MUST rule")),
            };
            format!("inconclusive for edition {edition}: {why}")
        }
    }
}

/// Counts the rules of a level that fail, by basis, for example `2 MUST rules fail (1 explicit, 1 derived)`.
fn failing(judgement: &Judgement, part: &EditionOutcome, level: Level, remark: &str) -> Option<String> {
    let failing = judgement.verdicts.iter().filter(|verdict| {
        verdict.verdict == Verdict::Fail
            && verdict.level() == level
            && verdict.applies.edition == part.edition
    });
    let bases: Vec<Basis> = failing.map(RuleVerdict::basis).collect();
    let counts = [Basis::Explicit, Basis::Derived].into_iter().filter_map(|basis| {
        match (bases.iter().filter(|one| **one == basis).count(), bases.len()) {
            (0, _) => None,
            (_, 1) => Some(basis.to_string()),
            (number, _) => Some(format!("{number} {basis}")),
        }
    });
    let counts = counts.collect::<Vec<_>>().join(", ");
    let verb = if bases.len() == 1 { "fails" } else { "fail" };
    let rules = count(bases.len(), &format!("{level} rule"));
    (!bases.is_empty()).then(|| format!("{rules} {verb} ({counts}{remark})"))
}

/// How long the run watched after the window, to be added to the length of the window.
pub fn more(coverage: &Coverage) -> String {
    let settled = coverage.settled.as_ref();
    settled.map_or_else(String::new, |settled| format!(" and {settled}"))
}

/// What the decision is based on, and what would judge the other rules, in one sentence.
pub fn scope(report: &Report) -> String {
    let rest = rest(report).map_or_else(String::new, |rest| format!("; {rest}"));
    basis(report) + &rest
}

/// How many rules have each verdict, on which objects, and for how long they were watched.
pub(crate) fn basis(report: &Report) -> String {
    let (evidence, judgement) = (report.evidence, report.judgement);
    let coverage = Coverage::of(report);
    let verdicts = judgement.verdicts.iter();
    let verdicts = verdicts.map(|verdict| (shown_verdict(verdict), verdict.is_deselected()));
    let mut parts = vec![verdicts_in_words(verdicts)];
    let must = &judgement.tally.must;
    // The headline of a run without a violation has this count.
    let is_in_headline = judgement.also.is_none() && judgement.decision == Decision::NoViolation;
    if !is_in_headline {
        let rules = count(must.rules, "MUST rule");
        parts.push(format!("{} of {rules} judged", must.judged()));
    }
    let mut objects = count(coverage.profiles, "profile");
    if evidence.header.claim.edition_of(Role::Scheduler).is_some() {
        objects = format!("{} and {objects}", count(evidence.slices().count(), "slice"));
    }
    objects += &match coverage.watched {
        Some(window) => {
            let watched = SignedDuration::from_secs(window.seconds());
            format!(", watched for {watched:#}{}", more(&coverage))
        }
        None => ", single snapshot".to_owned(),
    };
    let scope = &evidence.header.scope;
    if !scope.namespaces.is_empty() {
        let only = if judgement.extent().confined { " only" } else { "" };
        objects += &format!(", in {}{only}", escape::line(&scope.namespaces.join(", ")));
    }
    for (what, name) in [
        ("manager", &scope.cluster_manager),
        ("scheduler", &scope.scheduler),
    ] {
        if let Some(name) = name {
            objects += &format!(", of {what} {} only", escape::line(name));
        }
    }
    parts.push(objects);
    if judgement.unjudged() > 0 {
        parts.push(format!(
            "{} cannot be judged yet",
            count(judgement.unjudged(), "rule")
        ));
    }
    if let Some(note) = runs::other_runs_note(&evidence.header.other_runs) {
        parts.push(escape::line(&note).into_owned());
    }
    if let Some(why) = report.cut_short() {
        parts.push(format!("partial: {}", escape::line(why)));
    }
    parts.join("; ")
}

/// Verdicts, each with whether its rule was deselected, in words for one rule and for several.
const WORDS: [(Verdict, bool, &str, &str); 8] = [
    (Verdict::Pass, false, "passes", "pass"),
    (Verdict::Fail, false, "fails", "fail"),
    (Verdict::Warn, false, "warns", "warn"),
    (Verdict::Waived, false, "is waived", "are waived"),
    (
        Verdict::Inconclusive,
        false,
        "is inconclusive",
        "are inconclusive",
    ),
    (Verdict::NotApplicable, false, "does not apply", "do not apply"),
    (Verdict::Skipped, false, "was not checked", "were not checked"),
    (Verdict::Skipped, true, "was not selected", "were not selected"),
];

/// The number of rules with each verdict that occurs, for example `11 pass, 20 do not apply, 5 were not checked`. Each
/// verdict comes with whether its rule was deselected.
pub(crate) fn verdicts_in_words(verdicts: impl IntoIterator<Item = (Verdict, bool)>) -> String {
    let verdicts: Vec<(Verdict, bool)> = verdicts.into_iter().collect();
    let mut counts = Vec::new();
    for (verdict, is_deselected, one, many) in WORDS {
        let matching = verdicts.iter().filter(|one| **one == (verdict, is_deselected));
        match matching.count() {
            0 => {}
            1 => counts.push(format!("1 {one}")),
            number => counts.push(format!("{number} {many}")),
        }
    }
    counts.join(", ")
}

/// What to add so that a run judges the MUST rules that this one did not judge although nothing shows that they do not
/// apply; `None` if nothing is missing.
pub(crate) fn rest(report: &Report) -> Option<String> {
    let verdicts = report.judgement.verdicts.iter();
    let unjudged: Vec<&RuleVerdict> = verdicts
        .filter(|verdict| verdict.level() == Level::Must && verdict.is_unjudged())
        .collect();
    let mut reasons: BTreeSet<ReasonId> = unjudged.iter().filter_map(|one| one.reason_id()).collect();
    let absent: BTreeSet<&str> = unjudged
        .iter()
        .filter(|verdict| verdict.reason_id() == Some(ReasonId::FeatureAbsent))
        .filter_map(|verdict| Some(verdict.rule.facts.feature?.name()))
        .collect();
    let mut kinds = kinds_needed(report, &unjudged);
    if !absent.is_empty() {
        // Without the feature, no rule needs them.
        kinds.retain(|kind| !matches!(kind, Kind::Secrets | Kind::UnlabelledSecrets));
    }
    let shows_more = |kind: &Kind| matches!(kind, Kind::Timeline | Kind::PlacementTimeline | Kind::Driver);
    if kinds.iter().any(shows_more) {
        reasons.remove(&ReasonId::NothingHappened);
    }
    if report.judgement.edition.role() != Role::Consumer {
        reasons.remove(&ReasonId::NotRequested);
    }
    let mut needs: Vec<String> = Vec::new();
    let not_asked = Coverage::of(report).not_asked;
    for kind in kinds {
        let reason = not_asked.get(&kind).and_then(|reason| reason.id);
        // The flag that took the snapshot is not the one that helps.
        let helps = |id: &ReasonId| !matches!(id, ReasonId::SingleSnapshot | ReasonId::NoWatch);
        let advice = reason.filter(helps).map(|id| (report.advice)(id, None));
        needs.push(format!("{}{}", kind_in_words(kind), advice.unwrap_or_default()));
    }
    let features = absent.iter();
    needs.extend(features.map(|feature| format!("the feature {feature}, which was declared absent")));
    let more = match report.evidence.requested(Kind::Driver) {
        Requested::Yes => "a longer watch or a driver that does more",
        Requested::No(_) => "a longer watch or a driver",
    };
    let manager_names = "the users or field managers of the cluster manager";
    let scheduler_names = "the users or field managers of the scheduler";
    for (reason, need) in [
        (ReasonId::NothingHappened, more),
        (ReasonId::ManagerNotNamed, manager_names),
        (ReasonId::SchedulerNotNamed, scheduler_names),
        (ReasonId::NoConsumerUsers, "the users of consumers"),
        (ReasonId::NoConsumer, "a consumer"),
        (ReasonId::NoClusterset, "a ClusterSet"),
        (ReasonId::NoMemberKubeconfig, "answers of the members"),
        (ReasonId::NoSecretTried, "a try of the consumers' Secrets"),
        (ReasonId::Deselected, "all rules"),
        (ReasonId::NotRequested, "more claims of the consumer"),
    ] {
        if reasons.contains(&reason) {
            needs.push(format!("{need}{}", (report.advice)(reason, None)));
        }
    }
    if report.judgement.extent().confined {
        needs.push("all namespaces".to_owned());
    }
    let mut unique = BTreeSet::new();
    needs.retain(|need| unique.insert(need.clone()));
    listed(&needs).map(|needs| format!("to check the rest, add {needs}"))
}

/// The kinds of evidence that rules wait for, those of the most rules first, without kinds that only rules wait for
/// which an earlier one lets a run judge.
fn kinds_needed(report: &Report, unjudged: &[&RuleVerdict]) -> Vec<Kind> {
    let is_unjudged = |id: &str| unjudged.iter().any(|verdict| verdict.rule.id == id);
    let mut kinds: Vec<(Kind, Vec<&str>)> = judge::locked(report.judgement, report.evidence)
        .into_iter()
        .map(|(kind, rules)| {
            let ids = rules.iter().map(|rule| rule.id);
            (kind, ids.filter(|id| is_unjudged(id)).collect())
        })
        .collect();
    kinds.sort_by_key(|(_, rules)| Reverse(rules.len()));
    let mut covered = BTreeSet::new();
    kinds.retain(|(_, rules)| {
        let before = covered.len();
        covered.extend(rules.iter().copied());
        covered.len() > before
    });
    kinds.into_iter().map(|(kind, _)| kind).collect()
}

/// A kind of evidence in a sentence.
pub fn kind_in_words(kind: Kind) -> &'static str {
    match kind {
        Kind::Timeline | Kind::PlacementTimeline => "a watch",
        Kind::Secrets | Kind::UnlabelledSecrets => "the Secrets of consumers",
        Kind::Requests => "the audit log",
        Kind::Members => "answers of the members",
        Kind::Driver => "a driver",
        Kind::Probe => "dry runs",
        Kind::Writers => "managedFields",
        Kind::Plugins => "credential plugins",
        Kind::PlacementDecisions => "placement decisions",
        other => other.name(),
    }
}
