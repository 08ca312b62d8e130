//! Objects of the run under names that the consumer would give to what it makes.
//!
//! What it has made already tells which name it would choose: if the name of each of its Secrets is made of the name of the
//! profile in one and the same way, it is for the next profile, too.

use std::collections::BTreeSet;

use evidence::{
    MemberAddress, ObjectKey, ObjectRef, Output, OutputReader, TakenName, TakenNameFound, TakenNameLook,
    runs::LABEL_RUN,
};
use serde_json::{Value, json};

use super::Session;
use crate::{
    connect::call::get,
    driver::{OURSELVES, UndoEntry, secret_path},
    testbed::outputs::{OutputPlace, servers_named},
};

/// How many of the consumer's own names must be alike.
const ALIKE: usize = 2;
/// What stands in such a name for that of the profile.
const PROFILE: &str = "{}";
/// What is in the run's Secret.
const CONTENT: &str = "of the conformance run";

/// Such an object.
pub(super) struct Taken {
    object: ObjectRef,
    undo: Option<u64>,
    pub(super) seen: TakenName,
}

impl Session<'_> {
    /// Creates an object under the name that the consumer would give to what it makes of a profile. False if the run cannot tell
    /// that name, or the hub refuses it.
    pub async fn take_name(&self, what: &str) -> bool {
        let mut places = self.plan.outputs.iter();
        let namespace = places.find_map(|place| match place {
            OutputPlace::Argocd { namespace } => Some(namespace),
            _ => None,
        });
        let Some(namespace) = namespace else {
            return false;
        };
        let profile = self.name(what);
        let made = self
            .state()
            .snapshots
            .last()
            .map(|snapshot| snapshot.outputs.clone());
        let addresses = self.plan.calls.addresses();
        let Some(name) = next_name(&made.unwrap_or_default(), &addresses, namespace, &profile) else {
            return false;
        };
        let key = ObjectKey {
            namespace: namespace.clone(),
            name,
        };
        let Some(undo) = self.write_down(UndoEntry::Secret { secret: key.clone() }, what) else {
            return false;
        };
        let secret = json!({
            "metadata": {"namespace": key.namespace, "name": key.name, "labels": {LABEL_RUN: self.plan.run}},
            "stringData": {OURSELVES: CONTENT},
        });
        match self.writes.create_secret(&key, secret).await {
            Ok(object) => {
                self.state().taken_names.push(Taken {
                    seen: TakenName {
                        reader: OutputReader::Argocd,
                        object: object.to_string(),
                        profile,
                        looks: Vec::new(),
                    },
                    object,
                    undo,
                });
                true
            }
            Err(failure) => {
                self.warn(&format!(
                    "{what} is left out: Secret {}/{} cannot be created: {failure}",
                    key.namespace, key.name
                ));
                false
            }
        }
    }

    /// Looks what became of these objects.
    pub(super) async fn look_at_taken_names(&self) {
        let taken: Vec<_> = self
            .state()
            .taken_names
            .iter()
            .map(|taken| taken.object.clone())
            .collect();
        let addresses = self.plan.calls.addresses();
        for (index, object) in taken.into_iter().enumerate() {
            let found = match get::<Value>(self.context.client, &secret_path(&ObjectKey::from(&object))).await
            {
                Ok(found) => found_under(&found, &object.uid, &addresses),
                Err(failure) if failure.code() == super::NOT_FOUND => TakenNameFound::Gone {},
                Err(failure) => {
                    self.warn(&format!("{object} of the run's own cannot be read: {failure}"));
                    continue;
                }
            };
            let look = TakenNameLook {
                at: self.now(),
                found,
            };
            if let Some(taken) = self.state().taken_names.get_mut(index) {
                taken.seen.looks.push(look);
            }
        }
    }

    /// Deletes these objects, but none that another one has taken the place of. False if the hub does not.
    pub(super) async fn clear_taken_names(&self) -> bool {
        let taken = std::mem::take(&mut self.state().taken_names);
        let mut is_clear = true;
        for taken in taken {
            match self.writes.delete_secret(&taken.object).await {
                Ok(()) => self.undone(taken.undo),
                Err(failure) => {
                    self.warn(&format!(
                        "{} of the run's own is still there: {failure}",
                        taken.object
                    ));
                    is_clear = false;
                }
            }
        }
        is_clear
    }
}

/// The name that the consumer would give to what it makes of that profile, by the names of what it has made in a namespace.
fn next_name(made: &[Output], addresses: &[MemberAddress], namespace: &str, profile: &str) -> Option<String> {
    let prefix = format!("Secret {namespace}/");
    let mut patterns = BTreeSet::new();
    let mut members = BTreeSet::new();
    for output in made.iter().filter(|output| output.reader == OutputReader::Argocd) {
        let name = output.object.strip_prefix(&prefix)?;
        let Some(member) = member_of(output, addresses) else {
            continue;
        };
        if name.matches(member).count() != 1 {
            return None;
        }
        patterns.insert(name.replace(member, PROFILE));
        members.insert(member);
    }
    let mut patterns = patterns.into_iter();
    let (Some(pattern), None) = (patterns.next(), patterns.next()) else {
        return None;
    };
    (members.len() >= ALIKE).then(|| pattern.replace(PROFILE, profile))
}

