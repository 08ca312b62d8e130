//! The testbed of an example's consumer, and what was recorded on it.

use std::collections::BTreeSet;

use evidence::{
    CallEvent, DriverAction, HookCall, Log, MemberAddress, MemberCall, Mentions, Output, OutputReader,
    OutputSnapshot, PluginCall, ProfileHistory, Testbed, Window,
    api::{AccessProvider, ClusterProfile, names},
};
use jiff::SignedDuration;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{
    certificates::ca_data,
    error::{Flaw, strictly},
    time::{Repeats, moment},
};

/// The consumer's user.
const USER: &str = "reader";
/// The namespaces that it reads: that of conforming profiles, and another one.
const NAMESPACES: [&str; 2] = ["default", "other"];
/// The provider of conforming profiles.
const PROVIDER: &str = "secretreader";
/// The member of the control profile.
const CONTROL: &str = "control";
/// The number of the first connection that an example does not number.
const FIRST_OF_ITS_OWN: u64 = 1000;
/// When the consumer called it.
const CALLED: SignedDuration = SignedDuration::from_secs(1);

/// A testbed, as differences from a conforming one.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(super) struct TestbedText {
    /// A merge patch onto the claims: the user `reader`, who reads the namespaces `default` and `other`, with a plugin for the
    /// provider of conforming profiles.
    consumer: Option<Value>,
    /// Merge patches onto the addresses: by default, those that profiles name, each of the member of the profile's name.
    addresses: Vec<Value>,
    /// The scenes, each with `from`, `called` and `until`; by default one, from the beginning to the end.
    scenarios: Option<Vec<ScenarioText>>,
    /// The hooks of its author; by default those that are called.
    hooks: Option<BTreeSet<DriverAction>>,
    /// The calls of its hooks.
    hook_calls: Vec<HookText>,
    /// What the consumer had made, each with `at`, and `outputs` as they stand in evidence.
    outputs: Option<Vec<OutputText>>,
    /// Whether the audit log has no request of the consumer's user that reads.
    user_not_in_audit_log: bool,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct OutputText {
    at: SignedDuration,
    outputs: Vec<Output>,
}

impl TestbedText {
    /// Whether the run read outputs.
    pub(super) fn has_outputs(&self) -> bool {
        self.outputs.is_some()
    }
}

/// A call of a hook, which takes a second unless the example says how long.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct HookText {
    action: DriverAction,
    at: SignedDuration,
    took: Option<SignedDuration>,
    failure: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ScenarioText {
    #[serde(default)]
    from: SignedDuration,
    #[serde(default)]
    called: Option<SignedDuration>,
    until: Option<SignedDuration>,
    #[serde(default)]
    may_delay: bool,
}

impl HookText {
    fn call(&self) -> HookCall {
        let took = self.took.unwrap_or(SignedDuration::from_secs(1));
        HookCall {
            action: self.action,
            from: moment(self.at),
            until: moment(self.at.saturating_add(took)),
            failure: self.failure.clone(),
            output: String::new(),
        }
    }
}

/// What profiles say of their members, to fill in what an example leaves out.
pub(super) struct Staged<'e> {
    profiles: &'e [ProfileHistory],
    window: Window,
}

impl<'e> Staged<'e> {
    pub(super) fn new(profiles: &'e [ProfileHistory], window: Window) -> Self {
        Self { profiles, window }
    }

