//! A consumer's testbed in an example: what the run published and expected, and what the consumer did.
//!
//! The profiles, slices, and steps of the example are the run's publications.

use std::collections::BTreeSet;

use evidence::{
    History, MemberAddress, ObjectKey, ProfileHistory, Publication, Published, SliceHistory, Tracked, Window,
    api::{AccessProvider, ClusterProfile, names},
};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::{
    BoxedError,
    objects::path_key,
    records::{Fields, each_record, entries, mapping, patched},
    times::{Times, ca_data, moment, take},
};

/// How long the consumer may take to follow a change.
const SETTLE_SECONDS: u64 = 10;
/// The number of the first connection that an example does not number.
const FIRST_CONNECTION: u64 = 1000;

pub(super) struct PublishedObjects<'e> {
    pub(super) profiles: &'e [ProfileHistory],
    pub(super) slices: &'e [SliceHistory],
    pub(super) window: Window,
}

impl<'e> PublishedObjects<'e> {
    /// The testbed: a merge patch onto a conforming one, with these keys of its own:
    ///
    /// - `expect`: what the run expects, for example `{called: a, from: 1m}`. A profile is a name, or namespace and name.
    /// - `controls`: merge patches onto a scenario that lasts until the end and whose control is not called. By default, there is
    ///   one after the beginning of each expectation, and its control is called.
    /// - `terminating`: deleted profiles that wait for finalizers.
    pub(super) fn testbed(&self, testbed: Option<Value>) -> Result<Value, BoxedError> {
        let mut fields = mapping(&testbed.unwrap_or_else(|| json!({})))?;
        let [expect, terminating, outputs, hook_calls] =
            ["expect", "terminating", "outputs", "hookCalls"].map(|key| fields.remove(key));
        let expectations = each_record(entries(&expect), |fields| self.expectation(fields))?;
        let controls = match fields.remove("controls") {
            Some(controls) => controls,
            None => default_controls(&expectations)?,
        };
        let scenarios = each_record(entries(&Some(controls)), |mut control| {
            control.remove("at");
            let scenario = json!({"name": "the example", "control": "control", "until": self.window.until});
            Ok(patched(scenario, control))
        })?;
        let mut calls = scenarios.iter().filter_map(|scenario| scenario.get("calledAt"));
        let is_called = calls.next().is_some();
        let hook_calls = each_record(entries(&hook_calls), |mut call| {
            call.remove("at");
            Ok(call.into())
        })?;
        let hooks: Vec<&Value> = hook_calls.iter().map(|call| &call["action"]).collect();
        let mut consumer =
            json!({"user": "reader", "providers": ["secretreader"], "namespaces": ["default", "other"]});
        if outputs.is_some() {
            consumer["outputs"] = json!(["argocd"]);
        }
        let whole = json!({
            "run": "example", "consumer": consumer, "addresses": self.addresses(), "scenarios": scenarios,
            "published": self.publications(&terminating)?, "expectations": expectations,
            "settleSeconds": is_called.then_some(SETTLE_SECONDS), "hooks": hooks, "hookCalls": hook_calls,
            "outputs": each_record(entries(&outputs), |output| Ok(output.into()))?, "userInAuditLog": true,
        });
        Ok(patched(whole, fields))
    }

    fn publications(&self, terminating: &Option<Value>) -> Result<Vec<Publication>, BoxedError> {
        let mut publications: Vec<Publication> = Vec::new();
        for history in self.profiles {
            publications.extend(publish_all(history, |profile| Published::Profile(profile.into())));
        }
        for history in self.slices {
            publications.extend(publish_all(history, |slice| Published::Slice(slice.into())));
        }
        for terminating in entries(terminating) {
            let mut fields = mapping(terminating)?;
            let at = moment(Times::take(&mut fields)?.first);
            let profile: Option<String> = take(&mut fields, "profile")?;
            let object = path_key(profile.as_deref().unwrap_or("a"));
            let state = serde_json::from_value(json!({"terminating": fields}))?;
            publications.push(publication(object, at, state));
        }
        publications.sort_by_key(|publication| publication.answered);
        Ok(publications)
    }

    /// Reads an expectation. The key that is none of the common ones says what is expected, its value the profile.
    fn expectation(&self, mut fields: Fields) -> Result<Value, BoxedError> {
        fields.remove("at");
        let common = ["from", "until", "rule", "url", "member", "warn", "void"];
        let common = common.iter().filter_map(|key| fields.remove_entry(*key));
        let common: Fields = common.collect();
        let other: Option<String> = take(&mut fields, "other")?;
        let writes = fields.remove("writes");
        let mut remaining = fields.iter();
        let (expect, profile) = remaining.next().ok_or("an expectation says what is expected")?;
        let profile = path_key(profile.as_str().ok_or("an expectation names a profile")?);
        let content = match &**expect {
            "moves" => json!({"from": self.servers(&profile).next()}),
            "calledAs" | "reports" => json!({"other": other.as_deref().map(path_key)}),
            "usesProxy" => json!({"proxy": "https://proxy.example:3128"}),
            "keepsConnections" => {
                let mut times = mapping(&writes.unwrap_or_default())?;
                let times = Times::take(&mut times)?;
                json!({"writes": times.each().map(|(_, at)| moment(at)).collect::<Vec<_>>()})
            }
            _ => json!({}),
        };
        let whole = json!({
            "rule": "", "profile": profile, "expect": {expect: content}, "member": profile.name,
            "url": self.servers(&profile).last().unwrap_or_default(),
            "from": self.window.from, "until": self.window.until,
        });
        Ok(patched(whole, common))
    }

