//! Over real TLS, and so in real time; and the file that lists the ways.

use std::path::Path;

use collect::read_members;

use super::*;

fn write(folder: &Path, name: &str, text: &str) {
    std::fs::write(folder.join(name), text).expect("written");
}

#[tokio::test]
async fn a_member_is_asked_over_tls_by_its_kubeconfig() {
    let world = World::new().await;
    let clock = world.clock;
    let fake_member = FakeMember::new("a", clock, state());
    let served = fake_member.serve().await.expect("a port");
    let folder = tempfile::tempdir().expect("a folder");
    write(folder.path(), "good.kubeconfig", &served.kubeconfig());
    let other = FakeMember::new("b", clock, state());
    let other = other.serve().await.expect("a port");
    let strange = served.kubeconfig().replace(&served.server(), &other.server());
    write(folder.path(), "strange.kubeconfig", &strange);
    let members = "default/a: {kubeconfig: good.kubeconfig}\n\
                   default/b: {kubeconfig: strange.kubeconfig, context: a}\n";
    write(folder.path(), "members.yaml", members);
    let (accesses, files) = read_members(&folder.path().join("members.yaml")).expect("ways");
    assert_eq!((accesses.len(), files.len()), (2, 2));
    let evidence = world.ask(0, accesses).await;
    let sample = &member(&evidence, "a").samples[0];
    assert!(sample.missing.is_empty(), "{:?}", sample.missing);
    assert_eq!(sample.nodes, Some(7));
    let gap = gaps(&evidence, Kind::Members)[0];
    assert_eq!(gap.object.as_ref().map(|object| object.name.as_str()), Some("b"));
    assert!(gap.reason.starts_with("no secure connection: "), "{}", gap.reason);
}

#[test]
fn a_file_that_cannot_be_used_says_why() {
    let folder = tempfile::tempdir().expect("a folder");
    let kubeconfig = "{contexts: [{name: one, context: {cluster: c, user: u}}], \
                      clusters: [{name: c, cluster: {server: 'https://a:1'}}], \
                      users: [{name: u, user: {token: CANARY}}]}";
    write(folder.path(), "k", kubeconfig);
    write(folder.path(), "broken", "users: CANARY: [");
    for (text, expected) in [
        ("a/b: {kubeconfig: k, context: one}", ""),
        ("", "names no profile"),
        ("CANARY", "give for each profile a kubeconfig"),
        (kubeconfig, "give for each profile a kubeconfig"),
        ("a/b: CANARY", "line 1, column 6: "),
        ("a/b: {kubeconfig: [CANARY]}", "line 1, column "),
        (
            "a/b: {kubeconfg: k}",
            "key `kubeconfg`: did you mean `kubeconfig`?",
        ),
        ("a/b: {context: one}", "`kubeconfig` is missing"),
        ("b: {kubeconfig: k}", "`b` is not namespace/name of a profile"),
        ("a/b/c: {kubeconfig: k}", "`a/b/c` is not namespace/name"),
        ("a/b: {kubeconfig: gone}", "gone"),
        ("a/b: {kubeconfig: broken}", "not a valid kubeconfig"),
        ("a/b: {kubeconfig: k}", "sets no current-context"),
        ("a/b: {kubeconfig: k, context: onee}", "did you mean `one`?"),
    ] {
        write(folder.path(), "members.yaml", text);
        let read = read_members(&folder.path().join("members.yaml"));
        let Err(error) = read.map_err(|error| error.to_string()) else {
            assert_eq!(expected, "", "{text}");
            continue;
        };
        assert!(
            !expected.is_empty() && error.contains(expected),
            "{text}: {error}"
        );
        assert!(error.starts_with("failed to use the members' file"), "{error}");
        assert!(!error.contains("CANARY"), "{error}");
    }
}
