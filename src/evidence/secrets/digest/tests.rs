use serde_json::json;

use super::*;

fn config(text: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret",
        "metadata": {
            "name": "s", "namespace": "c", "uid": "u", "resourceVersion": "7",
            "creationTimestamp": "2026-11-20T10:00:00Z",
            "labels": {"x-k8s.io/cluster-profile": "a"},
            "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "CANARY-annotation"},
        },
        "data": {"Config": BASE64.encode(text), "other": "Q0FOQVJZ"},
    })
}

const WHOLE: &str = r"
apiVersion: v1
kind: Config
current-context: one
contexts:
- {name: one, context: {cluster: c, user: u, namespace: n}}
clusters:
- name: c
  cluster:
    server: https://CANARY-user:CANARY@pass/word@api.example:6443/k8s?token=CANARY#CANARY
    certificate-authority: /CANARY/ca.crt
users:
- name: u
  user:
    token: CANARY-token
    client-key-data: Q0FOQVJZLWtleQ==
    username: CANARY-name
    password: CANARY-password
    tokenFile: /CANARY/token
    exec: {command: plugin, env: [{name: SECRET, value: CANARY-env}]}
    auth-provider: {name: oidc, config: {id-token: CANARY-id}}
";

#[test]
fn kubeconfig_keeps_its_shape_without_secrets() {
    let digester = Digester::new([7; 32]);
    let secret = digester.secret(&config(WHOLE)).expect("a secret");
    assert_eq!(secret.keys, ["Config", "other"]);
    assert_eq!(secret.creation_timestamp.as_deref(), Some("2026-11-20T10:00:00Z"));
    let mut kubeconfig = json!(secret.kubeconfig);
    let credentials = kubeconfig["users"][0]["credentials"].take();
    let kinds = credentials.as_array().into_iter().flatten();
    let kinds: Vec<_> = kinds.filter_map(|entry| entry["kind"].as_str()).collect();
    assert_eq!(kinds.join(" "), "token client-key password exec auth-provider");
    let shape = json!({
        "currentContext": "one", "contexts": [{"name": "one", "cluster": "c", "user": "u"}],
        "clusters": [{"name": "c", "server": "https://api.example:6443/k8s", "files": ["certificate-authority"]}],
        "users": [{"name": "u", "credentials": null, "files": ["tokenFile"]}],
    });
    assert_eq!(kubeconfig, shape);
    let printed = format!("{} {secret:?} {digester:?}", json!(secret));
    for canary in ["CANARY", "Q0FOQVJZ", &BASE64.encode(WHOLE)[..40]] {
        assert!(!printed.contains(canary), "{printed}");
    }
}

/// The digests of the credentials of the first user in a kubeconfig.
fn digests(digester: &Digester, text: &str) -> Vec<String> {
    let secret = digester.secret(&config(text)).expect("a secret");
    let kubeconfig = secret.kubeconfig.expect("a kubeconfig");
    let credentials = kubeconfig.users[0].credentials.iter();
    credentials.map(|credential| credential.digest.clone()).collect()
}

