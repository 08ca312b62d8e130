//! The credentials of consumers on their members.

use evidence::LoginOutcome;

use crate::{
    engine::{Answer, ConsumerSecret},
    subjects::Finding,
    text::redacted,
};

const PATH: &str = "data.Config.users";

/// `consumers/kubeconfig-works`
///
/// A member that is joined accepts the credential.
pub(in crate::rules) fn kubeconfig_works(secret: &ConsumerSecret, outcome: &LoginOutcome) -> Answer {
    match outcome {
        LoginOutcome::Accepted { .. } => Answer::Kept,
        LoginOutcome::Refused { code, message } => Answer::broken(
            Finding::on(secret.secret, "the member rejects the consumer's credential")
                .at(PATH)
                .expected("a credential that the member accepts")
                .observed(redacted(&format!("it answers {code} {message}"))),
        ),
        _ => Answer::NotApplicable,
    }
}

/// `consumers/least-privilege`
///
/// The credential may not do everything on a member that is joined.
pub(in crate::rules) fn least_privilege(secret: &ConsumerSecret, outcome: &LoginOutcome) -> Answer {
    match outcome {
        LoginOutcome::Accepted { everything: None, .. } => {
            let reason = "the member does not report the permissions of the credential";
            Answer::Unknown(secret.in_words(reason))
        }
        LoginOutcome::Accepted {
            user,
            everything: Some(true),
        } => Answer::broken(
            Finding::on(secret.secret, "the consumer has full access to the member")
                .at(PATH)
                .expected("a user with the rights that the consumer needs")
                .observed(redacted(&format!("{user}, with every verb on every resource"))),
        ),
        LoginOutcome::Accepted { .. } => Answer::Kept,
        _ => Answer::NotApplicable,
    }
}