    fn servers(&self, profile: &ObjectKey) -> impl Iterator<Item = &'e str> {
        let entries = self.entries();
        let entries = entries.filter(move |(owner, _)| ObjectKey::of(*owner) == *profile);
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

    /// The first entry of the profile that a call is `of`; of the first profile by default.
    fn take_entry(&self, call: &mut Fields) -> Result<(&'e ClusterProfile, &'e AccessProvider), BoxedError> {
        let path: Option<String> = take(call, "of")?;
        let profile = path.as_deref().map(path_key);
        let is_wanted = |one: &ClusterProfile| profile.as_ref().is_none_or(|key| ObjectKey::of(one) == *key);
        let entry = self.entries().find(|(one, _)| is_wanted(one));
        entry.ok_or_else(|| "a call is of a profile that has no access provider".into())
    }

    /// The calls of members. A request has a connection of its own, unless the example numbers it.
    pub(super) fn member_calls(&self, calls: &[Value]) -> Result<Value, BoxedError> {
        let mut number = FIRST_CONNECTION;
        let mut calls = each_record(calls, |call| {
            number += 1;
            self.member_call(call, number - 1)
        })?;
        let is_numbered = |call: &Value| call["connection"].as_u64() < Some(FIRST_CONNECTION);
        let requests = calls.iter().filter(|call| call["event"].get("request").is_some());
        let connections = requests.filter(|call| !is_numbered(call)).cloned();
        let connections =
            connections.map(|call| patched(call, json!({"event": {"connected": {}, "request": null}})));
        let mut events: Vec<Value> = connections.collect();
        events.append(&mut calls);
        Ok(json!({"covers": self.window, "events": events}))
    }

    pub(super) fn plugin_calls(&self, calls: &[Value]) -> Result<Value, BoxedError> {
        let events = each_record(calls, |call| self.plugin_call(call))?;
        Ok(json!({"covers": self.window, "events": events}))
    }

    /// Reads a call of a member: the first server of the profile, unless `url` says otherwise. It is a request with the member's
    /// own credential, unless `event` says otherwise.
    fn member_call(&self, mut call: Fields, number: u64) -> Result<Value, BoxedError> {
        let (profile, entry) = self.take_entry(&mut call)?;
        let member = call.remove("member").unwrap_or(json!(&*profile.metadata.name));
        let request = json!({
            "method": "GET", "path": "/api", "code": 200, "credential": {"issued": {"member": member, "serial": 1}},
        });
        let event = variant("request", request, call.remove("event"));
        let whole = json!({
            "url": entry.cluster.server, "member": member, "connection": number, "hello": true, "event": event,
        });
        Ok(patched(whole, call))
    }

    /// Reads a run of the plugin with the first entry of the profile. By default, it answers with the member's credential.
    fn plugin_call(&self, mut call: Fields) -> Result<Value, BoxedError> {
        let (profile, entry) = self.take_entry(&mut call)?;
        let cluster = &entry.cluster;
        let mut extensions = cluster.extensions.iter();
        let config = extensions.find(|extension| &*extension.name == names::EXTENSION_EXEC);
        let credential = json!({"member": &*profile.metadata.name, "serial": 1});
        let answer = variant("credential", credential, call.remove("answer"));
        let whole = json!({
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
        Ok(patched(whole, call))
    }
}

/// What happened: by default the variant `name` of an enum with this `content`, onto which a patch of that variant is merged.
fn variant(name: &str, content: Value, patch: Option<Value>) -> Value {
    match patch {
        Some(event) if event.get(name).is_none() => event,
        patch => patched(json!({name: content}), patch.unwrap_or_else(|| json!({}))),
    }
}

/// A scenario 5 s after the beginning of each expectation, whose control is called after 1 s.
fn default_controls(expectations: &[Value]) -> Result<Value, BoxedError> {
    let starts = expectations.iter().map(|expectation| expectation["from"].clone());
    let starts = starts.map(serde_json::from_value);
    let starts: BTreeSet<Timestamp> = starts.collect::<Result<_, _>>()?;
    let control = |at: Timestamp| {
        let later = |seconds| at + SignedDuration::from_secs(seconds);
        json!({"from": later(5), "calledAt": later(6), "until": later(35)})
    };
    Ok(starts.into_iter().map(control).collect())
}

fn publish_all<T: Tracked>(history: &History<T>, state: fn(T) -> Published) -> Vec<Publication> {
    let publish = |at, state| publication(ObjectKey::of(history.last()), at, state);
    let versions = history.versions.iter();
    let versions = versions.map(|version| publish(version.received(), state(version.object.clone())));
    let deletion = history.deleted.map(|at| publish(at, Published::Deleted {}));
    versions.chain(deletion).collect()
}

fn publication(object: ObjectKey, at: Timestamp, state: Published) -> Publication {
    Publication {
        object,
        sent: at,
        answered: at,
        state,
    }
}
