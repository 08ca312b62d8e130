//! Whole worlds that conform: no rule may object to them.

use std::collections::BTreeSet;

use evidence::api::Role;
use judge::{Verdict, rules, rules::example::Example};
use serde_json::{Value, json};

use crate::verdicts;

/// Advice that examples need not follow: short names are easier to read.
const ADVICE_ON_NAMES: &str = "identity/name-follows-guidance";

#[test]
fn a_conforming_world_trips_no_rule() {
    let conditions = |healthy: &str, since: &str| {
        json!([
            {"type": "Joined", "status": "True", "reason": "Joined", "lastTransitionTime": "${-1h}"},
            {"type": "ControlPlaneHealthy", "status": healthy, "reason": "Probed", "lastTransitionTime": since},
        ])
    };
    let property = |name: &str, value: &str| json!({"name": name, "value": value});
    let told_by_b = [
        property("cluster-endpoints.k8s.io", r#"["b.default.example:6443"]"#),
        property("location.topology.k8s.io", "asia"),
        property("count.node.k8s.io", "3"),
        property("group.customResource.k8s.io", r#"["argoproj.io"]"#),
        property("tier.example.com", "gold"),
    ];
    let told_by_e = [
        property("cluster-endpoints.k8s.io", r#"["e.set.example:6443"]"#),
        property("cluster.clusterset.k8s.io", "e"),
        property("clusterset.k8s.io", "s"),
    ];
    let on_b = |properties: Value| {
        json!({
            "every": "30s", "customResourceGroups": ["argoproj.io"], "clusterProperties": properties,
            "leases": [{"name": "kube-scheduler", "ageSeconds": 1, "durationSeconds": 15}],
        })
    };
    let labelled = json!({"name": "tier.example.com", "value": "gold", "labelled": true});
    let mut at_first = on_b(json!([labelled, {"name": "owner.example.com", "value": "me"}]));
    json_patch::merge(&mut at_first, &json!({"at": "0s", "times": 2}));
    let mut later = on_b(json!([labelled]));
    json_patch::merge(&mut later, &json!({"at": "1m", "times": 50}));
    let busy = json!({
        "profiles": [
            {}, {"metadata": {"name": "b"}, "status": {"properties": told_by_b}},
            {"metadata": {"name": "c", "namespace": "other"}},
            {"metadata": {"name": "e", "namespace": "set", "labels": {"multicluster.x-k8s.io/clusterset": "s"}},
             "status": {"properties": told_by_e}},
        ],
        "namespaces": [{"name": "set", "labels": {"clusterset.multicluster.x-k8s.io": "s"}}],
        "secrets": [
            {"namespace": "c1"},
            {"namespace": "c1", "labels": {"x-k8s.io/cluster-profile": "b"}},
            {"namespace": "c1", "labels": {"x-k8s.io/cluster-profile": "d"}},
            {"namespace": "c1", "labels": {
                "x-k8s.io/cluster-profile": "e", "x-k8s.io/cluster-profile-namespace": "set"}},
            {"namespace": "c2", "labels": {"x-k8s.io/cluster-profile": "b"}},
        ],
        "consumers": ["c1"],
        "steps": [
            {"at": "1m", "create": {"metadata": {"name": "d"}}},
            {"at": "2m", "change": {"status": {"version": {"kubernetes": "v1.34.2"}}}},
            {"at": "3m", "delete": "other/c"},
            {"at": "4m", "change": {"metadata": {"name": "e", "namespace": "set"},
                "status": {"version": {"kubernetes": "v1.34.2"}}}},
            {"at": "5m", "change": {"status": {"conditions": conditions("False", "${5m}")}}},
            {"at": "15m", "change": {"status": {"conditions": conditions("True", "${15m}")}}},
        ],
        "observe": "30m",
        "requests": [
            {"at": "1m", "verb": "create", "code": 201, "name": "d",
             "body": {"manager": "m", "managerLabel": "m", "parts": ["metadata.labels", "spec"]}},
            {"at": "2m", "subresource": "status", "changed": true, "body": {"parts": ["status"]}},
        ],
        "probes": [
            {"method": "merge-patch", "answer": "refused", "fields": ["spec.clusterManager"]},
            {"method": "update", "answer": "refused", "fields": ["spec.clusterManager"]},
        ],
        "members": [
            {"looks": [
                {"every": "30s", "times": 3},
                {"at": "90s", "every": "30s", "times": 5, "version": "v1.34.2"},
                {"at": "4m", "every": "30s", "times": 20, "version": "v1.34.2", "readyz": {"ready": false}},
                {"at": "14m", "every": "30s", "times": 20, "version": "v1.34.2"},
            ]},
            {"profile": "b", "looks": [at_first, later]},
        ],
        "endpointCalls": [{}, {"profile": "b", "endpoint": "b.default.example:6443"}],
        "logins": [{"secret": "c1/a"}, {"profile": "b", "secret": "c2/b"}, {"plugin": "secretreader"}],
        "claims": ["consumer-secrets"],
    });
    let mut passed = BTreeSet::new();
    let of_x =
        json!({"manager": "x", "operation": "Update", "owns": ["spec.clusterManager", "status.conditions"]});
    let named = json!({
        "profiles": [
            {"metadata": {"name": "m-1"}},
            {"metadata": {"name": "x-1", "writers": [of_x]}, "spec": {"clusterManager": {"name": "x"}}},
        ],
        "scope": {"clusterManager": "m"},
        "expectedProfiles": 1,
    });
    let profiles = [named, busy, driven()].map(|world| (Role::Manager, world));
    let placements = [placed(), placed_by_driver()].map(|world| (Role::Scheduler, world));
    let staged = [staged(), staged_by_decisions()].map(|world| (Role::Consumer, world));
    let worlds = profiles.iter().chain(&placements).chain(&staged);
    for (world, edition) in
        worlds.flat_map(|(role, world)| role.editions().map(move |edition| (world, edition)))
    {
        let example = json!({"name": "conforming", "passes": world});
        let example = Example::parse(&example, edition).expect("a world");
        for (rule, verdict) in verdicts(&example) {
            match verdict.verdict {
                Verdict::Pass => _ = passed.insert(rule),
                Verdict::NotApplicable | Verdict::Skipped => {}
                Verdict::Warn if rule == ADVICE_ON_NAMES => {}
                _ => panic!("{rule} ({edition}) objects to {world}: {verdict:#?}"),
            }
        }
    }
    let all: BTreeSet<&str> = rules::all().iter().map(|rule| rule.id).collect();
    assert_eq!(
        passed, all,
        "a conforming world has something to show to every rule"
    );
}

/// The testbed of a consumer that does with each profile as it should.
fn staged() -> Value {
    let called = |rule: &str| json!({"rule": rule, "called": "a"});
    let not_called = |rule: &str| json!({"rule": rule, "notCalled": "quiet"});
    let stops = |rule: &str| json!({"rule": rule, "stopsCalling": "ended", "from": "300s"});
    let mut expect: Vec<Value> = vec![
        json!({"rule": "consumer-access/ca-honoured", "refusesCertificate": "foreign"}),
        json!({"rule": "consumer-access/proxy-honoured", "usesProxy": "a"}),
        json!({"rule": "consumer-exec/expiry-renewed", "renewsCredential": "a"}),
        json!({"rule": "consumer-change/address-followed", "moves": "moved", "from": "60s"}),
        json!({"rule": "consumer-change/heartbeats-harmless", "keepsConnections": "a",
               "writes": {"at": "120s", "every": "3s", "times": 11}}),
        json!({"rule": "consumer-identity/warning-surfaced", "reports": "quiet", "other": "a"}),
        json!({"rule": "consumer-exec/failure-isolated", "called": "control"}),
        json!({"rule": "consumer-exec/malformed-isolated", "called": "control"}),
    ];
    expect.extend(
        [
            "consumer-scope/namespaces-apart",
            "consumer-identity/oldest-wins",
            "consumer-identity/empty-is-absent",
            "consumer-identity/other-inventories-stay",
            "consumer-identity/next-takes-over",
            "consumer-health/unknown-values-tolerated",
        ]
        .map(called),
    );
    expect.extend(
        [
            "consumer-scope/selection-kept",
            "consumer-identity/tie-acts-on-none",
            "consumer-access/picks-known-provider",
            "consumer-access/no-guess",
            "consumer-access/list-by-version",
            "consumer-health/unhealthy-not-dispatched",
        ]
        .map(not_called),
    );
    expect.extend(
        [
            "consumer-change/access-revoked",
            "consumer-change/profile-gone",
            "consumer-change/restart-no-orphans",
        ]
        .map(stops),
    );
    let server = |url: &str, name: Option<&str>| {
        let cluster = json!({"server": url, "tls-server-name": name});
        json!({"accessProviders": [{"name": "secretreader", "cluster": cluster}]})
    };
    let moved = |url: &str| json!({"metadata": {"name": "moved"}, "status": server(url, None)});
    let arguments = json!(["--audience", "https://a.default.example:6443"]);
    json!({
        "testbed": {
            "consumer": {
                "profileArgs": true, "gatesOnHealth": true, "actionsConflict": true,
                "execApiVersion": "client.authentication.k8s.io/v1",
            },
            "expect": expect,
            "controls": [
                {"control": "first", "from": "5s", "calledAt": "6s"}, {"from": "10s", "calledAt": "11s"},
                {"control": "last", "from": "310s", "calledAt": "311s"},
            ],
            "hookCalls": [{"action": "stop", "at": "280s"}, {"action": "start", "at": "299s"}],
        },
        "profiles": [
            {}, {"metadata": {"name": "control"}}, {"metadata": {"name": "quiet"}}, {"metadata": {"name": "foreign"}},
            {"metadata": {"name": "ended"}}, {"metadata": {"name": "failing"}}, moved("https://old:6443"),
            {"metadata": {"name": "named"}, "status": server("https://10.0.0.1:6443", Some("named.example"))},
        ],
        "steps": [
            {"at": "60s", "change": moved("https://new:6443")},
            {"at": "400s", "delete": "ended"},
        ],
        "memberCalls": [
            {"at": "8s", "viaProxy": true, "connection": 1, "connected": true}, {"at": "8s", "connection": 1},
            {"at": "120s", "connection": 1, "serial": 2}, {"of": "control", "at": "11s"},
            {"of": "foreign", "at": "8s", "broken": "unknown authority"},
            {"of": "moved", "at": "65s", "url": "https://new:6443"}, {"of": "ended", "at": "20s", "watch": true},
            {"of": "named", "at": "20s", "serverName": "named.example"},
        ],
        "pluginCalls": [
            {"at": "7s", "args": arguments, "expires": "100s"}, {"at": "101s", "args": arguments, "serial": 2},
            {"of": "failing", "at": "7s", "answer": "failed", "args": ["--audience", "https://failing.default.example:6443"]},
        ],
        "mentions": {"items": [{"location": {"logLine": {"number": 1}}, "profiles": ["a", "quiet"]}]},
        "requests": [{"at": "10s", "every": "2s", "times": 12, "subresource": "status"}],
    })
}

/// The testbed of a consumer that acts on what decisions name.
fn staged_by_decisions() -> Value {
    let rules = ["all-slices", "references", "follows"].map(|rule| format!("consumer-placement/{rule}"));
    json!({
        "testbed": {
            "consumer": {"reads": ["placements"]},
            "expect": rules.map(|rule| json!({"rule": rule, "called": "a"})),
        },
        "profiles": [{}, {"metadata": {"name": "b"}}],
        "slices": [{}],
        "memberCalls": [{"at": "20s", "every": "10s", "times": 20}, {"of": "b", "at": "20s"}],
        "requests": [{"at": "10s", "subresource": "status"}],
        "sliceRequests": [{"at": "10s"}],
    })
}

/// The world of a scheduler with two decisions, one of them in two slices, that reschedules as it should.
fn placed() -> Value {
    let labels = json!({"multicluster.x-k8s.io/placement-key": "api"});
    let unordered = json!({"multicluster.x-k8s.io/decision-index": null});
    json!({
        "observe": "30m",
        "slices": [
            {"decisions": 100}, {"metadata": {"name": "web-1"}, "decisions": ["fleet/a", "fleet/b"]},
            {"metadata": {"name": "api-0", "labels": labels}, "decisions": ["fleet/c1", "fleet/c2"]},
            {"metadata": {"name": "batch", "labels": unordered}, "decisions": ["c1", "c3"]},
        ],
        "steps": [
            {"at": "290s", "delete": "ClusterProfile fleet/b"},
            {"at": "5m", "change": {"metadata": {"name": "web-1"}, "decisions": ["fleet/a"]}},
            {"at": "10m", "delete": "web-1"},
            {"at": "12m", "change": {"metadata": {"name": "batch"}, "decisions": ["c1", "c2", "c3"]}},
        ],
        "requests": [
            {"at": "5m", "name": "web-1", "changed": true, "body": {"parts": ["decisions"]}},
            {"at": "10m", "name": "web-1", "verb": "delete"},
        ],
    })
}

/// The world of a run that drives a scheduler, in which all is answered.
fn placed_by_driver() -> Value {
    json!({
        "observe": "25m",
        "slices": [{"metadata": {"name": "kept-0"}}],
        "driver": {
            "touchedSlices": ["web-0", "foreign"],
            "steps": [
                {"action": "place", "at": "1m"},
                {"action": "put-foreign-slice", "at": "1m"},
                {"action": "place", "scenario": "slice-limit", "placement": "big", "at": "1m", "clusters": 100},
                {"action": "delete-slice", "at": "2m"},
                {"action": "empty-slice", "at": "3m"},
                {"action": "reschedule", "scenario": "slice-limit", "placement": "big", "at": "3m", "clusters": 101},
                {"action": "reschedule", "at": "4m", "clusters": 0},
                {"action": "unplace", "at": "5m"},
                {"action": "reschedule", "scenario": "slice-limit", "placement": "big", "at": "5m", "clusters": 100},
                {"action": "unplace", "scenario": "slice-limit", "placement": "big", "at": "7m"},
                {"action": "place", "scenario": "restart", "placement": "kept", "at": "8m"},
                {"action": "restart", "at": "10m", "took": "10s"},
            ],
        },
        "steps": [
            {"at": "1m", "create": {"metadata": {"name": "foreign"}, "schedulerName": "other", "decisions": []}},
            {"at": "70s", "create": {}},
            {"at": "70s", "create": {"metadata": {"name": "big-0"}, "decisions": 100}},
            {"at": "2m", "delete": "web-0"},
            {"at": "130s", "create": {}},
            {"at": "3m", "change": {"metadata": {"name": "web-0"}, "decisions": []}},
            {"at": "190s", "change": {"metadata": {"name": "web-0"}, "decisions": ["a"]}},
            {"at": "190s", "create": {"metadata": {"name": "big-1"}, "decisions": ["z"]}},
            {"at": "250s", "change": {"metadata": {"name": "web-0"}, "decisions": []}},
            {"at": "310s", "delete": "web-0"},
            {"at": "310s", "delete": "big-1"},
            {"at": "430s", "delete": "big-0"},
        ],
    })
}

/// The world of a run with a driver, in which all is answered.
fn driven() -> Value {
    let conditions = |healthy: &str, since: &str| {
        json!([
            {"type": "Joined", "status": "True", "reason": "Joined", "lastTransitionTime": "${70s}"},
            {"type": "ControlPlaneHealthy", "status": healthy, "reason": "Probed", "lastTransitionTime": since},
        ])
    };
    let tampered = json!({"path": "status.version.kubernetes", "before": "v1.34.1", "after": "v0.0.0"});
    json!({
        "observe": "25m",
        "secrets": [{"namespace": "c1"}],
        "claims": ["consumer-secrets"],
        "driver": {
            "touched": ["tampered", "foreign"],
            "steps": [
                {"action": "join", "at": "1m", "profile": "member"},
                {"action": "join", "scenario": "outage", "at": "1m", "profile": "broken"},
                {"action": "join", "scenario": "upgrade", "at": "1m", "profile": "upgraded"},
                {"action": "join", "scenario": "tampering", "at": "1m", "profile": "tampered"},
                {"action": "leave", "at": "3m", "profile": "member", "secretsBefore": 1},
                {"action": "break", "at": "3m", "profile": "broken"},
                {"action": "heal", "at": "5m", "profile": "broken"},
                {"action": "upgrade", "at": "3m", "profile": "upgraded",
                 "change": {"path": "status.version.kubernetes", "before": "v1.34.1", "after": "v1.35.0"}},
                {"action": "delete-profile", "at": "3m", "profile": "tampered"},
                {"action": "put-foreign-profile", "at": "3m", "profile": "foreign"},
                {"action": "tamper-status", "at": "5m", "profile": "tampered", "change": tampered},
                {"action": "remove-label", "at": "7m", "profile": "tampered"},
                {"action": "set-display-name", "at": "9m", "profile": "tampered",
                 "change": {"path": "spec.displayName", "before": "tampered", "after": "Blue"}},
                {"action": "restart", "at": "12m", "took": "10s"},
                {"action": "disconnect", "at": "19m", "took": "10s", "profile": "upgraded"},
                {"action": "reconnect", "at": "22m", "took": "10s", "profile": "upgraded"},
                {"action": "join", "scenario": "scale", "at": "15m", "profile": "one"},
                {"action": "join", "scenario": "scale", "at": "15m", "profile": "two"},
                {"action": "leave", "scenario": "scale", "at": "18m", "profile": "one"},
                {"action": "leave", "scenario": "scale", "at": "18m", "profile": "two"},
            ],
        },
        "steps": [
            {"at": "70s", "create": {"metadata": {"name": "member"}}},
            {"at": "70s", "create": {"metadata": {"name": "broken"}}},
            {"at": "70s", "create": {"metadata": {"name": "upgraded"}}},
            {"at": "70s", "create": {"metadata": {"name": "tampered"}}},
            {"at": "3m", "create": {"metadata": {"name": "foreign"}, "spec": {"clusterManager": {"name": "other"}}}},
            {"at": "3m", "delete": "tampered"},
            {"at": "4m", "create": {"metadata": {"name": "tampered"}}},
            {"at": "4m", "delete": "member"},
            {"at": "4m", "change": {
                "metadata": {"name": "broken"}, "status": {"conditions": conditions("False", "${4m}")}}},
            {"at": "4m", "change": {
                "metadata": {"name": "upgraded"}, "status": {"version": {"kubernetes": "v1.35.0"}}}},
            {"at": "5m", "change": {
                "metadata": {"name": "tampered"}, "status": {"version": {"kubernetes": "v0.0.0"}}}},
            {"at": "5m1s", "delete": "foreign"},
            {"at": "6m", "change": {
                "metadata": {"name": "tampered"}, "status": {"version": {"kubernetes": "v1.34.1"}}}},
            {"at": "6m", "change": {
                "metadata": {"name": "broken"}, "status": {"conditions": conditions("True", "${6m}")}}},
            {"at": "7m", "change": {
                "metadata": {"name": "tampered", "labels": {"x-k8s.io/cluster-manager": null}}}},
            {"at": "8m", "change": {
                "metadata": {"name": "tampered", "labels": {"x-k8s.io/cluster-manager": "m"}}}},
            {"at": "9m", "change": {"metadata": {"name": "tampered"}, "spec": {"displayName": "Blue"}}},
            {"at": "15m10s", "create": {"metadata": {"name": "one"}}},
            {"at": "15m10s", "create": {"metadata": {"name": "two"}}},
            {"at": "18m10s", "delete": "one"},
            {"at": "18m10s", "delete": "two"},
        ],
    })
}
