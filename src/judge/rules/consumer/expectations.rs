//! The rules that consist of expectations: what an honest consumer does with published profiles. The run records the
//! expectations, the engine compares them with what the consumer did.

use evidence::{ConsumerSpec, DriverAction, Kind, MentionLocation, PluginAnswer, Reason};

use crate::{
    engine::consumer::{Act, Case, ExpectationRule},
    reasons::PROFILE_ARGS_NOT_CLAIMED,
    text::redacted,
};

const MEMBER_ID: &str = "metadata.labels[multicluster.x-k8s.io/inventory-member-id]";
const HEALTHY: &str = "status.conditions[ControlPlaneHealthy]";
const SERVER: &str = "status.accessProviders[].cluster.server";
const PLAIN: ExpectationRule = ExpectationRule::PLAIN;

pub(in crate::rules) const NAMESPACES_APART: ExpectationRule = ExpectationRule {
    rule: "consumer-scope/namespaces-apart",
    path: "metadata.namespace",
    nothing_happened: "no two profiles of one name were in namespaces that the consumer reads",
    missing: Some((
        "the consumer takes profiles of one name in two namespaces for one",
        "a connection for the profile of each namespace",
    )),
    wrong: (
        "the consumer gives one of two profiles of one name up for the other",
        "a connection for the profile of each namespace",
    ),
    is_warning: has_warned,
    ..PLAIN
};

pub(in crate::rules) const SELECTION_KEPT: ExpectationRule = ExpectationRule {
    rule: "consumer-scope/selection-kept",
    path: "metadata",
    nothing_happened: "no profile was staged that the consumer does not select",
    wrong: (
        "the consumer acts on a profile that it does not select",
        "calls for profiles of its namespaces and with its labels alone",
    ),
    ..PLAIN
};

pub(in crate::rules) const OLDEST_WINS: ExpectationRule = ExpectationRule {
    rule: "consumer-identity/oldest-wins",
    path: MEMBER_ID,
    nothing_happened: "no two profiles of different age had one identity",
    missing: Some((
        "the consumer does not act on the profile that stands for the member",
        "calls for the oldest profile",
    )),
    wrong: (
        "the consumer acts on a profile of which another one stands for the member",
        "calls for the oldest profile of a member alone",
    ),
    skipped: without_conflicts,
    ..PLAIN
};

pub(in crate::rules) const TIE_ACTS_ON_NONE: ExpectationRule = ExpectationRule {
    rule: "consumer-identity/tie-acts-on-none",
    path: MEMBER_ID,
    nothing_happened: "no two profiles of one identity were created in the same second",
    wrong: (
        "the consumer acts on a profile of which another one stands for the member",
        "no call while several profiles of a member are the oldest",
    ),
    skipped: without_conflicts,
    ..PLAIN
};

pub(in crate::rules) const EMPTY_IS_ABSENT: ExpectationRule = ExpectationRule {
    rule: "consumer-identity/empty-is-absent",
    path: MEMBER_ID,
    nothing_happened: "no two profiles of one namespace had an empty identity",
    missing: Some((
        "the consumer takes profiles without an identity for one member",
        "calls for each profile whose identity is empty",
    )),
    skipped: without_conflicts,
    ..PLAIN
};

pub(in crate::rules) const OTHER_INVENTORIES_STAY: ExpectationRule = ExpectationRule {
    rule: "consumer-identity/other-inventories-stay",
    path: MEMBER_ID,
    nothing_happened: "no profile had the identity of one in a namespace that the consumer does not read",
    missing: Some((
        "a profile of another inventory keeps the consumer from a member",
        "calls for the profile of the inventory that the consumer reads",
    )),
    skipped: without_conflicts,
    ..PLAIN
};

pub(in crate::rules) const NEXT_TAKES_OVER: ExpectationRule = ExpectationRule {
    rule: "consumer-identity/next-takes-over",
    path: MEMBER_ID,
    nothing_happened: "no profile became the oldest of its member",
    missing: Some((
        "the consumer does not act on the profile that stands for the member",
        "calls for the oldest profile",
    )),
    skipped: without_conflicts,
    ..PLAIN
};

