//! Logins through the credential plugin of an access provider (KEP-5339).

use std::collections::{BTreeSet, HashMap};

use evidence::{
    Evidence, Login, LoginOutcome, LoginWith, ObjectRef,
    api::{AccessProvider, ClusterProfile},
};

use crate::{
    shared::{
        clocks::is_settled,
        member::{Doubts, MISSED, is_joined, stood, versions_at, vouches},
    },
    subjects::{Finding, Findings},
    text::redacted,
};

/// The logins that were tried for one profile.
struct Tried<'a> {
    provider: &'a str,
    login: &'a Login,
}

/// `access/plugin-yields-credential`
///
/// The plugin of an access provider returns a credential that the member accepts.
pub(in crate::rules) fn plugin_yields_credential(evidence: &Evidence, findings: &mut Findings) {
    let tried = tried(evidence);
    findings.not_applicable(if tried.is_empty() {
        "no profile has an access provider that the provider file contains"
    } else {
        "no plugin was run for a member that had been joined for long enough"
    });
    let mut doubts = Doubts::default();
    let mut unnamed = Vec::new();
    for history in evidence.histories() {
        let profile = history.last();
        let key = (&*profile.metadata.namespace, &*profile.metadata.name);
        let Some(Tried { provider, login }) = tried.get(&key) else {
            unnamed.push(profile);
            continue;
        };
        let stood = |stands| stood(evidence, [history], login.at, stands);
        match &login.outcome {
            LoginOutcome::Accepted { .. } if stood(is_joined) => findings.examine(),
            // An issuer of credentials may not know a new member yet.
            LoginOutcome::Refused { .. } | LoginOutcome::NoCredential { .. }
                if !is_settled(evidence, history) => {}
            LoginOutcome::Refused { code, message } if stood(is_joined) => {
                findings.examine();
                findings.report(
                    Finding::on(
                        profile,
                        "the member rejects the credential that the plugin returns",
                    )
                    .at(path(profile, provider))
                    .expected("a credential that the member accepts")
                    .observed(redacted(&format!("it answers {code} {message}"))),
                );
            }
            LoginOutcome::NoCredential { reason } if stood(vouches) => {
                findings.examine();
                findings.report(
                    Finding::on(profile, "the access provider's plugin returns no credential")
                        .at(path(profile, provider))
                        .expected("an ExecCredential with a credential")
                        .observed(redacted(reason)),
                );
            }
            LoginOutcome::Unanswered { reason } if stood(vouches) => {
                doubts.add(ObjectRef::from(profile), reason);
            }
            _ if versions_at(evidence, history, login.at).is_none() => {
                doubts.add(ObjectRef::from(profile), MISSED)
            }
            // A member that left may refuse consumers, and one that is down may lack credentials.
            _ => {}
        }
    }
    doubts.tell(findings);
    note(&tried, &unnamed, findings);
}

/// The logins that were tried, by namespace and name of the profile.
fn tried(evidence: &Evidence) -> HashMap<(&str, &str), Tried<'_>> {
    let with_plugin = evidence.logins.iter().filter_map(|login| match &login.with {
        LoginWith::Plugin(provider) => Some((provider, login)),
        LoginWith::Secret(_) => None,
    });
    with_plugin
        .map(|(provider, login)| {
            let profile = &login.profile;
            ((&*profile.namespace, &*profile.name), Tried { provider, login })
        })
        .collect()
}

/// Notes the profiles without a login because the provider file names none of their providers.
fn note(tried: &HashMap<(&str, &str), Tried>, others: &[&ClusterProfile], findings: &mut Findings) {
    let named: BTreeSet<&str> = tried.values().map(|tried| tried.provider).collect();
    let is_named = |provider: &AccessProvider| named.contains(&*provider.name);
    let mut unnamed = others.iter().filter(|profile| !profile.access().any(is_named));
    if named.is_empty() {
        return;
    }
    if let Some(first) = unnamed.next() {
        let first = ObjectRef::from(*first);
        let whose = match unnamed.count() {
            0 => first.to_string(),
            more => format!("{first} and {more} more"),
        };
        findings.note(format!(
            "no plugin was run for {}: the provider file contains none of their access providers",
            redacted(&whose)
        ));
    }
}

/// The path of that provider in the profile.
fn path(profile: &ClusterProfile, provider: &str) -> String {
    let providers = &profile.status.access_providers;
    let list = if providers.iter().any(|entry| *entry.name == *provider) {
        "accessProviders"
    } else {
        "credentialProviders"
    };
    format!("status.{list}[{}].cluster", redacted(provider))
}
