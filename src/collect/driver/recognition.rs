//! Recognizes the profile of a member.

use evidence::{
    ObjectKey, ProfileHistory, Scope,
    api::{ClusterProfile, names},
    runs::mentions,
};

/// The facts by which a member's profile is recognized: managers put its name or its address into the profile.
#[derive(Clone, Debug, Default)]
pub(super) struct Traits {
    name: String,
    /// Host and port of its API server.
    authority: Option<String>,
    /// Its profile, if the hook or the driver file names it: no other profile counts.
    pub profile: Option<ObjectKey>,
}

impl Traits {
    pub fn of(name: &str, server: Option<&str>) -> Self {
        let authority = server.map(|server| {
            let rest = server.split_once("://").map_or(server, |(_, rest)| rest);
            rest.split(['/', '?', '#']).next().unwrap_or_default().to_owned()
        });
        Self {
            name: name.to_owned(),
            authority: authority.filter(|authority| !authority.is_empty()),
            profile: None,
        }
    }

    /// The member's profile among these: the best match, and of several the oldest.
    pub fn find<'a>(
        &self,
        histories: impl Iterator<Item = &'a ProfileHistory>,
        scope: &Scope,
    ) -> Option<&'a ClusterProfile> {
        let current = histories.filter_map(ProfileHistory::current);
        current
            .filter(|profile| scope.holds(profile))
            .filter_map(|profile| Some((self.match_quality(profile)?, profile)))
            .reduce(|best, next| if next.0 > best.0 { next } else { best })
            .map(|(_, profile)| profile)
    }

    /// How well a profile matches; none if it does not.
    fn match_quality(&self, profile: &ClusterProfile) -> Option<u8> {
        let (namespace, name) = (&*profile.metadata.namespace, &*profile.metadata.name);
        if let Some(key) = &self.profile {
            return (*key.namespace == *namespace && *key.name == *name).then_some(3);
        }
        let display_name = profile.spec.display_name.as_deref();
        let id = profile.label(names::LABEL_MEMBER_ID);
        let texts = [Some(name), display_name, id].into_iter().flatten();
        let by_name = texts.filter_map(|text| {
            if text == self.name {
                Some(3)
            } else {
                mentions(text, &self.name).then_some(2)
            }
        });
        by_name.max().or_else(|| self.is_at_address(profile).then_some(1))
    }

    fn is_at_address(&self, profile: &ClusterProfile) -> bool {
        let Some(authority) = &self.authority else {
            return false;
        };
        let access = profile.access();
        let servers = access.filter_map(|provider| provider.cluster.server.as_deref());
        let endpoints = profile.property(names::PROPERTY_ENDPOINTS);
        let endpoints = endpoints.map(|property| &*property.value);
        servers.chain(endpoints).any(|text| mentions(text, authority))
    }
}

#[cfg(test)]
mod tests {
    use evidence::{Origin, Version};
    use serde_json::{Value, json};

    use super::*;

    fn history(profile: Value) -> ProfileHistory {
        ProfileHistory {
            origin: Origin::Created,
            versions: vec![Version {
                at: Some(jiff::Timestamp::UNIX_EPOCH),
                object: serde_json::from_value(profile).expect("a profile"),
            }],
            deleted: None,
            deleted_version: None,
        }
    }

    fn find(traits: &Traits, profiles: &[Value]) -> Option<String> {
        let histories: Vec<_> = profiles.iter().cloned().map(history).collect();
        let profile = traits.find(histories.iter(), &Scope::default());
        profile.map(|profile| profile.metadata.name.to_string())
    }

    #[test]
    fn a_profile_is_known_by_name_or_address() {
        let traits = Traits::of("conformance-r4n6d-1", Some("https://127.0.0.1:3456/"));
        let by_name = json!({"metadata": {"name": "m-conformance-r4n6d-1"}});
        let longer = json!({"metadata": {"name": "m-conformance-r4n6d-12"}});
        let by_display = json!({"metadata": {"name": "x1"}, "spec": {"displayName": "conformance-r4n6d-1"}});
        let id = json!({"metadata": {"name": "x2", "labels": {"multicluster.x-k8s.io/inventory-member-id": "conformance-r4n6d-1"}}});
        let server = json!({"metadata": {"name": "x3"}, "status": {"accessProviders": [
            {"name": "p", "cluster": {"server": "https://127.0.0.1:3456"}}]}});
        let endpoint = json!({"metadata": {"name": "x4"}, "status": {"properties": [
            {"name": "cluster-endpoints.k8s.io", "value": "[\"127.0.0.1:3456\"]"}]}});
        let other = json!({"metadata": {"name": "x5"}, "status": {"properties": [
            {"name": "cluster-endpoints.k8s.io", "value": "[\"127.0.0.1:34567\"]"}]}});
        for profile in [&by_name, &by_display, &id, &server, &endpoint] {
            assert_eq!(
                find(&traits, std::slice::from_ref(profile)).as_deref(),
                profile["metadata"]["name"].as_str()
            );
        }
        assert_eq!(find(&traits, &[longer.clone(), other.clone()]), None);
        let all = [longer, other, endpoint, by_name, by_display];
        assert_eq!(find(&traits, &all).as_deref(), Some("x1"));
    }

    #[test]
    fn a_profile_that_the_hook_prints_is_the_only_one() {
        let traits = Traits {
            profile: Some(ObjectKey {
                namespace: "fleet".to_owned(),
                name: "other".to_owned(),
            }),
            ..Traits::of("a", None)
        };
        let alike = json!({"metadata": {"namespace": "fleet", "name": "a"}});
        let right = json!({"metadata": {"namespace": "fleet", "name": "other"}});
        assert_eq!(find(&traits, std::slice::from_ref(&alike)), None);
        assert_eq!(find(&traits, &[alike, right]).as_deref(), Some("other"));
    }
}
