//! How a consumer runs the credential plugin and connects to members.

use std::net::IpAddr;

use evidence::{
    ConsumerSpec, MemberCall, PluginCall,
    api::{AccessProvider, Json, names},
};
use serde_json::Value;

use crate::{
    engine::consumer::{AccessEntry, ConsumerRun},
    rules::prelude::*,
    text::redacted_under,
};

/// `consumer-exec/config-verbatim`
///
/// The plugin gets exactly the extension of the entry as config. Null is absent.
pub(in crate::rules) fn config_verbatim(run: &PluginCall, entry: &AccessEntry) -> Answer {
    let config = run.cluster.as_ref().and_then(|cluster| cluster.config.as_ref());
    let (config, expected) = (
        content(config),
        content(extension(entry.provider, names::EXTENSION_EXEC)),
    );
    if config.is_null() && expected.is_null() {
        return Answer::NotApplicable;
    }
    Answer::broken_if(config != expected, || {
        let observed = format!("{} in {}", shown(&config), describe(run));
        Finding::at_field(path(names::EXTENSION_EXEC), observed).expected(shown(&expected))
    })
}

/// `consumer-exec/protocol-as-configured`
///
/// The consumer runs the plugin in the version that its own file has. A run without KUBERNETES_EXEC_INFO may be for something else.
pub(in crate::rules) fn protocol_as_configured(run: &PluginCall, entry: &AccessEntry) -> Answer {
    let (Some(version), Some(configured)) = (&run.api_version, &entry.run.consumer.exec_api_version) else {
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
    let unclaimed = ADDITIONS
        .iter()
        .filter(|addition| !(addition.is_claimed)(&entry.run.consumer));
    Answer::each(unclaimed, |addition| {
        let (name, words) = (addition.name, addition.words(entry.provider));
        if words.is_empty() {
            return Answer::NotApplicable;
        }
        let passed = (addition.inputs)(run).iter().find(|word| words.contains(word));
        passed.map_or(Answer::Kept, |word| {
            let message =
                format!("the consumer passes {name} of a profile to the plugin, but does not claim it");
            let observed = format!("{} in {}", quoted([word]), describe(run));
            let finding = Finding::at_path(path(addition.extension), message).observed(observed);
            Answer::broken(finding.expected(format!("no {name} of a profile")))
        })
    })
}

/// `consumer-exec/profile-args-as-told`
///
/// If the consumer claims to pass them, the plugin gets the arguments of its profile in order, each as often as it is there, and
/// its variables. The library lets users choose which value of a variable prevails, so these are only warnings.
pub(in crate::rules) fn profile_args_as_told(run: &PluginCall, entry: &AccessEntry) -> Answer {
    let claimed = ADDITIONS
        .iter()
        .filter(|addition| (addition.is_claimed)(&entry.run.consumer));
    Answer::each(claimed, |addition| {
        let (words, passed) = (addition.words(entry.provider), (addition.inputs)(run));
        if words.is_empty() {
            return Answer::NotApplicable;
        }
        Answer::broken_if(!(addition.is_passed)(&words, passed), || {
            let name = addition.name;
            let message = format!("the consumer does not pass the {name} of the profile to the plugin");
            Finding::at_path(path(addition.extension), message)
                .expected(quoted(&words))
                .observed(format!("{} in {}", quoted(passed), describe(run)))
                .advisory_unless(!addition.is_warning)
        })
    })
}

/// `consumer-exec/nothing-leaks-between-profiles`
///
/// The plugin run of one profile gets no argument or variable of another, and none more often than its own profile has it.
pub(in crate::rules) fn nothing_leaks_between_profiles(run: &PluginCall, entry: &AccessEntry) -> Answer {
    Answer::each(&ADDITIONS, |addition| {
        let (published, own_words) = (addition.published(entry.run), addition.words(entry.provider));
        if published.is_empty() {
            return Answer::NotApplicable;
        }
        let passed = (addition.inputs)(run);
        let count = |words: &[String], word: &String| words.iter().filter(|other| *other == word).count();
        let mut published = passed.iter().filter(|word| published.contains(word));
        let foreign = published.find(|word| count(passed, word) > count(&own_words, word));
        foreign.map_or(Answer::Kept, |word| {
            let one = addition.one;
            let message = format!("the consumer passes {one} to the plugin that the profile does not have");
            let finding = Finding::at_path(path(addition.extension), message);
            let finding = finding.expected("only values of this profile");
            Answer::broken(finding.observed(format!("{} at {}", quoted([word]), run.at)))
        })
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
        Some(server_name) => without_dot(server_name).eq_ignore_ascii_case(without_dot(name)),
        None => name.parse::<IpAddr>().is_ok(),
    };
    Answer::broken_if(!is_asked, || {
        let observed_name = redacted_or_absent(connection.server_name.as_deref());
        let (url, at) = (redacted(&connection.url), connection.at);
        let observed = format!("{observed_name} in a connection to {url} at {at}");
        Finding::at_field(TLS_SERVER_NAME, observed).expected(redacted(name))
    })
}

/// A host without the dot of a fully qualified name.
fn without_dot(host: &str) -> &str {
    host.strip_suffix('.').unwrap_or(host)
}

/// What an entry adds to the run of its plugin.
struct Addition {
    name: &'static str,
    one: &'static str,
    extension: &'static str,
    is_claimed: fn(&ConsumerSpec) -> bool,
    /// The words in the content of the extension.
    of: fn(&Value) -> Vec<String>,
    inputs: fn(&PluginCall) -> &[String],
    /// Whether the plugin got what its own profile adds.
    is_passed: fn(&[String], &[String]) -> bool,
    /// Whether it is a warning only if the plugin did not get it.
    is_warning: bool,
}

const ADDITIONS: [Addition; 2] = [
    Addition {
        name: "arguments",
        one: "an argument",
        extension: names::EXTENSION_ARGS,
        is_claimed: |consumer| consumer.profile_args,
        of: |list| {
            let words = list.as_array().into_iter().flatten().filter_map(Value::as_str);
            words.map(str::to_owned).collect()
        },
        inputs: |run| &run.args,
        is_passed: |words, inputs| {
            let mut inputs = inputs.iter();
            words.iter().all(|word| inputs.any(|input| input == word))
        },
        is_warning: false,
    },
    Addition {
        name: "variables",
        one: "a variable",
        extension: names::EXTENSION_ENVS,
        is_claimed: |consumer| consumer.profile_envs,
        of: |map| {
            let map = map.as_object().into_iter().flatten();
            let words = map.filter_map(|(name, value)| Some(format!("{name}={}", value.as_str()?)));
            words.collect()
        },
        inputs: |run| &run.env,
        is_passed: |words, inputs| {
            let name = |variable: &String| variable.split('=').next().map(str::to_owned);
            let inputs: Vec<_> = inputs.iter().map(name).collect();
            words.iter().all(|word| inputs.contains(&name(word)))
        },
        is_warning: true,
    },
];

impl Addition {
    /// The words of this kind in an entry.
    fn words(&self, entry: &AccessProvider) -> Vec<String> {
        (self.of)(&content(extension(entry, self.extension)))
    }

    /// The words of this kind in all published entries. They are unmistakable.
    fn published(&self, run: &ConsumerRun) -> Vec<String> {
        run.entries().flat_map(|entry| self.words(entry)).collect()
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
