//! How a consumer runs the credential plugin.

use evidence::{
    ConsumerSpec, PluginCall, Reason,
    api::{AccessProvider, Json, names},
};
use serde_json::Value;

use crate::{
    engine::{
        Answer,
        consumer::{AccessEntry, ConsumerRun},
    },
    reasons::EXEC_VERSION_NOT_CLAIMED,
    subjects::Finding,
    text::{ABSENT, redacted, redacted_under},
};

/// `consumer-exec/config-verbatim`
///
/// The plugin gets exactly the extension of the entry as config. Null is absent.
pub(in crate::rules) fn config_verbatim(run: &PluginCall, entry: &AccessEntry) -> Answer {
    let given = run.cluster.as_ref().and_then(|cluster| cluster.config.as_ref());
    let (given, wanted) = (
        content(given),
        content(extension(entry.provider, names::EXTENSION_EXEC)),
    );
    if given.is_null() && wanted.is_null() {
        return Answer::NotApplicable;
    }
    Answer::broken_if(given != wanted, || {
        Finding::at_path(
            path(names::EXTENSION_EXEC),
            "the consumer changes what the profile says to the plugin",
        )
        .expected(shown(&wanted))
        .observed(format!("{} in {}", shown(&given), describe(run)))
    })
}

/// `consumer-exec/protocol-as-configured`
///
/// The consumer runs the plugin in the version that its own file has. A run without KUBERNETES_EXEC_INFO may be for something else.
pub(in crate::rules) fn protocol_as_configured(run: &PluginCall, entry: &AccessEntry) -> Answer {
    let (Some(version), Some(configured)) = (&run.api_version, &entry.run.consumer().exec_api_version) else {
        return Answer::NotApplicable;
    };
    Answer::broken_if(version != configured, || {
        let message = "the consumer runs the plugin in another version of its protocol";
        Finding::at_path("KUBERNETES_EXEC_INFO.apiVersion", message)
            .expected(redacted(configured))
            .observed(format!("{} in {}", redacted(version), describe(run)))
    })
}

/// `consumer-exec/profile-args-off-by-default`
///
/// Unless the consumer claims to hand them over, no argument or variable of a profile reaches the plugin.
pub(in crate::rules) fn profile_args_off_by_default(run: &PluginCall, entry: &AccessEntry) -> Answer {
    let consumer = entry.run.consumer();
    let unclaimed = [
        (&ARGUMENTS, consumer.profile_args),
        (&VARIABLES, consumer.profile_envs),
    ];
    Answer::each(unclaimed, |(addition, is_claimed)| {
        let words = addition.published(entry.run);
        if is_claimed || words.is_empty() {
            return Answer::NotApplicable;
        }
        match (addition.given)(run).iter().find(|given| words.contains(given)) {
            Some(given) => Answer::broken(
                Finding::at_path(
                    path(addition.extension),
                    format!(
                        "the plugin gets {} of a profile, which the consumer does not claim",
                        addition.name
                    ),
                )
                .expected(format!("no {} of a profile", addition.name))
                .observed(format!(
                    "{} in {}",
                    quoted(std::slice::from_ref(given)),
                    describe(run)
                )),
            ),
            None if (addition.of)(entry.provider).is_empty() => Answer::NotApplicable,
            None => Answer::Kept,
        }
    })
}

/// `consumer-exec/profile-args-as-told`
///
/// If the consumer claims to hand them over, the plugin gets the arguments of its profile in order, each as often as it is there,
/// and its variables. The library lets users choose which value of a variable prevails.
pub(in crate::rules) fn profile_args_as_told(run: &PluginCall, entry: &AccessEntry) -> Answer {
    let consumer = entry.run.consumer();
    let claimed = [
        (&ARGUMENTS, consumer.profile_args),
        (&VARIABLES, consumer.profile_envs),
    ];
    Answer::each(claimed, |(addition, is_claimed)| {
        let (own, given) = ((addition.of)(entry.provider), (addition.given)(run));
        if !is_claimed || own.is_empty() {
            return Answer::NotApplicable;
        }
        let answer = Answer::broken_if(!(addition.is_handed_over)(&own, given), || {
            let message = format!(
                "the consumer does not hand over the {} of the profile",
                addition.name
            );
            Finding::at_path(path(addition.extension), message)
                .expected(quoted(&own))
                .observed(format!("{} in {}", quoted(given), describe(run)))
        });
        if addition.is_advice {
            answer.as_warning()
        } else {
            answer
        }
    })
}

