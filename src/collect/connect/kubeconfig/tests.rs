//! Which kubeconfig is found, and what is wrong with others.

use super::*;

const ONE: &str = r"
apiVersion: v1
kind: Config
current-context: first
contexts:
- {name: first, context: {cluster: c, user: u}}
- {name: second, context: {cluster: gone, user: u}}
clusters: [{name: c, cluster: {server: 'https://127.0.0.1:1'}}]
users: [{name: u, user: {token: CANARY}}]
";

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        std::fs::write(&path, text).expect("a file");
        path
    }

    fn environment(&self, kubeconfig: &[PathBuf], in_pod: bool) -> ProcessEnvironment {
        ProcessEnvironment {
            kubeconfig: (!kubeconfig.is_empty()).then(|| env::join_paths(kubeconfig).expect("paths")),
            home: Some(self.0.path().to_owned()),
            in_pod,
        }
    }
}

fn options(path: &Path, context: Option<&str>) -> KubeconfigOptions {
    KubeconfigOptions {
        path: Some(path.to_owned()),
        context: context.map(str::to_owned),
        request_timeout: None,
    }
}

async fn refusal(path: &Path, context: Option<&str>) -> String {
    let error = connect(&options(path, context)).await.err().expect("an error");
    let shown = format!("{error} {error:?}");
    assert!(!shown.contains("CANARY"), "{shown}");
    error.to_string()
}

#[tokio::test]
async fn says_what_is_wrong_and_nothing_secret() {
    let folder = Folder::new();
    let path = folder.file("one", ONE);
    let (_, source, _) = connect(&options(&path, None)).await.expect("a client");
    assert_eq!(source, "context first");
    let user = |user: &str| ONE.replace("token: CANARY", user);
    let key_file = |value: &str| user(&format!("client-key: {value}, client-certificate-data: YQ=="));
    let unreadable = "its client-key: the file cannot be read: ";
    for (text, context, expected) in [
        (
            ONE,
            Some("secund"),
            ": did you mean `second`?; its contexts: `first`, `second`",
        ),
        (ONE, Some("second"), "failed to load the cluster of context: gone"),
        (
            "users:\n- {name: u, user: {token: \"CANARY}}\n",
            None,
            "failed to parse the kubeconfig",
        ),
        ("users: CANARY\n", None, "(line 1)"),
        (
            &ONE.replace("current-context: first", ""),
            None,
            "no current-context; its contexts: `first`",
        ),
        (
            &user("client-key-data: 'CANARY!', client-certificate-data: YQ=="),
            None,
            "context `first`",
        ),
        // The key itself may be in the place of its path.
        (&key_file("keys/gone.key"), None, unreadable),
        (&key_file("LS0tLS1CRUdJTiBDQU5BUlk"), None, unreadable),
        (&key_file(&"CANARY".repeat(20)), None, unreadable),
    ] {
        let error = refusal(&folder.file("other", text), context).await;
        assert!(error.contains(expected), "{error}");
        assert!(!error.contains("LS0t") && !error.contains("keys/"), "{error}");
    }
    let error = refusal(&folder.0.path().join("none"), None).await;
    assert!(error.contains("none: "), "{error}");
}

#[test]
fn follows_the_usual_loading_rules() {
    let folder = Folder::new();
    let one = folder.file("one", ONE);
    let two = folder.file("two", &ONE.replace("first", "third"));
    let gone = folder.0.path().join("gone");
    let none = KubeconfigOptions::default();
    let names = |environment: &ProcessEnvironment, options: &KubeconfigOptions| {
        let found = find(options, environment).expect("no error");
        let (kubeconfig, _) = found.expect("a kubeconfig");
        let current = kubeconfig.current_context.clone();
        let names: Vec<_> = kubeconfig
            .contexts
            .into_iter()
            .map(|context| context.name)
            .collect();
        (current.unwrap_or_default(), names)
    };

    let several = folder.environment(&[gone.clone(), two.clone(), one.clone()], false);
    let (current, contexts) = names(&several, &none);
    assert_eq!((current.as_str(), contexts.len()), ("third", 3));
    let (current, contexts) = names(&several, &options(&one, None));
    assert_eq!((current.as_str(), contexts.len()), ("first", 2));

    let only_gone = folder.environment(std::slice::from_ref(&gone), false);
    let error = find(&none, &only_gone).expect_err("nothing there").to_string();
    assert!(error.contains("gone ($KUBECONFIG) does not exist"), "{error}");
    let in_pod = folder.environment(&[gone], true);
    assert!(find(&none, &in_pod).expect("no error").is_none());

    folder.file(".kube/config", &ONE.replace("first", "home"));
    let (current, _) = names(&folder.environment(&[], true), &none);
    assert_eq!(current, "home");
}

#[test]
fn access_for_other_programs_has_one_context_and_absolute_paths() {
    let folder = Folder::new();
    let pem = rcgen::generate_simple_self_signed(["a".to_owned()])
        .expect("a certificate")
        .cert
        .pem();
    folder.file("ca.crt", &pem);
    folder.file("token", "CANARY-file\n");
    let two = r"
current-context: first
contexts:
- {name: first, context: {cluster: c, user: u}}
- {name: second, context: {cluster: d, user: v, namespace: fleet}}
clusters:
- {name: c, cluster: {server: 'https://one.example', certificate-authority: ca.crt}}
- {name: d, cluster: {server: 'https://two.example:6443/', certificate-authority: ca.crt}}
users:
- {name: u, user: {token: OTHER-CANARY}}
- {name: v, user: {tokenFile: token, exec: {apiVersion: v1, command: ./plugin}}}
";
    let kubeconfig = read(&folder.file("config", two)).expect("a kubeconfig");
    let (config, _) = config(&kubeconfig, "config", Some("second")).expect("a way");
    let access = HubAccess::of_context(&kubeconfig, "second", &config);
    assert_eq!(access.server, "https://two.example:6443");
    let found: Value = serde_json::from_str(&access.kubeconfig).expect("JSON");
    assert_eq!(found["current-context"], "second");
    assert!(!access.kubeconfig.contains("OTHER-CANARY"));
    for (at, name) in [
        ("/clusters/0/cluster/certificate-authority", "ca.crt"),
        ("/users/0/user/tokenFile", "token"),
        ("/users/0/user/exec/command", "plugin"),
    ] {
        let path = found.pointer(at).and_then(Value::as_str).expect(at);
        assert_eq!(
            absolute(path).expect("a path"),
            folder.0.path().join(name),
            "{at}"
        );
    }
}
