//! Logins through the credential plugin of an access provider (KEP-5339).

use evidence::{Login, LoginOutcome, LoginWith, api::ClusterProfile};

use crate::{engine::Answer, subjects::Finding, text::redacted};

/// `access/plugin-yields-credential`
///
/// The plugin of an access provider returns a credential that the member accepts.
pub(in crate::rules) fn plugin_yields_credential(profile: &ClusterProfile, logins: &[&Login]) -> Answer {
    Answer::each(logins, |login| {
        let LoginWith::Plugin(provider) = &login.with else {
            return Answer::NotApplicable;
        };
        match &login.outcome {
            LoginOutcome::Accepted { .. } => Answer::Kept,
            LoginOutcome::Unanswered { reason } => Answer::Unknown(reason.clone()),
            LoginOutcome::Refused { code, message } => Answer::broken(
                Finding::at_path(
                    path(profile, provider),
                    "the member rejects the credential that the plugin returns",
                )
                .expected("a credential that the member accepts")
                .observed(redacted(&format!("it answers {code} {message}"))),
            ),
            LoginOutcome::NoCredential { reason } => Answer::broken(
                Finding::at_path(
                    path(profile, provider),
                    "the access provider's plugin returns no credential",
                )
                .expected("an ExecCredential with a credential")
                .observed(redacted(reason)),
            ),
        }
    })
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
