//! Runs of the binary on a reference implementation, under simulated time.

use evidence::{
    Digester, Evidence,
    api::{Edition, Role},
    read_input,
};
use lab::manager::Manager;
use serde_json::Value;

use crate::command::{Done, Folder, command, done};

pub struct ReferenceRun {
    pub evidence: Evidence,
    // Tests of the lab read only the evidence.
    #[allow(dead_code)]
    pub report: Value,
    #[allow(dead_code)]
    pub done: Done,
}

/// Runs the binary on the reference implementation of the edition's role, with a fault or none.
pub fn observe(edition: Edition, fault: Option<&str>, is_driven: bool, flags: &[&str]) -> ReferenceRun {
    let role = edition.role();
    let folder = Folder::new();
    let [record, report] = ["evidence", "report.json"].map(|name| folder.flag(name));
    let edition = edition.name();
    let outputs = format!("--record {record} --json {report}");
    let run = format!("run --hub lab --role {role} --edition {edition} {outputs}");
    let mut run = command(run);
    let fault = fault.map(|fault| format!("={fault}")).unwrap_or_default();
    run.args(["--manager", &format!("reference{fault}")]);
    run.args(match (role, is_driven) {
        // On its testbed.
        (Role::Consumer, _) => &[][..],
        (_, true) => &["--driver", "reference", "--allow-mutations"],
        (_, false) => &["--driver", "none"],
    });
    if role == Role::Manager {
        run.args(["--feature", "consumer-secrets"]);
        for consumer in Manager::CONSUMERS {
            run.args(["--consumer", consumer]);
        }
    }
    run.args(flags);
    let done = done(&mut run);
    match read_input(&folder.path("evidence"), &Digester::new([7; 32])) {
        Ok(input) => ReferenceRun {
            evidence: input.evidence,
            report: folder.json("report.json"),
            done,
        },
        Err(error) => panic!("{role}{fault}: {error}\n{}", done.err),
    }
}
