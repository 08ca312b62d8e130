//! The property `group.customResource.k8s.io`.

use evidence::api::{list::strings, names, syntax::is_dns_subdomain};

use super::values::each_value;
use crate::subjects::{Findings, Profiles};

/// `properties/custom-resource-groups-well-formed`
///
/// The custom resource groups are a JSON list of API groups.
pub(in crate::rules) fn custom_resource_groups_well_formed(profiles: &Profiles, findings: &mut Findings) {
    let expected = r#"a JSON list of API groups, such as ["argoproj.io","kueue.x-k8s.io"]"#;
    each_value(
        profiles,
        findings,
        names::PROPERTY_RESOURCE_GROUPS,
        expected,
        |value, faults| match strings(value) {
            None => faults.add("custom resource groups are not a JSON list of strings", value),
            Some(groups) => {
                for group in groups.iter().filter(|group| !is_dns_subdomain(group)) {
                    faults.add("custom resource group is not a DNS subdomain", group);
                }
            }
        },
    );
}
