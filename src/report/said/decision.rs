//! The decision in words, with its basis.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
};

use evidence::{Asked, Kind, ReasonId, api::Role, runs};
use jiff::SignedDuration;
use judge::{
    Count, Decision, Judgement, Part, RuleVerdict, Tally, Verdict,
    rules::{Basis, Level},
};

use crate::{
    Coverage, Report,
    text::{
        escape,
        number::{count, listed},
    },
};

/// The decision in one sentence; of several editions, a sentence for each.
pub fn headline(report: &Report) -> String {
    let judgement = report.judgement;
    let parts = judgement.parts();
    let sentences: Vec<String> = parts.iter().map(|part| sentence(judgement, part)).collect();
    let sentences = sentences.join("; ");
    // Only waivers spoil it more than the rules do.
    if judgement.decision > judgement.worst() {
        return format!("not conformant: a waiver has expired or waives nothing (strict); {sentences}");
    }
    sentences
}

/// The decision by one edition.
fn sentence(judgement: &Judgement, part: &Part) -> String {
    let Part { edition, tally, .. } = part;
    let waived = match tally.waived() {
        0 => String::new(),
        waived => format!(", {} waived", count(waived, "rule")),
    };
    match part.decision {
        Decision::Conformant => format!("conformant with edition {edition}{waived}"),
        Decision::NoViolation => format!(
            "no violation found: {} of {} judged{}, edition {edition}{waived}",
            tally.must.judged(),
            count(tally.must.rules, "MUST rule"),
            others(tally),
        ),
        Decision::NotConformant => format!(
            "not conformant with edition {edition}: {}",
            broken(judgement, part)
        ),
        Decision::Inconclusive if judgement.partial => {
            format!("inconclusive for edition {edition}: the run was cut short")
        }
        Decision::Inconclusive if tally.must.inconclusive > 0 => format!(
            "inconclusive for edition {edition}: {} could not be judged",
            count(tally.must.inconclusive, "MUST rule")
        ),
        Decision::Inconclusive => {
            format!("inconclusive for edition {edition}: no MUST rule was judged")
        }
    }
}

/// Counts the judged rules of other levels, if those are all.
fn others(tally: &Tally) -> String {
    match tally.must.judged() {
        0 => format!(" (and {})", count(tally.judged(), "other rule")),
        _ => String::new(),
    }
}

