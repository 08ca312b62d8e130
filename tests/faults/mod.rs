//! The fault matrices: a reference implementation breaks one rule at a time, and the suite says so of that rule alone. Without a
//! fault, no rule complains. `cargo test --test trials faults::schedulers` tries all faults of schedulers.

mod matrix;

use evidence::{
    Kind,
    api::{Edition, Role},
};
use judge::Verdict;
use lab::fault::FaultInfo;
use libtest_mimic::{Arguments, Failed, Trial};
use serde_json::Value;

use self::matrix::{Verdicts, check_fault, expect_verdicts, is_must, needs, verdicts, without_audit_log};
use crate::{
    command::{Done, verdict_of},
    reference_runs::observe,
};

pub fn trials(args: &Arguments) -> Vec<Trial> {
    let mut trials = Vec::new();
    for role in [Role::Manager, Role::Scheduler, Role::Consumer] {
        let driven_or_not = if role == Role::Consumer {
            &[true][..]
        } else {
            &[false, true]
        };
        for edition in role.editions() {
            for is_driven in driven_or_not.iter().copied() {
                let how = if is_driven { ", driven" } else { "" };
                let name = format!("faults::{role}s::without a fault, edition {edition}{how}");
                trials.push(Trial::test(name, move || conforms(edition, is_driven)));
            }
        }
        trials.extend(matrix::trials(role, args, with_fault));
    }
    trials
}

const EXPECTED_PROFILES: [&str; 2] = ["--expect-profiles", "19"];

/// Each rule passes, except those whose evidence is missing; also without the audit log, which most hubs do not give.
fn conforms(edition: Edition, is_driven: bool) -> Result<(), Failed> {
    let role = edition.role();
    let is_manager = role == Role::Manager;
    let flags = if is_manager { &EXPECTED_PROFILES[..] } else { &[] };
    let run = observe(edition, None, is_driven, flags);
    expect_code(&run.done, 0)?;
    let with_log = verdicts(&run.evidence);
    expect_reported(&run.report, &with_log)?;
    let expected = |id: &str, has_log: bool| match id {
        // The published definition of ClusterProfile refuses the list that KEP-5339 asks for.
        "access/additional-args-well-formed" => Verdict::NotApplicable,
        // A driven run creates a profile of another manager.
        "identity/one-manager-per-profile" if !is_driven => Verdict::NotApplicable,
        // It passes arguments of profiles to the plugin, and reads no decision.
        "consumer-exec/profile-args-off-by-default" => Verdict::Skipped,
        id if id.starts_with("consumer-placement/") => Verdict::Skipped,
        id if !has_log && needs(id, Kind::Requests) => Verdict::Skipped,
        id if !is_driven && needs(id, Kind::Driver) => Verdict::Skipped,
        _ => Verdict::Pass,
    };
    expect_verdicts("with the audit log", with_log, |id| expected(id, true))?;
    if role == Role::Consumer {
        return Ok(());
    }
    let without_log = verdicts(&without_audit_log(run.evidence));
    expect_verdicts("without it", without_log, |id| expected(id, false))
}

fn with_fault(fault: &FaultInfo) -> Result<(), Failed> {
    let is_driven = fault.needs_driver || needs(fault.rule(), Kind::Driver);
    let run = observe(fault.edition, Some(fault.id), is_driven, &fault.flags);
    let with_log = verdicts(&run.evidence);
    expect_reported(&run.report, &with_log)?;
    let fails = |(verdict, _): &(Verdict, String)| *verdict == Verdict::Fail;
    let code = if with_log.values().any(fails) {
        1
    } else if fault.hides.iter().any(|id| is_must(id)) {
        3
    } else {
        0
    };
    expect_code(&run.done, code)?;
    check_fault(fault, &with_log, run.evidence)
}

/// The report of the run has the verdicts of its recorded evidence.
fn expect_reported(report: &Value, verdicts: &Verdicts) -> Result<(), Failed> {
    for (id, (verdict, _)) in verdicts {
        let reported = &verdict_of(report, id)["verdict"];
        if *reported != serde_json::json!(verdict) {
            return fail(format!(
                "{id}: {verdict:?} by the evidence, reported {reported:?}"
            ));
        }
    }
    Ok(())
}

fn expect_code(done: &Done, code: i32) -> Result<(), Failed> {
    if done.code == Some(code) {
        return Ok(());
    }
    let (ended, out) = (done.code, &done.out);
    fail(format!("expected exit code {code}, got {ended:?}\n{out}"))
}

fn fail(message: String) -> Result<(), Failed> {
    Err(message.into())
}
