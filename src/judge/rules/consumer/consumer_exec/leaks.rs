//! Arguments and variables that reach the plugin of another profile.

use std::collections::{BTreeMap, BTreeSet};

use evidence::{
    Evidence, PluginCall,
    api::{AccessProvider, ClusterProfile, names},
};
use serde_json::Value;

use crate::{
    reasons::PROFILE_ARGS_NOT_CLAIMED,
    shared::consumer::{Play, extension, known},
    subjects::{Finding, Findings},
    text::{redacted, redacted_under},
};

/// So many calls show that nothing is left over.
const ENOUGH: usize = 3;

/// `consumer-exec/nothing-leaks-between-profiles`
///
/// A plugin that is run for one profile gets no argument and no variable of another one, and none more often than its own
/// profile has it.
pub(in crate::rules) fn nothing_leaks_between_profiles(evidence: &Evidence, findings: &mut Findings) {
    let Some(play) = Play::of(evidence, findings) else {
        return;
    };
    let claims = &play.stage.consumer;
    if !claims.profile_args && !claims.profile_envs {
        findings.not_asked(PROFILE_ARGS_NOT_CLAIMED);
        return;
    }
    findings
        .nothing_happened("the consumer ran no plugin beside that of a profile with arguments or variables");
    let adds = |profile: &ClusterProfile| {
        known(profile, claims).any(|entry| !arguments(entry).is_empty() || !variables(entry).is_empty())
    };
    let is_any = play.versions().any(adds);
    let mut clean = 0_usize;
    for call in play.plugin_calls() {
        let Some((profile, _)) = play.entry_of(call) else {
            continue;
        };
        let may = |fits: &dyn Fn(&AccessProvider) -> bool| {
            play.may_permit(call.at.as_microsecond(), |profile| {
                known(profile, claims).any(|entry| play.is_call_of(call, entry) && fits(entry))
            })
        };
        let finding = |what: &str, path: &str, observed: String| {
            Finding::on(
                profile,
                format!("the plugin gets {what} that the profile does not have"),
            )
            .at(format!("status.accessProviders[].cluster.extensions[{path}]"))
            .expected("what this profile has")
            .observed(format!("{observed} at {}", call.at))
        };
        let foreign = call
            .env
            .iter()
            .find(|given| !may(&|entry| variables(entry).contains(*given)));
        if let Some(given) = foreign {
            let (name, value) = given.split_once('=').unwrap_or((given, ""));
            let observed = format!("{}={}", redacted(name), redacted_under(name, value));
            findings.report(finding("a variable", names::EXTENSION_ENVS, observed));
        } else if let Some(given) = surplus(call, &may) {
            findings.report(finding("an argument", names::EXTENSION_ARGS, redacted(given)));
        } else {
            clean += usize::from(is_any);
            continue;
        }
        findings.examine();
    }
    if clean >= ENOUGH {
        findings.examine();
    } else if is_any {
        findings.cannot_tell_unless_found(format!(
            "the consumer ran plugins {clean} times only: {ENOUGH} are enough to tell"
        ));
    }
}

/// An argument that the call has more often than any version of its profile.
fn surplus<'c>(
    call: &'c PluginCall,
    may: &impl Fn(&dyn Fn(&AccessProvider) -> bool) -> bool,
) -> Option<&'c str> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for given in &call.args {
        *counts.entry(given).or_default() += 1;
    }
    let mut counts = counts.into_iter();
    let found = counts.find(|(given, count)| {
        !may(&|entry| arguments(entry).iter().filter(|own| own == given).count() >= *count)
    });
    found.map(|(given, _)| given)
}

/// The arguments that an entry adds.
fn arguments(entry: &AccessProvider) -> Vec<String> {
    let value = extension(entry, names::EXTENSION_ARGS).map(|json| json.value());
    let list = value.iter().filter_map(Value::as_array).flatten();
    list.filter_map(|argument| argument.as_str().map(str::to_owned))
        .collect()
}

/// The variables that an entry adds, as `NAME=value`.
fn variables(entry: &AccessProvider) -> BTreeSet<String> {
    let value = extension(entry, names::EXTENSION_ENVS).map(|json| json.value());
    let fields = value.iter().filter_map(Value::as_object).flatten();
    fields
        .map(|(name, value)| format!("{name}={}", value.as_str().unwrap_or_default()))
        .collect()
}
