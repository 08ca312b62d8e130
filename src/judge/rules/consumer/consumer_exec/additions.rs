//! What profiles add to a run of their plugin.

use std::collections::BTreeMap;

use evidence::{
    ConsumerSpec, Evidence, PluginCall,
    api::{AccessProvider, ClusterProfile, names},
};

use crate::{
    reasons::PROFILE_ARGS_NOT_CLAIMED,
    rules::consumer::support::testbed::{Play, arguments, is_malformed, known, variables},
    subjects::{Finding, Findings},
    text::{ABSENT, redacted, redacted_under},
};

/// A kind of additions.
struct Addition {
    /// Its name, for people.
    name: &'static str,
    /// The extension that holds it.
    extension: &'static str,
    /// Whether the consumer claims to hand it over.
    is_claimed: fn(&ConsumerSpec) -> bool,
    /// What an entry has of it: lists, each of which is handed over in its order.
    of: fn(&AccessProvider) -> Vec<Vec<String>>,
    /// What the plugin was given of it.
    given: fn(&PluginCall) -> &[String],
    /// Whether such a list is among what was given, as far as it must be.
    is_handed: fn(&[String], &[String]) -> bool,
    /// Whether it is a hint only that something is missing.
    is_advice: bool,
}

/// All kinds.
const ADDITIONS: [Addition; 2] = [
    Addition {
        name: "arguments",
        extension: names::EXTENSION_ARGS,
        is_claimed: |claims| claims.profile_args,
        of: |entry| {
            Some(arguments(entry))
                .filter(|list| !list.is_empty())
                .into_iter()
                .collect()
        },
        given: |call| &call.args,
        is_handed: is_within,
        is_advice: false,
    },
    Addition {
        name: "variables",
        extension: names::EXTENSION_ENVS,
        is_claimed: |claims| claims.profile_envs,
        of: |entry| {
            variables(entry)
                .into_iter()
                .map(|variable| vec![variable])
                .collect()
        },
        given: |call| &call.env,
        is_handed: has_same_name,
        is_advice: true,
    },
];

/// `consumer-exec/profile-args-off-by-default`
///
/// A plugin gets no arguments and no variables of a profile, unless the consumer claims that it hands them over.
pub(in crate::rules) fn profile_args_off_by_default(evidence: &Evidence, findings: &mut Findings) {
    let Some(play) = Play::of(evidence, findings) else {
        return;
    };
    let claims = &play.testbed.consumer;
    let mut unclaimed = ADDITIONS
        .iter()
        .filter(|addition| !(addition.is_claimed)(claims))
        .peekable();
    if unclaimed.peek().is_none() {
        findings.not_asked("the consumer claims to hand a profile's arguments and variables to plugins");
        return;
    }
    findings.nothing_happened("no profile was staged that has arguments or variables for the plugin");
    for addition in unclaimed {
        // Each, with the first profile that has it.
        let mut staged: BTreeMap<Vec<String>, &ClusterProfile> = BTreeMap::new();
        for profile in play.versions() {
            for own in known(profile, claims).flat_map(addition.of) {
                staged.entry(own).or_insert(profile);
            }
        }
        if staged.is_empty() {
            continue;
        }
        let mut is_left_out = false;
        for call in play.plugin_calls() {
            let given = (addition.given)(call);
            let Some((own, owner)) = staged.iter().find(|(own, _)| is_within(own, given)) else {
                is_left_out =
                    is_left_out || play.is_surely_for(call, |entry| !(addition.of)(entry).is_empty());
                continue;
            };
            findings.examine();
            let its = play
                .entry_of(call)
                .filter(|(_, entry)| (addition.of)(entry).contains(own));
            findings.report(
                Finding::on(
                    its.map_or(*owner, |(profile, _)| profile),
                    format!(
                        "the plugin gets {} of a profile, which the consumer does not claim",
                        addition.name
                    ),
                )
                .at(addition.path())
                .expected(format!("no {} of a profile", addition.name))
                .observed(format!(
                    "{} in the call of {} at {}",
                    quoted(own),
                    redacted(&call.provider),
                    call.at
                )),
            );
        }
        addition.conclude(is_left_out, findings);
    }
}

