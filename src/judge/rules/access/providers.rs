//! The lists of access providers.

use std::collections::HashSet;

use evidence::Evidence;

use super::entries::{lists, of_profile};
use crate::rules::{
    finding::{Finding, Findings},
    text::{ABSENT, redacted},
};

/// `access/provider-named`
///
/// Each access provider has a name that is unique in its list.
///
/// The two lists may name the same provider: the newer list takes precedence.
pub(in crate::rules) fn provider_named(evidence: &Evidence, findings: &mut Findings) {
    findings.not_applicable("no profile has an access provider");
    for profile in evidence.inventory() {
        let mut names = HashSet::new();
        for entry in of_profile(profile) {
            findings.examine();
            let name = &*entry.provider.name;
            if name.trim().is_empty() {
                findings.report(
                    entry
                        .finding(".name", "access provider has no name")
                        .expected("the name by which consumers pick a plugin")
                        .observed(ABSENT),
                );
            } else if !names.insert((entry.list, name)) {
                findings.report(
                    entry
                        .finding(".name", "two access providers of a list have the same name")
                        .expected("a name of its own")
                        .observed(redacted(name)),
                );
            }
        }
    }
}

/// `access/not-deprecated-only`
///
/// A profile that fills the deprecated provider list also fills its replacement.
pub(in crate::rules) fn not_deprecated_only(evidence: &Evidence, findings: &mut Findings) {
    findings.not_applicable("no profile has an access provider");
    for profile in evidence.inventory() {
        let [(list, providers), (deprecated, old)] = lists(profile);
        if providers.is_empty() && old.is_empty() {
            continue;
        }
        findings.examine();
        if providers.is_empty() {
            findings.report(
                Finding::on(
                    profile,
                    format!("only the deprecated list {deprecated} is filled"),
                )
                .at(format!("status.{deprecated}"))
                .expected(format!("the same in status.{list}"))
                .observed(format!("{} in status.{deprecated} alone", old.len())),
            );
        }
    }
}
