//! A consumer's testbed in an example: what the run published and expected, and what the consumer did.
//!
//! The profiles, slices, and steps of the example are the run's publications.

use std::collections::{BTreeMap, BTreeSet};

use evidence::{
    CallEvent, Expectation, HookCall, Log, MemberAddress, MemberCall, Mentions, ObjectKey, Output,
    OutputReader, OutputSnapshot, PluginCall, ProfileHistory, Publication, Published, ScenarioRun,
    SliceHistory, Testbed, Window,
    api::{AccessProvider, ClusterProfile, names},
};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value, json};

use super::{
    conforming::path_key,
    error::{Flaw, strictly},
    time::{Repeats, ca_data, moment},
};

/// The consumer's user.
const USER: &str = "reader";
/// The namespaces that it reads.
const NAMESPACES: [&str; 2] = ["default", "other"];
/// The provider of conforming profiles.
const PROVIDER: &str = "secretreader";
/// How long the consumer may take to follow a change.
const SETTLE_SECONDS: u64 = 10;
/// The number of the first connection that an example does not number.
const FIRST_CONNECTION: u64 = 1000;

/// A testbed, as differences from a conforming one.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(super) struct TestbedText {
    /// A merge patch onto the consumer file: the user `reader`, the namespaces `default` and `other`, the conforming provider.
    consumer: Option<Value>,
    /// What the run expects, such as `{called: a, from: 1m}`. A profile is a name, or namespace and name.
    expect: Vec<Map<String, Value>>,
    /// Merge patches onto a scenario that lasts until the end and whose control is not called. By default one scenario after the
    /// beginning of each expectation, whose control is called.
    controls: Option<Vec<Value>>,
    /// The seconds that the consumer may take; 10 if a control was called.
    settle: Option<u64>,
    /// Calls of hooks; `at` is the time.
    hook_calls: Vec<Value>,
    outputs: Option<Vec<OutputText>>,
    /// Deleted profiles that wait for finalizers.
    terminating: Vec<TerminatingText>,
    user_not_in_audit_log: bool,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct OutputText {
    at: SignedDuration,
    /// Objects, each with the URLs that it names.
    objects: BTreeMap<String, BTreeSet<String>>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct TerminatingText {
    profile: String,
    at: SignedDuration,
    finalizers: Vec<String>,
}

/// The objects that the run published.
pub(super) struct PublishedObjects<'e> {
    pub(super) profiles: &'e [ProfileHistory],
    pub(super) slices: &'e [SliceHistory],
    pub(super) window: Window,
}

impl TestbedText {
    /// Whether the run read outputs.
    pub(super) fn has_outputs(&self) -> bool {
        self.outputs.is_some()
    }
}

impl<'e> PublishedObjects<'e> {
    /// The testbed.
    pub(super) fn testbed(&self, text: &TestbedText) -> Result<Testbed, Flaw> {
        let mut consumer = json!({"user": USER, "providers": [PROVIDER], "namespaces": NAMESPACES});
        if text.has_outputs() {
            consumer["outputs"] = json!([OutputReader::Argocd]);
        }
        if let Some(overlay) = &text.consumer {
            json_patch::merge(&mut consumer, overlay);
        }
        let expectations = text.expect.iter();
        let expectations: Vec<Expectation> = expectations
            .map(|text| self.expectation(text.clone()))
            .collect::<Result<_, _>>()?;
        let controls = match &text.controls {
            Some(controls) => controls.clone(),
            None => default_controls(&expectations),
        };
        let scenarios = controls.iter().map(|control| {
            let scenario = json!({"name": "the example", "control": "control", "until": self.window.until});
            patched("control", scenario, control)
        });
        let scenarios: Vec<ScenarioRun> = scenarios.collect::<Result<_, _>>()?;
        let hook_calls = text.hook_calls.iter().map(|call| {
            let mut call = call.clone();
            let at = call["at"].take();
            (call["from"], call["until"]) = (at.clone(), at);
            patched("hook call", json!({"output": ""}), &call)
        });
        let hook_calls: Vec<HookCall> = hook_calls.collect::<Result<_, _>>()?;
        let is_called = scenarios.iter().any(|scenario| scenario.called_at.is_some());
        Ok(Testbed {
            run: "example".to_owned(),
            consumer: strictly("consumer", &consumer)?,
            addresses: self.addresses(),
            scenarios,
            published: self.publications(text),
            expectations,
            settle_seconds: text.settle.or(is_called.then_some(SETTLE_SECONDS)),
            hooks: hook_calls.iter().map(|call| call.action).collect(),
            hook_calls,
            outputs: text.outputs.iter().flatten().map(OutputText::snapshot).collect(),
            user_in_audit_log: !text.user_not_in_audit_log,
        })
    }

