//! Plugins as small programs, and files that name them.

use std::{fs, os::unix::fs::PermissionsExt as _, path::PathBuf, time::Duration};

use evidence::{LoginOutcome, api::ClusterProfile};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;
use crate::clock::Clock;

struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn program(&self, name: &str, script: &str) {
        fs::write(self.path(name), format!("#!/bin/sh\n{script}\n")).expect("written");
        let may_run = fs::Permissions::from_mode(0o700);
        fs::set_permissions(self.path(name), may_run).expect("a program");
    }

    /// Reads a provider file with this text.
    fn read(&self, text: &str) -> Result<Plugins, String> {
        fs::write(self.path("providers"), text).expect("written");
        read_providers(&self.path("providers")).map_err(|error| error.to_string())
    }

    /// The plugins that a file with one provider names, and that script as its program.
    fn plugins(&self, script: &str, mut exec: Value, mut provider: Value) -> Plugins {
        self.program("plugin", script);
        exec["apiVersion"] = json!("client.authentication.k8s.io/v1");
        exec["command"] = json!("./plugin");
        provider["name"] = json!("p");
        provider["execConfig"] = exec;
        self.read(&json!({"providers": [provider]}).to_string())
            .expect("plugins")
    }
}

fn profile(cluster: Value) -> ClusterProfile {
    let status = json!({"accessProviders": [{"name": "p", "cluster": cluster}]});
    serde_json::from_value(json!({"metadata": {"name": "a", "namespace": "n"}, "status": status}))
        .expect("a profile")
}

/// What comes of the profile's plugin: the user's credential, or why there is none.
async fn outcome(plugins: &Plugins, profile: &ClusterProfile) -> Result<Value, String> {
    let request = plugins.request(profile).expect("the file names its provider");
    match request.run(Clock::system()).await {
        Ok(credential) => Ok(credential.user.0.clone()),
        Err(LoginOutcome::NoCredential { reason }) => Err(reason),
        Err(outcome) => Err(format!("not run: {outcome:?}")),
    }
}

/// A script that prints a credential with the output of `token` as the token.
fn printing(token: &str) -> String {
    format!(
        r#"token=$({token} | base64 | tr -d '\n')
printf '{{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{{"token":"%s"}}}}' "$token""#
    )
}

/// What the script was given, which it prints in the place of a token.
async fn given(plugins: &Plugins, profile: &ClusterProfile) -> String {
    use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
    let user = outcome(plugins, profile).await.expect("a credential");
    let token = user["token"].as_str().expect("a token");
    String::from_utf8(BASE64.decode(token).expect("base64")).expect("text")
}