/// Counts the rules that fail, by level and basis, such as `2 MUST rules fail (1 explicit, 1 derived)`.
fn broken(judgement: &Judgement, part: &Part) -> String {
    let failing = |level: Level| {
        let failing = judgement.verdicts.iter().filter(move |verdict| {
            verdict.verdict == Verdict::Fail
                && verdict.level() == level
                && verdict.applies.edition == part.edition
        });
        failing.map(RuleVerdict::basis).collect::<Vec<Basis>>()
    };
    let told = [(Level::Must, ""), (Level::Should, ", strict")].map(|(level, remark)| {
        let bases = failing(level);
        let of = |basis: Basis| bases.iter().filter(|one| **one == basis).count();
        let counts = [Basis::Explicit, Basis::Derived].map(|basis| (of(basis), basis));
        let counts: Vec<String> = counts
            .iter()
            .filter(|(number, _)| *number > 0)
            .map(|(number, basis)| match bases.len() {
                1 => basis.to_string(),
                _ => format!("{number} {basis}"),
            })
            .collect();
        let verb = if bases.len() == 1 { "fails" } else { "fail" };
        (!bases.is_empty()).then(|| {
            format!(
                "{} {verb} ({}{remark})",
                count(bases.len(), &format!("{level} rule")),
                counts.join(", ")
            )
        })
    });
    told.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// How the run looked on after the window, to be added to how long that was.
pub fn more(coverage: &Coverage) -> String {
    let settled = coverage.settled.as_ref();
    settled.map_or_else(String::new, |settled| format!(" and {settled}"))
}

/// The basis of the decision, in one sentence.
pub fn scope(report: &Report) -> String {
    let coverage = Coverage::of(report);
    let must = &report.judgement.tally.must;
    let window = match coverage.watched {
        Some(window) => {
            format!("watched for {:#}", SignedDuration::from_secs(window.seconds())) + &more(&coverage)
        }
        None => "single snapshot".to_owned(),
    };
    // The headline of a run without a violation has said how many were judged.
    let judged = match report.judgement.parts()[..] {
        [
            Part {
                decision: Decision::NoViolation,
                ..
            },
        ] => {
            format!("{} not judged", count(must.rules - must.judged(), "MUST rule"))
        }
        _ => format!("{} of {} judged", must.judged(), count(must.rules, "MUST rule")),
    };
    let mut sentence = format!(
        "{judged}{}, over {}, {window}",
        unjudged(must),
        over(report, coverage.profiles),
    );
    let scope = &report.evidence.header.scope;
    if !scope.namespaces.is_empty() {
        let names = escape::line(&scope.namespaces.join(", ")).into_owned();
        let only = if report.judgement.extent().confined {
            " only"
        } else {
            ""
        };
        sentence += &format!(", in {names}{only}");
    }
    if let Some(manager) = &scope.cluster_manager {
        sentence += &format!(", of manager {} only", escape::line(manager));
    }
    if let Some(scheduler) = &scope.scheduler {
        sentence += &format!(", of scheduler {} only", escape::line(scheduler));
    }
    let unjudged = report.judgement.unjudged();
    if unjudged > 0 {
        sentence += &format!("; {} cannot be judged yet", count(unjudged, "rule"));
    }
    if let Some(others) = runs::left_out(&report.evidence.header.other_runs) {
        sentence += &format!("; {}", escape::line(&others));
    }
    sentence += &the_rest_needs(report);
    if let Some(why) = partial(report) {
        sentence += &format!("; partial: {}", escape::line(why));
    }
    sentence
}

/// Says what it takes to judge the MUST rules that were not judged, although nothing shows that they do not apply.
fn the_rest_needs(report: &Report) -> String {
    let verdicts = report.judgement.verdicts.iter();
    let unjudged: Vec<&RuleVerdict> = verdicts
        .filter(|verdict| verdict.level() == Level::Must && verdict.is_unjudged())
        .collect();
    let reasons: BTreeSet<ReasonId> = unjudged
        .iter()
        .filter_map(|verdict| verdict.reason_id())
        .collect();
    let mut kinds = kinds_needed(report, &unjudged);
    let absent: BTreeSet<&str> = unjudged
        .iter()
        .filter(|verdict| verdict.reason_id() == Some(ReasonId::FeatureAbsent))
        .filter_map(|verdict| Some(verdict.rule.facts.feature?.name()))
        .collect();
    // Without the feature, nobody asks for them.
    kinds.retain(|kinds| absent.is_empty() || !is_one_of(kinds, &[Kind::Secrets, Kind::UnlabelledSecrets]));
    let shows_more = [Kind::Timeline, Kind::PlacementTimeline, Kind::Driver];
    let is_more_seen = kinds.iter().any(|kinds| is_one_of(kinds, &shows_more));
    let mut needs: Vec<String> = kinds.iter().filter_map(alternatives).collect();
    needs.extend(
        absent
            .iter()
            .map(|feature| format!("the feature {feature}, which was declared absent")),
    );
    if reasons.contains(&ReasonId::NothingHappened) && !is_more_seen {
        let has_driver = *report.evidence.asked(Kind::Driver) == Asked::Yes;
        let more = if has_driver { " that does more" } else { "" };
        needs.push(format!("a longer watch or a driver{more}"));
    }
    for (reason, need) in [
        (
            ReasonId::ManagerNotNamed,
            "the users or field managers of the cluster manager named",
        ),
        (
            ReasonId::SchedulerNotNamed,
            "the users or field managers of the scheduler named",
        ),
        (ReasonId::NoConsumerUsers, "the users of consumers named"),
        (ReasonId::NoConsumer, "a consumer declared"),
        (ReasonId::NoClusterset, "a ClusterSet declared"),
        (ReasonId::NoMemberKubeconfig, "members asked"),
        (ReasonId::NoSecretTried, "the Secrets of consumers tried"),
        (ReasonId::Deselected, "all rules selected"),
    ] {
        if reasons.contains(&reason) {
            needs.push(need.to_owned());
        }
    }
    let is_consumer = report.judgement.edition.role() == Role::Consumer;
    if is_consumer && reasons.contains(&ReasonId::NotRequested) {
        needs.push("more claims of the consumer".to_owned());
    }
    if report.judgement.extent().confined {
        needs.push("all namespaces".to_owned());
    }
    let mut told = BTreeSet::new();
    needs.retain(|need| told.insert(need.clone()));
    // What is inconclusive has all evidence that was asked for, and says itself what it lacks.
    let subject = match report.judgement.tally.must.inconclusive {
        0 => "the rest needs",
        _ => "the others need",
    };
    listed(&needs).map_or_else(String::new, |needs| format!("; {subject} {needs}"))
}

/// Whether one of those kinds alone is needed, without an alternative.
fn is_one_of(needed: &BTreeSet<Kind>, kinds: &[Kind]) -> bool {
    needed.len() == 1 && kinds.iter().any(|kind| needed.contains(kind))
}

/// The kinds of evidence that rules wait for, each with its alternatives, those of the most rules first. Of alternatives, none is
/// needed if another rule needs one of them, and one is enough if several rules have it among theirs.
fn kinds_needed(report: &Report, unjudged: &[&RuleVerdict]) -> Vec<BTreeSet<Kind>> {
    let mut by_rule: BTreeMap<&str, BTreeSet<Kind>> = BTreeMap::new();
    for (kind, rules) in judge::locked(report.judgement, report.evidence) {
        let waiting = rules
            .iter()
            .filter(|rule| unjudged.iter().any(|verdict| verdict.rule.id == rule.id));
        for rule in waiting {
            by_rule.entry(rule.id).or_default().insert(kind);
        }
    }
    let mut needed: BTreeMap<&BTreeSet<Kind>, usize> = BTreeMap::new();
    for kinds in by_rule.values() {
        *needed.entry(kinds).or_default() += 1;
    }
    let is_needed_alone = |kind: &Kind| needed.contains_key(&BTreeSet::from([*kind]));
    let mut told: Vec<(&BTreeSet<Kind>, usize)> = needed
        .iter()
        .filter(|(kinds, _)| kinds.len() == 1 || !kinds.iter().any(is_needed_alone))
        .map(|(kinds, rules)| (*kinds, *rules))
        .collect();
    told.sort_by_key(|(_, rules)| Reverse(*rules));
    let mut left: Vec<&BTreeSet<Kind>> = told.into_iter().map(|(kinds, _)| kinds).collect();
    let mut chosen = Vec::new();
    while let Some(first) = left.first().copied() {
        let having = |kind: &Kind| left.iter().filter(|kinds| kinds.contains(kind)).count();
        // The first of those that are most of use.
        let Some(most) = first.iter().copied().rev().max_by_key(having) else {
            break;
        };
        chosen.push(if having(&most) > 1 {
            BTreeSet::from([most])
        } else {
            first.clone()
        });
        left.retain(|kinds| !kinds.contains(&most));
    }
    chosen
}

/// Alternatives in words, such as `the audit log (or managedFields)`.
fn alternatives(kinds: &BTreeSet<Kind>) -> Option<String> {
    let words: Vec<&str> = kinds.iter().map(|kind| in_words(*kind)).collect();
    let (first, others) = words.split_first()?;
    Some(match others {
        [] => (*first).to_owned(),
        others => format!("{first} (or {})", others.join(" or ")),
    })
}

/// A kind of evidence, as people say it.
fn in_words(kind: Kind) -> &'static str {
    match kind {
        Kind::Timeline | Kind::PlacementTimeline => "a watch",
        Kind::Secrets | Kind::UnlabelledSecrets => "the Secrets of consumers",
        Kind::Requests => "the audit log",
        Kind::Members => "members asked",
        Kind::Driver => "a driver",
        Kind::Probe => "dry runs",
        Kind::Writers => "managedFields",
        Kind::Plugins => "credential plugins",
        Kind::PlacementDecisions => "placement decisions",
        other => other.name(),
    }
}

