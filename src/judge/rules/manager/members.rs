//! Compares what a profile reports with samples of its member, and the suite `version` (KEP-4322 › Status › Version).

use evidence::{ClusterProperty, Lease, MemberPart, Readyz, api::Condition};
use semver::Version;

use crate::{rules::prelude::*, text::redacted_under};

/// `version/matches-member`: the reported version is the one that the member's API server reports, apart from a leading
/// `v`.
pub(crate) fn version_matches_member(profile: &ClusterProfile, sample: &Sample, _: &Hub) -> Answer {
    let Some(reported) = reported_version(profile) else {
        return Answer::NotApplicable;
    };
    let Some(actual) = sample.answers.version.as_deref() else {
        return sample.lacks(MemberPart::Version);
    };
    let [bare, expected] = [reported, actual].map(|version| version.strip_prefix('v').unwrap_or(version));
    Answer::broken_if(bare != expected, || {
        Finding::at_field(PATH, redacted(reported)).expected(redacted(actual))
    })
}

/// Checks that only `/readyz` has. A server that fails these alone starts, stops, or waits for its caches.
const READYZ_ONLY: [&str; 4] = ["etcd-readiness", "informer-sync", "shutdown", "storage-readiness"];

/// `conditions/healthy-agrees-with-member`: ControlPlaneHealthy agrees with the member's `/readyz` and control plane
/// leases.
pub(crate) fn healthy_agrees_with_member(profile: &ClusterProfile, sample: &Sample, _: &Hub) -> Answer {
    let Some(condition) = profile.condition(CONDITION_HEALTHY) else {
        return Answer::NotApplicable;
    };
    let is_reported_healthy = &*condition.status == "True";
    match &sample.answers.readyz {
        Some(readyz) if is_reported_healthy => reported_as_healthy(condition, readyz, sample),
        Some(readyz) => reported_as_unhealthy(condition, readyz, sample),
        None if is_reported_healthy => sample.lacks(MemberPart::Readyz),
        // The member may answer neither the runner nor the manager.
        None => Answer::NotApplicable,
    }
}

/// Only a control plane that is down proves a violation: the documents list `/healthz`, and an API server may be healthy
/// and not ready.
fn reported_as_healthy(condition: &Condition, readyz: &Readyz, sample: &Sample) -> Answer {
    let is_down = |check: &String| !readyz.ready && !READYZ_ONLY.contains(&check.as_str());
    let stale: Vec<String> = sample.stale_leases().map(stale_lease).collect();
    let is_broken = readyz.failed.iter().any(is_down) || !stale.is_empty();
    if !is_broken && sample.answers.leases.is_none() {
        return sample.lacks(MemberPart::Leases);
    }
    let failed = match readyz.failed.join(", ") {
        _ if readyz.ready => None,
        failed if failed.is_empty() => Some("/readyz fails".to_owned()),
        failed => Some(redacted(&format!("/readyz fails: {failed}"))),
    };
    let problems: Vec<String> = failed.into_iter().chain(stale).collect();
    let expected = format!("False or Unknown: {}", problems.join("; "));
    if is_broken {
        let message = "the control plane is reported as healthy, but is not";
        Answer::broken(wrong_health(condition, message, expected))
    } else if !readyz.ready {
        let message = "the control plane is reported as healthy, but a part of it may not be";
        Answer::warning(wrong_health(condition, message, expected))
    } else {
        Answer::Kept
    }
}

/// A manager may see more than `/readyz` and leases show, or be cut off from the member.
fn reported_as_unhealthy(condition: &Condition, readyz: &Readyz, sample: &Sample) -> Answer {
    let is_stale = |lease: &Lease| lease.age_seconds > lease.duration_seconds;
    match &sample.answers.leases {
        _ if !readyz.ready => Answer::Kept,
        None => Answer::NotApplicable,
        Some(leases) if leases.iter().any(is_stale) => Answer::Kept,
        Some(_) => {
            let message = "the control plane is healthy, but not reported as healthy";
            let expected = "True: /readyz passes and the leases of the control plane are fresh";
            Answer::warning(wrong_health(condition, message, expected.to_owned()))
        }
    }
}

fn stale_lease(lease: &Lease) -> String {
    let (name, age) = (&lease.name, lease.age_seconds);
    redacted(&format!("{name} has not renewed its lease for {age} s"))
}

