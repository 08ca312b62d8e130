//! What a profile tells of its member, compared over time.

use super::{AccessProvider, ClusterProfile, names};

/// The paths of what a profile told in `before` and does not tell any more: the version, a property, whether the member
/// is joined, an access provider or its server. Other values are no loss, nor is the status of other conditions.
pub fn no_longer_told(before: &ClusterProfile, after: &ClusterProfile) -> Vec<String> {
    let mut lost = Vec::new();
    let version = |profile: &ClusterProfile| is_filled(profile.status.version.kubernetes.as_deref());
    if version(before) && !version(after) {
        lost.push("status.version.kubernetes".to_owned());
    }
    for property in before.status.properties.iter() {
        let value = after.property(&property.name).map(|property| &*property.value);
        if !property.value.is_empty() && !is_filled(value) {
            lost.push(format!("status.properties[{}]", property.name));
        }
    }
    for kind in [names::CONDITION_JOINED, names::CONDITION_HEALTHY] {
        if before.condition(kind).is_some() && after.condition(kind).is_none() {
            lost.push(format!("status.conditions[{kind}]"));
        }
    }
    let joined = |profile: &ClusterProfile| {
        let condition = profile.condition(names::CONDITION_JOINED);
        condition.map(|condition| &*condition.status == "True")
    };
    if joined(before) == Some(true) && joined(after) == Some(false) {
        lost.push(format!("status.conditions[{}].status", names::CONDITION_JOINED));
    }
    for provider in before.access() {
        let has_server = |provider: &AccessProvider| is_filled(provider.cluster.server.as_deref());
        let mut same = after
            .access()
            .filter(|other| other.name == provider.name)
            .peekable();
        let path = format!("status.accessProviders[{}]", provider.name);
        if same.peek().is_none() {
            lost.push(path);
        } else if has_server(provider) && !same.any(has_server) {
            lost.push(format!("{path}.cluster.server"));
        }
    }
    lost.dedup();
    lost
}

fn is_filled(text: Option<&str>) -> bool {
    text.is_some_and(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn profile(status: Value) -> ClusterProfile {
        serde_json::from_value(json!({"status": status})).expect("a profile")
    }

    #[test]
    fn what_goes_is_lost_and_what_changes_is_not() {
        let before = profile(json!({
            "version": {"kubernetes": "v1.34.1"},
            "properties": [{"name": "a", "value": "1"}, {"name": "b", "value": "2"}, {"name": "c", "value": ""}],
            "conditions": [
                {"type": "Joined", "status": "True"}, {"type": "ControlPlaneHealthy", "status": "True"},
                {"type": "Upgrading", "status": "True"}],
            "accessProviders": [{"name": "p", "cluster": {"server": "https://a"}}],
            "credentialProviders": [{"name": "q"}],
        }));
        let changed = profile(json!({
            "version": {"kubernetes": "v1.35.0"},
            "properties": [{"name": "b", "value": "3"}, {"name": "a", "value": "9"}],
            "conditions": [{"type": "Joined", "status": "True"}, {"type": "ControlPlaneHealthy", "status": "False"}],
            "accessProviders": [{"name": "q"}, {"name": "p", "cluster": {"server": "https://b"}}],
        }));
        assert_eq!(no_longer_told(&before, &changed), Vec::<String>::new());
        let nothing = profile(json!({}));
        assert_eq!(
            no_longer_told(&before, &nothing),
            [
                "status.version.kubernetes",
                "status.properties[a]",
                "status.properties[b]",
                "status.conditions[Joined]",
                "status.conditions[ControlPlaneHealthy]",
                "status.accessProviders[p]",
                "status.accessProviders[q]",
            ]
        );
        let empty = profile(json!({
            "version": {"kubernetes": ""},
            "properties": [{"name": "a", "value": ""}, {"name": "b", "value": "2"}],
            "conditions": [{"type": "Joined", "status": "Unknown"}, {"type": "ControlPlaneHealthy", "status": "True"}],
            "accessProviders": [{"name": "p", "cluster": {"server": ""}}, {"name": "q"}],
        }));
        assert_eq!(
            no_longer_told(&before, &empty),
            [
                "status.version.kubernetes",
                "status.properties[a]",
                "status.conditions[Joined].status",
                "status.accessProviders[p].cluster.server",
            ]
        );
        assert_eq!(no_longer_told(&nothing, &before), Vec::<String>::new());
    }
}
