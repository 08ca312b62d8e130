//! The clusters of a decision.

use std::collections::BTreeMap;

use evidence::{
    Evidence, ObjectRef,
    api::{ClusterProfileReference, PlacementDecision},
};

use crate::rules::{
    finding::{Finding, Findings},
    placement::{LogicalDecision, each_version, faults_that_last, logical_decisions},
    write_time::{Micros, SECOND},
};

/// How long a cluster may be in two slices while a reschedule moves it.
const RESCHEDULE: Micros = 30 * SECOND;

/// `placement-slices/cluster-once`
///
/// A decision names no cluster twice, in one slice or in two.
///
/// A scheduler that moves a cluster from one slice to another names it twice for a moment, so that no consumer misses it.
/// Within one slice there is no such reason.
pub(in crate::rules) fn cluster_once(evidence: &Evidence, findings: &mut Findings) {
    each_version(evidence, findings, |slice| {
        let alone = LogicalDecision {
            namespace: &slice.metadata.namespace,
            key: None,
            slices: vec![slice],
        };
        Some(repeated(&alone, Where::OneSlice))
    });
    let examined = findings.examined;
    faults_that_last(evidence, findings, RESCHEDULE, |moment| {
        let decisions = logical_decisions(moment.slices.iter().copied());
        let several = decisions.iter().filter(|decision| decision.slices.len() > 1);
        several
            .flat_map(|decision| repeated(decision, Where::TwoSlices))
            .collect()
    });
    findings.examined = examined;
}

/// Where a cluster is named twice.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Where {
    OneSlice,
    TwoSlices,
}

fn repeated(decision: &LogicalDecision, wanted: Where) -> Vec<Finding> {
    let mut named: BTreeMap<ClusterProfileReference, &PlacementDecision> = BTreeMap::new();
    let mut found = Vec::new();
    for slice in &decision.slices {
        for (place, cluster) in slice.clusters().iter().enumerate() {
            let Some(reference) = &cluster.cluster_profile_ref else {
                continue;
            };
            let reference = slice.resolved(reference);
            // An empty name is no cluster's.
            if reference.name.is_empty() {
                continue;
            }
            let told = format!("{}/{}", reference.namespace, reference.name);
            let Some(first) = named.insert(reference, slice) else {
                continue;
            };
            let place_of_both = if std::ptr::eq(first, *slice) {
                Where::OneSlice
            } else {
                Where::TwoSlices
            };
            if place_of_both == wanted {
                found.push(
                    Finding::on(ObjectRef::from(*slice), "the decision names a cluster twice")
                        .at(format!("decisions[{place}].clusterProfileRef"))
                        .expected(format!("each cluster once in {}", decision.describe()))
                        .observed(format!("{told}, as in slice {}", first.metadata.name)),
                );
            }
        }
    }
    found
}
