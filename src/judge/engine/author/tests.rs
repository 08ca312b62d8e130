use evidence::{
    Evidence,
    api::{Edition, Role},
};
use serde_json::{Value, json};

use super::*;
use crate::{rules::example::Example, time::LATE};

const LABEL: &str = "metadata.labels[tier]";

/// The evidence of a world, without its keys that are null.
fn evidence(mut world: Value) -> Evidence {
    world
        .as_object_mut()
        .expect("a mapping")
        .retain(|_, value| !value.is_null());
    let example = json!({"name": "authors", "passes": world});
    let example = Example::parse(&example, Edition::Standard).expect("a world");
    example.evidence().clone()
}

fn authors(evidence: &Evidence) -> Authors<'_> {
    Authors::of(evidence, Role::Manager)
}

/// The author of the last change of the first profile.
fn last_change(evidence: &Evidence, field: &str, is_over_gap: bool) -> Author {
    let history = &evidence.profiles[0];
    let (before, after) = history.steps().last().expect("a change");
    let arrival = after.received().as_microsecond();
    let change = Change {
        history,
        before: Some(before),
        after: Some(after),
        at: Edge::between(arrival - LATE, arrival),
        seen_at: arrival,
        is_over_gap,
        place: 0,
    };
    authors(evidence).of_change(&change, field).author
}

/// The author of a request of the log.
fn sender(evidence: &Evidence, number: usize) -> Author {
    let log = evidence.requests.as_ref().expect("a log");
    authors(evidence).of_request(&log.events[number]).author
}

/// A change of a label at 1 min, which may also change managedFields.
fn labelled(managers: Option<Value>) -> Value {
    let mut change = json!({"metadata": {"labels": {"tier": "gold"}}});
    if let Some(managers) = managers {
        change["metadata"]["writers"] = managers;
    }
    json!({"at": "1m", "change": change})
}

fn entry(manager: &str, time: &str, owns: &[&str]) -> Value {
    json!({"manager": manager, "operation": "Update", "time": time, "owns": owns})
}

fn is_unknown(author: &Author, words: &str) -> bool {
    matches!(author, Author::Unknown(reason) if reason.contains(words))
}

#[test]
fn the_request_with_the_resource_version_decides() {
    let evidence = evidence(json!({
        "clusterManager": {"users": ["fleet"]},
        "steps": [labelled(Some(json!([entry("fleet", "${1m}", &[LABEL])])))],
        "requests": [
            {"at": "50s", "user": "fleet", "changed": true},
            {"at": "58s", "user": "jane", "changed": true, "resourceVersion": "102"},
            {"at": "59s", "user": "fleet", "changed": false, "resourceVersion": "102"},
        ],
    }));
    assert_eq!(last_change(&evidence, LABEL, false), Author::Other);
}

#[test]
fn the_moved_entry_of_managed_fields_decides() {
    for (manager, author) in [
        ("m", Author::Implementation),
        ("clusterprofile-conformance", Author::Run),
        ("kubectl-label", Author::Other),
        ("kube-controller-manager", Author::Other),
    ] {
        let owner = entry("m", "${1s}", &["spec.clusterManager"]);
        let moved = entry(manager, "${1m}", &[LABEL]);
        let invented = entry("before-first-apply", "${1m}", &[LABEL]);
        let first = json!({"at": "1s", "change": {"metadata": {"writers": [owner]}}});
        let second = labelled(Some(json!([owner, moved, invented])));
        let evidence = evidence(json!({"steps": [first, second]}));
        assert_eq!(last_change(&evidence, LABEL, false), author, "{manager}");
    }
}

#[test]
fn the_owner_decides_after_two_writes_within_one_second() {
    let entries = json!([entry("m", "${1s}", &["spec.clusterManager", LABEL])]);
    let steps = json!([
        {"at": "1s", "change": {"metadata": {"labels": {"tier": "silver"}, "writers": entries}}},
        {"at": "1500ms", "change": {"metadata": {"labels": {"tier": "gold"}}}},
    ]);
    let evidence = evidence(json!({"steps": steps}));
    assert_eq!(last_change(&evidence, LABEL, false), Author::Implementation);
    assert_eq!(
        authors(&evidence)
            .of_listed(evidence.profiles[0].last(), LABEL)
            .author,
        Author::Implementation
    );
}

