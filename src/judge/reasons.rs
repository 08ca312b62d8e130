//! Reasons for no verdict that the user can change, and that several rules give.

use std::borrow::Cow;

use evidence::{
    Reason, ReasonId,
    api::{Edition, Feature},
};

use crate::rules::Basis;

/// The user did not select the rule.
pub(crate) const DESELECTED: Reason = Reason::new(ReasonId::Deselected, "deselected");
/// The user selected rules of another basis.
pub(crate) fn of_other_basis(basis: Basis) -> Reason {
    Reason::of(ReasonId::Deselected, format!("{OTHER_BASIS}{basis}"))
}

const OTHER_BASIS: &str = "deselected: its basis is ";

pub(crate) const NO_MEMBER_ASKED: Reason = Reason::new(
    ReasonId::NoMemberKubeconfig,
    "no member was contacted: no kubeconfig of a member was configured",
);
/// No request to a member used a consumer's credential.
pub(crate) const NO_SECRET_TRIED: Reason = Reason::new(
    ReasonId::NoSecretTried,
    "no login was tried with the kubeconfig of a consumer's Secret",
);

/// By which user the consumer reads the hub was not said.
pub(crate) const CONSUMER_NOT_NAMED: Reason = Reason::new(
    ReasonId::NoConsumerUsers,
    "the consumer's user is not configured, or another client uses it",
);

pub(crate) const NO_EXPECTED_NUMBER: Reason = Reason::new(
    ReasonId::FeatureNotClaimed,
    "no expected number of profiles is configured",
);

/// The user declared that the implementation lacks a rule's feature.
pub(crate) fn declared_absent(feature: Feature) -> Reason {
    Reason::of(
        ReasonId::FeatureAbsent,
        format!("declared absent: feature {feature}"),
    )
}

/// The edition asks for a feature only where it is claimed.
pub(crate) fn not_claimed(edition: Edition, feature: Feature) -> Reason {
    let reason =
        format!("edition {edition} requires this only of implementations that claim the feature {feature}");
    Reason::of(ReasonId::FeatureNotClaimed, reason)
}

/// Nothing happened during the run that the rule judges. Unlike a thing that is seen to be absent, this does not show that
/// the rule does not apply.
pub(crate) fn nothing_happened(words: impl Into<Cow<'static, str>>) -> Reason {
    Reason::of(ReasonId::NothingHappened, words)
}
