//! The names in references.

use evidence::api::{
    ClusterProfileReference, PlacementDecision,
    syntax::{is_dns_label, is_dns_subdomain},
};

use crate::{
    engine::{Answer, Hub},
    subjects::Finding,
    text::redacted_or_absent,
};

/// `placement-references/name-valid`
pub(in crate::rules) fn name_valid(slice: &PlacementDecision, _: &Hub) -> Answer {
    if slice.clusters().is_empty() {
        return Answer::NotApplicable;
    }
    let is_namespace = |namespace: &str| namespace.is_empty() || is_dns_label(namespace);
    let name = invalid(slice, "name", |reference| &reference.name, is_dns_subdomain);
    let namespace = invalid(slice, "namespace", |reference| &reference.namespace, is_namespace);
    let name = name.map(|finding| finding.expected("a DNS subdomain of at most 253 characters"));
    let namespace =
        namespace.map(|finding| finding.expected("a DNS label of at most 63 characters, or nothing"));
    Answer::all(name.into_iter().chain(namespace))
}

/// The references of a slice with an invalid field, as one finding. An absent reference has no name.
fn invalid(
    slice: &PlacementDecision,
    field: &str,
    value: fn(&ClusterProfileReference) -> &str,
    is_valid: impl Fn(&str) -> bool,
) -> Option<Finding> {
    let values = slice.clusters().iter().enumerate().map(|(place, decision)| {
        let reference = decision.cluster_profile_ref.as_ref();
        (place, reference.map_or("", value))
    });
    let mut invalid = values.filter(|(_, value)| !is_valid(value));
    let (place, first) = invalid.next()?;
    let first = redacted_or_absent(Some(first).filter(|first| !first.is_empty()));
    let observed = match invalid.count() {
        0 => first,
        more => format!("{first} and {more} more"),
    };
    let message = format!("clusterProfileRef.{field} is not a valid {field}");
    let path = format!("decisions[{place}].clusterProfileRef.{field}");
    Some(Finding::at_path(path, message).observed(observed))
}