#[test]
fn a_removed_field_has_no_owner() {
    let writers = json!([entry("m", "${-1h}", &["spec.clusterManager"])]);
    let change = json!({"metadata": {"labels": {"x-k8s.io/cluster-manager": null}, "writers": writers}});
    let evidence = evidence(json!({"steps": [{"at": "1m", "change": change}]}));
    let author = last_change(&evidence, "metadata.labels[x-k8s.io/cluster-manager]", false);
    assert!(is_unknown(&author, "only an audit log"), "{author:?}");
}

#[test]
fn over_a_gap_only_the_owner_counts() {
    let steps = [labelled(Some(json!([entry("m", "${1m}", &[LABEL])])))];
    let evidence = evidence(json!({"steps": steps, "requests": [{"at": "59s", "user": "jane"}]}));
    assert_eq!(last_change(&evidence, LABEL, true), Author::Implementation);
    let author = last_change(&evidence, "metadata.annotations[a]", true);
    assert!(is_unknown(&author, "missed changes"), "{author:?}");
}

#[test]
fn requests_at_the_time_of_the_change_decide_if_all_have_one_author() {
    let logged = |requests: Value, driver: Value| {
        let evidence = evidence(json!({
            "clusterManager": {"users": ["fleet"]}, "writers": "none", "steps": [labelled(None)],
            "requests": requests, "driver": driver,
        }));
        last_change(&evidence, LABEL, false)
    };
    let own = json!({"at": "59s", "user": "fleet"});
    let other = json!({"at": "58s", "user": "jane"});
    assert_eq!(logged(json!([own]), Value::Null), Author::Implementation);
    assert_eq!(logged(json!([other]), Value::Null), Author::Other);
    assert!(is_unknown(
        &logged(json!([own, other]), Value::Null),
        "several clients"
    ));
    assert!(is_unknown(&logged(json!([]), Value::Null), "does not contain"));
    // The suite wrote to the profile, and the log lacks its requests.
    let touched = json!({"steps": [], "touched": ["a"]});
    assert!(is_unknown(
        &logged(json!([own]), touched.clone()),
        "does not contain"
    ));
    let suite = json!({"at": "9m", "user": "fleet", "userAgent": "clusterprofile-conformance/1"});
    assert_eq!(logged(json!([own, suite]), touched), Author::Implementation);
}

#[test]
fn configured_names_are_exhaustive_and_an_agent_narrows_a_user() {
    let sent = |names: Value, user: &str, agent: &str| {
        let request = json!({"at": "1m", "user": user, "userAgent": agent, "subresource": "status"});
        let other = json!({"at": "2m", "user": "z", "userAgent": "z/1", "subresource": "status"});
        let own = json!({"at": "3m", "user": "admin", "userAgent": "manager/v1", "subresource": "status"});
        let requests = json!([request, other, own]);
        sender(
            &evidence(json!({"clusterManager": names, "requests": requests})),
            0,
        )
    };
    let users = json!({"users": ["admin"]});
    assert_eq!(sent(users.clone(), "admin", "manager/v1"), Author::Implementation);
    assert_eq!(sent(users.clone(), "jane", "manager/v1"), Author::Other);
    assert_eq!(sent(users, "admin", "clusterprofile-conformance/1"), Author::Run);
    let narrowed = json!({"users": ["admin"], "agents": ["manager"]});
    assert_eq!(
        sent(narrowed.clone(), "admin", "manager/v1 (linux)"),
        Author::Implementation
    );
    assert_eq!(sent(narrowed, "admin", "kubectl/v1"), Author::Other);
    let agents = json!({"agents": ["manager"]});
    assert_eq!(sent(agents.clone(), "jane", "manager/v1"), Author::Implementation);
    assert_eq!(sent(agents, "jane", "other/v1"), Author::Other);
    let field_managers = json!({"fieldManagers": ["manager"]});
    assert_eq!(sent(field_managers.clone(), "jane", "kubectl/v1"), Author::Other);
    let author = sent(field_managers, "jane", "manager/v1");
    assert!(
        is_unknown(
            &author,
            "--cluster-manager-user admin, --cluster-manager-user jane"
        ),
        "{author:?}"
    );
    let collector = "kube-controller-manager/v1 (linux) kubernetes/1/generic-garbage-collector";
    assert_eq!(sent(json!({}), "admin", collector), Author::Other);
}

