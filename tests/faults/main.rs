//! The fault matrices: a reference implementation breaks one rule at a time, and the suite says so of that rule alone. Without a
//! fault, no rule complains.
//!
//! One program, since each links the whole suite: `cargo test --test faults schedulers::` tries all faults of schedulers.

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
    Evidence, Kind,
    api::{Edition, Role},
};
use judge::{Verdict, rules};
use lab::fault::FaultInfo;
use libtest_mimic::{Arguments, Failed, Trial};

use self::{
    matrix::{check_fault, expect_verdicts, is_must, needs, verdicts, without_audit_log},
    reference_runs::{ManagerRun, observe_manager, observe_scheduler},
};

fn main() -> ExitCode {
    let args = Arguments::from_args();
    let mut trials = consumers::trials();
    for role in [Role::Manager, Role::Scheduler] {
        for edition in role.editions() {
            for is_driven in [false, true] {
                let how = if is_driven { ", driven" } else { "" };
                let name = format!("{role}s::without a fault, edition {edition}{how}");
                trials.push(Trial::test(name, move || match role {
                    Role::Manager => manager_conforms(edition, is_driven),
                    _ => scheduler_conforms(edition, is_driven),
                }));
            }
        }
    }
    trials.extend(matrix::trials(Role::Manager, &args, manager_with_fault));
    trials.extend(matrix::trials(Role::Scheduler, &args, scheduler_with_fault));
    trials.extend(matrix::trials(Role::Consumer, &args, consumers::with_fault));
    libtest_mimic::run(&args, trials).exit_code()
}

/// How many members of the reference manager are joined at the end.
const EXPECTED_PROFILES: [&str; 2] = ["--expect-profiles", "19"];

fn manager_conforms(edition: Edition, is_driven: bool) -> Result<(), Failed> {
    let run = observe_manager(edition, "reference", is_driven, &EXPECTED_PROFILES);
    expect_code(&run.output, 0)?;
    expect_reported(&run)?;
    let evidence = run.evidence;
    let expected = |id: &str, has_log: bool| match id {
        // The published definition of ClusterProfile refuses the list that KEP-5339 asks for.
        "access/additional-args-well-formed" => Verdict::NotApplicable,
        // A driven run creates a profile of another manager.
        "identity/one-manager-per-profile" if !is_driven => Verdict::NotApplicable,
        id if !has_log && needs(id, Kind::Requests) => Verdict::Skipped,
        id if !is_driven && needs(id, Kind::Driver) => Verdict::Skipped,
        _ => Verdict::Pass,
    };
    expect_with_and_without_log(evidence, expected)
}

fn scheduler_conforms(edition: Edition, is_driven: bool) -> Result<(), Failed> {
    let evidence = observe_scheduler(edition, &[], is_driven);
    let expected = |id: &str, has_log: bool| match id {
        id if !has_log && needs(id, Kind::Requests) => Verdict::Skipped,
        id if !is_driven && needs(id, Kind::Driver) => Verdict::Skipped,
        _ => Verdict::Pass,
    };
    expect_with_and_without_log(evidence, expected)
}

/// Checks the verdicts on the evidence, and on the same evidence without its audit log.
fn expect_with_and_without_log(
    evidence: Evidence,
    expected: impl Fn(&str, bool) -> Verdict,
) -> Result<(), Failed> {
    expect_verdicts("with the audit log", &evidence, |id| expected(id, true))?;
    expect_verdicts("without it", &without_audit_log(evidence), |id| {
        expected(id, false)
    })
}

fn manager_with_fault(fault: &FaultInfo) -> Result<(), Failed> {
    let manager = format!("reference={}", fault.id);
    let run = observe_manager(fault.edition, &manager, fault.needs_driver, &fault.flags);
    expect_reported(&run)?;
    let ManagerRun { evidence, output, .. } = run;
    let fails = verdicts(&evidence)
        .values()
        .any(|(verdict, _)| *verdict == Verdict::Fail);
    let is_open = fault.hides.iter().any(|id| is_must(id));
    check_fault(fault, evidence)?;
    expect_code(
        &output,
        if fails {
            1
        } else if is_open {
            3
        } else {
            0
        },
    )
}

fn scheduler_with_fault(fault: &FaultInfo) -> Result<(), Failed> {
    let is_driven = rules::find(fault.rule()).is_some_and(|rule| rule.facts.needs.contains(&Kind::Driver));
    check_fault(fault, observe_scheduler(fault.edition, &[fault.id], is_driven))
}

/// The report of the run has the verdicts of its recorded evidence.
fn expect_reported(run: &ManagerRun) -> Result<(), Failed> {
    let rules = run.report["verdicts"]
        .as_array()
        .ok_or("the report has no verdicts")?;
    for (id, (verdict, _)) in verdicts(&run.evidence) {
        let reported = rules.iter().find(|rule| rule["rule"] == id);
        let reported = reported.map(|rule| &rule["verdict"]);
        if reported != Some(&serde_json::json!(verdict)) {
            return Err(
                format!("{id} is {verdict:?} by the evidence, and {reported:?} in the report").into(),
            );
        }
    }
    Ok(())
}

fn expect_code(output: &std::process::Output, code: i32) -> Result<(), Failed> {
    if output.status.code() == Some(code) {
        return Ok(());
    }
    let printed = String::from_utf8_lossy(&output.stdout);
    Err(format!(
        "expected exit code {code}, got {:?}\n{printed}",
        output.status.code()
    )
    .into())
}
