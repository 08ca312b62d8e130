//! The names in references.

use evidence::{
    Evidence, ObjectRef,
    api::{
        ClusterDecision, PlacementDecision,
        syntax::{is_dns_label, is_dns_subdomain},
    },
};

use crate::{
    shared::placement::each_version,
    subjects::{Finding, Findings},
    text::{ABSENT, redacted},
};

/// What can be wrong with a reference.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Flaw {
    NoName,
    Name,
    Namespace,
}

/// `placement-references/name-valid`
///
/// The name of each reference is one that a profile can have, and its namespace one that a namespace can have.
pub(in crate::rules) fn name_valid(evidence: &Evidence, findings: &mut Findings) {
    each_version(evidence, findings, |slice| {
        let is_any = !slice.clusters().is_empty();
        is_any.then(|| {
            let flaws = [Flaw::NoName, Flaw::Name, Flaw::Namespace].into_iter();
            flaws.filter_map(|flaw| finding(slice, flaw)).collect()
        })
    });
    if findings.examined == 0 {
        findings.nothing_happened("no slice names a cluster");
    }
}

/// The references of a slice with one flaw, as one finding.
fn finding(slice: &PlacementDecision, flaw: Flaw) -> Option<Finding> {
    let clusters = slice.clusters().iter().enumerate();
    let mut flawed = clusters.filter(|(_, decision)| has(decision, flaw));
    let (index, first) = flawed.next()?;
    let more = match flawed.count() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let reference = first.cluster_profile_ref.as_ref();
    let (message, field, expected) = match flaw {
        Flaw::NoName => (
            "the reference has no name",
            ".name",
            "the name of a ClusterProfile",
        ),
        Flaw::Name => (
            "the name in the reference is none that a ClusterProfile can have",
            ".name",
            "a DNS subdomain of at most 253 characters",
        ),
        Flaw::Namespace => (
            "the namespace in the reference is none that a namespace can have",
            ".namespace",
            "a DNS label of at most 63 characters, or nothing",
        ),
    };
    let observed = match (flaw, reference) {
        (Flaw::NoName, _) | (_, None) => ABSENT.to_owned(),
        (Flaw::Name, Some(reference)) => redacted(&reference.name),
        (Flaw::Namespace, Some(reference)) => redacted(&reference.namespace),
    };
    Some(
        Finding::on(ObjectRef::from(slice), message)
            .at(format!("decisions[{index}].clusterProfileRef{field}"))
            .expected(expected)
            .observed(format!("{observed}{more}")),
    )
}

fn has(decision: &ClusterDecision, flaw: Flaw) -> bool {
    let Some(reference) = &decision.cluster_profile_ref else {
        return flaw == Flaw::NoName;
    };
    match flaw {
        Flaw::NoName => reference.name.is_empty(),
        Flaw::Name => !reference.name.is_empty() && !is_dns_subdomain(&reference.name),
        Flaw::Namespace => !reference.namespace.is_empty() && !is_dns_label(&reference.namespace),
    }
}
