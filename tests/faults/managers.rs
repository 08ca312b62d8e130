//! The fault matrix: the reference manager breaks one rule at a time, and the suite says so of that rule alone.
//!
//! Each fault is played by the binary, as a user would, over half an hour of simulated time; its evidence is then
//! judged once more without the audit log, since most hubs do not give one.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

use evidence::{
    Asked, Evidence, Kind,
    api::{Edition, Role},
};
use judge::{Selection, Verdict, judge, rules};
use lab::fault::{FaultInfo, faults};
use libtest_mimic::{Arguments, Failed, Trial};
use serde_json::Value;

use crate::{
    matrix::{every_rule_has_a_fault, is_must},
    one_each,
    played_manager::{Drive, Played},
};

pub fn trials(args: &Arguments) -> Vec<Trial> {
    let mut trials = vec![Trial::test("managers::every rule has a fault", || {
        every_rule_has_a_fault(Role::Manager)
    })];
    for edition in Role::Manager.editions() {
        for (drive, how) in [(Drive::No, ""), (Drive::Yes, ", driven")] {
            let name = format!("managers::the conforming manager, edition {edition}{how}");
            trials.push(Trial::test(name, move || conforms(edition, drive)));
        }
    }
    trials.extend(one_each::trials(
        "managers",
        args,
        faults(Role::Manager),
        breaks_its_rules_alone,
    ));
    trials
}

/// What a conforming manager cannot show on the lab's hub, which has the published definition of ClusterProfile: it
/// refuses the list that KEP-5339 asks for.
const IMPOSSIBLE: &str = "access/additional-args-well-formed";

/// How many members of the reference manager are joined at the end.
const EXPECTED: [&str; 2] = ["--expect-profiles", "19"];

/// Not judged without profiles of other managers, of which a driven run creates one.
const OF_OTHERS: &str = "identity/one-manager-per-profile";

/// Nobody complains of the manager without a fault, and nothing that its world has goes unexamined.
fn conforms(edition: Edition, drive: Drive) -> Result<(), Failed> {
    let run = Run::of(edition, "reference", drive, &EXPECTED)?;
    run.ends_with(0)?;
    let needs = |id: &str, kind| rules::find(id).is_some_and(|rule| rule.facts.needs.contains(&kind));
    for (judged, has_log, verdicts) in [
        ("with the audit log", true, run.verdicts()),
        ("without it", false, run.without_audit_log()?),
    ] {
        let lacks = |id: &str| {
            (!has_log && needs(id, Kind::Requests)) || (drive == Drive::No && needs(id, Kind::Driver))
        };
        let others: Vec<_> = verdicts
            .iter()
            .filter(|(id, verdict)| match id.as_str() {
                IMPOSSIBLE => **verdict != Verdict::NotApplicable,
                OF_OTHERS if drive == Drive::No => **verdict != Verdict::NotApplicable,
                id if lacks(id) => **verdict != Verdict::Skipped,
                _ => **verdict != Verdict::Pass,
            })
            .collect();
        if !others.is_empty() {
            return Err(format!("{judged}: {others:?}").into());
        }
    }
    Ok(())
}

fn breaks_its_rules_alone(fault: &FaultInfo) -> Result<(), Failed> {
    let drive = if fault.needs_driver { Drive::Yes } else { Drive::No };
    let run = Run::of(
        fault.edition,
        &format!("reference={}", fault.id),
        drive,
        &fault.flags,
    )?;
    let broken: BTreeSet<&str> = fault.also.iter().copied().chain([fault.rule()]).collect();
    let in_log = fault.also_in_audit_log.iter().copied();
    let with_log = broken.iter().copied().chain(in_log).collect();
    expect_broken("with the audit log", &with_log, &fault.hides, &run.verdicts())?;
    let fails = run.verdicts().values().any(|verdict| *verdict == Verdict::Fail);
    let is_open = fault.hides.iter().any(|id| is_must(id));
    run.ends_with(match (fails, is_open) {
        (true, _) => 1,
        (false, true) => 3,
        (false, false) => 0,
    })?;
    let without = if fault.needs_audit_log {
        BTreeSet::new()
    } else {
        broken
    };
    expect_broken(
        "without the audit log",
        &without,
        &fault.hides,
        &run.without_audit_log()?,
    )
}