    fn publications(&self, text: &TestbedText) -> Vec<Publication> {
        let mut all: Vec<Publication> = Vec::new();
        for history in self.profiles {
            all.extend(published(history, |profile| {
                Published::Profile(profile.clone().into())
            }));
        }
        for history in self.slices {
            all.extend(published(history, |slice| Published::Slice(slice.clone().into())));
        }
        for terminating in &text.terminating {
            let finalizers = terminating.finalizers.clone();
            let state = Published::Terminating { finalizers };
            all.push(publication(
                path_key(&terminating.profile),
                moment(terminating.at),
                state,
            ));
        }
        all.sort_by_key(|publication| publication.answered);
        all
    }

    /// Reads an expectation. The key that is none of the common ones says what is expected, its value the profile.
    fn expectation(&self, mut fields: Map<String, Value>) -> Result<Expectation, Flaw> {
        let common = ["from", "until", "rule", "url", "member", "warn", "void"];
        let common = common.iter().filter_map(|key| fields.remove_entry(*key));
        let common: Map<String, Value> = common.collect();
        let [old, other, writes] = ["old", "other", "writes"].map(|key| fields.remove(key));
        let mut expected = fields.iter();
        let (expect, profile) = expected.next().ok_or("an expectation says what is expected")?;
        let profile = path_key(profile.as_str().ok_or("an expectation names a profile")?);
        let content = match &**expect {
            "moves" => json!({"from": old.unwrap_or_else(|| json!(self.servers(&profile).next()))}),
            "calledAs" | "reports" => json!({"other": other.as_ref().and_then(Value::as_str).map(path_key)}),
            "usesProxy" => json!({"proxy": "https://proxy.example:3128"}),
            "keepsConnections" => json!({"writes": repeated(writes)?}),
            _ => json!({}),
        };
        let whole = json!({
            "rule": "", "profile": profile, "expect": {expect: content}, "member": profile.name,
            "url": self.servers(&profile).last().unwrap_or_default(),
            "from": self.window.from, "until": self.window.until,
        });
        patched("expect", whole, &common.into())
    }

