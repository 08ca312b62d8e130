//! Worlds with many records of one kind, and of kinds that are looked up for each other.

use evidence::{Evidence, api::Edition};
use judge::rules::example::Example;
use serde_json::{Value, json};

/// What there is much of, how many of it the first time, and the evidence with that many.
pub type Growing = (&'static str, usize, Box<dyn Fn(usize) -> Evidence>);

/// All kinds of records.
pub fn worlds() -> Vec<Growing> {
    let of_profiles = PROFILES.into_iter().map(|kind| (kind, Edition::Standard));
    let of_slices = SLICES.into_iter().map(|kind| (kind, Edition::Placement2026M09));
    let of_stages = STAGES.into_iter().map(|kind| (kind, Edition::Consumer2026M09));
    let kinds = of_profiles.chain(of_slices).chain(of_stages);
    let growing = |((kind, few, world), edition): (Kind, Edition)| -> Growing {
        (kind, few, Box::new(move |count| evidence(&world(count), edition)))
    };
    kinds.map(growing).collect()
}

type Kind = (&'static str, usize, fn(usize) -> Value);

const PROFILES: [Kind; 31] = [
    (
        "profiles of a dump",
        150,
        |count| json!({"profiles": profiles(count), "window": "none"}),
    ),
    ("profiles", 100, |count| {
        watched(json!({"profiles": profiles(count)}))
    }),
    ("profiles of a manager", 100, |count| {
        watched(json!({"profiles": profiles(count), "scope": {"clusterManager": "m"}}))
    }),
    ("versions of a profile", 250, |count| {
        watched(json!({"steps": [version("a", count)]}))
    }),
    ("versions of two profiles of one cluster", 200, |count| {
        let of = |name: &str, phase: usize| {
            let name = name.to_owned();
            move |n: usize| {
                let property =
                    json!({"name": "cluster.clusterset.k8s.io", "value": format!("c{}", (n + phase) % 7)});
                json!({"at": seconds(30 * n + phase), "change": {"metadata": {"name": name}, "status": {"properties": [property]}}})
            }
        };
        let (one, two) = (of("p0", 1), of("p1", 5));
        let steps: Vec<Value> = (0..count).flat_map(|n| [one(n), two(n)]).collect();
        watched(json!({"profiles": profiles(2), "steps": steps}))
    }),
    ("lives of a profile", 100, |count| {
        let lives = (0..count).flat_map(|n| {
            [
                json!({"at": seconds(10 * n + 1), "delete": "a"}),
                json!({"at": seconds(10 * n + 2), "create": {}}),
            ]
        });
        watched(json!({"steps": lives.collect::<Vec<_>>()}))
    }),
    ("properties of a profile", 300, |count| {
        let properties = each(count, |n| json!({"name": format!("p{n}"), "value": "v"}));
        watched(json!({"profiles": [{"status": {"properties": properties}}]}))
    }),
    ("conditions of a profile", 300, |count| {
        let condition = |n| {
            json!({
                "type": format!("C{n}"), "status": "True", "reason": "R", "message": "", "lastTransitionTime": "${-1h}",
            })
        };
        watched(json!({"profiles": [{"status": {"conditions": each(count, condition)}}]}))
    }),
    ("access providers of a profile", 300, |count| {
        let provider =
            |n| json!({"name": format!("p{n}"), "cluster": {"server": "https://a.default.example:6443"}});
        watched(json!({"profiles": [{"status": {"accessProviders": each(count, provider)}}]}))
    }),
    ("gaps", 2_000, |count| {
        watched(json!({"steps": [version("a", 40)], "gaps": gaps("timeline", count)}))
    }),
    ("gaps, each of a profile", 2_000, |count| {
        let gap = |n| {
            json!({
                "kind": "timeline", "reason": "lost", "object": format!("p{n}"), "from": seconds(n), "until": seconds(n + 1),
            })
        };
        watched(json!({"steps": [version("a", 40)], "gaps": each(count, gap)}))
    }),
    ("gaps in the log", 2_000, |count| {
        watched(json!({"requests": requests(200), "gaps": gaps("requests", count)}))
    }),
    ("profiles and gaps", 150, |count| {
        watched(
            json!({"profiles": profiles(count), "steps": versions(count), "gaps": gaps("timeline", 10 * count)}),
        )
    }),
    ("looks at a member", 1_000, |count| {
        watched(json!({"members": [member(count)], "steps": [version("a", 20)]}))
    }),
    ("looks at a member that differ", 1_000, |count| {
        let look = |n| json!({"at": seconds(30 * n), "version": format!("v1.{n}.0"), "nodes": n});
        watched(json!({"members": [{"looks": each(count, look)}], "steps": [version("a", 20)]}))
    }),
    ("looks at a member within a grace", 400, |count| {
        let look = |n| json!({"at": format!("{n}ms"), "version": format!("v1.{n}.0"), "nodes": n});
        watched(json!({"members": [{"looks": each(count, look)}], "steps": [version("a", 20)]}))
    }),
    ("members of no profile", 80, |count| {
        let member = |n| json!({"profile": format!("x{n}"), "looks": [{"at": "1s"}]});
        watched(json!({"profiles": profiles(count), "members": each(count, member)}))
    }),
    ("members", 80, |count| {
        let member = |n| json!({"profile": format!("p{n}"), "looks": [{"at": "1s"}]});
        watched(json!({"profiles": profiles(count), "members": each(count, member)}))
    }),
    ("members without an answer", 100, |count| {
        let member = |n| json!({"profile": format!("p{n}"), "looks": []});
        let gap =
            |n| json!({"kind": "members", "reason": format!("no answer {n}"), "object": format!("p{n}")});
        watched(
            json!({"profiles": profiles(count), "members": each(count, member), "gaps": each(count, gap)}),
        )
    }),
    ("calls and logins", 80, |count| {
        let call = |n| json!({"profile": format!("p{n}"), "at": seconds(n), "endpoint": format!("p{n}.default.example:6443")});
        let login =
            |n| json!({"profile": format!("p{n}"), "at": seconds(n), "secret": format!("consumer/p{n}")});
        watched(json!({
            "profiles": profiles(count), "secrets": secrets(count),
            "endpointCalls": each(count, call), "logins": each(count, login),
        }))
    }),
    ("requests", 500, |count| {
        watched(json!({"requests": requests(count), "steps": [version("a", 20)]}))
    }),
    ("creations of one name", 1_500, |count| {
        let create = |n| json!({"at": seconds(2 * n), "verb": "create", "name": "x"});
        let change = |n| json!({"at": seconds(2 * n + 1), "verb": "update", "name": "x"});
        let requests: Vec<Value> = (0..count).flat_map(|n| [create(n), change(n)]).collect();
        watched(json!({"requests": requests}))
    }),
    ("requests of as many users", 500, |count| {
        let request = |n| json!({"at": seconds(n), "user": format!("u{n}"), "subresource": "status"});
        watched(json!({"requests": each(count, request), "steps": [version("a", 20)]}))
    }),
    ("requests, profiles and gaps", 100, |count| {
        let request = |n| json!({"at": seconds(n), "name": format!("p{n}"), "subresource": "status"});
        watched(json!({
            "profiles": profiles(count), "steps": versions(count), "requests": each(count, request),
            "gaps": gaps("requests", count),
        }))
    }),
    ("steps of a driver", 60, |count| {
        watched(json!({"profiles": profiles(count), "driver": {"steps": tampering(count)}}))
    }),
    ("steps, touched profiles and requests", 60, |count| {
        let request =
            |n| json!({"at": seconds(20 * n + 1), "name": format!("p{n}"), "subresource": "status"});
        let touched = each(count, |n| json!(format!("p{n}")));
        watched(json!({
            "profiles": profiles(count), "driver": {"steps": tampering(count), "touched": touched},
            "requests": each(count, request), "steps": versions(count), "clusterManager": {"fieldManagers": ["m"]},
        }))
    }),
    ("restarts", 100, |count| {
        let restart = |n| json!({"action": "restart", "at": seconds(20 * n)});
        watched(json!({"driver": {"steps": each(count, restart)}}))
    }),
    ("probes", 100, |count| {
        let probe = |n| json!({"name": format!("p{n}"), "method": "update", "answer": "refused"});
        watched(json!({"profiles": profiles(count), "probes": each(count, probe)}))
    }),
    ("Secrets", 100, |count| {
        watched(json!({"profiles": profiles(count), "secrets": secrets(count), "consumers": ["consumer"]}))
    }),
    ("unlabelled Secrets", 500, |count| {
        let secret = |n| {
            json!({
                "namespace": "consumer", "name": format!("s{n}"), "uid": format!("u{n}"), "key": "k",
                "servers": [format!("https://p{n}.default.example:6443")],
            })
        };
        watched(json!({"unlabelledSecrets": each(count, secret), "secrets": [{}]}))
    }),
    ("namespaces of one profile each", 80, |count| {
        let profile = |n| json!({"metadata": {"name": "a", "namespace": format!("n{n}")}});
        watched(json!({"profiles": each(count, profile)}))
    }),
];

const SLICES: [Kind; 10] = [
    ("slices of a decision", 60, |count| {
        watched(json!({"slices": slices("web-", count)}))
    }),
    ("decisions", 60, |count| {
        watched(json!({"slices": slices("", count)}))
    }),
    ("clusters of a slice", 300, |count| {
        let clusters = each(count, |n| json!({"clusterProfileRef": {"name": format!("p{n}")}}));
        watched(json!({"profiles": [{}], "slices": [{"decisions": clusters}]}))
    }),
    ("profiles of a decision", 80, |count| {
        watched(
            json!({"profiles": profiles(count), "slices": slices("web-", count), "gaps": gaps("timeline", count)}),
        )
    }),
    ("versions of a slice", 200, |count| {
        watched(
            json!({"steps": [{"at": "1s", "every": "30s", "times": count, "change": {
                "metadata": {"labels": {"turn": "${n}"}},
                "decisions": [{"clusterProfileRef": {"name": "a"}, "reason": "r${n}"}],
            }}]}),
        )
    }),
    ("requests on slices", 500, |count| {
        let request = |n| json!({"at": seconds(n), "verb": "update"});
        watched(json!({"requests": each(count, request)}))
    }),
    ("gaps in the watch of slices", 2_000, |count| {
        watched(json!({"gaps": gaps("placement-timeline", count)}))
    }),
    ("placements of a driver", 40, |count| {
        let place = |n| json!({"action": "place", "at": seconds(20 * n), "placement": format!("p{n}")});
        watched(json!({"slices": slices("", count), "driver": {"steps": each(count, place)}}))
    }),
    ("workloads", 500, |count| {
        let workload = |n| json!({"placementKey": format!("p{n}"), "object": {"name": format!("w{n}")}});
        watched(json!({"workloads": each(count, workload)}))
    }),
    ("consumers", 100, |count| {
        let consumer =
            |n| json!({"user": format!("u{n}"), "profiles": [{"namespace": "default", "readable": true}]});
        watched(json!({"consumerAccess": each(count, consumer)}))
    }),
];

/// A stage has a few profiles, whatever it has else.
const STAGES: [Kind; 3] = [
    ("calls of members", 400, |count| {
        let calls = |of: &str| json!({"at": "1s", "of": of, "every": "10s", "times": count});
        watched(json!({"profiles": profiles(4), "memberCalls": [calls("p0"), calls("p1"), calls("p2")]}))
    }),
    ("connections to members", 400, |count| {
        let call = |n| json!({"at": seconds(10 * n), "of": "p0", "connected": true, "connection": n});
        watched(json!({"profiles": profiles(4), "memberCalls": each(count, call)}))
    }),
    ("calls of the plugin", 400, |count| {
        let call = |n| json!({"at": seconds(10 * n), "of": "p0"});
        watched(json!({"profiles": profiles(4), "pluginCalls": each(count, call)}))
    }),
];

fn evidence(world: &Value, edition: Edition) -> Evidence {
    let example = json!({"name": "many", "passes": world});
    let example = Example::parse(&example, edition).expect("a world");
    example.evidence().clone()
}

/// The world, observed for long enough for all that happens in it.
fn watched(mut world: Value) -> Value {
    if world.get("window").is_none() {
        world["observe"] = "2000h".into();
    }
    world
}

fn each(count: usize, one: impl Fn(usize) -> Value) -> Value {
    (0..count).map(one).collect()
}

fn seconds(count: usize) -> String {
    format!("{count}s")
}

fn profiles(count: usize) -> Value {
    each(count, |n| json!({"metadata": {"name": format!("p{n}")}}))
}

/// So many versions of a profile.
fn version(name: &str, count: usize) -> Value {
    json!({"at": "1s", "every": "30s", "times": count, "change": {
        "metadata": {"name": name}, "status": {"version": {"kubernetes": "v1.${n}.0"}},
    }})
}

/// Another version of each of so many profiles.
fn versions(count: usize) -> Value {
    each(count, |n| {
        let name = format!("p{n}");
        json!({"at": seconds(20 * n), "change": {"metadata": {"name": name}, "status": {"version": {"kubernetes": "v1.99.0"}}}})
    })
}

fn gaps(kind: &str, count: usize) -> Value {
    each(count, |n| {
        let reason = format!("the watch was lost for the {n}. time");
        json!({"kind": kind, "reason": reason, "from": seconds(5 * n), "until": seconds(5 * n + 1)})
    })
}

fn member(looks: usize) -> Value {
    json!({"looks": [{"at": "1s", "every": "30s", "times": looks}]})
}

fn requests(count: usize) -> Value {
    json!([{"at": "1s", "every": "10s", "times": count, "subresource": "status"}])
}

fn secrets(count: usize) -> Value {
    each(count, |n| {
        let name = format!("p{n}");
        let profile = json!({"x-k8s.io/cluster-profile": name});
        json!({"name": name, "labels": profile, "server": format!("https://{name}.default.example:6443")})
    })
}

fn tampering(count: usize) -> Value {
    each(count, |n| {
        let change = json!({"path": "status.version.kubernetes", "before": "v1.34.1", "after": "v0.0.0"});
        json!({"action": "tamper-status", "at": seconds(20 * n), "profile": format!("p{n}"), "change": change})
    })
}

fn slices(base: &str, count: usize) -> Value {
    each(count, |n| {
        let clusters = json!([{"clusterProfileRef": {"name": format!("p{n}")}}]);
        let name = if base.is_empty() {
            format!("d{n}-0")
        } else {
            format!("{base}{n}")
        };
        json!({"metadata": {"name": name}, "decisions": clusters})
    })
}
