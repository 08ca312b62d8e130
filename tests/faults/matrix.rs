//! What the fault matrices share: that each rule has a fault, and which faults are tried.

use std::collections::BTreeSet;

use evidence::api::Role;
use judge::rules::{self, Level};
use lab::fault::{FaultInfo, faults};
use libtest_mimic::Failed;

/// The rules of a role that the suite has.
pub fn known_rules(role: Role) -> BTreeSet<&'static str> {
    let its = rules::all().iter().filter(|rule| {
        let mut editions = rule.facts.editions.iter();
        editions.any(|applies| applies.edition.role() == role)
    });
    its.map(|rule| rule.id).collect()
}

/// Each rule of a role is broken by a fault.
pub fn every_rule_has_a_fault(role: Role) -> Result<(), Failed> {
    let broken: BTreeSet<&str> = faults(role).map(FaultInfo::rule).collect();
    let kept: Vec<&str> = known_rules(role).difference(&broken).copied().collect();
    match kept.as_slice() {
        [] => Ok(()),
        kept => Err(format!("no fault breaks {kept:?}").into()),
    }
}

/// Whether an edition has the rule as a MUST.
pub fn is_must(rule: &str) -> bool {
    let of_rule = rules::find(rule)
        .into_iter()
        .flat_map(|rule| &rule.facts.editions);
    of_rule.into_iter().any(|applies| applies.level == Level::Must)
}