/// `consumer-exec/profile-args-as-told`
///
/// Where the consumer hands over what profiles add, the plugin gets all arguments of its profile in their order, each as often
/// as it is there. For a variable of the same name in the consumer's own file, the library has a policy: which of the two
/// prevails is never a fault.
pub(in crate::rules) fn profile_args_as_told(evidence: &Evidence, findings: &mut Findings) {
    let Some(play) = Play::of(evidence, findings) else {
        return;
    };
    let claims = &play.testbed.consumer;
    let mut claimed = ADDITIONS
        .iter()
        .filter(|addition| (addition.is_claimed)(claims))
        .peekable();
    if claimed.peek().is_none() {
        findings.not_asked(PROFILE_ARGS_NOT_CLAIMED);
        return;
    }
    findings.nothing_happened("no profile was staged that has arguments or variables for the plugin");
    for addition in claimed {
        let has_some = |entry: &AccessProvider| !is_malformed(entry) && !(addition.of)(entry).is_empty();
        let mut entries = play.versions().flat_map(|profile| known(profile, claims));
        if !entries.any(has_some) {
            continue;
        }
        let mut is_judged = false;
        for call in play.plugin_calls() {
            let at = call.at.as_microsecond();
            let given = (addition.given)(call);
            let is_its = |entry: &AccessProvider| play.is_call_of(call, entry);
            let all_are = |entry: &AccessProvider, how: fn(&[String], &[String]) -> bool| {
                is_malformed(entry) || (addition.of)(entry).iter().all(|own| how(own, given))
            };
            if play.is_against(at, is_its, |entry| all_are(entry, addition.is_handed)) {
                let Some((profile, entry)) = play.entry_of(call) else {
                    continue;
                };
                is_judged = true;
                let own = (addition.of)(entry);
                let told = own.iter().map(|own| quoted(own));
                let finding = Finding::on(
                    profile,
                    format!(
                        "the consumer does not hand over the {} of the profile",
                        addition.name
                    ),
                )
                .at(addition.path())
                .expected(told.collect::<Vec<_>>().join(" "))
                .observed(format!(
                    "{} in the call of {} at {}",
                    quoted(given),
                    redacted(&call.provider),
                    call.at
                ));
                findings.report(if addition.is_advice {
                    finding.advisory()
                } else {
                    finding
                });
                continue;
            }
            if play.is_against(at, is_its, |entry| all_are(entry, is_within)) {
                findings.note(
                    "the plugin got a variable of a profile with another value, as it is where the consumer's own file prevails",
                );
            }
            is_judged = is_judged || play.is_surely_for(call, has_some);
        }
        addition.conclude(is_judged, findings);
    }
}

impl Addition {
    fn path(&self) -> String {
        format!("status.accessProviders[].cluster.extensions[{}]", self.extension)
    }

    /// Ends what was judged of it.
    fn conclude(&self, is_judged: bool, findings: &mut Findings) {
        if is_judged {
            findings.examine();
        } else {
            findings.cannot_tell_unless_found(format!(
                "the run saw no plugin call for a profile that has {}",
                self.name
            ));
        }
    }
}

/// Whether all of a list are in another one, in their order.
fn is_within(own: &[String], given: &[String]) -> bool {
    let mut given = given.iter();
    own.iter().all(|own| given.any(|given| given == own))
}

/// Whether variables of the same names are among others.
fn has_same_name(own: &[String], given: &[String]) -> bool {
    let name = |variable: &String| variable.split_once('=').map(|(name, _)| name.to_owned());
    own.iter()
        .all(|own| given.iter().any(|given| name(given) == name(own)))
}

fn quoted(list: &[String]) -> String {
    if list.is_empty() {
        return ABSENT.to_owned();
    }
    let one = |text: &String| match text.split_once('=') {
        Some((name, value)) => format!("{}={}", redacted(name), redacted_under(name, value)),
        None => redacted(text),
    };
    list.iter().map(one).collect::<Vec<_>>().join(" ")
}
