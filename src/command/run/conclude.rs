//! From evidence to reports: what `run` and `replay` end with.

use std::{collections::BTreeSet, path::Path};

use collect::clock::Clock;
use evidence::{
    Checksum, Claim, Evidence, FORMAT, Gap, Header, Hub, Kind, Limits, Requested, api::Edition, file,
};
use judge::{Decision, Judgement, Selection, Waivers, judge, rules};
use report::{
    FileFormat, OutputFile, OutputFiles, Report, badge, by_edition, github, html, json, junit, markdown,
    submitted::compose, terminal,
};

use crate::command::{
    Exit, Failure, OutputFlags, called, flags::files::VerdictFormat, print, terminal::advice, width,
};

#[derive(Clone, Copy, Debug)]
pub struct ReadFrom<'a> {
    pub path: &'a Path,
    /// Whether it is all of the evidence.
    pub alone: bool,
    /// Whether it was judged by the claim and the scope in it. The edition may be another.
    pub as_claimed: bool,
    pub limits: Limits,
}

/// Writes the files and prints the verdicts. Files come first: they survive a closed terminal.
pub fn conclude(
    evidence: &Evidence,
    selection: &Selection,
    waivers: Option<&Waivers>,
    outputs: OutputFiles,
    read_from: Option<ReadFrom>,
    flags: &OutputFlags,
) -> Result<Exit, Failure> {
    let judged_at = Clock::system().now();
    let mut judgement = judge(evidence, selection);
    let waivers = waivers.map(|waivers| (waivers, Waivers::day(judged_at)));
    if let Some((waivers, day)) = waivers {
        note_ignored(waivers, &evidence.header.claim);
        judgement.waive(waivers, day, evidence.header.claim.strict);
    }
    let editions = by_edition(evidence, &judgement, selection, waivers, rules::as_of());
    // The file with the evidence: the recorded one, else the one that was read.
    let recorded = outputs.get(&FileFormat::Record).map(OutputFile::path);
    let file = recorded.or(read_from.map(|from| from.path));
    let file = file.map(|path| path.display().to_string());
    let report = Report {
        file: file.as_deref(),
        is_whole_file: recorded.is_some() || read_from.is_some_and(|from| from.alone && from.as_claimed),
        editions: &editions,
        advice: advice::flag,
        ..Report::new(evidence, &judgement, selection, judged_at)
    };
    let result = leave(&report, outputs, read_from);
    let printed = show(&report, flags);
    if result.is_err()
        && let Err(unprinted) = &printed
    {
        unprinted.print();
    }
    result.and(printed)?;
    Ok(exit(&judgement, flags.complete))
}

/// Notes which waivers are ignored, as no judged edition has their rules: runs of several editions and roles may share a
/// file.
fn note_ignored(waivers: &Waivers, claim: &Claim) {
    let is_judged = |rule: &str| rules::find(rule).is_some_and(|rule| rule.facts.in_claim(claim).is_some());
    let ignored = waivers.waivers.iter().map(|waiver| &*waiver.rule);
    let ignored: BTreeSet<&str> = ignored.filter(|rule| !is_judged(rule)).collect();
    if !ignored.is_empty() {
        let editions: Vec<&str> = claim.editions().map(Edition::name).collect();
        anstream::eprintln!(
            "note: ignoring waivers of rules that edition {} does not have: {}",
            editions.join(" or "),
            Vec::from_iter(ignored).join(", ")
        );
    }
}

/// How the run ends: as the decision says. No evidence that is missing mends a violation, so a run that was cut short ends with
/// what it found.
fn exit(judgement: &Judgement, complete: bool) -> Exit {
    match judgement.decision {
        Decision::NoViolation if complete => Exit::Inconclusive,
        decision => decision.into(),
    }
}

/// Writes reports of a failed run, so that an earlier run's reports do not pass for its own: every rule is
/// inconclusive, with the failure as its reason.
pub fn conclude_without_evidence(
    failure: Failure,
    claim: Claim,
    source: &str,
    mut outputs: OutputFiles,
) -> Failure {
    let reason = failure.in_one_line();
    let evidence = Evidence {
        header: Header {
            format: FORMAT.to_owned(),
            suite_version: env!("CARGO_PKG_VERSION").to_owned(),
            claim,
            hub: Hub {
                source: source.to_owned(),
                ..Hub::default()
            },
            requested: Kind::ALL.map(|kind| (kind, Requested::Yes)).into(),
            cut_short: failure.is_stop().then(|| "it was stopped".to_owned()),
            ..Header::default()
        },
        gaps: Vec::from(Kind::ALL.map(|kind| Gap::of(kind, reason.clone()))).into(),
        ..Evidence::default()
    };
    let selection = Selection::default();
    let judgement = judge(&evidence, &selection);
    let report = Report {
        advice: advice::flag,
        ..Report::new(&evidence, &judgement, &selection, Clock::system().now())
    };
    // There is no evidence worth recording.
    outputs.remove(&FileFormat::Record);
    if let Err(unwritten) = leave(&report, outputs, None) {
        unwritten.print();
    }
    failure
}

/// Writes every file that it can, prints the failures, and returns the last one.
fn leave(report: &Report, outputs: OutputFiles, read_from: Option<ReadFrom>) -> Result<(), Failure> {
    let mut outcome: Result<(), Failure> = Ok(());
    let is_recorded = outputs.contains_key(&FileFormat::Record);
    let is_summed = outputs.contains_key(&FileFormat::Report);
    let read_from = read_from.filter(|from| from.alone && is_summed && !is_recorded);
    let mut sum = read_from.and_then(sum_of);
    // The record is the first: the report has its checksum.
    for (format, output) in outputs {
        let path = output.path().to_owned();
        let result = output.write(|into| match format {
            FileFormat::Record if is_summed => {
                sum = Some(file::write_summed(report.evidence, &path, into)?);
                Ok(())
            }
            FileFormat::Record => file::write_named(report.evidence, &path, into),
            FileFormat::Junit => junit::write(report, into),
            FileFormat::Html => html::write(report, into),
            FileFormat::Markdown => markdown::write(report, into),
            FileFormat::Badge => badge::write(report, into),
            FileFormat::Json => json::write(report, into),
            FileFormat::Report => compose(report, sum.as_ref()).write(into),
        });
        if let Err(error) = result {
            if format == FileFormat::Record {
                sum = None;
            }
            let failure = Failure::could_not_run(error);
            if let Err(earlier) = std::mem::replace(&mut outcome, Err(failure)) {
                earlier.print();
            }
        }
    }
    outcome
}

/// Returns the checksum of the file that was read; none if it has become unreadable. Then the report names no file.
fn sum_of(from: ReadFrom) -> Option<Checksum> {
    Checksum::of_file(from.path, &from.limits).ok().flatten()
}

fn show(report: &Report, flags: &OutputFlags) -> Result<Exit, Failure> {
    let mut text = String::new();
    if flags.verbose {
        text += &terminal::list(report);
    }
    if flags.format == VerdictFormat::Github {
        text += &github::annotations(report);
    }
    print(&(text + &terminal::verdicts(report, called(), width(), flags.verbose)))
}