fn wrong_health(condition: &Condition, message: &str, expected: String) -> Finding {
    Finding::at_path(condition_path(CONDITION_HEALTHY, "status"), message)
        .expected(expected)
        .observed(redacted(&condition.status))
}

/// `properties/node-count-matches-member`: the node count is within the declared tolerance of the member's nodes.
pub(crate) fn node_count_matches_member(profile: &ClusterProfile, sample: &Sample, hub: &Hub) -> Answer {
    let property = profile.property(PROPERTY_NODE_COUNT);
    let Some(reported) = property.and_then(|property| property.value.trim().parse::<u64>().ok()) else {
        return Answer::NotApplicable;
    };
    let Some(actual) = sample.answers.nodes else {
        return sample.lacks(MemberPart::Nodes);
    };
    let tolerance = hub.claim().node_tolerance;
    Answer::broken_if(reported.abs_diff(actual) > tolerance, || {
        let finding = Finding::at_field(property_path(PROPERTY_NODE_COUNT), reported.to_string());
        finding.expected(match tolerance {
            0 => actual.to_string(),
            _ => format!("{actual}, give or take {tolerance}"),
        })
    })
}

/// `properties/custom-resource-groups-match-member`: the custom resource groups are those of the member's CRDs.
pub(crate) fn custom_resource_groups_match_member(
    profile: &ClusterProfile,
    sample: &Sample,
    _: &Hub,
) -> Answer {
    let property = profile.property(PROPERTY_RESOURCE_GROUPS);
    let reported = property.and_then(|property| serde_json::from_str(&property.value).ok());
    let Some::<BTreeSet<String>>(reported) = reported else {
        return Answer::NotApplicable;
    };
    let Some(actual) = sample.answers.custom_resource_groups.as_deref() else {
        return sample.lacks(MemberPart::CustomResourceGroups);
    };
    Answer::broken_if(reported != *actual, || {
        let path = property_path(PROPERTY_RESOURCE_GROUPS);
        Finding::at_field(path, differences(&reported, actual))
    })
}

/// Which groups a profile lacks, and which ones its member lacks.
fn differences(reported: &BTreeSet<String>, actual: &BTreeSet<String>) -> String {
    let list = |groups: Vec<&String>| {
        let groups: Vec<&str> = groups.into_iter().map(String::as_str).collect();
        (!groups.is_empty()).then(|| redacted(&groups.join(", ")))
    };
    let missing = list(actual.difference(reported).collect());
    let surplus = list(reported.difference(actual).collect());
    let missing = missing.map(|missing| format!("without {missing}"));
    let surplus = surplus.map(|surplus| format!("with {surplus}, which the member does not have"));
    let parts: Vec<String> = missing.into_iter().chain(surplus).collect();
    parts.join("; ")
}

/// `properties/honours-only-labelled`: the profile contains only those of the member's ClusterProperties that have the
/// label.
pub(crate) fn honours_only_labelled(profile: &ClusterProfile, sample: &Sample, _: &Hub) -> Answer {
    sample.each_cluster_property(|property| {
        if is_common_knowledge(&property.name) {
            return Answer::NotApplicable;
        }
        if property.labelled || value(profile, property) != Some(&property.value) {
            return Answer::Kept;
        }
        let observed = redacted_under(&property.name, &property.value);
        let finding = Finding::at_field(path(property), format!("{observed}, as on the member"));
        // A manager may have a property of that name and value by itself, unless the suite planted it on the member.
        Answer::all([finding.advisory_unless(property.name.ends_with(PLANTED_DOMAIN))])
    })
}

/// Whether a manager may know a property from elsewhere.
fn is_common_knowledge(name: &str) -> bool {
    let mut standard = STANDARD_PROPERTIES.iter().chain(&PROPERTIES_CLUSTER_ID);
    name == PROPERTY_CLUSTERSET || standard.any(|standard_name| *standard_name == name)
}

/// `properties/cluster-properties-propagated`: the member's ClusterProperties appear in its profile.
pub(crate) fn cluster_properties_propagated(profile: &ClusterProfile, sample: &Sample, hub: &Hub) -> Answer {
    each_due_property(sample, hub, |prop| {
        Answer::broken_if(value(profile, prop).is_none(), || {
            Finding::at_field(path(prop), ABSENT).expected(redacted_under(&prop.name, &prop.value))
        })
    })
}

