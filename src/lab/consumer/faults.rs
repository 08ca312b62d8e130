//! The consumer's faults, in the order of the rules.

use evidence::api::{Edition, UnknownName};

use super::world::Misbehaviour;
use crate::fault;

/// The description of a fault of the consumer.
pub type FaultInfo = fault::FaultInfo<Misbehaviour>;

/// A fault of the consumer.
pub type Fault = fault::Fault<Misbehaviour>;

#[rustfmt::skip]
const FAULTS: &[FaultInfo] = &[
    new("consumer-hub/status-not-written", "writes the status of a profile", Misbehaviour::WritesStatus).in_audit_log_only(),
    new("consumer-hub/profile-not-written", "labels profiles", Misbehaviour::LabelsProfiles).in_audit_log_only(),
    new("consumer-hub/deletion-not-blocked", "keeps its finalizers on profiles when it is uninstalled", Misbehaviour::LeavesFinalizers).in_audit_log_only(),
    new("consumer-scope/namespaces-apart", "identifies profiles by name, without their namespace", Misbehaviour::IgnoresNamespaces),
    new("consumer-scope/selection-kept", "reads the profiles of all namespaces", Misbehaviour::ReadsAllNamespaces),
    in_2026_09("consumer-identity/oldest-wins", "acts on the youngest profile of a member", Misbehaviour::PrefersYoungest),
    in_2026_09("consumer-identity/tie-acts-on-none", "acts on one of several profiles that are equally old", Misbehaviour::PicksOneOfTied),
    in_2026_09("consumer-identity/empty-is-absent", "treats profiles with an empty identity as one member", Misbehaviour::ComparesEmptyIds),
    in_2026_09("consumer-identity/other-inventories-stay", "compares profiles with those of other inventories", Misbehaviour::ComparesOtherInventories),
    in_2026_09("consumer-identity/next-takes-over", "never acts on a profile that it once passed over", Misbehaviour::NeverReturns),
    in_2026_09("consumer-identity/warning-surfaced", "does not report the profiles that it passes over", Misbehaviour::PassesOverSilently),
    new("consumer-access/picks-known-provider", "uses the first access provider, known or not", Misbehaviour::UsesFirstProvider),
    new("consumer-access/no-guess", "uses any access provider where it knows none", Misbehaviour::GuessesProvider),
    new("consumer-access/list-by-version", "prefers the deprecated list of providers", Misbehaviour::PrefersDeprecatedList),
    new("consumer-access/ca-honoured", "does not verify the certificates of members", Misbehaviour::TrustsAnyAuthority),
    new("consumer-access/tls-server-name-honoured", "sends no server name", Misbehaviour::DropsServerName),
    new("consumer-access/proxy-honoured", "ignores proxies", Misbehaviour::IgnoresProxy),
    new("consumer-exec/config-verbatim", "wraps the plugin's config in another object", Misbehaviour::WrapsConfig),
    new("consumer-exec/protocol-as-configured", "runs the plugin with another API version", Misbehaviour::ChangesExecVersion),
    new("consumer-exec/profile-args-off-by-default", "passes arguments of profiles to the plugin without claiming it", Misbehaviour::PassesUnclaimedArgs),
    new("consumer-exec/profile-args-as-told", "drops repeated arguments", Misbehaviour::DropsRepeatedArgs),
    new("consumer-exec/nothing-leaks-between-profiles", "passes the arguments of one profile to the plugin of another", Misbehaviour::LeaksArgs),
    new("consumer-exec/expiry-renewed", "keeps using expired credentials", Misbehaviour::KeepsExpiredCredentials),
    new("consumer-exec/failure-isolated", "does nothing else until the plugin returns a credential", Misbehaviour::WaitsForPlugin),
    new("consumer-exec/malformed-isolated", "does nothing while it cannot read a profile", Misbehaviour::StopsAtMalformedProfile),
    new("consumer-change/address-followed", "keeps the first address of a member", Misbehaviour::KeepsAddress),
    new("consumer-change/access-revoked", "keeps using access that a profile no longer has", Misbehaviour::KeepsRevokedAccess),
    new("consumer-change/profile-gone", "keeps calling the members of deleted profiles", Misbehaviour::KeepsDeletedProfiles),
    new("consumer-change/heartbeats-harmless", "reconnects whenever a profile is written", Misbehaviour::ReconnectsAtWrites),
    new("consumer-change/restart-no-orphans", "keeps the members of profiles that were deleted while it was stopped", Misbehaviour::KeepsMembersOverRestart),
    new("consumer-change/restart-no-orphans:outputs", "keeps the Secrets of profiles that were deleted while it was stopped", Misbehaviour::ForgetsOutputs),
    new("consumer-health/unhealthy-not-dispatched", "calls unhealthy members", Misbehaviour::CallsUnhealthy),
    new("consumer-health/unknown-values-tolerated", "skips profiles with an unknown condition", Misbehaviour::SkipsUnknownConditions),
    new("consumer-placement/all-slices", "reads the slices of a decision up to the first empty one", Misbehaviour::StopsAtEmptySlice),
    new("consumer-placement/references", "resolves references without a namespace to profiles of another namespace", Misbehaviour::ResolvesElsewhere),
    new("consumer-placement/follows", "keeps calling the members that left its decision", Misbehaviour::KeepsRemovedMembers),
    new("consumer-placement/read-only-and-feedback-elsewhere", "annotates the slices of decisions", Misbehaviour::WritesSlices).in_audit_log_only(),
    new("consumer-secrets/credential-to-its-member-only", "uses one credential for all members", Misbehaviour::SharesCredential),
    new("consumer-secrets/nothing-secret-in-the-open", "writes credentials into its log", Misbehaviour::LogsCredentials),
];

const fn new(id: &'static str, what: &'static str, misbehaviour: Misbehaviour) -> FaultInfo {
    FaultInfo::first_in(Edition::Consumer2026M07, id, what, misbehaviour)
}

const fn in_2026_09(id: &'static str, what: &'static str, misbehaviour: Misbehaviour) -> FaultInfo {
    FaultInfo::first_in(Edition::Consumer2026M09, id, what, misbehaviour)
}

/// All faults, in the order of the rules.
pub fn faults() -> &'static [FaultInfo] {
    FAULTS
}

impl Fault {
    /// The consumer's fault with this id.
    ///
    /// # Errors
    /// If there is no such fault; the error names the nearest one.
    pub fn parse(id: &str) -> Result<Self, UnknownName> {
        Self::find(id, faults())
    }
}
