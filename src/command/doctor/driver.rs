//! Whether the driver can act: its file, its programs, and what it may write.

use std::{collections::BTreeSet, path::Path};

use anyhow::anyhow;
use collect::driver::{DriverFile, Members};
use evidence::{
    Kind, Permission,
    api::{Role, names},
};
use report::count;

use super::{
    check::Check,
    kinds::{Gains, Words},
};
use crate::command::{flags::driver::Driving, terminal::exit::Failure};

/// Checks the driver: its file, its programs, and what it may write.
pub fn of_driver(gains: &mut Gains<'_>, driving: Option<&Driving>) -> Vec<Check> {
    const CHECK: &str = "evidence/driver";
    let is_consumer = gains.evidence.header.claim.edition_of(Role::Consumer).is_some();
    let (given, mutations) = match driving {
        // Only a hub of the run's own has what a consumer needs without a file.
        None => (
            "a run publishes profiles for the reference consumer".to_owned(),
            false,
        ),
        Some(Driving::Reference { mutations }) => {
            ("the reference implementation is driven".to_owned(), *mutations)
        }
        Some(Driving::File { file, mutations, .. }) => (described(file), *mutations),
    };
    let mut checks: Vec<Check> = Vec::new();
    checks.extend(gains.check(
        CHECK,
        &[if is_consumer { Kind::Testbed } else { Kind::Driver }],
        "--driver FILE",
        Words {
            subject: "a driver",
            given: &given,
            absent: "no driver makes the implementation act",
            remedy: "give its commands in a file for --driver: docs/driver.md",
        },
    ));
    if let Some(Driving::File { file, journals, .. }) = driving {
        for (action, flaw) in file.missing_programs() {
            let error = anyhow!("the driver file's hook {action}: {flaw}; install it, or give its path");
            checks.push(Check::error(CHECK, &Failure::usage(error)));
        }
        checks.extend(journal(journals));
    }
    if driving.is_some() {
        checks.push(writes(mutations, &gains.evidence.header.permissions));
    }
    checks
}

fn described(file: &DriverFile) -> String {
    if let Some(consumer) = &file.consumer {
        let namespaces = consumer.claims.namespaces.iter().chain(&consumer.unselected);
        let namespaces: Vec<&str> = namespaces.map(String::as_str).collect();
        return format!(
            "the driver file says who the consumer is: profiles are published in {}",
            namespaces.join(", ")
        );
    }
    let hooks: Vec<String> = file.hooks.keys().map(ToString::to_string).collect();
    let members = match &file.members {
        Members::StandIns => "on stand-in members".to_owned(),
        Members::Made => "on members that its join hook makes".to_owned(),
        Members::Own(own) => format!("on {} of its own", count(own.len(), "member")),
    };
    format!("the driver file has the hooks {}, {members}", hooks.join(", "))
}

/// Whether the log of changes to undo can be written: below the nearest folder that is there.
fn journal(folder: &Path) -> Option<Check> {
    let there = folder.ancestors().find(|folder| folder.is_dir())?;
    let source = tempfile::tempfile_in(there).err()?;
    let error = anyhow!(
        "failed to write the log of changes to undo in {}: {source}; set XDG_STATE_HOME to a writable folder",
        folder.display()
    );
    Some(Check::error("evidence/driver", &Failure::could_not_run(error)))
}

/// Whether the driver may write to the hub, as its flag says and as the hub does.
fn writes(mutations: bool, permissions: &[Permission]) -> Check {
    const CHECK: &str = "evidence/mutations";
    if !mutations {
        return Check::missing(
            CHECK,
            "the driver may not write to the hub, so scenarios that tamper with objects are left out",
            "add --allow-mutations; a run writes only to what it has brought about",
        );
    }
    let status = format!("{}/status", names::PLURAL);
    let needed = [
        ("create", names::PLURAL),
        ("patch", names::PLURAL),
        ("delete", names::PLURAL),
        ("patch", &status),
        ("create", names::PLACEMENT_PLURAL),
        ("patch", names::PLACEMENT_PLURAL),
        ("delete", names::PLACEMENT_PLURAL),
    ];
    let refused: BTreeSet<String> = permissions
        .iter()
        .filter(|answer| !answer.allowed && answer.group == names::GROUP)
        .filter(|answer| needed.contains(&(&answer.verb, &answer.resource)))
        .map(|answer| format!("{} {}", answer.verb, answer.resource))
        .collect();
    if refused.is_empty() {
        return Check::ok(CHECK, "the runner may write to the hub, and the driver is let to");
    }
    let refused: Vec<String> = refused.into_iter().collect();
    Check::missing(
        CHECK,
        &format!("the runner may not {}", refused.join(", ")),
        "grant it: `clusterprofile-conformance rbac --allow-mutations` prints the role",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::doctor::check::State;

    #[test]
    fn what_the_driver_may_not_write_is_told_once() {
        let refused = |verb: &str, resource: &str, namespace: &str| Permission {
            verb: verb.to_owned(),
            group: names::GROUP.to_owned(),
            resource: resource.to_owned(),
            namespace: namespace.to_owned(),
            allowed: false,
        };
        let permissions = [
            refused("delete", "clusterprofiles", "one"),
            refused("delete", "clusterprofiles", "two"),
            refused("patch", "clusterprofiles/status", "one"),
            // The probe's, which has a line of its own.
            refused("update", "clusterprofiles", "one"),
        ];
        let check = writes(true, &permissions);
        assert_eq!(
            check.fact,
            "the runner may not delete clusterprofiles, patch clusterprofiles/status"
        );
        assert_eq!(check.state, State::Missing);
        assert_eq!(writes(true, &[]).state, State::Ok);
        assert_eq!(writes(false, &[]).state, State::Missing);
    }
}
