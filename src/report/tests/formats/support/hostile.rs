//! A hostile hub: hostile text in every place. The tests of the command share it.

use std::fs;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use evidence::{
    Digester, Driver, DriverAction, DriverStep, Evidence, Gap, Implementation, Kind, Login, LoginCredential,
    LoginOutcome, ObjectRef, PlacementRequest, Requested, Scenario, StepOutcome, Unreadable, read_input,
};
use jiff::Timestamp;
use serde_json::{Value, json};

/// Texts that do harm in some format, by name.
pub const HARMS: &[(&str, &str)] = &[
    (
        "markup",
        "<script>alert(1)</script><img src=x onerror=y>&amp;&#x1b;<!-- -->",
    ),
    ("xml", "]]><failure/></testcase><![CDATA[ --> ?> <!DOCTYPE x>"),
    ("quotes", "\"'><\\\"'`"),
    (
        "table",
        "a|b\\|c\\\\|d`|``|```\n|---|\n\n# x\n[x](javascript:y) ![x](//x) *x* _x_ ~~x~~",
    ),
    ("template", "${{ github.token }} {{7*7}} {%x%} {0} $(x) `x`"),
    (
        "command",
        "\n::error::forged\n  ::stop-commands::x\n::add-mask::a\r\n##[error]x ##vso[task.x]y ##teamcity[z]",
    ),
    (
        "terminal",
        "\u{1b}[2J\u{1b}]0;title\u{7}\u{1b}]8;;http://evil.example\u{1b}\\link\u{1b}]8;;\u{1b}\\\u{9b}31m\u{8}\u{7f}\u{85}",
    ),
    (
        "bidi",
        "\u{202e}esrever\u{202c}\u{2066}\u{2067}\u{2068}x\u{2069}\u{200e}\u{200f}\u{61c}",
    ),
    (
        "invisible",
        "a\u{200b}\u{200c}\u{200d}\u{2060}\u{feff}\u{ad}\u{34f}\u{e0041}\u{fe0f}b",
    ),
    (
        "nothing",
        "a\0b\u{fffe}\u{ffff}\u{fdd0}\u{1fffe}\u{10ffff}\u{fff9}c",
    ),
    ("lines", "a\rb\u{2028}c\u{2029}d\u{b}e\u{c}f\tg"),
    ("marks", "\u{301}\u{301}\u{301}\u{301}\u{301}\u{489}x"),
    (
        "forged",
        "\ntest result: ok. 99 passed\nerror: forged\nconformant with edition standard",
    ),
];

pub const LONG: usize = 1 << 18;

/// A harmful text between two harmless words.
pub fn harmful((name, harm): &(&str, &str)) -> String {
    format!("begin-{name} {harm} end-{name}")
}

pub fn long() -> String {
    format!("begin-long {}", "x\u{1b}|`<".repeat(LONG / 4))
}

/// A profile with that text wherever a hub allows it, except in its name.
pub fn profile(name: &str, text: &str) -> Value {
    let condition = |kind: &str, message: &str| {
        json!({
            "type": kind, "status": text, "reason": text, "message": message,
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        })
    };
    let provider = |name: &str| {
        json!({"name": name, "cluster": {
            "server": text, "proxy-url": text, "tls-server-name": text,
            "certificate-authority": text, "certificate-authority-data": BASE64_STANDARD.encode(text),
            "extensions": [
                {"name": "client.authentication.k8s.io/exec", "extension": {"a": text}},
                {"name": "client.authentication.k8s.io/exec", "extension": text},
                {"name": "clusterprofiles.multicluster.x-k8s.io/exec/additional-args", "extension": {text: [text]}},
                {"name": "clusterprofiles.multicluster.x-k8s.io/exec/additional-envs", "extension": {text: [text]}},
                {"name": text, "extension": [text]},
            ],
        }})
    };
    let properties = "cluster-endpoints.k8s.io location.topology.k8s.io count.node.k8s.io type.node.k8s.io \
                      metrics-endpoints.k8s.io group.customResource.k8s.io clusterset.k8s.io id.k8s.io";
    let properties = properties.split_whitespace().chain([text]);
    let property = |name| json!({"name": name, "value": text, "lastObservedTime": text});
    json!({
        "apiVersion": "multicluster.x-k8s.io/v1alpha1", "kind": "ClusterProfile",
        "metadata": {
            "name": name, "namespace": "default", "uid": name, "generateName": text,
            "labels": {
                "x-k8s.io/cluster-manager": text, "multicluster.x-k8s.io/inventory-member-id": text,
                "multicluster.x-k8s.io/clusterset": text, text: text,
            },
            "annotations": {
                "note": text, text: text,
                "kubectl.kubernetes.io/last-applied-configuration": json!({"spec": {"displayName": text}}).to_string(),
            },
            "managedFields": [],
        },
        "spec": {"displayName": text, "clusterManager": {"name": format!("{text} ")}},
        "status": {
            "version": {"kubernetes": text},
            "properties": properties.map(property).collect::<Value>(),
            "conditions": [condition(text, text), condition("Joined", text), condition("Joined", text)],
            "accessProviders": [provider("p"), provider(text), provider(text)],
            "credentialProviders": [provider("p"), provider(text)],
        },
    })
}