    /// The testbed.
    pub(super) fn testbed(&self, text: &TestbedText) -> Result<Testbed, Flaw> {
        let mut consumer = json!({"user": USER, "providers": [PROVIDER], "namespaces": NAMESPACES});
        if text.has_outputs() {
            consumer["outputs"] = json!([OutputReader::Argocd]);
        }
        if let Some(overlay) = &text.consumer {
            json_patch::merge(&mut consumer, overlay);
        }
        let mut addresses = self.addresses();
        for overlay in &text.addresses {
            let of = overlay["url"].as_str().unwrap_or_default();
            let given = addresses.iter_mut().find(|address| address.url == of);
            let mut whole = json!(given.as_deref());
            if given.is_none() {
                whole = json!({"url": of, "member": "", "caData": ca_data("current")});
            }
            json_patch::merge(&mut whole, overlay);
            let address = strictly("address", &whole)?;
            match given {
                Some(given) => *given = address,
                None => addresses.push(address),
            }
        }
        let default = ScenarioText {
            from: SignedDuration::ZERO,
            called: Some(CALLED),
            until: None,
            may_delay: false,
        };
        let scenes = text
            .scenarios
            .as_deref()
            .unwrap_or(std::slice::from_ref(&default));
        let scenes = scenes.iter().map(|scene| evidence::ScenarioRun {
            name: "the example".to_owned(),
            control: CONTROL.to_owned(),
            from: moment(scene.from),
            until: scene.until.map_or(self.window.until, moment),
            called_at: scene.called.map(moment),
            may_delay: scene.may_delay,
        });
        Ok(Testbed {
            run: "example".to_owned(),
            consumer: strictly("consumer", &consumer)?,
            addresses,
            scenarios: scenes.collect(),
            hooks: match &text.hooks {
                Some(hooks) => hooks.clone(),
                None => text.hook_calls.iter().map(|call| call.action).collect(),
            },
            hook_calls: text.hook_calls.iter().map(HookText::call).collect(),
            outputs: text
                .outputs
                .iter()
                .flatten()
                .map(|snapshot| OutputSnapshot {
                    at: moment(snapshot.at),
                    outputs: snapshot.outputs.clone(),
                })
                .collect(),
            user_in_audit_log: !text.user_not_in_audit_log,
            ..Testbed::default()
        })
    }

    /// The addresses that profiles name: the first to name one has its member there.
    fn addresses(&self) -> Vec<MemberAddress> {
        let mut addresses: Vec<MemberAddress> = Vec::new();
        for (profile, entry) in self.entries() {
            let Some(url) = entry.cluster.server.as_deref() else {
                continue;
            };
            if addresses.iter().any(|address| address.url == url) {
                continue;
            }
            addresses.push(MemberAddress {
                url: url.to_owned(),
                member: profile.metadata.name.to_string(),
                server_name: None,
                ca_data: ca_data("current").unwrap_or_default(),
            });
        }
        addresses
    }

    fn entries(&self) -> impl Iterator<Item = (&'e ClusterProfile, &'e AccessProvider)> {
        let versions = self.profiles.iter().flat_map(|history| &history.versions);
        versions.flat_map(|version| version.object.access().map(|entry| (&version.object, entry)))
    }

    /// The first entry of a profile, by its name; of the first profile without one.
    fn entry(&self, name: Option<&str>) -> Result<(&'e ClusterProfile, &'e AccessProvider), Flaw> {
        let mut entries = self.entries();
        let is_it = |profile: &ClusterProfile| name.is_none_or(|name| *profile.metadata.name == *name);
        let found = entries.find(|(profile, _)| is_it(profile));
        found.ok_or_else(|| "a call is of a profile that has no access provider".into())
    }

    /// The calls of members. If the example does not say, each member that was listed is called at once.
    pub(super) fn member_calls(&self, texts: Option<&[Value]>) -> Result<Log<MemberCall>, Flaw> {
        let mut log = self.log(
            texts,
            |text, number| self.member_call(text, FIRST_OF_ITS_OWN + number as u64),
            |call| call.at,
        )?;
        // A request has a connection of its own, unless the example says which.
        let begins = |call: &MemberCall| MemberCall {
            what: CallEvent::Connected {},
            ..call.clone()
        };
        let requests = log.events.iter().filter(|call| {
            call.connection >= FIRST_OF_ITS_OWN && matches!(call.what, CallEvent::Request { .. })
        });
        let begun: Vec<MemberCall> = requests.map(begins).collect();
        log.events.splice(0..0, begun);
        log.events.sort_by_key(|call| call.at);
        Ok(log)
    }

    /// The calls of the plugin; the same.
    pub(super) fn plugin_calls(&self, texts: Option<&[Value]>) -> Result<Log<PluginCall>, Flaw> {
        self.log(texts, |text, _| self.plugin_call(text), |call| call.at)
    }

