//! What is wrong with the slices of others is not held against the scheduler.
//!
//! Replicators and consumers copy slices into other namespaces, and backups restore them, with all that a scheduler wrote.

use std::collections::{BTreeMap, HashSet};

use evidence::{
    Evidence, ObjectRef,
    api::{PlacementDecision, Role},
};

use crate::{
    reasons::SCHEDULER_NOT_NAMED,
    rules::Rule,
    subjects::{Conclusion, Finding},
    who::publisher::{Publishers, Whose},
};

/// The suite that tells by itself who else writes slices.
const ON_WRITERS: &str = "placement-ownership";

/// Leaves out what is found by slices that others publish, and makes warnings of what is found by those that others may
/// publish.
pub(crate) fn excuse(rule: &Rule, evidence: &Evidence, found: &mut Conclusion) {
    if rule.role() != Role::Scheduler || rule.suite() == ON_WRITERS || found.list.is_empty() {
        return;
    }
    let publishers = Publishers::of::<PlacementDecision>(evidence);
    let judged = evidence.slice_histories();
    let whose: BTreeMap<ObjectRef, Whose> = judged
        .map(|history| (history.last().into(), publishers.whose(history)))
        .collect();
    let is_any = |wanted: Whose| whose.values().any(|whose| *whose == wanted);
    if !is_any(Whose::Others) && !is_any(Whose::Unknown) {
        return;
    }
    // Such a finding can only become a warning.
    if is_any(Whose::Unknown) && found.list.iter().all(|finding| finding.advisory) {
        return;
    }
    let mut own = evidence.clone();
    own.slices.retain(|history| {
        let whose = whose.get(&history.last().into());
        whose.is_none_or(|whose| *whose == Whose::Judged)
    });
    let mut own = rule.findings(&own).conclude();
    if is_any(Whose::Unknown) {
        let sure = found.list.iter_mut().filter(|finding| !finding.advisory);
        let own_faults: HashSet<_> = own.list.iter().map(Finding::fault).collect();
        let doubtful = sure.filter(|finding| !own_faults.contains(&finding.fault()));
        // What is not listed is as sure as what is its like among the own ones.
        let unsure = found.unlisted.violations.saturating_sub(own.unlisted.violations);
        found.unlisted.violations -= unsure;
        found.unlisted.hints += unsure;
        if doubtful.map(|finding| finding.advisory = true).count() > 0 {
            let hint = "what is wrong with slices that several programs publish is a hint only";
            found.notes.push(SCHEDULER_NOT_NAMED.after(hint));
        }
        return;
    }
    if !is_any(Whose::Judged) {
        let doubt = "no slice is published by those who were named as the scheduler";
        own.doubts.push(doubt.into());
    } else if found.list != own.list {
        let note = "what is wrong with slices that others publish is not held against the scheduler";
        own.notes.push(note.into());
    }
    *found = own;
}
