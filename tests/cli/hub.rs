//! `hub`: a hub that others can reach.

use std::{
    io::{BufRead, BufReader},
    os::unix::fs::PermissionsExt,
    process::Stdio,
};

use super::*;

#[test]
fn a_hub_is_served_until_a_signal_comes() {
    let folder = Folder::new();
    let kubeconfig = folder.flag("hub.kubeconfig");
    let members = folder.flag("members");
    let mut served = command(&["hub", "--manager", "reference", "--kubeconfig-out", &kubeconfig])
        .args(["--members", "lisbon,oslo", "--members-out", &members])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the command runs");
    let mut told = String::new();
    BufReader::new(served.stdout.take().expect("a pipe"))
        .read_line(&mut told)
        .expect("it says where it is");
    assert!(told.starts_with("serving https://127.0.0.1:"), "{told}");
    for credential in [
        "hub.kubeconfig",
        "members/lisbon.kubeconfig",
        "members/oslo.kubeconfig",
    ] {
        let file = fs::metadata(folder.path(credential)).expect(credential);
        assert_eq!(
            file.permissions().mode() & 0o077,
            0,
            "{credential} is for its owner alone"
        );
    }
    // What the manager has written so far may be anything; the hub is there, and so is the API.
    let judged = call(&["run", "--kubeconfig", &kubeconfig, "--observe", "0s"]);
    assert!(
        matches!(judged.code, Some(0 | 1 | 3)),
        "{}{}",
        judged.out,
        judged.err
    );
    assert!(judged.out.contains("single snapshot"), "{}", judged.out);

    let ended = Command::new("kill").arg(served.id().to_string()).status();
    assert!(ended.expect("kill runs").success());
    assert_eq!(served.wait().expect("it ends").code(), Some(0));
}

#[test]
fn flags_of_the_other_hub_are_refused() {
    refused(
        &[
            "hub",
            "--hub",
            "envtest",
            "--audit-log-out",
            "audit.log",
            "--audit-level",
            "request",
        ],
        &["--audit-level is for --hub lab"],
    );
    refused(
        &["hub", "--hub", "envtest", "--port", "6443"],
        &["--port is for --hub lab"],
    );
    #[cfg(feature = "k3s")]
    refused(
        &["hub", "--hub", "k3s", "--port", "6443"],
        &["--port is for --hub lab"],
    );
    refused(&["hub", "--manager", "refrence"], &["did you mean `reference`?"]);
}

#[cfg(not(feature = "k3s"))]
#[test]
fn a_build_without_containers_says_how_to_have_them() {
    let told = ["built without the feature k3s", "--features k3s", "--hub envtest"];
    refused(&["hub", "--hub", "k3s"], &told);
    refused(&["run", "--hub", "k3s", "--manager", "reference"], &told);
}