/// Why the run was cut short, if it was.
pub fn partial<'a>(report: &Report<'a>) -> Option<&'a str> {
    report.evidence.header.cut_short.as_deref()
}

/// Describes what is waived of a rule, until when and why.
pub(crate) fn waived(judgement: &Judgement, verdict: &RuleVerdict) -> String {
    let mut by_waiver: BTreeMap<usize, usize> = BTreeMap::new();
    for (_, place) in &verdict.waived {
        *by_waiver.entry(*place).or_default() += 1;
    }
    let told = by_waiver.into_iter().map(|(place, number)| {
        let waiver = &judgement.waivers[place].waiver;
        let violations = count(number, "violation");
        format!(
            "{violations} until {}: {} ({})",
            waiver.expires, waiver.reason, waiver.link
        )
    });
    format!("waived: {}", told.collect::<Vec<_>>().join("; "))
}

/// Counts the rules of that level that were not judged, by reason.
fn unjudged(rules: &Count) -> String {
    let reasons: Vec<String> = [
        (rules.inconclusive, "inconclusive"),
        (rules.not_applicable, "not applicable"),
        (rules.skipped, "skipped"),
    ]
    .into_iter()
    .filter(|(number, _)| *number > 0)
    .map(|(number, why)| format!("{number} {why}"))
    .collect();
    if reasons.is_empty() {
        String::new()
    } else {
        format!(" ({})", reasons.join(", "))
    }
}

/// The number of judged objects, in words.
fn over(report: &Report, profiles: usize) -> String {
    let profiles = count(profiles, "profile");
    match report.evidence.header.claim.edition_of(Role::Scheduler) {
        Some(_) => format!(
            "{} and {profiles}",
            count(report.evidence.slices().count(), "slice")
        ),
        None => profiles,
    }
}
