//! One profile per member cluster.

use evidence::{
    Evidence, ObjectRef,
    api::{ClusterProfile, Edition},
};

use crate::{
    shared::{
        pairs::{Clashes, is_other, judged_first},
        same_cluster::{
            Candidates, IdentityIndex, SharedIdentity, identifying_versions, is_identified, is_live,
            note_bounds,
        },
    },
    subjects::{Finding, Findings, sets::ClusterSets},
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
    for profile in evidence.live() {
        if evidence.judges(profile) && is_identified(profile) {
            findings.examine();
        }
    }
    findings.cannot_tell_unless_examined("no profile identifies its cluster");

    let versions = identifying_versions(evidence);
    let inventories = versions
        .iter()
        .map(|profile| by_namespace.then_some(&*profile.metadata.namespace));
    let index = IdentityIndex::of(versions.iter().copied().zip(inventories));
    let sets = ClusterSets::of(evidence);
    let mut clashes = Clashes::new(evidence);
    for (kind, groups) in index.groups() {
        let are_twins = |earlier: &'_ ClusterProfile, profile: &'_ ClusterProfile| {
            are_twins(kind, &sets, earlier, profile)
        };
        for group in groups {
            let mut candidates = Candidates::default();
            for place in group {
                let profile = versions[place];
                let (earlier, is_cut) = candidates.of(kind, &sets, profile);
                let mut twins = earlier.into_iter().filter(|earlier| are_twins(earlier, profile));
                let is_found = twins.any(|twin| {
                    clashes.put(place, [twin, profile], are_twins, |twin, profile| {
                        let [object, twin] = judged_first(evidence, profile, twin)?;
                        Some(finding(kind, object, twin))
                    })
                });
                if !is_found && is_cut {
                    clashes.is_cut(profile);
                }
                candidates.add(&sets, profile);
            }
        }
    }
    clashes.judge(findings);
}

/// Whether two versions describe one cluster, as what they share shows.
fn are_twins<'e>(
    kind: SharedIdentity,
    sets: &ClusterSets<'e>,
    one: &'e ClusterProfile,
    other: &'e ClusterProfile,
) -> bool {
    is_other(one, other)
        && is_live(one)
        && is_live(other)
        && kind.is_told_by(one)
        && kind.joins(sets, one, other)
        && !kind.may_be_shared(one, other)
}

/// Whether the edition defines an inventory as the profiles of one namespace.
fn is_by_namespace(evidence: &Evidence) -> bool {
    evidence.header.claim.edition >= Edition::Y2026M09
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
        found.notes.iter().map(ToString::to_string).collect()
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
