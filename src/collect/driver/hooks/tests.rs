//! Hooks as they really run: small scripts, in real time.

use std::{fs, os::unix::fs::PermissionsExt as _};

use futures::future::join;

use super::*;
use crate::subprocess::tests::{runs, until};

const TOKEN: &str = "CANARY-hub-token";

struct World {
    folder: TempDir,
    commands: Commands,
}

/// A driver file with these scripts as its hooks, each with that timeout.
fn world(hooks: &[(&str, &str)], timeout: &str) -> World {
    let folder = tempfile::tempdir().expect("a folder");
    let mut file =
        format!("timeout: {timeout}\nenv: {{API_TOKEN: CANARY-of-the-file, PLACE: file}}\nhooks:\n");
    for (name, script) in hooks {
        let path = folder.path().join(format!("{name}.sh"));
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("a script");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a mode");
        file += &format!("  {name}: [./{name}.sh, 'a b']\n");
    }
    let path = folder.path().join("driver.yaml");
    fs::write(&path, file).expect("a driver file");
    let hub = HubAccess {
        server: "https://hub.example".to_owned(),
        kubeconfig: format!("users: [{{name: u, user: {{token: {TOKEN}}}}}]\n"),
    };
    let file = DriverFile::read(&path).expect("it can be used");
    let mut commands = Commands::new(file, &hub, "r4n6d").expect("commands");
    commands.grace = Duration::from_millis(400);
    World { commands, folder }
}

impl World {
    async fn call(&self, action: DriverAction, stop: CancellationToken) -> Called {
        let member = HookMember::named("conformance-r4n6d-01".to_owned());
        let call = HookRequest {
            member: (action != DriverAction::Restart).then_some(&member),
            kubeconfig: Some("users: [{name: m, user: {token: CANARY-member}}]"),
            profile: Some(ObjectKey {
                namespace: "fleet".to_owned(),
                name: "a".to_owned(),
            }),
            ..HookRequest::of(action)
        };
        self.commands.call(&call, stop).await
    }

    async fn failure(&self, action: DriverAction) -> String {
        let called = self.call(action, CancellationToken::new()).await;
        called.failure.unwrap_or_default()
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.folder.path().join(name)).unwrap_or_default()
    }
}

const LEAVE: (&str, &str) = ("leave", "exit 0");

#[tokio::test]
async fn a_hook_gets_its_variables_and_shows_no_credential() {
    let script = r#"
env | sort | grep -E '^(CONFORMANCE_|PLACE)' | sed 's#=/.*/#=#'
pwd; echo "$1"; stat -c %a "$CONFORMANCE_HUB_KUBECONFIG" "$CONFORMANCE_MEMBER_KUBECONFIG" "$(dirname "$CONFORMANCE_HUB_KUBECONFIG")"
cat "$CONFORMANCE_HUB_KUBECONFIG" "$CONFORMANCE_MEMBER_KUBECONFIG"; echo; echo "$API_TOKEN" >&2
echo "profile: CANARY-member/b"; echo "decision: fleet/web""#;
    let world = world(&[("join", script), LEAVE], "1m");
    let called = world.call(DriverAction::Join, CancellationToken::new()).await;
    assert_eq!(called.failure, None);
    let output = &called.output;
    assert!(!output.contains("CANARY"), "{output}");
    let folder = world.folder.path().canonicalize().expect("a path");
    for expected in [
        "CONFORMANCE_ACTION=join\nCONFORMANCE_HUB_KUBECONFIG=hub.kubeconfig\nCONFORMANCE_MEMBER=conformance-r4n6d-01\n\
         CONFORMANCE_MEMBER_KUBECONFIG=conformance-r4n6d-01.kubeconfig\nCONFORMANCE_PROFILE=fleet/a\n\
         CONFORMANCE_RUN=r4n6d\n",
        "\nPLACE=file\n",
        &format!("{}\na b\n600\n600\n700\n", folder.display()),
    ] {
        assert!(output.contains(expected), "{expected} in {output}");
    }
    // As they were printed, although the output shows no credential.
    assert_eq!(called.profile, Some(ObjectKey::new("CANARY-member", "b")));
    assert_eq!(called.decision, Some(ObjectKey::new("fleet", "web")));

    let credentials = world.commands.folder.path().to_owned();
    drop(world.commands);
    assert!(!credentials.exists());
}

/// The implementer's own members have files with their kubeconfigs.
#[tokio::test]
async fn a_hook_shows_no_credential_from_a_file() {
    let join = "sed -n 's/.*token: \\([^}]*\\).*/\\1/p' \"$CONFORMANCE_MEMBER_KUBECONFIG\"";
    let world = world(&[("join", join), LEAVE], "1m");
    let path = world.folder.path().join("own.kubeconfig");
    fs::write(&path, "users: [{name: m, user: {token: CANARY-own-member}}]\n").expect("a kubeconfig");
    let member = HookMember {
        kubeconfig: Some(path),
        ..HookMember::named("own".to_owned())
    };
    let call = HookRequest {
        member: Some(&member),
        ..HookRequest::of(DriverAction::Join)
    };
    let called = world.commands.call(&call, CancellationToken::new()).await;
    assert_eq!(called.failure, None);
    assert_eq!(called.output, "…");
}

#[tokio::test]
async fn a_hook_that_fails_says_how() {
    let join = "echo one; echo no such cluster >&2; exit 3";
    let world = world(&[("join", join), LEAVE], "1m");
    let failure = "the hook `join`: it ended with exit code 3; its last words: no such cluster";
    assert_eq!(world.failure(DriverAction::Join).await, failure);
    assert_eq!(world.failure(DriverAction::Leave).await, "");
    let lacking = world.commands.lacking(DriverAction::Restart);
    assert_eq!(lacking.as_deref(), Some("the driver file has no hook `restart`"));
}

#[tokio::test]
async fn a_hook_that_takes_too_long_is_ended() {
    let world = world(&[("restart", "exec sleep 60")], "600ms");
    let failure = "the hook `restart`: it took longer than 600ms and was ended";
    assert_eq!(world.failure(DriverAction::Restart).await, failure);
}

#[tokio::test]
async fn a_run_that_stops_ends_its_hooks() {
    let world = world(&[("restart", "echo $$ > id; echo waiting; exec sleep 60")], "1m");
    let stop = CancellationToken::new();
    let stopping = async {
        until("the hook runs", || !world.read("id").is_empty()).await;
        stop.cancel();
    };
    let (called, ()) = join(world.call(DriverAction::Restart, stop.clone()), stopping).await;
    let failure = "the hook `restart`: the run was stopped, and it was ended; its last words: waiting";
    assert_eq!(called.failure.as_deref(), Some(failure));
    assert!(!runs(&world.read("id")));
}
