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
    let way = |name: &str, url: &str, more: Value| {
        let mut cluster = json!({"server": url, "certificate-authority-data": "${CA current}"});
        json_patch::merge(&mut cluster, &more);
        json!({"name": name, "cluster": cluster})
    };
    let known = |url: &str, more: Value| way("secretreader", url, more);
    let profile = |name: &str, ways: Vec<Value>| json!({"metadata": {"name": name}, "status": {"accessProviders": ways}});
    let one_of = |name: &str, created: &str, id: &str| {
        let labels = json!({"multicluster.x-k8s.io/inventory-member-id": id});
        let metadata =
            json!({"name": name, "creationTimestamp": format!("${{{created}}}"), "labels": labels});
        let url = format!("https://{name}:6443");
        json!({"metadata": metadata, "status": {"accessProviders": [known(&url, json!({}))]}})
    };
    let none = || json!({});
    let mut elsewhere = one_of("of-two", "-60s", "c4");
    elsewhere["metadata"]["namespace"] = "elsewhere".into();
    elsewhere["status"]["accessProviders"] = json!([known("https://elsewhere:6443", none())]);
    let foreign = json!({"certificate-authority-data": "${CA future}"});
    let named = json!({"tls-server-name": "named.example"});
    let mut fails = profile("fails", vec![known("https://fails:6443", none())]);
    fails["metadata"]["labels"] = json!({"multicluster.x-k8s.io/inventory-member-id": null});
    let healthy =
        |status: &str| json!({"status": {"conditions": [{"type": "ControlPlaneHealthy", "status": status}]}});
    let mut ill = profile("ill", vec![known("https://ill:6443", none())]);
    json_patch::merge(&mut ill, &healthy("False"));
    let mut well = healthy("True");
    well["metadata"] = json!({"name": "ill"});
    let arguments = json!(["--audience", "https://a.default.example:6443"]);
    let mut in_both = profile("in-both", vec![known("https://both:6443", none())]);
    in_both["status"]["credentialProviders"] = json!([known("https://deprecated:6443", none())]);
    let mut odd = profile("odd", vec![known("https://odd:6443", none())]);
    odd["status"]["version"] = json!({"kubernetes": null});
    json!({
        "testbed": {
            "consumer": {
                "profileArgs": true, "gatesOnHealth": true, "actionsConflict": true,
                "execApiVersion": "client.authentication.k8s.io/v1",
            },
            "scenarios": [
                {"called": "1s", "until": "50s"}, {"from": "61s", "called": "71s", "until": "300s"},
                {"from": "310s", "called": "320s", "until": "390s", "mayDelay": true},
                {"from": "401s", "called": "410s", "until": "450s"},
                {"from": "481s", "called": "482s", "until": "520s", "mayDelay": true},
                {"from": "530s", "called": "531s"},
            ],
            "hookCalls": [{"action": "stop", "at": "451s"}, {"action": "start", "at": "475s"}],
            "rights": {}, "reads": [{"at": "1s"}],
        },
        "profiles": [
            {}, ill, in_both, odd,
            profile("plain", vec![known("http://plain:8080", none())]),
            profile("two-ways", vec![way("other", "https://other:6443", none()), known("https://two:6443", none())]),
            profile("no-way", vec![way("other", "https://nobody:6443", none())]),
            profile("foreign", vec![known("https://foreign:6443", foreign)]),
            profile("named", vec![known("https://10.0.0.1:6443", named)]),
            profile("malformed", vec![known("no url", none())]),
            profile("moves", vec![known("https://old:6443", none())]),
            profile("revoked", vec![known("https://revoked:6443", none())]),
            profile("goes-unseen", vec![known("https://unseen:6443", none())]),
            profile("moves-unseen", vec![known("https://before:6443", none())]),
            {"metadata": {"name": "a", "namespace": "other"}}, {"metadata": {"namespace": "elsewhere"}},
            one_of("oldest", "-60s", "c1"), one_of("second", "-50s", "c1"), one_of("tied", "-60s", "c2"),
            one_of("as-old", "-60s", "c2"), one_of("empty", "-60s", ""), one_of("as-empty", "-60s", ""),
            one_of("gone", "-60s", "c3"), one_of("next", "-50s", "c3"), one_of("of-two", "-50s", "c4"), elsewhere,
        ],
        "steps": [
            {"at": "10s", "every": "2s", "times": 12, "change": {"status": {"version": {"kubernetes": "v1.34.${n}"}}}},
            {"at": "60s", "change": profile("moves", vec![known("https://new:6443", none())])},
            {"at": "60s", "change": profile("revoked", vec![way("other", "https://other:6443", none())])},
            {"at": "60s", "delete": "gone"},
            {"at": "300s", "create": fails},
            {"at": "400s", "change": well},
            {"at": "470s", "delete": "goes-unseen"},
            {"at": "470s", "change": profile("moves-unseen", vec![known("https://after:6443", none())])},
        ],
        "memberCalls": [
            {"at": "1s", "url": "https://proxy.example:3128", "member": "", "proxied": "a.default.example:6443"},
            {"at": "1s", "connected": true, "connection": 1},
            {"at": "40s", "every": "10s", "times": 6, "connection": 1},
            {"at": "101s", "every": "10s", "times": 6, "connection": 1, "serial": 2},
            {"at": "40s", "of": "in-both", "url": "https://both:6443"}, {"at": "40s", "of": "odd"},
            {"at": "410s", "of": "ill"}, {"at": "40s", "of": "two-ways", "url": "https://two:6443"},
            {"at": "40s", "of": "foreign", "broken": "unknown authority"},
            {"at": "40s", "of": "named", "serverName": "named.example"},
            {"at": "40s", "of": "moves"}, {"at": "63s", "of": "moves", "url": "https://new:6443"},
            {"at": "40s", "url": "https://proxy.example:3128", "member": "", "proxied": "a.other.example:6443"},
            {"at": "40s", "of": "revoked", "watch": true}, {"at": "40s", "url": "https://a.other.example:6443"},
            {"at": "40s", "of": "oldest"}, {"at": "40s", "of": "empty"}, {"at": "40s", "of": "as-empty"},
            {"at": "40s", "of": "gone", "watch": true}, {"at": "63s", "of": "next"}, {"at": "40s", "of": "of-two"},
            {"at": "40s", "of": "goes-unseen"}, {"at": "40s", "of": "moves-unseen"},
            {"at": "477s", "of": "moves-unseen", "url": "https://after:6443"},
        ],
        "pluginCalls": [
            {"at": "41s", "args": arguments, "expires": "100s"}, {"at": "101s", "args": arguments, "serial": 2},
            {"at": "41s", "of": "named"}, {"at": "41s", "of": "moves"}, {"at": "305s", "of": "fails", "answer": "failed"},
        ],
        "mentions": {"items": [
            {"location": {"logLine": {"number": 1}}, "profiles": ["oldest", "second"]},
            {"location": {"logLine": {"number": 2}}, "profiles": ["tied", "as-old"]},
            {"location": {"logLine": {"number": 3}}, "profiles": ["gone", "next"]},
        ]},
        "requests": [{"at": "10s", "every": "2s", "times": 12, "subresource": "status"}],
    })
}