    /// The servers of a profile, in order.
    fn servers(&self, profile: &ObjectKey) -> impl Iterator<Item = &'e str> {
        let entries = self
            .entries()
            .filter(move |(own, _)| ObjectKey::of(*own) == *profile);
        entries.filter_map(|(_, entry)| entry.cluster.server.as_deref())
    }

    /// The servers of all profiles. The first profile that names a server has its member there.
    fn addresses(&self) -> Vec<MemberAddress> {
        let mut addresses: Vec<MemberAddress> = Vec::new();
        for (profile, entry) in self.entries() {
            let url = entry.cluster.server.as_deref().unwrap_or_default();
            if !url.is_empty() && !addresses.iter().any(|address| address.url == url) {
                addresses.push(MemberAddress {
                    url: url.to_owned(),
                    member: profile.metadata.name.to_string(),
                    server_name: None,
                    ca_data: ca_data("current").unwrap_or_default(),
                });
            }
        }
        addresses
    }

    fn entries(&self) -> impl Iterator<Item = (&'e ClusterProfile, &'e AccessProvider)> + use<'e> {
        let versions = self.profiles.iter().flat_map(|history| &history.versions);
        versions.flat_map(|version| version.object.access().map(|entry| (&version.object, entry)))
    }

    /// The first entry of a profile; of the first profile without a name.
    fn entry(&self, profile: Option<&str>) -> Result<(&'e ClusterProfile, &'e AccessProvider), Flaw> {
        let profile = profile.map(path_key);
        let is_wanted = |own: &ClusterProfile| profile.as_ref().is_none_or(|key| ObjectKey::of(own) == *key);
        let entry = self.entries().find(|(own, _)| is_wanted(own));
        entry.ok_or_else(|| "a call is of a profile that has no access provider".into())
    }

    /// The calls of members. A request has a connection of its own, unless the example numbers it.
    pub(super) fn member_calls(&self, texts: Option<&[Value]>) -> Result<Log<MemberCall>, Flaw> {
        let read = |text, number| self.member_call(text, FIRST_CONNECTION + number as u64);
        let mut log = self.log(texts, read, |call| call.at)?;
        let is_begun = |call: &&MemberCall| {
            call.connection >= FIRST_CONNECTION && matches!(call.what, CallEvent::Request { .. })
        };
        let begin = |call: &MemberCall| MemberCall {
            what: CallEvent::Connected {},
            ..call.clone()
        };
        let begun: Vec<MemberCall> = log.events.iter().filter(is_begun).map(begin).collect();
        log.events.splice(0..0, begun);
        log.events.sort_by_key(|call| call.at);
        Ok(log)
    }

    /// The runs of the plugin.
    pub(super) fn plugin_calls(&self, texts: Option<&[Value]>) -> Result<Log<PluginCall>, Flaw> {
        self.log(texts, |text, _| self.plugin_call(text), |call| call.at)
    }

    fn log<T>(
        &self,
        texts: Option<&[Value]>,
        read: impl Fn(Map<String, Value>, usize) -> Result<T, Flaw>,
        at: impl Fn(&T) -> Timestamp,
    ) -> Result<Log<T>, Flaw> {
        let mut covers = self.window;
        let mut events = Vec::new();
        for text in texts.unwrap_or_default() {
            let mut fields = text.as_object().ok_or("a call is a mapping")?.clone();
            if let Some(full) = fields.remove("logIsFull") {
                covers.until = serde_json::from_value(full).map(moment).map_err(Flaw::Shape)?;
                continue;
            }
            for at in Repeats::take(&mut fields)?.moments() {
                let mut call = fields.clone();
                call.insert("at".to_owned(), json!(moment(at)));
                events.push(read(call, events.len())?);
            }
        }
        events.sort_by_key(|event| at(event));
        Ok(Log { covers, events })
    }

    /// Reads a call of a member: `of` names a profile, whose first server is called unless `url` says otherwise. It is a request
    /// with the member's own credential, unless `broken`, `connected`, `proxied`, or `ended` say so.
    fn member_call(&self, mut call: Map<String, Value>, number: u64) -> Result<MemberCall, Flaw> {
        let of = call.remove("of");
        let (profile, entry) = self.entry(of.as_ref().and_then(Value::as_str))?;
        let mut take = |key: &str| call.remove(key);
        let url = take("url").unwrap_or_else(|| json!(entry.cluster.server));
        let member = take("member").unwrap_or_else(|| json!(&*profile.metadata.name));
        let event = if let Some(reason) = take("broken") {
            json!({"failed": {"reason": reason}})
        } else if let Some(host) = take("proxied") {
            json!({"proxied": {"host": host}})
        } else if take("ended").is_some() {
            json!({"closed": {}})
        } else if take("connected").is_some() {
            json!({"connected": {}})
        } else {
            let serial = take("serial").unwrap_or_else(|| json!(1));
            let credential = match take("credential").as_ref().and_then(Value::as_str) {
                Some(known @ ("none" | "unknown")) => json!(known),
                Some(member) => json!({"issued": {"member": member, "serial": serial}}),
                None => json!({"issued": {"member": member, "serial": serial}}),
            };
            json!({"request": {
                "method": "GET", "path": "/api", "watch": take("watch").unwrap_or(json!(false)),
                "credential": credential, "code": take("code").unwrap_or_else(|| json!(200)),
            }})
        };
        let mut whole =
            json!({"url": url, "member": member, "connection": number, "hello": true, "event": event});
        json_patch::merge(&mut whole, &call.into());
        strictly("member call", &whole)
    }

    /// Reads a run of the plugin: `of` names a profile, whose first entry is handed over. `cluster` is a merge patch onto that,
    /// and `answer` a word unless it is the member's credential, which `expires` at a time of the example.
    fn plugin_call(&self, mut call: Map<String, Value>) -> Result<PluginCall, Flaw> {
        let of = call.remove("of");
        let (profile, entry) = self.entry(of.as_ref().and_then(Value::as_str))?;
        let cluster = &entry.cluster;
        let mut extensions = cluster.extensions.iter();
        let config = extensions.find(|extension| &*extension.name == names::EXTENSION_EXEC);
        let serial = call.remove("serial").unwrap_or_else(|| json!(1));
        let expires: Option<SignedDuration> =
            serde_json::from_value(call.remove("expires").unwrap_or_default())?;
        let answer = match call.remove("answer") {
            Some(Value::String(word)) => json!({word: {}}),
            Some(other) => other,
            None => json!({"credential": {
                "member": &*profile.metadata.name, "serial": serial, "expires": expires.map(moment),
            }}),
        };
        let mut whole = json!({
            "provider": &*entry.name,
            "apiVersion": "client.authentication.k8s.io/v1",
            "cluster": {
                "server": cluster.server,
                "tls-server-name": cluster.tls_server_name,
                "certificate-authority-data": cluster.certificate_authority_data,
                "proxy-url": cluster.proxy_url,
                "config": config.map(|extension| extension.extension.value()),
            },
            "answer": answer,
        });
        json_patch::merge(&mut whole, &call.into());
        strictly("plugin call", &whole)
    }
}

