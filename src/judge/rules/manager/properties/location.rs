//! The property `location.topology.k8s.io`.

use evidence::api::names;

use crate::{
    subjects::{Finding, Findings, Profiles},
    text::redacted,
};

/// `properties/location-immutable`
///
/// The location of a member, once set, never changes. Its temporary absence is no change.
pub(in crate::rules) fn location_immutable(profiles: &Profiles, findings: &mut Findings) {
    findings.not_applicable("no profile has the property location.topology.k8s.io");
    for object in profiles.objects() {
        let versions = object.iter().flat_map(|history| &history.versions);
        let mut locations = versions.filter_map(|version| {
            let property = version.object.property(names::PROPERTY_LOCATION)?;
            (!property.value.is_empty()).then_some((&*property.value, &version.object))
        });
        let Some((mut known, _)) = locations.next() else {
            continue;
        };
        findings.examine();
        for (location, profile) in locations {
            if location != known {
                findings.report(
                    Finding::on(profile, "location of the member was changed")
                        .at("status.properties[location.topology.k8s.io].value")
                        .expected(redacted(known))
                        .observed(redacted(location)),
                );
                known = location;
            }
        }
    }
}
