//! The lists of access providers.

use super::entries::{NO_PROVIDER, OF_ACCESS, lists, of_profile};
use crate::{
    hash::HashSet,
    shared::state::each_state,
    subjects::{Finding, Findings, Profiles},
    text::{ABSENT, redacted},
};

/// `access/provider-named`
///
/// Each access provider has a name that is unique in its list.
///
/// The two lists may name the same provider: the newer list takes precedence.
pub(in crate::rules) fn provider_named(profiles: &Profiles, findings: &mut Findings) {
    findings.not_applicable(NO_PROVIDER);
    // For each profile the same set, so that its memory is asked for once.
    let mut names = HashSet::default();
    each_state(profiles, findings, OF_ACCESS, |profile| {
        names.clear();
        let mut faults = Vec::new();
        let mut any = false;
        for entry in of_profile(profile) {
            any = true;
            let name = &*entry.provider.name;
            if name.trim().is_empty() {
                let nameless = entry
                    .finding(".name", "access provider has no name")
                    .expected("the name by which consumers pick a plugin")
                    .observed(ABSENT);
                faults.push(nameless.into());
            } else if !names.insert((entry.list, name)) {
                let twin = entry
                    .finding(".name", "two access providers of a list have the same name")
                    .expected("a name of its own")
                    .observed(redacted(name));
                faults.push(twin.into());
            }
        }
        any.then_some(faults)
    });
}

/// `access/not-deprecated-only`
///
/// A profile that fills the deprecated provider list also fills its replacement.
pub(in crate::rules) fn not_deprecated_only(profiles: &Profiles, findings: &mut Findings) {
    findings.not_applicable(NO_PROVIDER);
    each_state(profiles, findings, OF_ACCESS, |profile| {
        let [(list, providers), (deprecated, old)] = lists(profile);
        let is_old = providers.is_empty() && !old.is_empty();
        let alone = is_old.then(|| {
            let message = format!("only the deprecated list {deprecated} is filled");
            Finding::on(profile, message)
                .at(format!("status.{deprecated}"))
                .expected(format!("the same in status.{list}"))
                .observed(format!("{} in status.{deprecated} alone", old.len()))
                .into()
        });
        let has_any = is_old || !providers.is_empty();
        has_any.then(|| alone.into_iter().collect())
    });
}
