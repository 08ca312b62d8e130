//! Credentials of every kind in every place of a profile: the rule reports them, and no output repeats one.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::{Value, json};

use super::{EXPOSED, call};
use crate::{
    command::{Folder, expect, verdict_of, verdicts},
    hostile::profile,
};

/// Credentials, each with the word in it, plain or in base64.
fn credentials() -> Vec<(&'static str, String)> {
    let base64 = |text: &str| BASE64_STANDARD.encode(text);
    let key = format!(
        "-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----\n",
        base64(&EXPOSED.repeat(8))
    );
    let kubeconfig =
        format!("apiVersion: v1\nkind: Config\nusers:\n- name: u\n  user:\n    token: {EXPOSED}-Token-7\n");
    let token = [r#"{"alg":"RS256"}"#, EXPOSED, EXPOSED]
        .map(|part| base64(part).replace('=', ""))
        .join(".");
    let basic = base64(&format!("u:{EXPOSED}"));
    let password = json!({"users": [{"name": "u", "user": {"password": EXPOSED}}]});
    let secret = json!({"client-secret": format!("{EXPOSED}_7x")}).to_string();
    let variables = json!([{"name": "CLIENT_SECRET", "value": format!("{EXPOSED}_7x")}]);
    let azure = format!("AccountKey={}==", EXPOSED.repeat(14));
    vec![
        ("web token", token.clone()),
        ("web token in words", format!("it came with {token}, it says")),
        ("bearer token", format!("Bearer {EXPOSED}0123456789abcdef")),
        ("header", format!("Authorization: Bearer {EXPOSED}-7")),
        ("basic authentication", format!("Authorization: Basic {basic}")),
        ("private key", key.clone()),
        ("private key in base64", base64(&key)),
        ("userinfo", format!("https://u:{EXPOSED}@a.example:6443/x")),
        ("kubeconfig", kubeconfig.clone()),
        ("kubeconfig in base64", base64(&kubeconfig)),
        ("kubeconfig in JSON", password.to_string()),
        ("JSON in JSON", json!({"a": secret}).to_string()),
        ("variables", variables.to_string()),
        ("option", format!("--password={EXPOSED}-7")),
        ("key of AWS", format!("AKIA{EXPOSED}{EXPOSED}2345")),
        ("account key of Azure", azure),
    ]
}

/// The word as it may be shown: in other letters, or in base64, wherever in a group it begins.
fn traces() -> Vec<String> {
    let shifted = |before: &str| {
        let encoded = BASE64_STANDARD.encode(format!("{before}{EXPOSED}"));
        // What also depends on the text around it is left out.
        let start = (before.len() * 8).div_ceil(6);
        encoded[start..start + 8].to_owned()
    };
    vec![
        EXPOSED.to_owned(),
        EXPOSED.to_lowercase(),
        shifted(""),
        shifted("x"),
        shifted("xx"),
    ]
}

#[test]
fn no_credential_of_a_profile_is_repeated() {
    let folder = Folder::new();
    let credentials = credentials();
    let texts = credentials.iter().map(|(_, text)| text).enumerate();
    let items = texts.map(|(number, text)| {
        let mut profile = profile(&format!("p{number}"), text);
        // What only a name gives away.
        let word = format!("{EXPOSED}0f3c5a7e9b1d2c4f");
        profile["metadata"]["annotations"]["join-password"] = json!(word);
        profile["metadata"]["labels"]["api-token"] = json!(word);
        let properties = profile["status"]["properties"].as_array_mut().expect("a list");
        properties.push(json!({"name": "client-secret", "value": word}));
        profile["status"]["accessProviders"][0]["cluster"]["extensions"][0]["extension"] = json!({
            "args": ["--password", word], "env": [{"name": "DB_PASSWORD", "value": word}], "client-key-data": word,
        });
        profile
    });
    let items: Vec<Value> = items.collect();
    let dump = json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string();
    let path = folder.write("dump.json", &dump);
    for (edition, format) in [("standard", "pretty"), ("2026-09", "github")] {
        let left = call(format!("run --from {path} --format {format} --edition {edition}"));
        assert_eq!(left.code, Some(1), "{}", left.printed());
        for (place, text) in left.texts.iter().filter(|(place, _)| !place.ends_with(".jsonl")) {
            for trace in traces() {
                let line = text.lines().find(|line| line.contains(&trace));
                assert_eq!(line, None, "{edition}: {trace} is in {place}");
            }
        }
        let report = left.report();
        let secrets = verdicts(&report).filter(|verdict| {
            let rule = verdict["rule"].as_str().expect("an id");
            rule.starts_with("access/no-secrets")
        });
        let findings = secrets.flat_map(|verdict| verdict["findings"].as_array().expect("findings"));
        let findings: Vec<&Value> = findings.filter(|finding| finding["advisory"] != true).collect();
        for (number, (kind, _)) in credentials.iter().enumerate() {
            let name = format!("p{number}");
            let of_profile = findings
                .iter()
                .filter(|finding| finding["object"]["name"] == name);
            assert!(of_profile.count() >= 10, "{kind} is found in few places");
        }
    }
}

#[test]
fn annotation_of_a_mebibyte_is_searched() {
    let folder = Folder::new();
    let words = "words and more words, ".repeat((1 << 20) / 22);
    let mut profile = profile("p0", "x");
    profile["metadata"]["annotations"] = json!({
        "harmless": words,
        "long": format!("{words} https://u:{EXPOSED}@a.example"),
        "run": "a".repeat(1 << 20),
    });
    let dump = folder.write("dump.json", profile.to_string());
    let json = folder.flag("report.json");
    expect(1, format!("run --from {dump} --json {json}"));
    let report = folder.json("report.json");
    let findings = &verdict_of(&report, "access/no-secrets-elsewhere")["findings"];
    assert_eq!(findings.as_array().map(Vec::len), Some(1), "{findings:#}");
    assert_eq!(findings[0]["path"], "metadata.annotations[long]");
}