/// The testbed of a consumer that acts on what decisions name.
fn staged_by_decisions() -> Value {
    let run = json!({"conformance.clusterprofile/run": "example"});
    let web = |index: usize, members: &[&str]| json!({"metadata": {"name": format!("web-{index}")}, "decisions": members});
    let mut first = web(0, &["default/a", "default/b"]);
    first["metadata"]["labels"] = run;
    let profile = |namespace: &str, name: &str| {
        let server = format!("https://{name}.{namespace}:6443");
        let cluster = json!({"server": server, "certificate-authority-data": "${CA current}"});
        let access = json!([{"name": "secretreader", "cluster": cluster}]);
        json!({"metadata": {"namespace": namespace, "name": name}, "status": {"accessProviders": access}})
    };
    let mut without_b = web(0, &["default/a"]);
    without_b["kind"] = "PlacementDecision".into();
    json!({
        "testbed": {
            "consumer": {"reads": ["placements"]},
            "scenarios": [{"called": "1s", "until": "50s"}, {"from": "61s", "called": "62s", "until": "300s"}, {"from": "340s", "called": "341s"}],
            "outputs": [], "rights": {}, "reads": [], "hubCuts": [{"from": "305s", "until": "330s"}],
            "takenNames": [{"profile": "b", "looks": [{"at": "40s", "found": {"unchanged": {}}}]}],
        },
        "profiles": [
            profile("default", "a"), profile("default", "b"), profile("default", "c"), profile("other", "a"),
        ],
        "slices": [
            first, web(1, &[]), web(2, &["default/c"]), {"metadata": {"name": "api-0"}, "decisions": ["a"]},
        ],
        "steps": [{"at": "60s", "change": without_b}, {"at": "320s", "delete": "c"}],
        "memberCalls": [{"at": "2s", "every": "10s", "times": 20}, {"at": "2s", "of": "b"}, {"at": "40s", "of": "c"}],
        "requests": [{"at": "10s", "subresource": "status"}],
        "sliceRequests": [{"at": "10s"}],
    })
}

/// The world of a scheduler with two decisions, one of them in two slices, that reschedules as it should.
fn placed() -> Value {
    let labels = json!({"multicluster.x-k8s.io/placement-key": "api"});
    let unordered = json!({"multicluster.x-k8s.io/decision-index": null});
    let access = json!({"user": "consumer", "profiles": [
        {"namespace": "default", "readable": true}, {"namespace": "fleet", "readable": true},
    ]});
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
        "consumerUsers": ["consumer"],
        "consumerAccess": [access],
        "workloads": [{"placementKey": "api"}],
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
