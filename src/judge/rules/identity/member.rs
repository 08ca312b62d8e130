//! One profile per member cluster.

use std::collections::{BTreeMap, BTreeSet};

use evidence::{
    Evidence, ObjectRef, ProfileHistory,
    api::{ClusterProfile, Edition},
};

use crate::rules::{
    division::Tie,
    finding::{Finding, Findings},
    same_cluster::{
        Candidates, IdentityIndex, SharedIdentity, identities, is_identified, note_bounds, note_uncertain,
    },
    sets::ClusterSets,
    text::redacted_or_absent,
};

/// `identity/one-profile-per-cluster`
///
/// No two profiles describe the same member: on the hub or, in editions that define an inventory as the profiles of
/// one namespace, in that namespace.
pub(in crate::rules) fn one_profile_per_cluster(evidence: &Evidence, findings: &mut Findings) {
    let by_namespace = is_by_namespace(evidence);
    if !by_namespace {
        note_bounds(evidence, findings);
    }
    // The successor of a terminating profile may already exist.
    let members: Vec<&ClusterProfile> = evidence.standing().collect();
    for profile in &members {
        if evidence.judges(profile) && is_identified(profile) {
            findings.examine();
        }
    }
    findings.cannot_tell_unless_examined("no profile identifies its cluster");

    let inventories = members
        .iter()
        .map(|profile| by_namespace.then_some(&*profile.metadata.namespace));
    let index = IdentityIndex::of(members.iter().copied().zip(inventories));
    let sets = ClusterSets::of(evidence);
    let mut twins = BTreeMap::new();
    let mut uncertain = BTreeSet::new();
    for (kind, groups) in index.groups() {
        for group in groups {
            let mut candidates = Candidates::default();
            for place in group {
                let profile = members[place];
                let (earlier, is_cut) = candidates.of(kind, &sets, profile);
                let twin = earlier.into_iter().find(|earlier| {
                    kind.joins(&sets, earlier, profile) && !kind.may_be_shared(earlier, profile)
                });
                match twin {
                    Some(twin) => _ = twins.entry(place).or_insert((kind, twin)),
                    None if is_cut => _ = uncertain.insert(place),
                    None => {}
                }
                candidates.add(&sets, profile);
            }
        }
    }
    uncertain.retain(|place| !twins.contains_key(place));
    note_uncertain(uncertain.len(), findings);
    for (place, (kind, twin)) in twins {
        let profile = members[place];
        let (object, twin) = if evidence.judges(profile) {
            (profile, twin)
        } else {
            (twin, profile)
        };
        if evidence.judges(object) {
            findings.report(finding(kind, object, twin));
        }
    }
}

/// Whether the edition defines an inventory as the profiles of one namespace.
fn is_by_namespace(evidence: &Evidence) -> bool {
    evidence.header.claim.edition >= Edition::Y2026M09
}

/// The ties of a profile that stands: to all with which it shares an identity.
pub(in crate::rules) fn ties_of_cluster(evidence: &Evidence, history: &ProfileHistory) -> Vec<Tie> {
    let Some(profile) = history.standing() else {
        return Vec::new();
    };
    let inventory = is_by_namespace(evidence).then_some(&*profile.metadata.namespace);
    let identities = identities(profile, inventory).into_iter();
    identities.map(Tie::to_all).collect()
}

fn finding(kind: SharedIdentity, profile: &ClusterProfile, twin: &ClusterProfile) -> Finding {
    let (path, value, what) = kind.describe(profile, twin);
    Finding::on(profile, format!("two profiles describe one cluster: {what}"))
        .at(path)
        .expected("a cluster that no other profile describes")
        .observed(format!(
            "{}, as in {}",
            redacted_or_absent(value),
            ObjectRef::from(twin)
        ))
}

#[cfg(test)]
mod tests {
    use evidence::api::Edition;
    use serde_json::{Value, json};

    use super::*;
    use crate::rules::example::Example;

    /// The notes on members behind one gateway, told apart by what their plugin is told.
    fn notes(members: usize) -> Vec<String> {
        let member = |number: usize| {
            let exec =
                json!({"name": "client.authentication.k8s.io/exec", "extension": {"clusterName": number}});
            json!({"metadata": {"name": format!("a{number}")}, "status": {
                "properties": [{"name": "cluster-endpoints.k8s.io", "value": r#"["gateway.example:443"]"#}],
                "accessProviders": [{"name": "p", "cluster": {"server": "https://gateway.example", "extensions": [exec]}}],
            }})
        };
        let world: Vec<Value> = (0..members).map(member).collect();
        let example = Example::parse(&json!({"name": "gateway", "passes": world}), Edition::Standard);
        let mut findings = Findings::default();
        one_profile_per_cluster(example.expect("an example").evidence(), &mut findings);
        let found = findings.conclude();
        assert_eq!((found.examined, found.list), (members, Vec::new()));
        found.notes
    }

    #[test]
    fn says_which_profiles_were_not_compared_with_all_others() {
        assert_eq!(notes(9), Vec::<String>::new());
        let [note] = &notes(12)[..] else {
            panic!("one note")
        };
        assert!(note.starts_with("3 profiles share endpoints"), "{note}");
    }
}