    fn log<T>(
        &self,
        texts: Option<&[Value]>,
        one: impl Fn(Map<String, Value>, usize) -> Result<T, Flaw>,
        at: impl Fn(&T) -> jiff::Timestamp,
    ) -> Result<Log<T>, Flaw> {
        let by_default = || {
            let listed = self
                .profiles
                .iter()
                .filter(|history| history.first().access().next().is_some());
            let named = listed.map(|history| json!({"at": "1s", "of": &*history.first().metadata.name}));
            named.collect()
        };
        let texts: Vec<Value> = texts.map_or_else(by_default, <[_]>::to_vec);
        let mut events = Vec::new();
        for text in &texts {
            let mut fields = text.as_object().ok_or("a call is a mapping")?.clone();
            for at in Repeats::take(&mut fields)?.moments() {
                let mut call = fields.clone();
                call.insert("at".to_owned(), json!(moment(at)));
                events.push(one(call, events.len())?);
            }
        }
        events.sort_by_key(|event| at(event));
        Ok(Log {
            covers: self.window,
            events,
        })
    }

    /// Reads a call of a member: `of` names a profile (the first unless given), whose first server is called unless `url`
    /// says otherwise. It is a request with the member's own credential, unless `broken`, `connected`, `proxied` or `ended` say so;
    /// `credential` is a member's name, `none` or `unknown`.
    fn member_call(&self, mut call: Map<String, Value>, number: u64) -> Result<MemberCall, Flaw> {
        let of = call.remove("of");
        let (profile, entry) = self.entry(of.as_ref().and_then(Value::as_str))?;
        let url = call.remove("url").unwrap_or_else(|| json!(entry.cluster.server));
        let member = call
            .remove("member")
            .unwrap_or_else(|| json!(&*profile.metadata.name));
        let mut taken = |key: &str| call.remove(key);
        let what = if let Some(reason) = taken("broken") {
            json!({"failed": {"reason": reason}})
        } else if let Some(host) = taken("proxied") {
            json!({"proxied": {"host": host}})
        } else if taken("ended").is_some() {
            json!({"closed": {}})
        } else if taken("connected").is_some() {
            json!({"connected": {}})
        } else {
            let serial = taken("serial").unwrap_or_else(|| json!(1));
            let credential = match taken("credential").as_ref().and_then(Value::as_str) {
                Some("none") => json!("none"),
                Some("unknown") => json!("unknown"),
                Some(member) => json!({"issued": {"member": member, "serial": serial}}),
                None => json!({"issued": {"member": member, "serial": serial}}),
            };
            json!({"request": {
                "method": taken("method").unwrap_or_else(|| json!("GET")),
                "path": taken("path").unwrap_or_else(|| json!("/api")),
                "watch": taken("watch").unwrap_or(json!(false)),
                "credential": credential,
                "code": taken("code").unwrap_or_else(|| json!(200)),
            }})
        };
        let mut whole = json!({"url": url, "member": member, "connection": number, "event": what});
        json_patch::merge(&mut whole, &call.into());
        strictly("member call", &whole)
    }

    /// Reads a call of the plugin: `of` names a profile (the first unless given), whose first entry is handed over; `cluster`
    /// is a merge patch onto that, and `answer` a word unless it is the member's credential, which `expires` at a time of the
    /// example.
    fn plugin_call(&self, mut call: Map<String, Value>) -> Result<PluginCall, Flaw> {
        let of = call.remove("of");
        let (profile, entry) = self.entry(of.as_ref().and_then(Value::as_str))?;
        let cluster = &entry.cluster;
        let mut extensions = cluster.extensions.iter();
        let config = extensions.find(|extension| &*extension.name == names::EXTENSION_EXEC);
        let serial = call.remove("serial").unwrap_or_else(|| json!(1));
        let expires = call.remove("expires");
        let expires: Option<SignedDuration> = expires
            .map(|at| {
                serde_json::from_value(at).map_err(|source| Flaw::Part {
                    part: "expires",
                    source,
                })
            })
            .transpose()?;
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

/// What was found: a merge patch onto a log in which nothing was.
pub(super) fn mentions(overlay: Option<&Value>) -> Result<Mentions, Flaw> {
    let mut whole = json!({"log": true});
    if let Some(overlay) = overlay {
        json_patch::merge(&mut whole, overlay);
    }
    strictly("mentions", &whole)
}
