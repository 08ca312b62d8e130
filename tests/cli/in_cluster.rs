//! The suite as a Job: `ci/in-cluster` fits the command, and the termination message says why.

use super::*;

fn manifest(name: &str) -> String {
    let base = Path::new(env!("CARGO_MANIFEST_DIR")).join("ci/in-cluster");
    fs::read_to_string(base.join(name)).expect(name)
}

#[test]
fn the_role_of_the_base_is_that_of_rbac() {
    let account = "clusterprofile-conformance:clusterprofile-conformance";
    let printed = expect(0, &["rbac", "--bind", account]);
    assert_eq!(
        manifest("rbac.yaml"),
        printed,
        "write it anew: clusterprofile-conformance rbac --bind {account} >ci/in-cluster/rbac.yaml"
    );
}

#[test]
fn the_base_runs_this_version() {
    let job: Value = serde_saphyr::from_str(&manifest("job.yaml")).expect("YAML");
    let container = &job["spec"]["template"]["spec"]["containers"][0];
    let image = concat!("localhost/clusterprofile-conformance:", env!("CARGO_PKG_VERSION"));
    assert_eq!(container["image"], image);
}

#[test]
fn a_binding_needs_an_account() {
    let done = call(&["rbac", "--bind", "Nobody"]);
    assert_eq!(done.code, Some(2), "{}", done.err);
    assert!(done.err.contains("write it as NAMESPACE:NAME"), "{}", done.err);
    let member = expect(0, &["rbac", "--members", "--bind", "tests:runner"]);
    assert!(
        member.contains("kind: ClusterRoleBinding") && member.contains("name: \"runner\""),
        "{member}"
    );
}

#[test]
fn the_termination_message_has_the_decision_and_what_broke_it() {
    let folder = TempDir::new().expect("a folder");
    let message = folder.path().join("message");
    let flag = message.display().to_string();
    let told = |code: i32, arguments: &[&str]| {
        let done = call(&[&["run", "--termination-message", &flag], arguments].concat());
        assert_eq!(done.code, Some(code), "{}", done.err);
        fs::read_to_string(&message).expect("a message")
    };
    let broken = told(1, &["--from", "violating.yaml"]);
    assert!(
        broken.starts_with("not conformant with edition standard: 2 MUST rules fail (2 explicit); "),
        "{broken}"
    );
    assert!(
        broken.contains("\n[MUST explicit] identity/manager-label-matches: "),
        "{broken}"
    );
    let sound = told(0, &["--from", "conforming.yaml"]);
    assert!(sound.starts_with("no violation found: "), "{sound}");
    assert_eq!(sound.lines().count(), 1, "{sound}");

    // A message of an earlier run does not stay.
    let kubeconfig = folder.path().join("kubeconfig");
    let nowhere = "{clusters: [{name: c, cluster: {server: 'http://127.0.0.1:1'}}], current-context: c, \
                   contexts: [{name: c, context: {cluster: c, user: u}}], users: [{name: u, user: {}}]}";
    fs::write(&kubeconfig, nowhere).expect("it is written");
    let failed = told(4, &["--kubeconfig", &kubeconfig.display().to_string()]);
    assert!(failed.starts_with("failed to reach the hub ("), "{failed}");
}
