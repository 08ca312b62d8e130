//! Which credentials are tried.

use super::*;

fn hidden(cluster: Value, user: Value) -> Hidden {
    Hidden(json!({
        "contexts": [{"name": "x", "context": {"cluster": "m", "user": "me"}}],
        "clusters": [{"name": "m", "cluster": cluster}], "users": [{"name": "me", "user": user}],
    }))
}

#[test]
fn only_what_is_in_the_kubeconfig_itself_is_used() {
    let server = json!({"server": "https://m.example:6443"});
    let token = json!({"token": "CANARY"});
    let config = config_of_secret(&hidden(server.clone(), token.clone())).expect("a way");
    assert_eq!(config.cluster_url, "https://m.example:6443/");
    let capitals = json!({"server": "HTTPS://m.example:6443"});
    let config = config_of_secret(&hidden(capitals, token.clone())).expect("a way");
    assert_eq!(config.cluster_url, "https://m.example:6443/");
    assert!(config.auth_info.exec.is_none() && config.auth_info.token.is_some());
    let cases = [
        (server.clone(), json!({"exec": {"command": "CANARY"}}), "a plugin"),
        (
            server.clone(),
            json!({"token": "t", "auth-provider": {"name": "gcp", "config": {"cmd-path": "CANARY"}}}),
            "an auth-provider",
        ),
        (server.clone(), json!({"tokenFile": "/CANARY"}), "a file"),
        (
            server.clone(),
            json!({"client-certificate-data": "YQ==", "client-key": "/CANARY"}),
            "a file",
        ),
        (
            json!({"server": "https://m", "certificate-authority": "/CANARY"}),
            token.clone(),
            "a file",
        ),
        (server.clone(), json!({"token": ["CANARY"]}), "malformed"),
        (
            server.clone(),
            json!({"username": "n", "token": ""}),
            "no credential",
        ),
        (
            json!({"server": "http://m.example"}),
            token.clone(),
            "not reached over TLS",
        ),
        (
            json!({"server": "https://u:CANARY@m.example"}),
            token.clone(),
            "a user's name",
        ),
        (
            json!({"server": "https://m.example", "proxy-url": "CANARY //"}),
            token.clone(),
            "malformed",
        ),
        (
            json!({"server": "https://m.example", "certificate-authority-data": "CANARY!"}),
            token.clone(),
            "malformed",
        ),
        (
            json!({"server": "https://m.example", "insecure-skip-tls-verify": "CANARY"}),
            token,
            "malformed",
        ),
    ];
    for (cluster, user, expected) in cases {
        let error = config_of_secret(&hidden(cluster, user)).expect_err("no way");
        assert!(error.contains(expected) && !error.contains("CANARY"), "{error}");
    }
    let nowhere = Hidden(json!({"current-context": "CANARY", "contexts": []}));
    let error = config_of_secret(&nowhere).expect_err("no way");
    assert!(error.contains("leads to no cluster"), "{error}");
}