/// `consumer-exec/nothing-leaks-between-profiles`
///
/// The plugin run of one profile gets no argument or variable of another, and none more often than its own profile has it.
pub(in crate::rules) fn nothing_leaks_between_profiles(run: &PluginCall, entry: &AccessEntry) -> Answer {
    Answer::each([&ARGUMENTS, &VARIABLES], |addition| {
        let (published, own) = (addition.published(entry.run), (addition.of)(entry.provider));
        let given: Vec<&String> = (addition.given)(run)
            .iter()
            .filter(|word| published.contains(word))
            .collect();
        let is_surplus = |word: &&&String| {
            given.iter().filter(|other| other == word).count()
                > own.iter().filter(|other| *other == **word).count()
        };
        match given.iter().find(is_surplus) {
            Some(word) => Answer::broken(
                Finding::at_path(
                    path(addition.extension),
                    format!("the plugin gets {} that the profile does not have", addition.one),
                )
                .expected("what this profile has")
                .observed(format!("{} at {}", quoted(std::slice::from_ref(*word)), run.at)),
            ),
            None if published.is_empty() => Answer::NotApplicable,
            None => Answer::Kept,
        }
    })
}

/// Why the version of the protocol is not judged.
pub(in crate::rules) fn without_exec_version(consumer: &ConsumerSpec) -> Option<Reason> {
    consumer
        .exec_api_version
        .is_none()
        .then_some(EXEC_VERSION_NOT_CLAIMED)
}

/// Why it is not judged that arguments and variables are off.
pub(in crate::rules) fn with_profile_args(consumer: &ConsumerSpec) -> Option<Reason> {
    let reason = "the consumer claims to hand a profile's arguments and variables to plugins";
    (consumer.profile_args && consumer.profile_envs).then(|| reason.into())
}

/// What an entry adds to the run of its plugin.
struct Addition {
    name: &'static str,
    one: &'static str,
    extension: &'static str,
    of: fn(&AccessProvider) -> Vec<String>,
    given: fn(&PluginCall) -> &[String],
    is_handed_over: fn(&[String], &[String]) -> bool,
    /// Whether a missing one is a warning only.
    is_advice: bool,
}

const ARGUMENTS: Addition = Addition {
    name: "arguments",
    one: "an argument",
    extension: names::EXTENSION_ARGS,
    of: |entry| {
        let list = content(extension(entry, names::EXTENSION_ARGS));
        let list = list.as_array().into_iter().flatten();
        list.filter_map(|argument| Some(argument.as_str()?.to_owned()))
            .collect()
    },
    given: |run| &run.args,
    is_handed_over: |own, given| {
        let mut given = given.iter();
        own.iter().all(|own| given.any(|given| given == own))
    },
    is_advice: false,
};

const VARIABLES: Addition = Addition {
    name: "variables",
    one: "a variable",
    extension: names::EXTENSION_ENVS,
    of: |entry| {
        let map = content(extension(entry, names::EXTENSION_ENVS));
        let map = map.as_object().into_iter().flatten();
        map.filter_map(|(name, value)| Some(format!("{name}={}", value.as_str()?)))
            .collect()
    },
    given: |run| &run.env,
    is_handed_over: |own, given| {
        let has_name = |own: &String| {
            let name = own.split('=').next();
            given.iter().any(|given| given.split('=').next() == name)
        };
        own.iter().all(has_name)
    },
    is_advice: true,
};

impl Addition {
    /// The words of this kind in all published entries. They are unmistakable.
    fn published(&self, run: &ConsumerRun) -> Vec<String> {
        run.entries().flat_map(self.of).collect()
    }
}

fn extension<'p>(entry: &'p AccessProvider, name: &str) -> Option<&'p Json> {
    let mut extensions = entry.cluster.extensions.iter();
    let extension = extensions.find(|extension| &*extension.name == name)?;
    Some(&extension.extension)
}

/// The content; null if it is absent.
fn content(json: Option<&Json>) -> Value {
    json.map_or(Value::Null, Json::value)
}

fn path(extension: &str) -> String {
    format!("status.accessProviders[].cluster.extensions[{extension}]")
}

fn shown(value: &Value) -> String {
    if value.is_null() {
        ABSENT.to_owned()
    } else {
        redacted(&value.to_string())
    }
}

fn describe(run: &PluginCall) -> String {
    format!("the call of {} at {}", redacted(&run.provider), run.at)
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