pub(in crate::rules) const WARNING_SURFACED: ExpectationRule = ExpectationRule {
    rule: "consumer-identity/warning-surfaced",
    path: MEMBER_ID,
    nothing_happened: "no two profiles had one identity for long enough",
    missing: Some((
        "the consumer does not tell that another profile stands for the member",
        "an event or a line of its log that names both profiles",
    )),
    skipped: without_conflicts,
    ..PLAIN
};

pub(in crate::rules) const PICKS_KNOWN_PROVIDER: ExpectationRule = ExpectationRule {
    rule: "consumer-access/picks-known-provider",
    nothing_happened: "no profile was staged that has a provider unknown to the consumer beside a known one",
    missing: Some((
        "the consumer takes none of the providers",
        "calls of the server of the known provider",
    )),
    wrong: (
        "the consumer takes a provider that it has no plugin for",
        "calls of the server of the known provider",
    ),
    ..PLAIN
};

pub(in crate::rules) const NO_GUESS: ExpectationRule = ExpectationRule {
    rule: "consumer-access/no-guess",
    nothing_happened: "no profile was staged without a provider that the consumer knows",
    wrong: (
        "the consumer guesses how to reach the member",
        "no call without a known provider and its server",
    ),
    skipped: with_fallback,
    ..PLAIN
};

pub(in crate::rules) const LIST_BY_VERSION: ExpectationRule = ExpectationRule {
    rule: "consumer-access/list-by-version",
    path: "status.credentialProviders[].cluster.server",
    nothing_happened: "no profile was staged that has a provider in both lists, with two servers",
    wrong: (
        "the consumer takes the deprecated entry of a provider",
        "calls of the server in accessProviders",
    ),
    ..PLAIN
};

pub(in crate::rules) const CA_HONOURED: ExpectationRule = ExpectationRule {
    rule: "consumer-access/ca-honoured",
    path: "status.accessProviders[].cluster.certificate-authority-data",
    nothing_happened: "no profile was staged that names another authority than the member's",
    wrong: (
        "the consumer talks to a server of another authority",
        "no connection: the certificate is of another authority",
    ),
    ..PLAIN
};

pub(in crate::rules) const TLS_SERVER_NAME_HONOURED: ExpectationRule = ExpectationRule {
    rule: "consumer-access/tls-server-name-honoured",
    nothing_happened: "no profile was staged with a server name for TLS",
    ..PLAIN
};

pub(in crate::rules) const PROXY_HONOURED: ExpectationRule = ExpectationRule {
    rule: "consumer-access/proxy-honoured",
    path: "status.accessProviders[].cluster.proxy-url",
    nothing_happened: "no profile was staged that names a proxy",
    wrong: (
        "the consumer goes around the proxy",
        "each connection through the proxy",
    ),
    ..PLAIN
};

pub(in crate::rules) const CONFIG_VERBATIM: ExpectationRule = ExpectationRule {
    rule: "consumer-exec/config-verbatim",
    nothing_happened: "the consumer ran no plugin for a profile with a config",
    ..PLAIN
};

pub(in crate::rules) const NOTHING_LEAKS: ExpectationRule = ExpectationRule {
    rule: "consumer-exec/nothing-leaks-between-profiles",
    nothing_happened: "no profile was staged that has arguments or variables for the plugin",
    skipped: without_profile_args,
    ..PLAIN
};

pub(in crate::rules) const EXPIRY_RENEWED: ExpectationRule = ExpectationRule {
    rule: "consumer-exec/expiry-renewed",
    nothing_happened: "no credential of a member expired",
    wrong: (
        "the consumer goes on with a credential that has expired",
        "a request with a new credential",
    ),
    skipped: one_shot,
    ..PLAIN
};

pub(in crate::rules) const FAILURE_ISOLATED: ExpectationRule = ExpectationRule {
    rule: "consumer-exec/failure-isolated",
    nothing_happened: "the consumer ran no plugin that was told to fail",
    missing: Some((
        "a failing plugin keeps the consumer from other members",
        "a call of the member of a profile beside it",
    )),
    unjudged: without_failed_plugin,
    ..PLAIN
};

pub(in crate::rules) const MALFORMED_ISOLATED: ExpectationRule = ExpectationRule {
    rule: "consumer-exec/malformed-isolated",
    nothing_happened: "no profile was staged that is malformed",
    missing: Some((
        "a malformed profile keeps the consumer from other members",
        "a call of the member of a profile beside it",
    )),
    ..PLAIN
};

