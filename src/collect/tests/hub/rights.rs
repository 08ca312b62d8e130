//! A run uses each right that its role grants, and asks for nothing else: the hub's audit log is compared with the printed
//! role, both ways.

use std::collections::BTreeSet;

use apiserver::User;
use collect::{Grants, ServiceAccount, member_manifest};
use evidence::api::Edition;

use super::{
    members::{asking, way},
    *,
};

/// The user that is bound to the printed roles.
const RUNNER: &str = "runner";

/// A right, as a rule grants it or a request needs it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Right {
    verb: String,
    /// Group, resource and, where the rule is about some objects only, the name; or a path.
    of: [String; 3],
}

impl Right {
    fn new(verb: &str, group: &str, resource: &str, name: &str) -> Self {
        Self {
            verb: verb.to_owned(),
            of: [group, resource, name].map(str::to_owned),
        }
    }

    /// Whether who has this right may send a request that needs that one.
    fn covers(&self, needed: &Self) -> bool {
        let [group, resource, name] = &self.of;
        let about = [group, resource] == [&needed.of[0], &needed.of[1]];
        self.verb == needed.verb && about && (name.is_empty() || *name == needed.of[2])
    }

    /// Whether every authenticated user has it, by the roles `system:discovery` and `system:basic-user`.
    fn is_everyones(&self) -> bool {
        let [group, resource, _] = &self.of;
        let is_discovery = resource.is_empty() && (group == "/version" || group.starts_with("/api"));
        is_discovery || resource.starts_with("selfsubject")
    }
}

fn texts(value: &Value) -> impl Iterator<Item = &str> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str)
}

/// All rights that the printed roles grant.
fn granted(documents: &[Value]) -> BTreeSet<Right> {
    let rules = documents.iter().flat_map(|object| object["rules"].as_array());
    let rules = rules.flatten();
    let mut rights = BTreeSet::new();
    for rule in rules {
        for verb in texts(&rule["verbs"]) {
            rights.extend(texts(&rule["nonResourceURLs"]).map(|path| Right::new(verb, path, "", "")));
            for group in texts(&rule["apiGroups"]) {
                for resource in texts(&rule["resources"]) {
                    let names: Vec<&str> = texts(&rule["resourceNames"]).collect();
                    let names = if names.is_empty() { vec![""] } else { names };
                    rights.extend(names.iter().map(|name| Right::new(verb, group, resource, name)));
                }
            }
        }
    }
    rights
}

/// What a request needs, as the audit log has it.
fn needed(event: &Value) -> Right {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (verb, object) = (text(&event["verb"]), &event["objectRef"]);
    if object.is_null() {
        let uri = text(&event["requestURI"]);
        return Right::new(&verb, uri.split('?').next().unwrap_or_default(), "", "");
    }
    let resource = match text(&object["subresource"]) {
        none if none.is_empty() => text(&object["resource"]),
        subresource => format!("{}/{subresource}", text(&object["resource"])),
    };
    let (group, name) = (text(&object["apiGroup"]), text(&object["name"]));
    Right::new(&verb, &group, &resource, &name)
}

/// A hub on which [`RUNNER`] has what the manifest grants, and nothing else.
pub struct Bound {
    pub world: World,
    granted: BTreeSet<Right>,
}

impl Bound {
    /// Applies what is printed for an account, and adds the runner to each binding.
    pub async fn to(mut world: World, print: impl Fn(&ServiceAccount) -> String) -> Self {
        let account = "default:conformance".parse().expect("an account");
        let documents: Vec<Value> = serde_saphyr::from_multiple(&print(&account)).expect("YAML");
        for object in &documents {
            let mut object = object.clone();
            let kind = object["kind"].as_str().expect("a kind").to_lowercase();
            if let Some(subjects) = object["subjects"].as_array_mut() {
                let user = json!({"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": RUNNER});
                subjects.push(user);
            }
            let root = match &*kind {
                "serviceaccount" => "/api/v1".to_owned(),
                _ => "/apis/rbac.authorization.k8s.io/v1".to_owned(),
            };
            let place = match object["metadata"]["namespace"].as_str() {
                Some(namespace) => format!("/namespaces/{namespace}"),
                None => String::new(),
            };
            world.create(&format!("{root}{place}/{kind}s"), object).await;
        }
        world.server.add_user(User::with_rules(RUNNER, Vec::new()));
        world.hub.connection.client = world.server.client(RUNNER);
        Self {
            granted: granted(&documents),
            world,
        }
    }

    /// Compares what the runner asked for with what it was granted.
    pub fn compare(&self) {
        let mut events = self.world.server.audit_events();
        events.retain(|event| event["user"]["username"] == RUNNER);
        let asked: BTreeSet<Right> = events.iter().map(needed).collect();
        for needed in asked.iter().filter(|needed| !needed.is_everyones()) {
            let is_granted = self.granted.iter().any(|right| right.covers(needed));
            assert!(is_granted, "asked for, and not granted: {needed:?}");
        }
        for right in &self.granted {
            let is_used = asked.iter().any(|needed| right.covers(needed));
            assert!(is_used, "granted, and not used: {right:?}");
        }
        let refused = events.iter().find(|event| event["responseStatus"]["code"] == 403);
        assert_eq!(refused, None);
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_uses_what_its_role_grants_and_asks_for_nothing_else() {
    let everything = Grants {
        secrets: true,
        probe: true,
        ..Grants::default()
    };
    let of_a_namespace = Grants {
        namespaces: vec!["default".to_owned()],
        ..everything.clone()
    };
    let of_placements = Grants {
        placements: true,
        ..Grants::default()
    };
    for grants in [everything, of_a_namespace, of_placements, Grants::default()] {
        let world = World::of(&["a"]).await;
        let mut plan = Plan {
            probe: EvidenceRequest::IfAllowed,
            ..plan(60)
        };
        plan.scope.namespaces.clone_from(&grants.namespaces);
        if grants.placements {
            let slice = json!({
                "apiVersion": "multicluster.x-k8s.io/v1alpha1", "kind": "PlacementDecision",
                "metadata": {"name": "s", "labels": {"multicluster.x-k8s.io/decision-key": "k", "multicluster.x-k8s.io/decision-index": "0"}},
                "schedulerName": "s",
                "decisions": [{"clusterProfileRef": {"name": "a", "namespace": "default"}, "reason": "r"}],
            });
            world.create(SLICES, slice).await;
            plan.claim.edition = Edition::Placement2025M09;
            plan.secrets = EvidenceRequest::No("not for placements".into());
            plan.probe = EvidenceRequest::No("not for placements".into());
        }
        let bound = Bound::to(world, |account| grants.manifest(Some(account))).await;
        let evidence = bound.world.collect(&plan, async {}).await;
        assert_eq!(*evidence.gaps, [], "{grants:?}");
        bound.compare();
    }
}

#[tokio::test(start_paused = true)]
async fn a_member_is_asked_for_what_its_role_grants() {
    let hub = World::of(&["a"]).await;
    let member = World::new().await;
    let bound = Bound::to(member, |account| member_manifest(Some(account))).await;
    let accesses = vec![way("a", bound.world.hub.connection.client.clone())];
    hub.collect(&asking(60, accesses), async {}).await;
    bound.compare();
}
