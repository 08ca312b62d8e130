//! A matrix that tries one fault for each MUST rule, since all take long.

use std::collections::BTreeSet;

use lab::fault::FaultInfo;
use libtest_mimic::{Arguments, Failed, Trial};

use crate::matrix::is_must;

/// A trial for each fault. One way to break each MUST rule is tried, and all that a filter names; `just everything` tries all.
pub fn trials(
    role: &str,
    args: &Arguments,
    faults: impl Iterator<Item = &'static FaultInfo>,
    try_fault: fn(&FaultInfo) -> Result<(), Failed>,
) -> Vec<Trial> {
    let mut tried = BTreeSet::new();
    let trials = faults.map(|fault| {
        let is_first = tried.insert(fault.rule());
        let is_tried = args.filter.is_some() || (is_first && is_must(fault.rule()));
        let name = format!("{role}::{}", fault.id);
        Trial::test(name, move || try_fault(fault)).with_ignored_flag(!is_tried)
    });
    trials.collect()
}
