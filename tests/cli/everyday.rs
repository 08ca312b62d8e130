//! What people type every day: short flags, subcommands that they expect, slips, colours and slow hubs.

use std::{
    io::{Read as _, Write as _},
    net::TcpListener,
    thread,
};

use super::*;

#[test]
fn a_namespace_has_the_short_flag_of_kubectl() {
    let judged = |flag| expect(3, &["run", "--from", "conforming.yaml", flag, "nowhere"]);
    assert_eq!(judged("-n"), judged("--namespace"));
    let role = expect(0, &["rbac", "-n", "fleet"]);
    assert!(role.contains("namespace: \"fleet\""), "{role}");
}

#[test]
fn help_and_version_are_subcommands_too() {
    let version = expect(0, &["version"]);
    assert_eq!(version, expect(0, &["--version"]));
    assert!(version.contains(env!("CARGO_PKG_VERSION")), "{version}");
    assert_eq!(expect(0, &["help", "run"]), expect(0, &["run", "--help"]));
    assert_eq!(expect(0, &["help"]), expect(0, &["--help"]));
}

#[test]
fn a_mistyped_subcommand_or_suite_gets_the_nearest() {
    refused(&["rum", "--hub", "lab"], &["'rum'", "'run'"]);
    refused(&["completion"], &["'completions'"]);
    for (slip, nearest) in [
        ("identiy/", "did you mean `identity/`?"),
        ("identiy", "did you mean `identity`?"),
        ("conditons/", "did you mean `conditions/`?"),
    ] {
        refused(&["run", "--from", "conforming.yaml", slip], &[nearest]);
        refused(&["run", "--from", "conforming.yaml", "--skip", slip], &[nearest]);
    }
    refused(
        &["run", "--from", "conforming.yaml", "zzz/"],
        &["unknown rule `zzz/`"],
    );
}

#[test]
fn an_unknown_edition_is_answered_with_all_of_them() {
    for given in ["2027-01", "zzz", "standart"] {
        refused(
            &["run", "--edition", given],
            &[
                "(the editions: standard, 2026-07, 2026-09, placement-2025-09, placement-2026-09, consumer-2026-07, consumer-2026-09)",
            ],
        );
        refused(
            &["list", "--edition", given],
            &["standard, 2026-07, 2026-09, placement-2025-09"],
        );
    }
}

#[test]
fn colours_are_as_the_flag_says_and_else_as_the_environment_does() {
    let is_coloured = |flags: &[&str], environment: &[(&str, &str)]| {
        let mut command = command(&["run", "--from", "conforming.yaml", "version/"]);
        command.args(flags).stdin(Stdio::null());
        for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE"] {
            command.env_remove(name);
        }
        let done = command
            .envs(environment.iter().copied())
            .output()
            .expect("it runs");
        assert_eq!(done.status.code(), Some(0), "{flags:?}");
        done.stdout.contains(&0x1b)
    };
    let forced = [("CLICOLOR_FORCE", "1")];
    // None of this is a terminal.
    assert!(!is_coloured(&[], &[]));
    assert!(is_coloured(&[], &forced));
    assert!(!is_coloured(&["--color", "never"], &forced));
    assert!(is_coloured(&["--color", "always"], &[]));
    assert!(is_coloured(&["--color=always"], &[("NO_COLOR", "1")]));
    assert!(!is_coloured(&["--color", "auto"], &[("NO_COLOR", "1")]));

    refused(&["--color", "loud", "list"], &["always", "never"]);
}

/// A hub that tells its version, and answers nothing else.
pub fn silent_hub(folder: &Folder) -> String {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let kubeconfig = folder.kubeconfig(listener.local_addr().expect("an address").port());
    thread::spawn(move || {
        let mut open = Vec::new();
        for stream in listener.incoming() {
            let mut stream = stream.expect("a connection");
            let mut asked = [0; 4096];
            let read = stream.read(&mut asked).unwrap_or_default();
            if asked[..read].starts_with(b"GET /version") && open.is_empty() {
                let body = r#"{"gitVersion": "v1.36.1"}"#;
                let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close";
                write!(stream, "{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len()).expect("it reads");
            }
            open.push(stream);
        }
    });
    kubeconfig
}

#[test]
fn a_hub_gets_as_much_time_as_the_flag_says() {
    let folder = Folder::new();
    let kubeconfig = silent_hub(&folder);
    let run = ["run", "--kubeconfig", &kubeconfig];
    let done = call(&[&run[..], &["--request-timeout", "1s"]].concat());
    assert_eq!(done.code, Some(4), "{}", done.err);
    assert!(done.err.contains("no answer came for 1 s"), "{}", done.err);
    assert!(
        done.err
            .contains("or give a slow hub more time with --request-timeout"),
        "{}",
        done.err
    );
    let config = folder.flag("conformance.yaml");
    let text = "apiVersion: conformance.clusterprofile/v1\nkind: Configuration\nrequestTimeout: 2s\n";
    fs::write(&config, text).expect("written");
    let done = call(&[&run[..], &["--config", &config]].concat());
    assert!(done.err.contains("no answer came for 2 s"), "{}", done.err);

    refused(
        &["run", "--request-timeout", "5"],
        &["30s, 5m or 1h30m, or 0s for no limit"],
    );
    let dump = ["run", "--from", "conforming.yaml", "--request-timeout", "5s"];
    refused(&dump, &["--from", "--request-timeout"]);
    let lab = [
        "run",
        "--hub",
        "lab",
        "--manager",
        "reference",
        "--request-timeout",
        "5s",
    ];
    refused(&lab, &["--request-timeout"]);
}

#[test]
fn a_call_has_flags_that_a_file_may_not_have() {
    let folder = Folder::new();
    let config = folder.flag("conformance.yaml");
    let text = "apiVersion: conformance.clusterprofile/v1\nkind: Configuration\ncolor: always\n";
    fs::write(&config, text).expect("written");
    refused(&["run", "--config", &config], &["line 3: unknown key `color`"]);
}