/// `properties/cluster-properties-verbatim`: a ClusterProperty has the same value in the profile as on the member.
pub(crate) fn cluster_properties_verbatim(profile: &ClusterProfile, sample: &Sample, hub: &Hub) -> Answer {
    each_due_property(sample, hub, |prop| {
        let reported = value(profile, prop).unwrap_or(&prop.value);
        Answer::broken_if(*reported != *prop.value, || {
            let [expected, observed] = [&prop.value, reported].map(|value| redacted_under(&prop.name, value));
            Finding::at_field(format!("{}.value", path(prop)), observed).expected(expected)
        })
    })
}

/// The answer about each ClusterProperty that belongs in the profile: in edition `standard`, only with the label. The CRD
/// refuses values of more than 1024 characters.
fn each_due_property(sample: &Sample, hub: &Hub, check: impl Fn(&ClusterProperty) -> Answer) -> Answer {
    let is_any_due = hub.edition(Role::Manager) != Edition::Standard;
    sample.each_cluster_property(|property| {
        let is_publishable = !property.value.is_empty() && property.value.chars().count() <= 1024;
        if is_publishable && (property.labelled || is_any_due) {
            check(property)
        } else {
            Answer::NotApplicable
        }
    })
}

fn value<'p>(profile: &'p ClusterProfile, prop: &ClusterProperty) -> Option<&'p str> {
    profile.property(&prop.name).map(|property| &*property.value)
}

fn path(property: &ClusterProperty) -> String {
    redacted(&format!("status.properties[{}]", property.name))
}

const PATH: &str = "status.version.kubernetes";

/// The version that an unstamped Kubernetes build reports: not the manager's fault.
const UNSTAMPED: &str = "v0.0.0-master+$Format:";

/// `version/reported`: the profile of a joined and healthy member has a Kubernetes version.
pub(crate) fn version_reported(profile: &ClusterProfile, _: &Hub) -> Answer {
    let is_true = |condition| has_status(profile, condition, "True");
    if !is_true(CONDITION_JOINED) || !is_true(CONDITION_HEALTHY) {
        return Answer::NotApplicable;
    }
    let is_absent = reported_version(profile).is_none();
    Answer::broken_if(is_absent, || Finding::at_field(PATH, ABSENT))
}

/// `version/well-formed`: the reported version is a semantic version, with or without a leading `v`.
pub(crate) fn version_well_formed(profile: &ClusterProfile, _: &Hub) -> Answer {
    let Some(version) = reported_version(profile) else {
        return Answer::NotApplicable;
    };
    let is_well_formed = read(version).is_some() || version.starts_with(UNSTAMPED);
    Answer::broken_if(!is_well_formed, || Finding::at_field(PATH, redacted(version)))
}

/// The version in a profile; none if it is empty.
pub(super) fn reported_version(profile: &ClusterProfile) -> Option<&str> {
    let version = profile.status.version.kubernetes.as_deref();
    version.filter(|version| !version.is_empty())
}

/// Parses a version as API servers report it: an optional `v`, then a semantic version. Vendors append to it with `-`
/// or `+`.
fn read(text: &str) -> Option<Version> {
    Version::parse(text.strip_prefix('v').unwrap_or(text)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_vendors_are_read() {
        let versions = "v1.34.1 1.28.0 v1.32.4+k3s1 v1.31.9-gke.1046000 v1.33.6-eks-113cf36 v1.30.4+rke2r1 \
                        v1.29.6+aba1e8d v1.20.0+01ab7fd v1.28.3-aliyun.1 v1.29.3-r1-29.0.7 v1.24.17-2+40f71c8e58ee6b \
                        v1.27.6+vmware.3-fips.1 v1.35.0-alpha.0.123+8dd3e1a96f2d27-dirty";
        for version in versions.split_whitespace() {
            assert!(read(version).is_some(), "{version}");
        }
        let version = read("v1.31.9-gke.1046000").expect("a version");
        assert_eq!((version.major, version.minor, version.patch), (1, 31, 9));
    }

    #[test]
    fn other_texts_are_refused() {
        let texts = "|v|1.30+|v1.30|1|v1.30.x|vv1.30.1|V1.30.1|v 1.30.1|v1.30.1 |v1.30.1.2|v1.030.1|v1.30.1+|\
                     v1.30.1_k3s1|Kubernetes v1.30.1|latest|unknown";
        for text in texts.split('|') {
            assert!(read(text).is_none(), "{text}");
        }
    }
}
