//! Lists the faults, in the order of the rules.

use evidence::api::{Edition, UnknownName};

use super::world::{Misbehaviour, World};
use crate::fault;

/// The description of a fault of the consumer.
pub type FaultInfo = fault::FaultInfo<fn(&mut World)>;

/// A fault of the consumer.
pub type Fault = fault::Fault<fn(&mut World)>;

const FAULTS: &[FaultInfo] = &[
    new(
        "consumer-hub/status-not-written",
        "writes its opinion into the status of profiles",
        |world| world.misbehave(Misbehaviour::WritesStatus),
    )
    .in_audit_log_only(),
    new("consumer-hub/profile-not-written", "labels profiles", |world| {
        world.misbehave(Misbehaviour::LabelsProfiles)
    })
    .in_audit_log_only(),
    new(
        "consumer-hub/deletion-not-blocked",
        "leaves its finalizers on profiles when it is uninstalled",
        |world| world.misbehave(Misbehaviour::LeavesFinalizers),
    )
    .in_audit_log_only(),
    new(
        "consumer-scope/namespaces-apart",
        "knows profiles by their names alone",
        |world| world.misbehave(Misbehaviour::KnowsByNameAlone),
    ),
    new(
        "consumer-scope/selection-kept",
        "reads the profiles of all namespaces",
        |world| world.misbehave(Misbehaviour::ReadsAllNamespaces),
    ),
    in_2026_09(
        "consumer-identity/oldest-wins",
        "takes the youngest of several profiles of a member",
        |world| world.misbehave(Misbehaviour::TakesTheYoungest),
    ),
    in_2026_09(
        "consumer-identity/tie-acts-on-none",
        "takes one of several profiles that are equally old",
        |world| world.misbehave(Misbehaviour::TakesOneOfTied),
    ),
    in_2026_09(
        "consumer-identity/empty-is-absent",
        "takes all profiles with an empty identity for one",
        |world| world.misbehave(Misbehaviour::TakesEmptyForOne),
    ),
    in_2026_09(
        "consumer-identity/other-inventories-stay",
        "takes profiles of several inventories for one",
        |world| world.misbehave(Misbehaviour::TakesInventoriesForOne),
    ),
    in_2026_09(
        "consumer-identity/next-takes-over",
        "never comes back to a profile that it passed over",
        |world| world.misbehave(Misbehaviour::NeverReturns),
    ),
    in_2026_09(
        "consumer-identity/warning-surfaced",
        "passes profiles over without a word",
        |world| world.misbehave(Misbehaviour::PassesOverInSilence),
    ),
    new(
        "consumer-access/picks-known-provider",
        "takes the first access provider, known or not",
        |world| world.misbehave(Misbehaviour::TakesTheFirst),
    ),
    new(
        "consumer-access/no-guess",
        "takes any access provider where it knows none",
        |world| world.misbehave(Misbehaviour::TakesAnyAtNeed),
    ),
    new(
        "consumer-access/list-by-version",
        "reads the deprecated list of providers first",
        |world| world.misbehave(Misbehaviour::ReadsTheOldList),
    ),
    new(
        "consumer-access/ca-honoured",
        "does not check the certificates of members",
        |world| world.misbehave(Misbehaviour::TrustsAnybody),
    ),
    new(
        "consumer-access/tls-server-name-honoured",
        "drops the server name",
        |world| world.misbehave(Misbehaviour::DropsServerName),
    ),
    new("consumer-access/proxy-honoured", "goes around proxies", |world| {
        world.misbehave(Misbehaviour::GoesAroundProxies)
    }),
    new(
        "consumer-exec/config-verbatim",
        "wraps what the profile says to the plugin",
        |world| world.misbehave(Misbehaviour::WrapsConfig),
    ),
    new(
        "consumer-exec/protocol-as-configured",
        "tells the plugin another version of its protocol",
        |world| world.misbehave(Misbehaviour::TellsAnotherVersion),
    ),
    new(
        "consumer-exec/profile-args-off-by-default",
        "hands on what profiles add without being told to",
        |world| world.misbehave(Misbehaviour::HandsOnUnasked),
    ),
    new(
        "consumer-exec/profile-args-as-told",
        "drops arguments that are there twice",
        |world| world.misbehave(Misbehaviour::DropsRepeats),
    ),
    new(
        "consumer-exec/nothing-leaks-between-profiles",
        "hands the variables of one profile to the plugin of another",
        |world| world.misbehave(Misbehaviour::CollectsArguments),
    ),
    new(
        "consumer-exec/expiry-renewed",
        "keeps credentials that have expired",
        |world| world.misbehave(Misbehaviour::KeepsCredentials),
    ),
    new(
        "consumer-exec/failure-isolated",
        "does nothing else until a plugin gives a credential",
        |world| world.misbehave(Misbehaviour::StopsAtFailure),
    ),
    new(
        "consumer-exec/malformed-isolated",
        "ends at a profile that it cannot read",
        |world| world.misbehave(Misbehaviour::StopsAtMalformed),
    ),
    new(
        "consumer-change/address-followed",
        "keeps the first address of a member",
        |world| world.misbehave(Misbehaviour::KeepsAddress),
    ),
    new(
        "consumer-change/access-revoked",
        "keeps to access that was taken back",
        |world| world.misbehave(Misbehaviour::KeepsAccess),
    ),
    new(
        "consumer-change/profile-gone",
        "keeps the members of profiles that are gone",
        |world| world.misbehave(Misbehaviour::KeepsTheGone),
    ),
    new(
        "consumer-change/heartbeats-harmless",
        "reconnects whenever a profile is written",
        |world| world.misbehave(Misbehaviour::ReconnectsAlways),
    ),
    new(
        "consumer-change/restart-no-orphans",
        "keeps the members of profiles that went while it was stopped",
        |world| world.misbehave(Misbehaviour::KeepsOverRestarts),
    ),
    new(
        "consumer-change/restart-no-orphans:outputs",
        "leaves the Secrets of profiles that went while it was stopped",
        |world| world.misbehave(Misbehaviour::ForgetsOutputs),
    ),
    new(
        "consumer-health/unhealthy-not-dispatched",
        "calls members that are not healthy",
        |world| world.misbehave(Misbehaviour::CallsTheSick),
    ),
    new(
        "consumer-health/unknown-values-tolerated",
        "leaves profiles alone that say something undefined",
        |world| world.misbehave(Misbehaviour::KnowsTheDefinedAlone),
    ),
    new(
        "consumer-placement/all-slices",
        "reads the slices of a decision up to the first that is empty",
        |world| world.misbehave(Misbehaviour::StopsAtAnEmptySlice),
    ),
    new(
        "consumer-placement/references",
        "takes a profile of another namespace where a reference has none",
        |world| world.misbehave(Misbehaviour::TakesNamesakes),
    ),
    new(
        "consumer-placement/follows",
        "keeps the members that have left its decision",
        |world| world.misbehave(Misbehaviour::KeepsTheRemoved),
    ),
    new(
        "consumer-placement/read-only-and-feedback-elsewhere",
        "annotates the slices of decisions",
        |world| world.misbehave(Misbehaviour::WritesSlices),
    )
    .in_audit_log_only(),
    new(
        "consumer-secrets/credential-to-its-member-only",
        "takes one credential to all members",
        |world| world.misbehave(Misbehaviour::SharesCredential),
    ),
    new(
        "consumer-secrets/nothing-secret-in-the-open",
        "writes credentials into its log",
        |world| world.misbehave(Misbehaviour::LogsCredentials),
    ),
];

const fn new(id: &'static str, what: &'static str, edit: fn(&mut World)) -> FaultInfo {
    FaultInfo::first_in(Edition::Consumer2026M07, id, what, edit)
}

const fn in_2026_09(id: &'static str, what: &'static str, edit: fn(&mut World)) -> FaultInfo {
    FaultInfo::first_in(Edition::Consumer2026M09, id, what, edit)
}

/// All faults, in the order of the rules.
pub fn faults() -> &'static [FaultInfo] {
    FAULTS
}

impl Fault {
    /// The consumer's fault of that id.
    ///
    /// # Errors
    /// When there is none; the error names the nearest one.
    pub fn parse(id: &str) -> Result<Self, UnknownName> {
        Self::find(id, faults())
    }
}
