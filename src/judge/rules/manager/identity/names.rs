//! How profiles are named.

use crate::{
    subjects::{Finding, Findings, Profiles},
    text::redacted,
};

/// `identity/name-follows-guidance`
///
/// A profile's name is generated, or begins with the manager's name. A `generateName` that the name does not begin with
/// has generated nothing, so the name is of the manager's own making.
pub(in crate::rules) fn name_follows_guidance(profiles: &Profiles, findings: &mut Findings) {
    for profile in profiles.inventory() {
        findings.examine();
        let name = &*profile.metadata.name;
        let manager = profile.manager();
        let prefix = profile
            .metadata
            .generate_name
            .as_deref()
            .filter(|prefix| !prefix.is_empty());
        if let Some(prefix) = prefix {
            if !is_generated(name, prefix) {
                findings.report(
                    Finding::on(profile, "the name was not generated from generateName")
                        .at("metadata.name")
                        .expected(format!("{}…", redacted(prefix)))
                        .observed(redacted(name)),
                );
            }
            continue;
        }
        if !manager.is_empty() && name.starts_with(manager) {
            continue;
        }
        findings.report(
            Finding::on(
                profile,
                "name is not generated and does not begin with the manager's name",
            )
            .at("metadata.name")
            .expected(match manager {
                "" => "a name made by metadata.generateName".to_owned(),
                manager => format!("a name made by metadata.generateName, or {}…", redacted(manager)),
            })
            .observed(redacted(name)),
        );
    }
}

/// Whether the hub generated a name from a prefix. It cuts a prefix that would make the name longer than 63 characters.
fn is_generated(name: &str, prefix: &str) -> bool {
    const LONGEST_PREFIX: usize = 58;
    let kept = prefix.get(..LONGEST_PREFIX).unwrap_or(prefix);
    name.strip_prefix(kept).is_some_and(|rest| !rest.is_empty())
}
