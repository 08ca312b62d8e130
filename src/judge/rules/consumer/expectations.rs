//! The consumers that rules do not judge, and the special cases of rules that consist of expectations. The words of their
//! findings are in the rule files.

use evidence::{ConsumerSpec, MentionLocation, PluginAnswer};
use serde::Deserialize;

use crate::{
    engine::consumer::{Case, Exception},
    rules::prelude::*,
};

/// A sort of consumers that some rules do not judge, by what a consumer's author says of it.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ExemptConsumer {
    AllProfileArgs,
    Fallback,
    NoConflicts,
    NoExecVersion,
    NoHealthGate,
    NoPlacements,
    NoProfileArgs,
    OneShot,
    OutputsOnly,
    /// It acts on other profiles too, so it does not show which decisions it read.
    PlacementsAndOthers,
}

impl ExemptConsumer {
    /// Why a rule does not judge a consumer, if it is of this sort.
    pub(in crate::rules) fn reason(self, consumer: &ConsumerSpec) -> Option<Reason> {
        self.holds_of(consumer).then(|| match self {
            Self::NoExecVersion | Self::NoProfileArgs => {
                Reason::of(ReasonId::FeatureNotClaimed, self.words())
            }
            _ => self.words().into(),
        })
    }

    fn holds_of(self, consumer: &ConsumerSpec) -> bool {
        match self {
            Self::AllProfileArgs => consumer.profile_args && consumer.profile_envs,
            Self::Fallback => consumer.fallback.is_some(),
            Self::NoConflicts => !consumer.actions_conflict,
            Self::NoExecVersion => consumer.exec_api_version.is_none(),
            Self::NoHealthGate => !consumer.gates_on_health,
            Self::NoPlacements => !consumer.reads_placements(),
            Self::NoProfileArgs => !consumer.profile_args && !consumer.profile_envs,
            Self::OneShot => consumer.one_shot,
            Self::OutputsOnly => consumer.outputs_only,
            Self::PlacementsAndOthers => !consumer.acts_on_placements_alone(),
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::AllProfileArgs => {
                "the consumer claims to pass a profile's arguments and variables to plugins"
            }
            Self::Fallback => "the consumer has its own fallback for members without a known provider",
            Self::NoConflicts => {
                "the consumer does not claim that its actions on several profiles of a member conflict, so it may act on each profile"
            }
            Self::NoExecVersion => "the consumer does not claim an apiVersion for its credential plugin",
            Self::NoHealthGate => "the consumer does not claim to skip members that are not healthy",
            Self::NoPlacements => "the consumer does not claim to read PlacementDecisions",
            Self::NoProfileArgs => {
                "the consumer does not claim to pass a profile's arguments or variables to plugins"
            }
            Self::OneShot => "the consumer is one-shot; continuous behavior cannot be observed",
            Self::OutputsOnly => "the consumer only writes outputs; it calls no member and runs no plugin",
            Self::PlacementsAndOthers => {
                "the consumer also acts on profiles outside decisions, so its calls do not show which decisions it reads"
            }
        }
    }
}

/// What some rules judge differently from others.
pub(in crate::rules) fn special_case(rule: &str) -> fn(&Case) -> Option<Exception> {
    match rule {
        "consumer-exec/failure-isolated" => without_failed_plugin,
        "consumer-change/restart-no-orphans" => why_not_stopped,
        "consumer-scope/namespaces-apart" => has_warned,
        _ => |_| None,
    }
}

/// Refusing the second of two profiles does no harm if an Event of its namespace says so.
fn has_warned(case: &Case) -> Option<Exception> {
    let profile = &case.expectation.profile;
    let evidence = case.run.evidence;
    let mentions = evidence.mentions.iter().flat_map(|mentions| &mentions.items);
    let mut warnings = mentions.filter(|mention| {
        matches!(&mention.place, MentionLocation::Event { namespace, warning: true, .. } if *namespace == profile.namespace)
    });
    // A warning may be in what was not read.
    let may_have_warned =
        !evidence.is_whole(Kind::Mentions) || warnings.any(|mention| mention.names.contains(&profile.name));
    may_have_warned.then_some(Exception::WarningOnly)
}

/// No plugin run failed until the scenario ended.
fn without_failed_plugin(case: &Case) -> Option<Exception> {
    let until = case
        .scenario
        .map_or(case.expectation.until, |scenario| scenario.until);
    let mut runs = case.run.plugin_runs().filter(|run| run.at <= until);
    let has_failed = runs.any(|run| {
        use PluginAnswer::{Failed, Garbage, Hung};
        matches!(run.answer, Failed {} | Hung {} | Garbage {})
    });
    unjudged_if(
        !has_failed,
        "the consumer ran no plugin that was configured to fail",
    )
}

/// The consumer may not have been stopped, or not started again.
fn why_not_stopped(case: &Case) -> Option<Exception> {
    let [stop, start] = [DriverAction::Stop, DriverAction::Start].map(|action| case.run.hooks(action).last());
    let Some((stop, start)) = stop.zip(start) else {
        return unjudged_if(true, "the run did not stop the consumer and start it again");
    };
    if let Some(failure) = &start.failure {
        return unjudged_if(true, format!("the hook `start` failed: {}", redacted(failure)));
    }
    let mut calls = case.run.calls();
    let is_running = calls.any(|act| stop.until < act.at() && act.at() < start.from);
    let reason = "the consumer called members while it was stopped: its hook returns too early";
    unjudged_if(is_running, reason)
}

fn unjudged_if(is_unjudged: bool, reason: impl Into<Reason>) -> Option<Exception> {
    is_unjudged.then(|| Exception::Unjudged(reason.into()))
}
