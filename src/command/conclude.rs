//! From evidence to reports: what `run` and `replay` end with.

use std::{collections::BTreeSet, path::Path};

use clusterprofile_conformance::{
    clock::Clock,
    evidence::{Asked, Claim, Evidence, FORMAT, Gap, Header, Hub, Kind, file},
    judge::{Selection, judge},
    report::{
        Form, Output, Prepared, Report, badge, github, html, json, junit, markdown, sarif, terminal, trials,
    },
    rules,
};

use super::{Exit, Failure, output::Format, print::print};

/// Judges the evidence, leaves the files and prints the verdicts. Files come first: they stay when the terminal goes.
///
/// # Errors
/// When a file cannot be written after all; the verdicts are printed all the same.
pub fn conclude(
    evidence: &Evidence,
    selection: &Selection,
    outputs: Prepared,
    read_from: Option<&Path>,
    format: Format,
) -> Result<Exit, Failure> {
    let judgement = judge(evidence, selection);
    let file = holder(&outputs, read_from);
    let report = Report {
        evidence,
        judgement: &judgement,
        selection,
        judged_at: Clock::system().now(),
        file: file.as_deref(),
    };
    let left = leave(&report, outputs);
    if let Err(failure) = show(&report, format) {
        failure.print();
    }
    left.map(|()| judgement.decision.into())
}

/// Leaves reports of a run that could not be, so that nobody takes the reports of an earlier one for its own: every
/// rule is inconclusive, for the reason why it failed.
pub fn conclude_without_evidence(failure: Failure, claim: Claim, source: &str, outputs: Prepared) -> Failure {
    let facts = rules::all().iter().map(|rule| &rule.facts);
    let kinds: BTreeSet<Kind> = facts
        .flat_map(|facts| [&facts.needs, &facts.needs_one_of])
        .flatten()
        .copied()
        .collect();
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
            asked: kinds.iter().map(|kind| (*kind, Asked::Yes)).collect(),
            ..Header::default()
        },
        gaps: kinds
            .iter()
            .map(|kind| Gap {
                kind: *kind,
                from: None,
                until: None,
                object: None,
                reason: reason.clone(),
            })
            .collect(),
        ..Evidence::default()
    };
    let selection = Selection::default();
    let report = Report {
        evidence: &evidence,
        judgement: &judge(&evidence, &selection),
        selection: &selection,
        judged_at: Clock::system().now(),
        file: None,
    };
    // There is no evidence worth recording.
    let mut outputs = outputs;
    outputs.0.remove(&Form::Record);
    if let Err(unwritten) = leave(&report, outputs) {
        unwritten.print();
    }
    failure
}

/// The file that holds the evidence: the one that it is recorded to, else the one that it was read from.
fn holder(outputs: &Prepared, read_from: Option<&Path>) -> Option<String> {
    let path = outputs.0.get(&Form::Record).map(Output::path).or(read_from)?;
    Some(path.display().to_string())
}

/// Writes every file that it can, and gives back the first failure.
fn leave(report: &Report, outputs: Prepared) -> Result<(), Failure> {
    let mut outcome = Ok(());
    for (form, output) in outputs.0 {
        let path = output.path().to_owned();
        let written = output.write(|into| match form {
            Form::Record => file::write_named(report.evidence, &path, into),
            Form::Json => json::write(report, into),
            Form::Junit => junit::write(report, into),
            Form::Html => html::write(report, into),
            Form::Markdown => markdown::write(report, into),
            Form::Sarif => sarif::write(report, into),
            Form::Badge => badge::write(report, into),
        });
        outcome = outcome.and(written);
    }
    outcome.map_err(Failure::could_not_run)
}

fn show(report: &Report, format: Format) -> Result<(), Failure> {
    if trials::print(report, format.into()).is_err() {
        return Ok(());
    }
    match format {
        Format::Github => {
            print(&terminal::after_list(report))?;
            print(&github::annotations(report))
        }
        Format::Pretty | Format::Terse => print(&terminal::after_list(report)),
        // Standard output is for a machine then.
        Format::Json => {
            anstream::eprint!("{}", terminal::decision(report));
            Ok(())
        }
    }
}