/// Profiles, namespaces, and Secrets with that text wherever a hub or a dump allows it.
fn dump(text: &str, number: usize) -> Vec<Value> {
    let mut profile = profile(&format!("p{number} {text}"), text);
    for key in ["namespace", "uid", "resourceVersion"] {
        profile["metadata"][key] = json!(text);
    }
    profile["metadata"]["managedFields"] =
        json!([{"manager": text, "operation": "Update", "fieldsV1": {"f:spec": {}}}]);
    // One place of each sort is enough, and saves time.
    let status = &mut profile["status"];
    status["conditions"][0]["lastTransitionTime"] = json!(text);
    status["properties"] = json!([status["properties"][0], status["properties"][8]]);
    status["accessProviders"] = json!([status["accessProviders"][2]]);
    status["accessProviders"][0]["cluster"]["extensions"] =
        json!([{"name": text, "extension": {text: text}}]);
    status["credentialProviders"] = json!([]);
    let mut misfit = profile.clone();
    misfit["metadata"]["name"] = json!(format!("misfit{number} {text}"));
    misfit["status"] = json!({text: {}, "conditions": text});
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {
        "name": text, "labels": {"x-k8s.io/cluster-inventory-consumer": text},
    }});
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {
        "name": text, "namespace": text,
        "labels": {"x-k8s.io/cluster-profile": text, "x-k8s.io/cluster-profile-namespace": text},
    }, "stringData": {"Config": text}});
    vec![profile, misfit, namespace, secret]
}

pub fn evidence(texts: &[String]) -> Evidence {
    // Long texts are in fewer places, to save time.
    let short = texts.iter().filter(|text| text.len() < LONG);
    let items = short.enumerate().flat_map(|(number, text)| dump(text, number));
    let items: Vec<Value> = items.collect();
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("dump.json");
    let list = json!({"apiVersion": "v1", "kind": "List", "items": items});
    fs::write(&path, list.to_string()).expect("written");
    let input = read_input(&path, &Digester::new([7; 32]));
    let mut evidence = input.expect("a dump").evidence;
    let all = texts.join(" ");
    let header = &mut evidence.header;
    header.hub.source.clone_from(&all);
    header.hub.server_version = Some(all.clone());
    header.cut_short = Some(all.clone());
    header.claim.about.implementation = Some(Implementation {
        organization: all.clone(),
        project: all.clone(),
        url: all.clone(),
        version: all.clone(),
        contact: texts.to_vec(),
    });
    header.claim.consumers = texts.to_vec();
    header
        .requested
        .insert(Kind::Requests, Requested::No(all.clone().into()));
    let driver = evidence.driver.insert(Driver::default());
    for text in texts {
        let object = ObjectRef {
            kind: text.clone(),
            namespace: text.clone(),
            name: text.clone(),
            uid: text.clone(),
            resource_version: text.clone(),
        };
        // Each rule that needs the evidence repeats a gap's reason.
        if text.len() < LONG {
            evidence.gaps.push(Gap {
                kind: Kind::Inventory,
                from: None,
                until: None,
                object: Some(object.clone()),
                reason: text.clone().into(),
            });
        }
        evidence.unreadable.push(Unreadable {
            object: object.clone(),
            message: text.clone(),
        });
        evidence.logins.push(Login {
            at: Timestamp::UNIX_EPOCH,
            profile: object.clone(),
            credential: LoginCredential::Plugin(text.clone()),
            outcome: LoginOutcome::Refused {
                code: 401,
                message: text.clone(),
            },
        });
        driver
            .unavailable_actions
            .insert(DriverAction::Join, text.clone().into());
        driver.steps.push(DriverStep {
            member: text.clone(),
            profile: Some(object.clone()),
            placement: Some(PlacementRequest {
                name: text.clone(),
                ..PlacementRequest::default()
            }),
            slice: Some(object),
            outcome: StepOutcome::Failed { reason: text.clone() },
            output: text.clone(),
            ..DriverStep::new(Scenario::JoinAndLeave, DriverAction::Leave, Timestamp::UNIX_EPOCH)
        });
    }
    evidence
}

/// Asserts that no character moves the cursor, reverses or hides text, or stacks, and that no line is a command.
pub fn does_no_harm(what: &str, text: &str) {
    let harmful = |c: char| {
        c != '\n' && c.is_control()
            || matches!(c,
                '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
                | '\u{fdd0}'..='\u{fdef}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
            || u32::from(c) & 0xffff >= 0xfffe
    };
    if let Some((at, _)) = text.char_indices().find(|(_, c)| harmful(*c)) {
        let around: String = text[at..].chars().take(30).collect();
        panic!("{what}: {around:?} in {text:?}");
    }
    for line in text.lines() {
        let shown: String = line.chars().take(200).collect();
        let trimmed = line.trim_start();
        let is_command = trimmed.strip_prefix("::").is_some_and(|rest| rest.contains("::"));
        assert!(!is_command, "{what}: a command: {shown}");
        for command in ["##[", "##vso[", "##teamcity["] {
            assert!(!line.contains(command), "{what}: a command: {shown}");
        }
        for forged in ["test result: ok", "error: forged", "conformant with"] {
            let is_allowed = what == "junit" && forged == "conformant with";
            assert!(is_allowed || !line.starts_with(forged), "{what}: {shown}");
        }
    }
    // JSON keeps marks as they are.
    let has_stack = text.contains("\u{301}\u{301}\u{301}\u{301}");
    assert!(what == "json" || !has_stack, "{what}: stacked marks");
}

/// Asserts that each line is an annotation of the suite, with only a title, and that its message does no harm.
pub fn is_annotations(text: &str) {
    for line in text.lines() {
        let is_ours = |kind| line.starts_with(&format!("::{kind} title="));
        assert!(["error", "warning", "notice"].iter().any(is_ours), "{line}");
        let (properties, message) = line[2..].split_once("::").expect("a message");
        does_no_harm("annotations", message);
        let is_title = !properties.contains(',') && properties.matches('=').count() == 1;
        assert!(is_title, "{properties}");
    }
}
