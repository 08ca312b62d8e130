//! How a consumer runs the credential plugin and connects to members.

use std::net::IpAddr;

use evidence::{
    ConsumerSpec, MemberCall, PluginCall,
    api::{AccessProvider, Json, names},
};
use serde_json::Value;

use crate::{
    engine::consumer::{AccessEntry, ConsumerRun, without_dot},
    reasons::EXEC_VERSION_NOT_CLAIMED,
    rules::prelude::*,
    text::redacted_under,
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
        let observed = format!("{} in {}", shown(&given), describe(run));
        Finding::at_field(path(names::EXTENSION_EXEC), observed).expected(shown(&wanted))
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
        let observed = format!("{} in {}", redacted(version), describe(run));
        Finding::at_field("KUBERNETES_EXEC_INFO.apiVersion", observed).expected(redacted(configured))
    })
}

/// `consumer-exec/profile-args-off-by-default`
///
/// Unless the consumer claims to pass them, no argument or variable of a profile reaches the plugin.
pub(in crate::rules) fn profile_args_off_by_default(run: &PluginCall, entry: &AccessEntry) -> Answer {
    let consumer = entry.run.consumer();
    let additions = [
        ARGUMENTS.filter(!consumer.profile_args),
        VARIABLES.filter(!consumer.profile_envs),
    ];
    Answer::each(additions.into_iter().flatten(), |addition| {
        let Addition { name, given, of, .. } = addition;
        let words = addition.published(entry.run);
        match given(run).iter().find(|given| words.contains(given)) {
            Some(given) => {
                let message =
                    format!("the consumer passes {name} of a profile to the plugin, but does not claim it");
                let finding = Finding::at_path(addition.path(), message);
                let finding = finding.expected(format!("no {name} of a profile"));
                Answer::broken(finding.observed(format!("{} in {}", quoted([given]), describe(run))))
            }
            None if of(entry.provider).is_empty() => Answer::NotApplicable,
            None => Answer::Kept,
        }
    })
}

/// `consumer-exec/profile-args-as-told`
///
/// If the consumer claims to pass them, the plugin gets the arguments of its profile in order, each as often as it is there, and
/// its variables. The library lets users choose which value of a variable prevails.
pub(in crate::rules) fn profile_args_as_told(run: &PluginCall, entry: &AccessEntry) -> Answer {
    let consumer = entry.run.consumer();
    let judge = |addition: Addition, is_passed: fn(&[String], &[String]) -> bool| {
        let (own, given) = ((addition.of)(entry.provider), (addition.given)(run));
        if own.is_empty() {
            return Answer::NotApplicable;
        }
        Answer::broken_if(!is_passed(&own, given), || {
            let message = format!(
                "the consumer does not pass the {} of the profile to the plugin",
                addition.name
            );
            Finding::at_path(addition.path(), message)
                .expected(quoted(&own))
                .observed(format!("{} in {}", quoted(given), describe(run)))
        })
    };
    let arguments = ARGUMENTS.filter(consumer.profile_args).map(|arguments| {
        judge(arguments, |own, given| {
            let mut given = given.iter();
            own.iter().all(|own| given.any(|given| given == own))
        })
    });
    let variables = VARIABLES.filter(consumer.profile_envs).map(|variables| {
        let answer = judge(variables, |own, given| {
            let name = |variable: &String| variable.split('=').next().map(str::to_owned);
            own.iter()
                .all(|own| given.iter().any(|given| name(given) == name(own)))
        });
        answer.as_warning()
    });
    Answer::each([arguments, variables].into_iter().flatten(), |answer| answer)
}

/// `consumer-exec/nothing-leaks-between-profiles`
///
/// The plugin run of one profile gets no argument or variable of another, and none more often than its own profile has it.
pub(in crate::rules) fn nothing_leaks_between_profiles(run: &PluginCall, entry: &AccessEntry) -> Answer {
    Answer::each([ARGUMENTS, VARIABLES], |addition| {
        let (published, own) = (addition.published(entry.run), (addition.of)(entry.provider));
        if published.is_empty() {
            return Answer::NotApplicable;
        }
        let given = (addition.given)(run);
        let count = |words: &[String], word: &String| words.iter().filter(|other| *other == word).count();
        let mut published = given.iter().filter(|word| published.contains(word));
        match published.find(|word| count(given, word) > count(&own, word)) {
            Some(word) => {
                let message = format!(
                    "the consumer passes {} to the plugin that the profile does not have",
                    addition.one
                );
                let finding =
                    Finding::at_path(addition.path(), message).expected("only values of this profile");
                Answer::broken(finding.observed(format!("{} at {}", quoted([word]), run.at)))
            }
            None => Answer::Kept,
        }
    })
}

const TLS_SERVER_NAME: &str = "status.accessProviders[].cluster.tls-server-name";

/// `consumer-access/tls-server-name-honoured`
///
/// Each connection asks for the name that the entry has. Clients do not send IP addresses.
pub(in crate::rules) fn tls_server_name_honoured(connection: &MemberCall, entry: &AccessEntry) -> Answer {
    let name = entry.provider.cluster.tls_server_name.as_deref();
    let name = name.unwrap_or_default();
    if name.is_empty() {
        return Answer::NotApplicable;
    }
    let is_asked = match connection.server_name.as_deref() {
        Some(sent) => without_dot(sent).eq_ignore_ascii_case(without_dot(name)),
        None => name.parse::<IpAddr>().is_ok(),
    };
    Answer::broken_if(!is_asked, || {
        let sent = redacted_or_absent(connection.server_name.as_deref());
        let (url, at) = (redacted(&connection.url), connection.at);
        let observed = format!("{sent} in a connection to {url} at {at}");
        Finding::at_field(TLS_SERVER_NAME, observed).expected(redacted(name))
    })
}

/// Why the version of the protocol is not judged.
pub(in crate::rules) fn without_exec_version(consumer: &ConsumerSpec) -> Option<Reason> {
    let version = &consumer.exec_api_version;
    version.is_none().then_some(EXEC_VERSION_NOT_CLAIMED)
}

/// Why it is not judged that arguments and variables are off.
pub(in crate::rules) fn with_profile_args(consumer: &ConsumerSpec) -> Option<Reason> {
    let reason = "the consumer claims to pass a profile's arguments and variables to plugins";
    (consumer.profile_args && consumer.profile_envs).then(|| reason.into())
}

/// What an entry adds to the run of its plugin.
#[derive(Clone, Copy)]
struct Addition {
    name: &'static str,
    one: &'static str,
    extension: &'static str,
    of: fn(&AccessProvider) -> Vec<String>,
    given: fn(&PluginCall) -> &[String],
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
};

impl Addition {
    fn filter(self, is_judged: bool) -> Option<Self> {
        is_judged.then_some(self)
    }

    /// The words of this kind in all published entries. They are unmistakable.
    fn published(&self, run: &ConsumerRun) -> Vec<String> {
        run.entries().flat_map(self.of).collect()
    }

    fn path(&self) -> String {
        path(self.extension)
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

fn quoted<'w>(words: impl IntoIterator<Item = &'w String>) -> String {
    let quote = |text: &String| match text.split_once('=') {
        Some((name, value)) => format!("{}={}", redacted(name), redacted_under(name, value)),
        None => redacted(text),
    };
    let words: Vec<String> = words.into_iter().map(quote).collect();
    if words.is_empty() {
        ABSENT.to_owned()
    } else {
        words.join(" ")
    }
}
