//! Arguments and variables that reach the plugin of another profile.

use std::collections::{BTreeMap, BTreeSet};

use evidence::{
    Evidence,
    api::{AccessProvider, names},
};

use crate::{
    reasons::PROFILE_ARGS_NOT_CLAIMED,
    rules::consumer::support::testbed::{Play, arguments, known, variables},
    subjects::{Finding, Findings},
    text::{redacted, redacted_under},
};

/// So many calls show that nothing is left over, if they are for two members.
const ENOUGH: usize = 3;
const ENOUGH_MEMBERS: usize = 2;

/// `consumer-exec/nothing-leaks-between-profiles`
///
/// A plugin that is run for one profile gets no argument and no variable of another one, and none more often than its own
/// profile has it. What no profile has is the consumer's own.
pub(in crate::rules) fn nothing_leaks_between_profiles(evidence: &Evidence, findings: &mut Findings) {
    let Some(play) = Play::of(evidence, findings) else {
        return;
    };
    let claims = &play.testbed.consumer;
    if !claims.profile_args && !claims.profile_envs {
        findings.not_asked(PROFILE_ARGS_NOT_CLAIMED);
        return;
    }
    findings.nothing_happened("no profile was staged that has arguments or variables for the plugin");
    let entries = || play.versions().flat_map(|profile| known(profile, claims));
    let all_arguments: BTreeSet<String> = entries().flat_map(arguments).collect();
    let all_variables: BTreeSet<String> = entries().flat_map(variables).collect();
    if all_arguments.is_empty() && all_variables.is_empty() {
        return;
    }
    let (mut clean, mut members) = (0_usize, BTreeSet::new());
    for call in play.plugin_calls() {
        let at = call.at.as_microsecond();
        let is_its = |entry: &AccessProvider| play.is_call_of(call, entry);
        let Some((profile, entry)) = play.entry_of(call) else {
            continue;
        };
        let given = call.env.iter().filter(|given| all_variables.contains(*given));
        let given: Vec<&String> = given.collect();
        let mut counts: BTreeMap<&String, usize> = BTreeMap::new();
        for given in call.args.iter().filter(|given| all_arguments.contains(*given)) {
            *counts.entry(given).or_default() += 1;
        }
        let foreign = given
            .iter()
            .find(|given| play.is_against(at, is_its, |entry| variables(entry).contains(**given)));
        let surplus = counts.iter().find(|(given, count)| {
            let has = |entry: &AccessProvider| arguments(entry).iter().filter(|own| own == *given).count();
            play.is_against(at, is_its, |entry| has(entry) >= **count)
        });
        let found = match (foreign, surplus) {
            (Some(given), _) => {
                let (name, value) = given.split_once('=').unwrap_or((given, ""));
                let observed = format!("{}={}", redacted(name), redacted_under(name, value));
                Some(("a variable", names::EXTENSION_ENVS, observed))
            }
            (None, Some((given, _))) => Some(("an argument", names::EXTENSION_ARGS, redacted(given))),
            (None, None) => None,
        };
        if let Some((what, extension, observed)) = found {
            findings.examine();
            findings.report(
                Finding::on(
                    profile,
                    format!("the plugin gets {what} that the profile does not have"),
                )
                .at(format!(
                    "status.accessProviders[].cluster.extensions[{extension}]"
                ))
                .expected("what this profile has")
                .observed(format!("{observed} at {}", call.at)),
            );
        } else if clean > 0 || !given.is_empty() || !counts.is_empty() {
            // Before the first that gets something, nothing can be left over.
            clean += 1;
            members.insert((&*entry.name, entry.cluster.server.as_deref()));
        }
    }
    if clean >= ENOUGH && members.len() >= ENOUGH_MEMBERS {
        findings.examine();
    } else {
        findings.cannot_tell_unless_found(format!(
            "once a profile's arguments or variables were handed over, the consumer ran plugins {clean} times for {} \
             members: {ENOUGH} times for {ENOUGH_MEMBERS} are enough to tell",
            members.len()
        ));
    }
}