pub(in crate::rules) const ADDRESS_FOLLOWED: ExpectationRule = ExpectationRule {
    rule: "consumer-change/address-followed",
    path: SERVER,
    nothing_happened: "no profile was staged whose server changes",
    missing: Some((
        "the consumer does not follow the member to its new server",
        "calls of the new server",
    )),
    wrong: (
        "the consumer calls a server that the profile no longer names",
        "calls of the new server",
    ),
    ..PLAIN
};

pub(in crate::rules) const ACCESS_REVOKED: ExpectationRule = ExpectationRule {
    rule: "consumer-change/access-revoked",
    nothing_happened: "no profile was staged whose known provider is taken back",
    wrong: (
        "the consumer calls a member that the profile gives it no access to any more",
        "no call once the known provider is gone",
    ),
    skipped: |consumer| with_fallback(consumer).or_else(|| one_shot(consumer)),
    ..PLAIN
};

pub(in crate::rules) const PROFILE_GONE: ExpectationRule = ExpectationRule {
    rule: "consumer-change/profile-gone",
    path: "metadata.name",
    nothing_happened: "no profile was deleted whose member had been called",
    wrong: (
        "the consumer calls the member of a profile that is gone",
        "no call once the profile is gone",
    ),
    skipped: one_shot,
    ..PLAIN
};

pub(in crate::rules) const HEARTBEATS_HARMLESS: ExpectationRule = ExpectationRule {
    rule: "consumer-change/heartbeats-harmless",
    nothing_happened: "no profile was written ten times without a change of its access",
    wrong: (
        "the consumer reconnects when a profile is written without a change of access",
        "no more connections than to other members",
    ),
    skipped: one_shot,
    ..PLAIN
};

pub(in crate::rules) const RESTART_NO_ORPHANS: ExpectationRule = ExpectationRule {
    rule: "consumer-change/restart-no-orphans",
    path: SERVER,
    nothing_happened: "no profile changed while the consumer was stopped",
    missing: Some((
        "the consumer does not take up what came while it was stopped",
        "what a consumer does that reads all profiles anew",
    )),
    wrong: (
        "the consumer calls a server that went while it was stopped",
        "what a consumer does that reads all profiles anew",
    ),
    unjudged: why_not_stopped,
    ..PLAIN
};

pub(in crate::rules) const UNHEALTHY_NOT_DISPATCHED: ExpectationRule = ExpectationRule {
    rule: "consumer-health/unhealthy-not-dispatched",
    path: HEALTHY,
    nothing_happened: "no profile was staged whose member is not healthy",
    missing: Some((
        "the consumer leaves a member alone that is healthy again",
        "a call of the member",
    )),
    wrong: (
        "the consumer calls a member that is not healthy",
        "no new connection while the status is False",
    ),
    skipped: |consumer| {
        let reason = "the consumer does not claim to leave members alone that are not healthy";
        (!consumer.gates_on_health).then(|| reason.into())
    },
    ..PLAIN
};

pub(in crate::rules) const UNKNOWN_VALUES_TOLERATED: ExpectationRule = ExpectationRule {
    rule: "consumer-health/unknown-values-tolerated",
    path: "status",
    nothing_happened: "no profile was staged with a value that no control has",
    missing: Some((
        "the consumer leaves a member alone whose profile says more or less",
        "a call of the member, as of others",
    )),
    ..PLAIN
};

pub(in crate::rules) const ALL_SLICES: ExpectationRule = ExpectationRule {
    rule: "consumer-placement/all-slices",
    path: "metadata.name",
    nothing_happened: "no decision that the consumer reads had several slices",
    missing: Some((
        "the consumer does not act on a profile that one slice of its decision names",
        "calls for the members of all slices of the decision",
    )),
    wrong: (
        "the consumer acts on a profile that no slice of its decision names",
        "calls for the members of its decision alone",
    ),
    skipped: without_placements,
    ..PLAIN
};

pub(in crate::rules) const REFERENCES: ExpectationRule = ExpectationRule {
    rule: "consumer-placement/references",
    path: "metadata.name",
    nothing_happened: "no decision named a profile without its namespace, or one that was missing",
    missing: Some((
        "the consumer does not act on a profile that a decision names",
        "calls for all profiles that the decision names and that are there",
    )),
    wrong: (
        "the consumer takes a profile of another namespace for the one that a decision names",
        "calls for the profile of the decision's own namespace",
    ),
    skipped: without_placements,
    ..PLAIN
};

