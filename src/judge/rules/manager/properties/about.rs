//! The well-known properties of the About API (KEP-2149 › Well known properties) in a profile.
//!
//! KEP-2149 demands them of ClusterProperties on the member. A profile shows them under the same names.

use evidence::{
    Evidence, Version,
    api::{
        ClusterProfile,
        names::{PROPERTY_CLUSTER_ID, PROPERTY_CLUSTERSET},
        syntax::is_dns_subdomain,
    },
};

use super::values::each_value;
use crate::{
    subjects::{Finding, Findings, Profiles, name},
    text::{is_placeholder, redacted},
    time::missed,
};

/// A cluster id has fewer characters.
const LONG_ID: usize = 128;

/// `properties/cluster-id-well-formed`
///
/// The cluster id is a DNS subdomain of fewer than 128 characters.
pub(in crate::rules) fn cluster_id_well_formed(profiles: &Profiles, findings: &mut Findings) {
    let expected = "a DNS subdomain of fewer than 128 characters, such as cluster-1";
    each_value(profiles, findings, PROPERTY_CLUSTER_ID, expected, |id, faults| {
        if !is_dns_subdomain(id) {
            faults.add("cluster id is not a DNS subdomain", id);
        } else if id.len() >= LONG_ID {
            faults.add("cluster id has 128 or more characters", id);
        }
    });
}

/// `properties/cluster-id-stable`
///
/// The cluster id does not change while the profile names the same ClusterSet.
pub(in crate::rules) fn cluster_id_stable(profiles: &Profiles, findings: &mut Findings) {
    findings.not_applicable("no profile has both a cluster id and a ClusterSet");
    let evidence = profiles.evidence();
    for history in profiles.histories() {
        // The last version of this membership with an id.
        let mut last: Option<(&str, &Version)> = None;
        let mut set = None;
        for version in &history.versions {
            let now = value(&version.object, PROPERTY_CLUSTERSET);
            if now != set {
                (set, last) = (now, None);
            }
            let Some(id) = value(&version.object, PROPERTY_CLUSTER_ID).filter(|_| set.is_some()) else {
                continue;
            };
            match last {
                None => findings.examine(),
                Some((before, earlier)) if before != id => {
                    if is_seen(evidence, earlier, version, findings) {
                        findings.report(changed(
                            version,
                            PROPERTY_CLUSTER_ID,
                            "cluster id changed while the member stayed in its ClusterSet",
                            [before, id],
                        ));
                    }
                }
                Some(_) => {}
            }
            last = Some((id, version));
        }
    }
}

/// `properties/clusterset-immutable`
///
/// The ClusterSet in a profile's properties is removed before another one is set.
pub(in crate::rules) fn clusterset_immutable(profiles: &Profiles, findings: &mut Findings) {
    findings.not_applicable("no profile has the property clusterset.k8s.io");
    let evidence = profiles.evidence();
    for history in profiles.histories() {
        let set = |version: &'_ Version| value(&version.object, PROPERTY_CLUSTERSET).map(str::to_owned);
        if history.versions.iter().any(|version| set(version).is_some()) {
            findings.examine();
        }
        for (before, after) in history.steps() {
            let (Some(old), Some(new)) = (set(before), set(after)) else {
                continue;
            };
            if old != new && is_seen(evidence, before, after, findings) {
                findings.report(changed(
                    after,
                    PROPERTY_CLUSTERSET,
                    "the ClusterSet of a profile was replaced by another one",
                    [&old, &new],
                ));
            }
        }
    }
}

fn value<'a>(profile: &'a ClusterProfile, name: &str) -> Option<&'a str> {
    let value = profile.property(name)?.value.trim();
    (!is_placeholder(value)).then_some(value)
}

/// Whether the watch saw all that was between two versions. Else the member may have left its ClusterSet and joined again.
fn is_seen(evidence: &Evidence, before: &Version, after: &Version, findings: &mut Findings) -> bool {
    let name = name(&after.object);
    let is_hidden =
        missed::<ClusterProfile>(evidence, Some(name), before.received(), after.received()).is_some();
    if is_hidden {
        findings.cannot_tell(format!(
            "the watch was interrupted between two versions of {}/{}, and its member may have left its ClusterSet then",
            name.0, name.1
        ));
    }
    !is_hidden
}

fn changed(version: &Version, property: &str, message: &str, [before, after]: [&str; 2]) -> Finding {
    Finding::on(&version.object, message)
        .at(format!("status.properties[{property}].value"))
        .expected(redacted(before))
        .observed(format!("{} at {}", redacted(after), version.received()))
}