impl OutputText {
    fn snapshot(&self) -> OutputSnapshot {
        let outputs = self.objects.iter().map(|(object, servers)| Output {
            reader: OutputReader::Argocd,
            object: object.clone(),
            servers: servers.clone(),
            members: BTreeSet::new(),
        });
        OutputSnapshot {
            at: moment(self.at),
            outputs: outputs.collect(),
        }
    }
}

/// A scenario 5 s after the beginning of each expectation, whose control is called after 1 s.
fn default_controls(expectations: &[Expectation]) -> Vec<Value> {
    let begun: BTreeSet<Timestamp> = expectations.iter().map(|expectation| expectation.from).collect();
    let control = |at: Timestamp| {
        let later = |seconds| at + SignedDuration::from_secs(seconds);
        json!({"from": later(5), "calledAt": later(6), "until": later(35)})
    };
    begun.into_iter().map(control).collect()
}

/// A value with a merge patch. Times in the patch may be durations since the beginning.
fn patched<T: Serialize + DeserializeOwned>(
    part: &'static str,
    mut whole: Value,
    patch: &Value,
) -> Result<T, Flaw> {
    let mut patch = patch.clone();
    for time in ["from", "until", "calledAt"] {
        let time = patch.get_mut(time).filter(|time| !time.is_null());
        if let Some(time) = time
            && let Ok(offset) = serde_json::from_value(time.clone())
        {
            *time = json!(moment(offset));
        }
    }
    json_patch::merge(&mut whole, &patch);
    strictly(part, &whole)
}

/// The times of writes: a mapping with `at`, `every`, and `times`.
fn repeated(writes: Option<Value>) -> Result<Vec<Timestamp>, Flaw> {
    let Some(Value::Object(mut fields)) = writes else {
        return Err("`writes` has `at`, `every` and `times`".into());
    };
    Ok(Repeats::take(&mut fields)?.moments().map(moment).collect())
}

fn published<T: evidence::Tracked>(
    history: &evidence::History<T>,
    state: fn(&T) -> Published,
) -> Vec<Publication> {
    let publish = |at, state| publication(ObjectKey::of(history.last()), at, state);
    let versions = history.versions.iter();
    let versions = versions.map(|version| publish(version.received(), state(&version.object)));
    let deleted = history.deleted.map(|at| publish(at, Published::Deleted {}));
    versions.chain(deleted).collect()
}

fn publication(object: ObjectKey, at: Timestamp, state: Published) -> Publication {
    Publication {
        object,
        sent: at,
        answered: at,
        state,
    }
}

/// What was found: a merge patch onto a log in which nothing was.
pub(super) fn mentions(overlay: Option<&Value>) -> Result<Mentions, Flaw> {
    let mut whole = json!({"log": true});
    if let Some(overlay) = overlay {
        json_patch::merge(&mut whole, overlay);
    }
    strictly("mentions", &whole)
}