pub(in crate::rules) const FOLLOWS: ExpectationRule = ExpectationRule {
    rule: "consumer-placement/follows",
    path: "metadata.name",
    nothing_happened: "no decision that the consumer reads changed",
    missing: Some((
        "the consumer does not act on a profile that was added to its decision",
        "calls for the members that are added",
    )),
    wrong: (
        "the consumer calls a member that no decision names any more",
        "no call once the member has left the decision",
    ),
    skipped: without_placements,
    ..PLAIN
};

fn without_conflicts(consumer: &ConsumerSpec) -> Option<Reason> {
    let reason = "the consumer does not claim that its actions on several profiles of one member conflict: then it may act on each";
    (!consumer.actions_conflict).then(|| reason.into())
}

fn with_fallback(consumer: &ConsumerSpec) -> Option<Reason> {
    let reason = "the consumer has a way of its own to members without a known provider";
    consumer.fallback.is_some().then(|| reason.into())
}

fn one_shot(consumer: &ConsumerSpec) -> Option<Reason> {
    let reason = "the consumer is one-shot; continuous behavior cannot be observed";
    consumer.one_shot.then(|| reason.into())
}

pub(in crate::rules) fn without_profile_args(consumer: &ConsumerSpec) -> Option<Reason> {
    (!consumer.profile_args && !consumer.profile_envs).then_some(PROFILE_ARGS_NOT_CLAIMED)
}

/// A consumer that acts on other profiles too does not show which decisions it read.
fn without_placements(consumer: &ConsumerSpec) -> Option<Reason> {
    let reason = "the consumer acts on profiles that no decision names, too: its calls do not tell which decisions it read";
    let is_mixed = !consumer.acts_on_placements_alone();
    reads_no_placements(consumer).or_else(|| is_mixed.then(|| reason.into()))
}

pub(in crate::rules) fn reads_no_placements(consumer: &ConsumerSpec) -> Option<Reason> {
    (!consumer.reads_placements()).then(|| "the consumer does not claim to read PlacementDecisions".into())
}

/// A consumer that refuses the second of two profiles, and says so in an Event of its namespace, harms nobody.
fn has_warned(case: &Case) -> bool {
    let mentions = case
        .run
        .evidence
        .mentions
        .iter()
        .flat_map(|mentions| &mentions.found);
    let mut warnings = mentions.filter(|mention| match &mention.place {
        MentionLocation::Event {
            namespace, warning, ..
        } => *warning && *namespace == case.expectation.profile.namespace,
        MentionLocation::Line { .. } | MentionLocation::Object { .. } => false,
    });
    // A warning may be in what was not read.
    !case.run.evidence.is_whole(Kind::Mentions)
        || warnings.any(|mention| mention.names.contains(&case.expectation.profile.name))
}

/// No plugin run failed until the scenario ended.
fn without_failed_plugin(case: &Case) -> Option<Reason> {
    let until = case
        .scenario()
        .map_or(case.expectation.until, |scenario| scenario.until);
    let mut runs = case.run.plugin_runs().filter(|run| run.at <= until);
    let has_failed = runs.any(|run| {
        matches!(
            run.answer,
            PluginAnswer::Failed {} | PluginAnswer::Hung {} | PluginAnswer::Garbage {}
        )
    });
    (!has_failed).then(|| "the consumer ran no plugin that was told to fail".into())
}

/// The consumer may not have been stopped.
fn why_not_stopped(case: &Case) -> Option<Reason> {
    let stops = case.run.hooks(DriverAction::Stop);
    let starts = case.run.hooks(DriverAction::Start);
    if let Some(failed) = stops.chain(starts).find(|call| call.failure.is_some()) {
        let failure = redacted(failed.failure.as_deref().unwrap_or_default());
        return Some(format!("the hook `{}` failed: {failure}", failed.action.name()).into());
    }
    let stopped = case.run.hooks(DriverAction::Stop).last()?;
    let started = case.run.hooks(DriverAction::Start).last()?;
    let acts = case.run.all_acts();
    let is_in = |act: &Act| stopped.until < act.at && act.at < started.from;
    let reason = "the consumer called members while it was stopped: its hook returns too early";
    acts.iter().any(is_in).then(|| reason.into())
}
