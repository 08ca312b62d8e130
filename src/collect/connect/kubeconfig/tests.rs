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

    fn environment(&self, kubeconfig: &[PathBuf], in_pod: bool) -> Environment {
        Environment {
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
    let told = format!("{error} {error:?}");
    assert!(!told.contains("CANARY"), "{told}");
    error.to_string()
}

#[tokio::test]
async fn says_what_is_wrong_and_nothing_secret() {
    let folder = Folder::new();
    let path = folder.file("one", ONE);
    let (_, source, access) = connect(&options(&path, None)).await.expect("a client");
    assert_eq!(source, "context first");
    assert!(!format!("{access:?}").contains("CANARY"));

    let error = refusal(&path, Some("secund")).await;
    assert!(error.contains("did you mean `second`?"), "{error}");
    assert!(error.contains("`first`, `second`"), "{error}");
    let error = refusal(&path, Some("second")).await;
    assert!(error.contains("no cluster `gone`"), "{error}");
    let error = refusal(&folder.0.path().join("none"), None).await;
    assert!(error.contains("none: "), "{error}");
    let broken = folder.file("broken", "users:\n- {name: u, user: {token: \"CANARY}}\n");
    let error = refusal(&broken, None).await;
    assert!(error.starts_with("failed to parse the kubeconfig"), "{error}");
    let shape = folder.file("shape", "users: CANARY\n");
    let error = refusal(&shape, None).await;
    assert!(error.contains("(line 1)"), "{error}");
    let unset = folder.file("unset", &ONE.replace("current-context: first", ""));
    let error = refusal(&unset, None).await;
    assert!(
        error.contains("sets no current-context; there are `first`"),
        "{error}"
    );
    let key = folder.file(
        "key",
        &ONE.replace(
            "token: CANARY",
            "client-key-data: 'CANARY!', client-certificate-data: YQ==",
        ),
    );
    let error = refusal(&key, None).await;
    assert!(error.contains("context `first`"), "{error}");

    let key_file = |value: &str| {
        let user = format!("client-key: {value}, client-certificate-data: YQ==");
        folder.file("key-file", &ONE.replace("token: CANARY", &user))
    };
    let error = refusal(&key_file("keys/gone.key"), None).await;
    assert!(
        error.contains("its client-key: ") && error.contains("keys/gone.key cannot be read: "),
        "{error}"
    );
    // The key itself stands where its path belongs.
    for key in ["LS0tLS1CRUdJTiBDQU5BUlk", &"CANARY".repeat(20)] {
        let error = refusal(&key_file(key), None).await;
        assert!(
            error.contains("its client-key: the file cannot be read: "),
            "{error}"
        );
        assert!(!error.contains("LS0t"), "{error}");
    }
}

#[test]
fn follows_the_usual_loading_rules() {
    let folder = Folder::new();
    let one = folder.file("one", ONE);
    let two = folder.file("two", &ONE.replace("first", "third"));
    let gone = folder.0.path().join("gone");
    let none = KubeconfigOptions::default();
    let names = |environment: &Environment, options: &KubeconfigOptions| {
        let found = find(options, environment)
            .expect("no error")
            .expect("a kubeconfig");
        let current = found.kubeconfig.current_context.clone();
        let names: Vec<_> = found
            .kubeconfig
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
    let error = find(&none, &only_gone).err().expect("nothing there").to_string();
    assert!(error.contains("gone ($KUBECONFIG) does not exist"), "{error}");
    let in_pod = folder.environment(&[gone], true);
    assert!(find(&none, &in_pod).expect("no error").is_none());

    folder.file(".kube/config", &ONE.replace("first", "home"));
    let (current, _) = names(&folder.environment(&[], true), &none);
    assert_eq!(current, "home");
}
