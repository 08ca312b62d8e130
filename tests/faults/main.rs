//! The fault matrices: a reference implementation breaks one rule at a time, and the suite says so of that rule alone. Without a
//! fault, no rule complains.
//!
//! One program, since each links the whole suite: `cargo test --test faults schedulers::` tries all faults of schedulers.

// Some of it is for the tests of the command line.
#[allow(dead_code)]
#[path = "../support/command.rs"]
mod command;
mod consumers;
mod matrix;
// Adverse conditions are for the tests of the lab.
#[allow(dead_code)]
#[path = "../support/observed_consumer.rs"]
mod observed_consumer;
#[path = "../support/reference_runs.rs"]
mod reference_runs;

use std::process::ExitCode;

use evidence::{
    DriverAction, Evidence, Kind, ObjectRef,
    api::{Edition, Role},
};
use judge::Verdict;
use lab::fault::FaultInfo;
use libtest_mimic::{Arguments, Failed, Trial};

use self::{
    command::Done,
    matrix::{check_fault, expect_verdicts, is_must, needs, verdicts, without_audit_log},
    reference_runs::{ReferenceRun, observe},
};

fn main() -> ExitCode {
    let args = Arguments::from_args();
    let mut trials = consumers::trials();
    for role in [Role::Manager, Role::Scheduler] {
        for edition in role.editions() {
            for is_driven in [false, true] {
                let how = if is_driven { ", driven" } else { "" };
                let name = format!("{role}s::without a fault, edition {edition}{how}");
                trials.push(Trial::test(name, move || conforms(edition, is_driven)));
            }
        }
        trials.extend(matrix::trials(role, &args, with_fault));
    }
    trials.extend(matrix::trials(Role::Consumer, &args, consumers::with_fault));
    libtest_mimic::run(&args, trials).exit_code()
}

/// How many members of the reference manager are joined at the end.
const EXPECTED_PROFILES: [&str; 2] = ["--expect-profiles", "19"];

/// Each rule passes, except those whose evidence is missing; also without the audit log, which most hubs do not give.
fn conforms(edition: Edition, is_driven: bool) -> Result<(), Failed> {
    let is_manager = edition.role() == Role::Manager;
    let flags = if is_manager { &EXPECTED_PROFILES[..] } else { &[] };
    let run = observe(edition, None, is_driven, flags);
    expect_code(&run.done, 0)?;
    expect_reported(&run)?;
    if is_manager && is_driven {
        expect_unjudged_facts(&run.evidence);
    }
    let expected = |id: &str, has_log: bool| match id {
        // The published definition of ClusterProfile refuses the list that KEP-5339 asks for.
        "access/additional-args-well-formed" => Verdict::NotApplicable,
        // A driven run creates a profile of another manager.
        "identity/one-manager-per-profile" if !is_driven => Verdict::NotApplicable,
        id if !has_log && needs(id, Kind::Requests) => Verdict::Skipped,
        id if !is_driven && needs(id, Kind::Driver) => Verdict::Skipped,
        _ => Verdict::Pass,
    };
    expect_verdicts("with the audit log", &run.evidence, |id| expected(id, true))?;
    let without_log = without_audit_log(run.evidence);
    expect_verdicts("without it", &without_log, |id| expected(id, false))
}

/// Facts in the evidence of a driven run that no rule judges yet.
fn expect_unjudged_facts(evidence: &Evidence) {
    let requests = &evidence.requests.as_ref().expect("an audit log").events;
    assert!(requests.iter().any(|request| request.resource_version.is_some()));
    assert!(requests.iter().all(|request| !request.is_the_suites()));
    let own_requests = &evidence.own_requests;
    assert!(!own_requests.is_empty() && own_requests.iter().all(|request| request.is_the_suites()));

    let mut deleted = evidence
        .profiles
        .iter()
        .filter(|history| history.deleted.is_some());
    assert!(deleted.any(|history| history.deleted_version.is_some()));

    let driver = evidence.driver.as_ref().expect("a driver");
    let step = driver
        .steps_of(DriverAction::DeleteProfile)
        .next()
        .expect("a step");
    let uid = |profile: &Option<ObjectRef>| profile.clone().expect("a profile").uid;
    assert_ne!(uid(&step.profile), uid(&step.profile_after));
}

fn with_fault(fault: &FaultInfo) -> Result<(), Failed> {
    let is_driven = fault.needs_driver || needs(fault.rule(), Kind::Driver);
    let run = observe(fault.edition, Some(fault.id), is_driven, &fault.flags);
    expect_reported(&run)?;
    let fails = |(verdict, _): &(Verdict, String)| *verdict == Verdict::Fail;
    let code = if verdicts(&run.evidence).values().any(fails) {
        1
    } else if fault.hides.iter().any(|id| is_must(id)) {
        3
    } else {
        0
    };
    check_fault(fault, run.evidence)?;
    expect_code(&run.done, code)
}

/// The report of the run has the verdicts of its recorded evidence.
fn expect_reported(run: &ReferenceRun) -> Result<(), Failed> {
    let rules = run.report["verdicts"]
        .as_array()
        .ok_or("the report has no verdicts")?;
    for (id, (verdict, _)) in verdicts(&run.evidence) {
        let reported = rules.iter().find(|rule| rule["rule"] == id);
        let reported = reported.map(|rule| &rule["verdict"]);
        if reported != Some(&serde_json::json!(verdict)) {
            return fail(format!(
                "{id} is {verdict:?} by the evidence, and {reported:?} in the report"
            ));
        }
    }
    Ok(())
}

fn expect_code(done: &Done, code: i32) -> Result<(), Failed> {
    if done.code == Some(code) {
        return Ok(());
    }
    fail(format!(
        "expected exit code {code}, got {:?}\n{}",
        done.code, done.out
    ))
}

/// A failed trial.
fn fail(message: String) -> Result<(), Failed> {
    Err(message.into())
}
