//! The decision in words, with its basis.

use std::collections::BTreeMap;

use evidence::{Window, api::Api, runs};
use jiff::SignedDuration;
use judge::{Count, Decision, Judgement, RuleVerdict};

use super::{Coverage, Report, escape, locked::locked, number::count};

/// The decision in one sentence.
pub fn headline(report: &Report) -> String {
    let edition = report.judgement.editions();
    let tally = &report.judgement.tally;
    let shard = report.judgement.scope.shard;
    let share = shard.map_or_else(String::new, |shard| format!(" in share {shard}"));
    let waived = match report.judgement.waived() {
        0 => String::new(),
        waived => format!(", {} waived", count(waived, "rule")),
    };
    match report.judgement.decision {
        Decision::Conformant => format!("conformant with edition {edition}{waived}"),
        Decision::NoViolation if tally.is_narrowed() => format!(
            "no violation{share} among the {} of {} selected, edition {edition}{waived}",
            tally.selected_must(),
            count(tally.must.rules, "MUST rule")
        ),
        Decision::NoViolation if tally.empty_share > 0 => {
            format!("no profile{share}, edition {edition}; the merged shares decide")
        }
        Decision::NoViolation => {
            format!("no violation{share}, edition {edition}{waived}; the merged shares decide")
        }
        Decision::NotConformant => {
            let mut broken = Vec::new();
            if tally.must.failed > 0 {
                broken.push(count(tally.must.failed, "MUST rule"));
            }
            if tally.should.failed > 0 {
                broken.push(format!("{} (strict)", count(tally.should.failed, "SHOULD rule")));
            }
            if broken.is_empty() {
                return format!(
                    "not conformant with edition {edition}{share}: a waiver has expired or waives nothing (strict)"
                );
            }
            let verb = if tally.must.failed + tally.should.failed == 1 {
                "fails"
            } else {
                "fail"
            };
            format!(
                "not conformant with edition {edition}{share}: {} {verb}",
                broken.join(" and ")
            )
        }
        Decision::Inconclusive if report.judgement.partial => {
            format!("inconclusive for edition {edition}{share}: the run was cut short")
        }
        Decision::Inconclusive if tally.must.inconclusive > 0 => format!(
            "inconclusive for edition {edition}{share}: {} could not be judged",
            count(tally.must.inconclusive, "MUST rule")
        ),
        Decision::Inconclusive => {
            format!("inconclusive for edition {edition}{share}: no MUST rule was judged")
        }
    }
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
            format!(
                "watched for {:#}",
                SignedDuration::from_secs(watched(report, window))
            ) + &more(&coverage)
        }
        None => "single snapshot".to_owned(),
    };
    let mut sentence = format!(
        "{} of {} judged{}{}, over {}, {window}",
        must.judged(),
        count(must.rules, "MUST rule"),
        unjudged(must),
        more_with(report),
        over(report, coverage.profiles),
    );
    let scope = &report.evidence.header.scope;
    if !scope.namespaces.is_empty() {
        sentence += &format!(", in {} only", escape::line(&scope.namespaces.join(", ")));
    }
    if let Some(shard) = scope.shard {
        sentence += &format!(", in share {shard} only: {}", escape::line(&namespaces(report)));
    } else if let Some(shares) = report.evidence.merged_from() {
        let merged = report.evidence.header.shares.len();
        sentence += &format!(", in {merged} of {} merged", count(shares as usize, "share"));
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
    if let Some(why) = partial(report) {
        sentence += &format!("; partial: {}", escape::line(why));
    }
    sentence
}

/// Names the evidence that was not requested and would let more MUST rules be judged.
fn more_with(report: &Report) -> String {
    let locked = locked(report).into_iter().filter(|locked| locked.must > 0);
    let kinds: Vec<&str> = locked.map(|locked| locked.kind.name()).collect();
    match kinds.split_last() {
        None => String::new(),
        Some((kind, [])) => format!(", more with {kind}"),
        Some((last, others)) => format!(", more with {} or {last}", others.join(", ")),
    }
}

/// For how many seconds each profile was watched, at least.
fn watched(report: &Report, window: Window) -> i64 {
    let shares = report.evidence.header.shares.iter();
    let shares = shares.filter(|share| !share.namespaces.is_empty());
    let windows = shares.filter_map(|share| share.window);
    windows
        .chain([window])
        .map(|window| window.seconds())
        .min()
        .unwrap_or_default()
}

/// The namespaces of the run's share.
fn namespaces(report: &Report) -> String {
    let shares = report.evidence.header.shares.iter();
    let names: Vec<&str> = shares
        .flat_map(|share| &share.namespaces)
        .map(String::as_str)
        .collect();
    if names.is_empty() {
        "no namespace with profiles".to_owned()
    } else {
        names.join(", ")
    }
}

/// Why the run was cut short, if it was.
pub fn partial<'a>(report: &Report<'a>) -> Option<&'a str> {
    report.evidence.header.cut_short.as_deref()
}

/// Describes what is waived of a rule, until when and why.
pub(super) fn waived(judgement: &Judgement, verdict: &RuleVerdict) -> String {
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
    match report.evidence.header.claim.edition_of(Api::Placement) {
        Some(_) => format!(
            "{} and {profiles}",
            count(report.evidence.slices().count(), "slice")
        ),
        None => profiles,
    }
}