#[tokio::test]
async fn a_plugin_is_told_what_the_protocol_says() {
    let folder = Folder::new();
    let cluster = json!({
        "server": "https://a.example", "certificate-authority-data": "Q0E=", "tls-server-name": "b",
        "insecure-skip-tls-verify": false, "certificate-authority": "/etc/ca", "proxy-url": "http://p",
        "disable-compression": true,
        "extensions": [
            {"name": "client.authentication.k8s.io/exec", "extension": {"clusterName": "a"}},
            {"name": "other", "extension": 1},
        ],
    });
    let exec = json!({"args": ["one", "$HOME `id`"], "env": [{"name": "E", "value": "v"}], "provideClusterInfo": true});
    let script = printing(r#"{ printf '%s|' "$@" "$E"; printf '%s' "$KUBERNETES_EXEC_INFO"; cat; }"#);
    let plugins = folder.plugins(&script, exec.clone(), json!({}));
    let printed = given(&plugins, &profile(cluster.clone())).await;
    let info = printed.strip_prefix("one|$HOME `id`|v|");
    let info = info.expect("no shell reads arguments");
    let info: Value = serde_json::from_str(info).expect("JSON");
    let expected = json!({
        "apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential",
        "spec": {"interactive": false, "cluster": {
            "server": "https://a.example", "certificate-authority-data": "Q0E=", "tls-server-name": "b",
            "insecure-skip-tls-verify": false, "proxy-url": "http://p", "disable-compression": true,
            "config": {"clusterName": "a"},
        }},
    });
    assert_eq!(info, expected);
    let mut without_info = exec;
    without_info["provideClusterInfo"] = json!(false);
    let printed = given(
        &folder.plugins(&script, without_info, json!({})),
        &profile(cluster),
    )
    .await;
    assert!(printed.ends_with(r#""spec":{"interactive":false}}"#), "{printed}");
}

#[tokio::test]
async fn what_a_profile_adds_is_taken_as_the_policies_say() {
    let folder = Folder::new();
    let script = printing(r#"printf '%s|' "$@" "$E" "$F" "$G""#);
    let exec =
        json!({"args": ["one"], "env": [{"name": "E", "value": "file"}, {"name": "G", "value": "file"}]});
    let profile = profile(json!({"server": "https://a", "extensions": [
        {"name": "clusterprofiles.multicluster.x-k8s.io/exec/additional-args", "extension": ["two", "three"]},
        {"name": "clusterprofiles.multicluster.x-k8s.io/exec/additional-envs", "extension": {
            "E": "profile", "F": "profile", "KUBERNETES_EXEC_INFO": "profile",
        }},
    ]}));
    for (args, envs, expected) in [
        (None, None, "one|file||file|"),
        (Some("Ignore"), Some("Ignore"), "one|file||file|"),
        (
            Some("Append"),
            Some("AppendIfNotExists"),
            "one|two|three|file|profile|file|",
        ),
        (None, Some("Replace"), "one|profile|profile|file|"),
    ] {
        let provider = json!({"profileSourcedCLIArgsPolicy": args, "profileSourcedEnvVarsPolicy": envs});
        let plugins = folder.plugins(&script, exec.clone(), provider);
        assert_eq!(given(&plugins, &profile).await, expected, "{args:?} {envs:?}");
    }
}

#[tokio::test]
async fn what_a_consumer_could_not_use_is_no_way_to_a_credential() {
    let folder = Folder::new();
    let provider = json!({"profileSourcedCLIArgsPolicy": "Append", "profileSourcedEnvVarsPolicy": "Replace"});
    let strict = folder.plugins("exit 1", json!({}), provider);
    let lax = folder.plugins(&printing("echo"), json!({}), json!({}));
    let args = "clusterprofiles.multicluster.x-k8s.io/exec/additional-args";
    let envs = "clusterprofiles.multicluster.x-k8s.io/exec/additional-envs";
    for (name, extension, expected) in [
        (args, json!("CANARY"), "is not a list of strings"),
        (args, json!(["CANARY\0"]), "an argument with a NUL"),
        (envs, json!({"A": {"CANARY": 1}}), "is not a map of strings"),
        (envs, json!({"A=B": "CANARY"}), "that no environment can have"),
        (envs, json!({"": "CANARY"}), "that no environment can have"),
        (envs, json!({"A": "CANARY\0"}), "that no environment can have"),
    ] {
        let profile = profile(json!({"extensions": [{"name": name, "extension": extension}]}));
        let error = outcome(&strict, &profile).await.expect_err("no credential");
        assert!(error.contains(expected) && !error.contains("CANARY"), "{error}");
        let ignoring = outcome(&lax, &profile).await;
        assert!(ignoring.is_ok(), "what is ignored is not read: {ignoring:?}");
    }
}

#[test]
fn the_first_provider_of_the_file_counts_and_the_new_list_before_the_old() {
    let folder = Folder::new();
    let exec = json!({"apiVersion": "client.authentication.k8s.io/v1beta1", "command": "sh"});
    let named = |name: &str| json!({"name": name, "execConfig": exec});
    let file = json!({"providers": [named("b"), named("a")]});
    let plugins = folder.read(&file.to_string()).expect("plugins");
    let request = |access: &[&str], old: &[&str]| {
        let list = |names: &[&str], of: &str| -> Value {
            let entry = |name| json!({"name": name, "cluster": {"server": format!("https://{of}")}});
            names.iter().map(entry).collect()
        };
        let status = json!({"accessProviders": list(access, "new"), "credentialProviders": list(old, "old")});
        let profile = serde_json::from_value(json!({"metadata": {"name": "x"}, "status": status}));
        let request = plugins.request(&profile.expect("a profile"))?;
        Some((request.provider, request.cluster["server"].as_str()?.to_owned()))
    };
    let found = |name: &str, server: &str| Some((name.to_owned(), server.to_owned()));
    assert_eq!(request(&["a", "b"], &[]), found("b", "https://new"));
    assert_eq!(request(&["b"], &["b"]), found("b", "https://new"));
    assert_eq!(request(&["a"], &["b"]), found("b", "https://old"));
    assert_eq!(request(&["c"], &[]), None);
}

#[tokio::test]
async fn plugins_that_fail_are_told_of_without_a_secret() {
    let folder = Folder::new();
    let profile = profile(json!({"server": "https://a"}));
    let said_token = "echo no cluster >&2; printf %s CANARY-token; echo 'got CANARY-token' >&2; exit 3";
    for (script, expected) in [
        (
            "echo no cluster >&2; exit 3",
            "ended with exit code 3; its last words: no cluster",
        ),
        (said_token, "ended with exit code 3"),
        (
            "head -c 2000000 /dev/zero; sleep 60",
            "printed more than 1024 KiB and was ended",
        ),
    ] {
        let plugins = folder.plugins(script, json!({"provideClusterInfo": true}), json!({}));
        let reason = outcome(&plugins, &profile).await.expect_err(script);
        assert_eq!(reason, format!("the plugin {expected}"));
    }
    fs::remove_file(folder.path("plugin")).expect("it was there");
    let mut provider = Provider::named("p");
    provider.exec_config.command = folder.path("plugin");
    let plugins = Plugins {
        providers: vec![provider],
        runner: std::sync::Arc::new(Processes::default()),
    };
    let reason = outcome(&plugins, &profile).await.expect_err("it is gone");
    assert!(reason.starts_with("not run: "), "{reason}");
    assert!(reason.contains("could not be started"), "{reason}");
}

#[tokio::test]
async fn a_plugin_that_hangs_is_ended() {
    let folder = Folder::new();
    let mut plugins = folder.plugins("echo CANARY; exec sleep 60", json!({}), json!({}));
    plugins.runner = std::sync::Arc::new(Processes::within(Duration::from_millis(300)));
    let profile = profile(json!({"server": "https://a"}));
    let error = outcome(&plugins, &profile).await.expect_err("no credential");
    assert_eq!(error, "the plugin took longer than 300ms and was ended");
}

#[test]
fn a_file_that_cannot_be_used_says_why() {
    let folder = Folder::new();
    fs::write(folder.path("text"), "").expect("written");
    let one = |provider: &str| format!("providers: [{{{provider}}}]");
    let exec = |more: &str| {
        one(&format!(
            "name: p, execConfig: {{apiVersion: client.authentication.k8s.io/v1, {more}}}"
        ))
    };
    let good = exec("command: sh, args: [CANARY], interactiveMode: IfAvailable, installHint: none");
    let plugins = folder.read(&good).expect("plugins");
    assert!(plugins.providers[0].exec_config.command.is_absolute());
    let rest = good.trim_start_matches("providers: [");
    let twice = format!("{}, {rest}", good.trim_end_matches(']'));
    for (text, expected) in [
        (String::new(), "failed to use the provider file"),
        ("providers: CANARY [".into(), "failed to use the provider file"),
        ("providers: []".into(), "it lists no providers"),
        (
            "provider: []".into(),
            "unknown key `provider`: did you mean `providers`?",
        ),
        (
            one("name: p, execConfig: {command: sh, apiVersion: client.authentication.k8s.io/v2}"),
            "did you mean `client.authentication.k8s.io/v1`?",
        ),
        (exec("command: ''"), "provider `p`: its execConfig has no command"),
        (exec("command: sh, args: [{a: CANARY}]"), "line 1, column "),
        (
            exec("command: sh, env: [{name: A=, value: CANARY}]"),
            "provider `p`: its env has a name or value that no environment can have",
        ),
        (
            exec("command: sh, interactiveMode: Sometimes"),
            "unknown name `Sometimes`: choose one of Never, IfAvailable, Always",
        ),
        (exec("command: sh, provideClusterInfo: CANARY"), "line 1, column "),
        (
            exec("command: ./gone, installHint: there"),
            "is not a program (there)",
        ),
        (exec("command: ./text"), "is not a program"),
        (exec("command: no-plugin"), "`no-plugin` is not on the PATH"),
        (twice, "provider `p`: it is listed twice"),
    ] {
        let error = folder.read(&text).err().expect(expected);
        assert!(error.contains(expected), "{text}: {error}");
        assert!(!error.contains("CANARY"), "{error}");
    }
    let missing = read_providers(&folder.path("nowhere")).err().expect("not there");
    let error = missing.to_string();
    assert!(error.contains("failed to read the provider file"), "{error}");
}