/// The rules that are broken have failed or warned, those that are hidden cannot tell, and all others have passed.
fn expect_broken(
    judged: &str,
    broken: &BTreeSet<&str>,
    hidden: &[&str],
    verdicts: &Verdicts,
) -> Result<(), Failed> {
    let complained: BTreeSet<&str> = verdicts
        .iter()
        .filter(|(_, verdict)| matches!(verdict, Verdict::Fail | Verdict::Warn))
        .map(|(id, _)| id.as_str())
        .collect();
    if complained != *broken {
        return Err(format!("{judged}: expected complaints of {broken:?}, got {complained:?}").into());
    }
    let in_doubt: BTreeSet<&str> = verdicts
        .iter()
        .filter(|(_, verdict)| **verdict == Verdict::Inconclusive)
        .map(|(id, _)| id.as_str())
        .collect();
    if in_doubt == hidden.iter().copied().collect() {
        Ok(())
    } else {
        Err(format!("{judged}: expected {hidden:?} to be inconclusive, got {in_doubt:?}").into())
    }
}

type Verdicts = BTreeMap<String, Verdict>;

/// A run of the binary on its lab.
struct Run {
    code: Option<i32>,
    stderr: String,
    report: Value,
    evidence: Evidence,
}

impl Run {
    fn of(edition: Edition, manager: &str, drive: Drive, flags: &[&str]) -> Result<Self, Failed> {
        let played = Played::of(edition, manager, drive, flags)?;
        let stderr = played.stderr();
        let report = fs::read(played.folder.path().join("report.json"));
        let report = report.map_err(|error| format!("{error}\n{stderr}"))?;
        Ok(Self {
            code: played.output.status.code(),
            stderr,
            report: serde_json::from_slice(&report)?,
            evidence: played.evidence()?,
        })
    }

    fn ends_with(&self, code: i32) -> Result<(), Failed> {
        if self.code == Some(code) {
            return Ok(());
        }
        Err(format!(
            "expected exit code {code}, got {:?}\n{}\n{}",
            self.code, self.report["decision"], self.stderr
        )
        .into())
    }

    /// The verdicts that the report holds.
    fn verdicts(&self) -> Verdicts {
        let verdict = |verdict: &Value| {
            let named = [
                Verdict::Pass,
                Verdict::Fail,
                Verdict::Warn,
                Verdict::Inconclusive,
                Verdict::NotApplicable,
                Verdict::Skipped,
            ];
            named
                .into_iter()
                .find(|named| verdict["verdict"] == named.name())
                .expect("a verdict has a known name")
        };
        let verdicts = self.report["verdicts"]
            .as_array()
            .expect("the report has verdicts");
        verdicts
            .iter()
            .map(|each| {
                (
                    each["rule"].as_str().unwrap_or_default().to_owned(),
                    verdict(each),
                )
            })
            .collect()
    }

    /// The verdicts on the same evidence, had there been no audit log.
    fn without_audit_log(&self) -> Result<Verdicts, Failed> {
        let mut evidence = self.evidence.clone();
        if evidence.requests.take().is_none() {
            return Err("the lab gave no audit log".into());
        }
        evidence
            .header
            .asked
            .insert(Kind::Requests, Asked::No("no audit log was given".into()));
        let judgement = judge(&evidence, &Selection::default());
        Ok(judgement
            .verdicts
            .iter()
            .map(|each| (each.rule.id.to_owned(), each.verdict))
            .collect())
    }
}
