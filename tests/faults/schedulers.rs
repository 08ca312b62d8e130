//! The fault matrix of placements: the reference scheduler breaks one rule at a time, and the suite says so of that rule
//! alone.
//!
//! A fault whose rule the suite does not have yet is ignored.

use std::collections::BTreeSet;

use evidence::{
    Asked, Evidence, Kind,
    api::{Edition, Role},
};
use judge::{Verdict, rules};
use lab::fault::{FaultInfo, faults};
use libtest_mimic::{Arguments, Completion, Failed, Trial};

use crate::{
    broken::{expect_broken, verdicts},
    matrix::{every_rule_has_a_fault, is_must, known_rules},
    observed_scheduler::{Drive, observe},
};

pub fn trials(args: &Arguments) -> Vec<Trial> {
    let mut trials = vec![Trial::test("schedulers::every rule has a fault", || {
        every_rule_has_a_fault(Role::Scheduler)
    })];
    for edition in Role::Scheduler.editions() {
        let name = format!("schedulers::the conforming scheduler, edition {edition}");
        trials.push(Trial::test(name, move || conforms(edition)));
    }
    let mut tried = BTreeSet::new();
    for fault in faults(Role::Scheduler) {
        // One fault of each MUST rule, with a driver where it is needed, and all that a filter names. `just everything` tries
        // every fault, and drives the scheduler with each.
        let needed = drive_for(fault);
        let is_first = tried.insert(fault.rule());
        let is_tried = args.filter.is_some() || (is_first && is_must(fault.rule()));
        for (drive, how) in [(Drive::No, ""), (Drive::Yes, ", driven")] {
            if drive == Drive::Yes || needed == Drive::No {
                let name = format!("schedulers::{}{how}", fault.id);
                let trial = Trial::ignorable_test(name, move || breaks_its_rules_alone(fault, drive));
                trials.push(trial.with_ignored_flag(drive != needed || !is_tried));
            }
        }
    }
    trials
}

/// Whether a fault shows only in a run that has the scheduler act.
fn drive_for(fault: &FaultInfo) -> Drive {
    let rule = rules::find(fault.rule());
    if rule.is_some_and(|rule| rule.facts.needs.contains(&Kind::Driver)) {
        Drive::Yes
    } else {
        Drive::No
    }
}

/// Nobody complains of the scheduler without a fault, and nothing that its world has goes unexamined.
fn conforms(edition: Edition) -> Result<(), Failed> {
    let evidence = observe(edition, &[], Drive::Yes);
    for (judged, evidence) in [
        ("with the audit log", evidence.clone()),
        ("without it", without_log(evidence)),
    ] {
        let others: Vec<_> = verdicts(&evidence)
            .into_iter()
            .filter(|(_, verdict, reason)| match verdict {
                Verdict::Pass => false,
                // There is no log.
                Verdict::Skipped => reason.is_empty(),
                _ => true,
            })
            .collect();
        if !others.is_empty() {
            return Err(format!("{judged}: {others:#?}").into());
        }
    }
    Ok(())
}

fn breaks_its_rules_alone(fault: &FaultInfo, drive: Drive) -> Result<Completion, Failed> {
    let known = known_rules(Role::Scheduler);
    if !known.contains(fault.rule()) {
        return Ok(Completion::ignored_with(format!(
            "waits for the rule {}",
            fault.rule()
        )));
    }
    let also = fault.also.iter().copied().filter(|rule| known.contains(rule));
    let broken: BTreeSet<&str> = also.chain([fault.rule()]).collect();
    let evidence = observe(fault.edition, &[fault.id], drive);
    expect_broken("with the audit log", &broken, &evidence)?;
    let without = if fault.needs_audit_log {
        BTreeSet::new()
    } else {
        broken
    };
    expect_broken("without the audit log", &without, &without_log(evidence))?;
    Ok(Completion::Completed)
}

fn without_log(mut evidence: Evidence) -> Evidence {
    evidence.slice_requests = None;
    let reason = Asked::No("no audit log was given".into());
    evidence.header.asked.insert(Kind::Requests, reason);
    evidence
}
