//! The special cases of rules that consist of expectations. The words of their findings are in the rule files.

use evidence::{ConsumerSpec, MentionLocation, PluginAnswer};

use crate::{
    engine::consumer::{Case, SpecialCases},
    reasons::PROFILE_ARGS_NOT_CLAIMED,
    rules::prelude::*,
};

pub(in crate::rules) fn special_cases(rule: &str) -> SpecialCases {
    let (suite, name) = rule.split_once('/').unwrap_or_default();
    SpecialCases {
        skipped: match (suite, name) {
            ("consumer-identity", _) => without_conflicts,
            ("consumer-placement", _) => without_placements,
            (_, "no-guess") => with_fallback,
            (_, "access-revoked") => |consumer| with_fallback(consumer).or_else(|| one_shot(consumer)),
            (_, "profile-gone") => one_shot,
            (_, "heartbeats-harmless" | "expiry-renewed") => {
                |consumer| one_shot(consumer).or_else(|| outputs_only(consumer))
            }
            (
                _,
                "ca-honoured"
                | "tls-server-name-honoured"
                | "proxy-honoured"
                | "config-verbatim"
                | "failure-isolated",
            ) => outputs_only,
            (_, "nothing-leaks-between-profiles") => without_profile_args,
            (_, "unhealthy-not-dispatched") => without_health_gate,
            _ => |_| None,
        },
        unjudged: match name {
            "failure-isolated" => without_failed_plugin,
            "tls-server-name-honoured" | "config-verbatim" => without_calls,
            "restart-no-orphans" => why_not_stopped,
            _ => |_| None,
        },
        is_warning: match name {
            "namespaces-apart" => has_warned,
            _ => |_| false,
        },
    }
}

fn without_health_gate(consumer: &ConsumerSpec) -> Option<Reason> {
    let reason = "the consumer does not claim to skip members that are not healthy";
    (!consumer.gates_on_health).then(|| reason.into())
}

fn without_conflicts(consumer: &ConsumerSpec) -> Option<Reason> {
    let reason = "the consumer does not claim that its actions on several profiles of a member conflict, so it may act on each profile";
    (!consumer.actions_conflict).then(|| reason.into())
}

fn with_fallback(consumer: &ConsumerSpec) -> Option<Reason> {
    let reason = "the consumer has its own fallback for members without a known provider";
    consumer.fallback.is_some().then(|| reason.into())
}

fn one_shot(consumer: &ConsumerSpec) -> Option<Reason> {
    let reason = "the consumer is one-shot; continuous behavior cannot be observed";
    consumer.one_shot.then(|| reason.into())
}

pub(in crate::rules) fn outputs_only(consumer: &ConsumerSpec) -> Option<Reason> {
    let reason = "the consumer only writes outputs; it calls no member and runs no plugin";
    consumer.outputs_only.then(|| reason.into())
}

pub(in crate::rules) fn without_profile_args(consumer: &ConsumerSpec) -> Option<Reason> {
    (!consumer.profile_args && !consumer.profile_envs).then_some(PROFILE_ARGS_NOT_CLAIMED)
}

/// A consumer that acts on other profiles too does not show which decisions it read.
fn without_placements(consumer: &ConsumerSpec) -> Option<Reason> {
    let reason = "the consumer also acts on profiles outside decisions, so its calls do not show which decisions it reads";
    let is_mixed = !consumer.acts_on_placements_alone();
    reads_no_placements(consumer).or_else(|| is_mixed.then(|| reason.into()))
}

pub(in crate::rules) fn reads_no_placements(consumer: &ConsumerSpec) -> Option<Reason> {
    (!consumer.reads_placements()).then(|| "the consumer does not claim to read PlacementDecisions".into())
}

/// Refusing the second of two profiles does no harm if an Event of its namespace says so.
fn has_warned(case: &Case) -> bool {
    let profile = &case.expectation.profile;
    let evidence = case.run.evidence;
    let mentions = evidence.mentions.iter().flat_map(|mentions| &mentions.found);
    let mut warnings = mentions.filter(|mention| {
        matches!(&mention.place, MentionLocation::Event { namespace, warning: true, .. } if *namespace == profile.namespace)
    });
    // A warning may be in what was not read.
    !evidence.is_whole(Kind::Mentions) || warnings.any(|mention| mention.names.contains(&profile.name))
}

/// An output names a member, but does not show how a program connects to it.
fn without_calls(case: &Case) -> Option<Reason> {
    let reason = "the consumer named members in its outputs, but called none; if another program calls them, set outputsOnly in the driver file";
    let mut snapshots = case.run.testbed.outputs.iter();
    let has_output = snapshots.any(|snapshot| !snapshot.outputs.is_empty());
    (has_output && case.run.all_acts().next().is_none()).then(|| reason.into())
}

/// No plugin run failed until the scenario ended.
fn without_failed_plugin(case: &Case) -> Option<Reason> {
    let scenario = case.scenario();
    let until = scenario.map_or(case.expectation.until, |scenario| scenario.until);
    let mut runs = case.run.plugin_runs().filter(|run| run.at <= until);
    let has_failed = runs.any(|run| {
        use PluginAnswer::{Failed, Garbage, Hung};
        matches!(run.answer, Failed {} | Hung {} | Garbage {})
    });
    (!has_failed).then(|| "the consumer ran no plugin that was configured to fail".into())
}

/// The consumer may not have been stopped.
fn why_not_stopped(case: &Case) -> Option<Reason> {
    let [stops, starts] = [DriverAction::Stop, DriverAction::Start].map(|action| case.run.hooks(action));
    let (stops, starts): (Vec<_>, Vec<_>) = (stops.collect(), starts.collect());
    let mut failures = stops.iter().chain(&starts);
    if let Some((hook, failure)) =
        failures.find_map(|call| Some((call.action.name(), call.failure.as_deref()?)))
    {
        return Some(format!("the hook `{hook}` failed: {}", redacted(failure)).into());
    }
    let (Some(stopped), Some(started)) = (stops.last(), starts.last()) else {
        return Some("the run did not stop the consumer and start it again".into());
    };
    let mut acts = case.run.all_acts();
    let reason = "the consumer called members while it was stopped: its hook returns too early";
    acts.any(|act| stopped.until < act.at() && act.at() < started.from)
        .then(|| reason.into())
}