/// The one member that an output names, itself or by its server.
fn member_of<'o>(output: &'o Output, addresses: &'o [MemberAddress]) -> Option<&'o str> {
    let at = addresses
        .iter()
        .filter(|address| output.servers.contains(&address.url));
    let members = at.map(|address| &address.member).chain(&output.members);
    let mut members = members.collect::<BTreeSet<_>>().into_iter();
    members
        .next()
        .filter(|_| members.next().is_none())
        .map(String::as_str)
}

/// What was found there, compared with what the run had created.
fn found_under(secret: &Value, uid: &str, addresses: &[MemberAddress]) -> TakenNameFound {
    let fields = secret["data"].as_object();
    let is_as_created = secret["metadata"]["uid"] == *uid
        && fields.is_some_and(|fields| fields.len() == 1 && fields.contains_key(OURSELVES))
        && secret["metadata"]["ownerReferences"]
            .as_array()
            .is_none_or(Vec::is_empty);
    if is_as_created {
        return TakenNameFound::Unchanged {};
    }
    let mut owners = secret["metadata"]["ownerReferences"]
        .as_array()
        .into_iter()
        .flatten();
    TakenNameFound::Changed {
        servers: servers_named(secret, addresses),
        replaced: secret["metadata"]["uid"] != *uid,
        owned: owners.any(|owner| {
            let name = owner["name"].as_str().unwrap_or_default();
            owner["kind"] == evidence::api::names::KIND
                && addresses.iter().any(|address| address.member == name)
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(object: &str, members: &[&str]) -> Output {
        Output {
            reader: OutputReader::Argocd,
            object: object.to_owned(),
            servers: BTreeSet::new(),
            members: members.iter().map(|member| (*member).to_owned()).collect(),
        }
    }

    #[test]
    fn a_name_follows_from_those_that_are_there() {
        let next = |made: &[Output]| next_name(made, &[], "argocd", "run-c");
        let [a, b] =
            ["run-a", "run-b"].map(|member| output(&format!("Secret argocd/cluster-{member}"), &[member]));
        assert_eq!(next(&[a.clone(), b.clone()]).as_deref(), Some("cluster-run-c"));
        assert_eq!(next(&[a.clone(), a.clone()]), None, "one tells nothing");
        let hashed = output("Secret argocd/cluster-b41f", &["run-b"]);
        assert_eq!(next(&[a.clone(), hashed]), None);
        let otherwise = output("Secret argocd/run-b-secret", &["run-b"]);
        assert_eq!(next(&[a.clone(), otherwise]), None);
        let of_two = output("Secret argocd/cluster-run-a", &["run-a", "run-b"]);
        assert_eq!(next(&[of_two, b.clone()]), None, "which of the two, nobody knows");
        assert_eq!(next(&[]), None);
        let address = MemberAddress {
            url: "https://a:6443".to_owned(),
            member: "run-a".to_owned(),
            ..MemberAddress::default()
        };
        let mut by_server = output("Secret argocd/cluster-run-a", &[]);
        by_server.servers = [address.url.clone()].into();
        let name = next_name(&[by_server, b], &[address], "argocd", "run-c");
        assert_eq!(name.as_deref(), Some("cluster-run-c"));
    }

    #[test]
    fn only_what_the_run_created_is_unchanged() {
        let created = json!({"metadata": {"uid": "u"}, "data": {OURSELVES: "b2Y="}});
        let found = |change: Value| {
            let mut secret = created.clone();
            json_patch::merge(&mut secret, &change);
            let address = MemberAddress {
                url: "https://a:6443".to_owned(),
                member: "run-a".to_owned(),
                ..MemberAddress::default()
            };
            found_under(&secret, "u", &[address])
        };
        let changed = |servers: &[&str], owned, replaced| TakenNameFound::Changed {
            servers: servers.iter().map(|server| (*server).to_owned()).collect(),
            owned,
            replaced,
        };
        assert_eq!(found(json!({})), TakenNameFound::Unchanged {});
        assert_eq!(
            found(json!({"metadata": {"labels": {"team": "a"}}})),
            TakenNameFound::Unchanged {}
        );
        assert_eq!(
            found(json!({"data": {"server": "aHR0cHM6Ly9hOjY0NDM="}})),
            changed(&["https://a:6443"], false, false)
        );
        assert_eq!(found(json!({"data": null})), changed(&[], false, false));
        assert_eq!(
            found(json!({"metadata": {"uid": "other"}})),
            changed(&[], false, true)
        );
        let owner = json!({"metadata": {"ownerReferences": [{"kind": "ClusterProfile", "name": "run-a"}]}});
        assert_eq!(found(owner), changed(&[], true, false));
        let other =
            json!({"metadata": {"ownerReferences": [{"kind": "ClusterProfile", "name": "production"}]}});
        assert_eq!(found(other), changed(&[], false, false));
    }
}