#[test]
fn the_only_writer_is_inferred() {
    let requests = json!([
        {"at": "1m", "user": "admin", "userAgent": "manager/v1", "subresource": "status"},
        {"at": "2m", "user": "admin", "userAgent": "labeller/v1"},
        {"at": "3m", "user": "system:apiserver", "userAgent": "kube-apiserver/v1", "subresource": "status"},
    ]);
    let evidence = evidence(json!({"requests": requests}));
    let authors = authors(&evidence);
    let events = &evidence.requests.as_ref().expect("a log").events;
    let manager = authors.of_request(&events[0]);
    assert!(manager.is_inferred && manager.author == Author::Implementation);
    let names =
        "--cluster-manager-user admin --cluster-manager-agent manager, --cluster-manager-field-manager m";
    assert!(is_unknown(&authors.of_request(&events[1]).author, names));
    assert_eq!(authors.of_request(&events[2]).author, Author::Other);
    let advice = authors.advice();
    assert!(advice.ends_with(names), "{advice}");
}

#[test]
fn a_script_that_uses_kubectl_may_be_the_manager() {
    let requests = json!([
        {"at": "1m", "verb": "create", "code": 201, "user": "ci", "userAgent": "kubectl/v1"},
        {"at": "2m", "user": "ci", "userAgent": "kubectl/v1", "subresource": "status"},
    ]);
    let evidence = evidence(json!({"writers": "none", "requests": requests}));
    let author = sender(&evidence, 1);
    assert!(is_unknown(&author, "--cluster-manager-user ci"), "{author:?}");
}

#[test]
fn only_a_log_shows_who_deleted_an_object() {
    let deleted = |requests: Value| {
        let steps = json!([{"at": "1m", "delete": "a"}]);
        let names = json!({"users": ["m"]});
        let evidence = evidence(json!({"clusterManager": names, "steps": steps, "requests": requests}));
        let history = &evidence.profiles[0];
        let gone = history.deleted.expect("a deletion").as_microsecond();
        authors(&evidence)
            .of_deletion(history, Edge::between(gone - LATE, gone))
            .author
    };
    assert!(is_unknown(&deleted(Value::Null), "only an audit log"));
    assert!(is_unknown(&deleted(json!([])), "does not contain"));
    let unknown = Author::Unknown(NOT_IN_LOG);
    for (user, verb, name, author) in [
        ("m", "delete", "a", Author::Implementation),
        ("jane", "delete", "a", Author::Other),
        ("m", "deletecollection", "", Author::Implementation),
        ("jane", "deletecollection", "", unknown),
        ("system:apiserver", "deletecollection", "", Author::Other),
    ] {
        let request = json!({"at": "58s", "verb": verb, "user": user, "name": name});
        assert_eq!(deleted(json!([request])), author, "{verb} by {user}");
    }
}

#[test]
fn a_deletion_is_by_who_deleted_after_the_creation() {
    let evidence = evidence(json!({
        "clusterManager": {"users": ["m"]},
        "steps": [{"at": "60s", "delete": "a"}, {"at": "60400ms", "create": {}}, {"at": "61s", "delete": "a"}],
        "requests": [
            {"at": "60s", "verb": "delete", "user": "jane"},
            {"at": "60300ms", "verb": "create", "code": 201},
            {"at": "60900ms", "verb": "delete"},
        ],
    }));
    let history = &evidence.profiles[1];
    let gone = history.deleted.expect("a deletion").as_microsecond();
    let deletion = authors(&evidence).of_deletion(history, Edge::between(gone - LATE, gone));
    assert_eq!(deletion.author, Author::Implementation);
}

#[test]
fn a_creation_is_attributed_by_the_log_or_by_the_first_version() {
    let created = |requests: Value, users: Value| {
        let evidence = evidence(json!({
            "profiles": [], "steps": [{"at": "1m", "create": {}}],
            "clusterManager": {"users": users}, "requests": requests,
        }));
        authors(&evidence).of_creation(&evidence.profiles[0]).author
    };
    assert_eq!(created(Value::Null, json!([])), Author::Implementation);
    let creation = json!({"at": "1m", "verb": "create", "code": 201, "user": "backup"});
    let own = json!({"at": "2m", "user": "fleet", "subresource": "status"});
    let users = json!(["fleet"]);
    assert_eq!(created(json!([creation, own]), users.clone()), Author::Other);
    let author = created(json!([creation]), users);
    assert!(is_unknown(&author, "check --cluster-manager-user"), "{author:?}");
}
