//! The hub lists objects, and managers list what they report, in any order.

use std::{collections::BTreeSet, sync::Arc};

use evidence::Evidence;
use judge::rules::Rule;

use super::{judged, less::each_version};
use crate::examples;

/// Evidence whose lists are turned around, but for those of events.
fn turned(evidence: &Evidence) -> Evidence {
    let mut other = evidence.clone();
    let Evidence {
        namespaces,
        profiles,
        slices,
        secrets,
        unlabelled_secrets,
        probes,
        members,
        endpoint_calls,
        logins,
        gaps,
        unreadable,
        ..
    } = &mut other;
    namespaces.reverse();
    profiles.reverse();
    slices.reverse();
    secrets.reverse();
    unlabelled_secrets.reverse();
    probes.reverse();
    members.reverse();
    endpoint_calls.reverse();
    logins.reverse();
    gaps.reverse();
    unreadable.reverse();
    each_version(profiles, |profile| {
        turn(&mut profile.status.properties);
        turn(&mut profile.status.conditions);
        turn(&mut profile.status.access_providers);
        profile.metadata.writers.iter_mut().for_each(turn);
    });
    each_version(slices, |slice| {
        slice.metadata.common.writers.iter_mut().for_each(turn)
    });
    other
}

fn turn<T: Clone>(list: &mut Arc<[T]>) {
    *list = list.iter().rev().cloned().collect();
}

/// How much one rule finds.
fn said(rule: &Rule, evidence: &Evidence) -> impl PartialEq + use<> {
    let judged = judged(rule, evidence);
    let counted = judged.findings.iter().filter(|finding| !finding.advisory).count();
    (
        judged.verdict,
        judged.examined,
        judged.doubts.len(),
        judged.findings.len(),
        counted,
    )
}

#[test]
fn the_order_of_lists_changes_no_verdict() {
    let mut changed = BTreeSet::new();
    for (rule, example) in examples() {
        let evidence = example.evidence();
        if said(rule, &turned(evidence)) != said(rule, evidence) {
            changed.insert((rule.id, example.name.clone()));
        }
    }
    assert_eq!(changed, BTreeSet::new());
}