#[test]
fn equal_credentials_have_equal_digests_in_one_run_only() {
    let of = |run: u8, user: &str| {
        let users = format!("users: [{{name: a, user: {{{user}}}}}]");
        digests(&Digester::new([run; 32]), &users)
    };
    let as_json = r#"{"users": [{"name": "b", "user": {"token": "t"}}]}"#;
    assert_eq!(of(7, "token: t"), digests(&Digester::new([7; 32]), as_json));
    assert_ne!(of(7, "token: t"), of(7, "token: u"));
    assert_ne!(of(7, "token: t"), of(8, "token: t"));
    let in_lines = of(7, r#"client-key-data: "QUFB\nQUFB""#);
    assert_eq!(in_lines, of(7, "client-key-data: QUFBQUFB"));
    let ab = of(7, "username: ab, password: c");
    assert_ne!(ab, of(7, "username: a, password: bc"));
    // As a Go struct for all lists writes it.
    let with_null = "users: [{name: a, user: {token: t}, cluster: null, context: null}]";
    assert_eq!(digests(&Digester::new([7; 32]), with_null), of(7, "token: t"));
    // An auth provider holds a credential only once it was issued one.
    let provider = |config: &str| of(7, &format!("auth-provider: {{name: oidc, config: {config}}}"));
    let how = "idp-issuer-url: https://idp.example, client-id: c, client-secret: s, tenant-id: t, \
               idp-certificate-authority-data: Q0E=";
    for unissued in [&format!("{{{how}}}"), "{id-token: ''}", "null"] {
        assert_eq!(provider(unissued), [""]);
    }
    let [one, two] =
        ["one", "two"].map(|id| provider(&format!("{{{how}, id-token: {id}, refresh-token: more}}")));
    assert_ne!(one[0], two[0]);
    assert_eq!(one[1], two[1]);
    // A token has one digest in all forms.
    assert_eq!(of(7, "token: one")[0], one[0]);
}

#[test]
fn digest_is_the_first_half_of_an_hmac_sha256() {
    let run = Digester::new([7; 32]);
    assert_eq!(run.digest(&[b"t"]), "fd6242d654e9b93d91bc76071c2379ab");
    assert_eq!(run.digest(&[b"ab", b"c"]), "6073d5bcf26efd7ddc06c90652db4766");
}

#[test]
fn errors_of_a_kubeconfig_quote_nothing() {
    let mut bomb = "a0: &a0 [CANARY, CANARY, CANARY, CANARY, CANARY, CANARY]\n".to_owned();
    for level in 1..12 {
        let list = [format!("*a{}", level - 1).as_str(); 8].join(", ");
        bomb += &format!("a{level}: &a{level} [{list}]\n");
    }
    let deep = "[".repeat(100_000);
    let long = format!("users: {}", "CANARY ".repeat(200_000));
    let yaml = "it is not YAML that can be read";
    let misfits = r#"
CANARY => invalid type: string, expected an object
users: CANARY => users: invalid type: string, expected a sequence
users: [CANARY] => users[0]: invalid type: string, expected an object
users: [{name: CANARY}] => users[0].user is missing
users: [{name: u, cluster: {token: CANARY}}] => users[0].user is missing
users: [{name: u, user: {token: {CANARY: 1}}}] => users[0].user.token: invalid type: map, expected a string
contexts: [{name: u, context: {cluster: [CANARY]}}] => contexts[0].context.cluster: invalid type: sequence, expected a string"#;
    let misfits = misfits.lines().filter_map(|line| line.split_once(" => "));
    let cases = [
        ("", "it is empty"),
        ("users:\n- CANARY: \"CANARY", yaml),
        ("{\"users\": CANARY", yaml),
        ("users: &CANARY\n- *CANARY", yaml),
        ("current-context: CANARY\ncurrent-context: CANARY", yaml),
        (bomb.as_str(), yaml),
        (deep.as_str(), yaml),
        (long.as_str(), "it is larger than 1 MiB"),
    ];
    for (text, expected) in cases.into_iter().chain(misfits) {
        let secret = Digester::new([7; 32]).secret(&config(text)).expect("a secret");
        assert_eq!(secret.kubeconfig, None, "{expected}");
        let error = secret.kubeconfig_error.expect("an error");
        assert!(error.starts_with(expected), "{error} instead of {expected}");
        assert!(!error.contains("CANARY"), "{error}");
    }
}

#[test]
fn url_keeps_only_scheme_host_and_path() {
    for (url, expected) in [
        ("https://u:p@a:6443/k8s?token=t#f", "https://a:6443/k8s"),
        ("u:p@a:6443", "a:6443"),
        ("u:p://q@a:6443", "a:6443"),
        ("https://[2001:db8::1]:6443", "https://[2001:db8::1]:6443"),
        ("", ""),
    ] {
        assert_eq!(without_userinfo(url), expected);
    }
}

#[test]
fn only_the_servers_of_an_unlabelled_secret_are_kept() {
    let digester = Digester::new([7; 32]);
    let mut value = config(WHOLE);
    value["metadata"]["labels"] = json!({"app": "CANARY-label"});
    let secret = digester.unlabelled(&value).expect("a kubeconfig");
    assert_eq!((secret.namespace.as_str(), secret.name.as_str()), ("c", "s"));
    assert_eq!(secret.key, "Config");
    assert_eq!(secret.servers, ["https://api.example:6443/k8s"]);
    let printed = format!("{secret:?}");
    assert!(!printed.contains("CANARY"), "{printed}");
    // A kubeconfig is found under any key.
    let under =
        |key: &str, text: &str| json!({"metadata": {"name": "s"}, "data": {key: BASE64.encode(text)}});
    assert!(digester.unlabelled(&under("value", WHOLE)).is_some());
    for text in [
        "CANARY",
        "clusters: the servers of CANARY",
        "clusters: []\nserver: CANARY",
        r#"{"clusters": [{"name": "c", "cluster": {"server": ""}}]}"#,
        r#"{"execProviderConfig": {"command": "argocd-k8s-auth"}, "server": "clusters"}"#,
    ] {
        assert_eq!(digester.unlabelled(&under("value", text)), None, "{text}");
    }
    let malformed = json!({"metadata": {"name": "s"}, "data": "CANARY", "stringData": [1]});
    assert_eq!(digester.unlabelled(&malformed), None);
}

#[test]
fn malformed_secret_is_reported() {
    let digester = Digester::new([7; 32]);
    let mut value = config("{}");
    value["data"]["Config"] = json!("CANARY!");
    let secret = digester.secret(&value).expect("a secret");
    assert_eq!(secret.kubeconfig_error.as_deref(), Some("it is not valid base64"));
    value["data"] = json!("CANARY");
    let unreadable = digester.secret(&value).expect_err("no secret");
    assert_eq!(unreadable.object.path(), "c/s");
    assert_eq!(unreadable.message, "data is not a mapping");
    value["data"] = Value::Null;
    value["stringData"] = json!({"Config": "users: []"});
    let secret = digester.secret(&value).expect("a secret");
    assert_eq!(secret.kubeconfig, Some(Kubeconfig::default()));
}
