//! Bad usage: one message, and the code 2.

use super::*;

/// Command lines and parts of the message.
const REFUSED: &[(&str, &[&str])] = &[
    // Names that do not exist.
    ("run --nonsense", &["--nonsense"]),
    ("rum --hub lab", &["'rum'", "'run'"]),
    ("completion", &["'completions'"]),
    ("--color loud list", &["always", "never"]),
    (
        "run --feature consumer-secret",
        &["did you mean `consumer-secrets`?"],
    ),
    (
        "run --from conforming.yaml --feature secrets",
        &["unknown feature `secrets`", "consumer-secrets"],
    ),
    ("run --edition standart", &["did you mean `standard`?"]),
    (
        "run --edition zzz",
        &[
            "(the editions: standard, 2026-07, 2026-09, placement-2025-09, placement-2026-09, consumer-2026-07, consumer-2026-09)",
        ],
    ),
    (
        "list --edition 2027-01",
        &["standard, 2026-07, 2026-09, placement-2025-09"],
    ),
    ("hub --manager refrence", &["did you mean `reference`?"]),
    (
        "explain identity/manager-label-presnt",
        &["did you mean `identity/manager-label-present`?"],
    ),
    (
        "explain manager-label-presnt",
        &["did you mean `identity/manager-label-present`?"],
    ),
    (
        "run --from conforming.yaml --exact identity",
        &["unknown rule `identity`"],
    ),
    (
        "run --from conforming.yaml --exact manager-label-presnt",
        &["did you mean `identity/manager-label-present`?"],
    ),
    (
        "run --from conforming.yaml --skip identiy",
        &["did you mean `identity`?"],
    ),
    (
        "run --from conforming.yaml identiy/",
        &["did you mean `identity`?"],
    ),
    ("run --from conforming.yaml zzz/", &["unknown rule `zzz/`"]),
    (
        "run --from conforming.yaml member-id-non-empty",
        &[
            "edition standard has no rule like `member-id-non-empty`",
            "2026-09",
        ],
    ),
    (
        "run --hub lab --manager reference=identity/manager-label-presnt",
        &["did you mean `identity/manager-label-present`?"],
    ),
    (
        "run --hub lab --manager reference=identity/member-id-set",
        &["edition standard", "add --edition 2026-09"],
    ),
    // Values.
    ("run --observe 5", &["30s, 5m or 1h30m"]),
    (
        "run --request-timeout 5",
        &["30s, 5m or 1h30m, or 0s for no limit"],
    ),
    (
        "run --hub lab --manager reference --settle 131s",
        &["at most 130s"],
    ),
    (
        "run --from conforming.yaml --expect-profiles some",
        &["--expect-profiles"],
    ),
    (
        "run --from conforming.yaml --basis derived",
        &["--basis", "explicit"],
    ),
    (
        "run --from conforming.yaml --clusterset fleet",
        &["--clusterset", "such as fleet=production"],
    ),
    (
        "run --from conforming.yaml --clusterset =production",
        &["such as fleet=production"],
    ),
    (
        "run --from conforming.yaml --clusterset Fleet=production",
        &["`Fleet` is not a valid namespace name"],
    ),
    (
        "run --from conforming.yaml --clusterset 'fleet=in production'",
        &["not a valid label value"],
    ),
    (
        "run --from conforming.yaml --clusterset fleet=one --clusterset fleet=two",
        &["fleet=two contradicts --clusterset fleet=one"],
    ),
    (
        "replay conforming.yaml --max-input lots",
        &["such as 500Mi or 4Gi"],
    ),
    ("rbac --bind Nobody", &["write it as NAMESPACE:NAME"]),
    // Flags that contradict each other, or that need another one.
    ("run --from conforming.yaml --hub lab", &["--from", "--hub"]),
    (
        "run --from conforming.yaml --observe 5m",
        &["--from", "--observe"],
    ),
    ("run --from conforming.yaml --settle 1s", &["--settle"]),
    (
        "run --from conforming.yaml --request-timeout 5s",
        &["--from", "--request-timeout"],
    ),
    (
        "run --from conforming.yaml --report-format sig-multicluster",
        &["--report-format needs --report FILE"],
    ),
    (
        "run --from conforming.yaml identity/ --skip identity/",
        &["no rule is left"],
    ),
    (
        "run --from conforming.yaml --feature consumer-secrets --no-feature consumer-secrets",
        &["contradicts"],
    ),
    (
        "run --from conforming.yaml --role manager,consumer",
        &["a consumer is judged alone", "leave out the other roles"],
    ),
    (
        "run --from conforming.yaml --role manager --edition placement-2025-09",
        &["is for the role scheduler", "add --role scheduler"],
    ),
    (
        "run --role consumer --namespace a",
        &["--namespace", "the driver file names the namespaces"],
    ),
    (
        "run --role consumer --observe 5m",
        &["--observe", "the scenarios of a consumer set the duration"],
    ),
    (
        "run --manager reference",
        &["add --hub lab, --hub envtest or --hub k3s"],
    ),
    ("run --hub lab", &["--manager reference"]),
    ("run --hub lab --manager reference --context x", &["--context"]),
    ("run --hub lab --manager reference --clean", &["--clean"]),
    (
        "run --hub lab --manager reference --request-timeout 5s",
        &["--request-timeout"],
    ),
    (
        "run --hub lab --manager reference --driver x.yaml",
        &["use --driver reference"],
    ),
    (
        "run --hub lab --manager reference --audit-log conforming.yaml",
        &["a test hub's own audit log is read"],
    ),
    (
        "run --hub lab --manager reference --driver none --allow-mutations",
        &["leave out --allow-mutations"],
    ),
    (
        "run --hub lab --manager reference --members none --members m.yaml",
        &["--members none queries no member"],
    ),
    ("run --probe --no-probe", &["--no-probe"]),
    ("run --allow-mutations", &["add --driver FILE"]),
    ("run --clean --allow-mutations", &["--clean", "--allow-mutations"]),
    ("run --driver reference", &["add --hub lab --manager reference"]),
    ("run --driver x.yaml --observe 0s", &["--observe 0s cannot see"]),
    ("doctor --probe --no-probe", &["--no-probe"]),
    ("doctor zzz", &["unknown rule"]),
    (
        "hub --hub envtest --audit-log-out audit.log --audit-level request",
        &["--audit-level is for --hub lab"],
    ),
    ("hub --hub envtest --port 6443", &["--port is for --hub lab"]),
    ("report verify report.yaml --dir .", &["cannot be used with"]),
    ("report verify report.yaml evidence --markdown", &["--markdown"]),
    // Files.
    ("run --driver x.yaml", &["failed to read the driver file x.yaml"]),
    (
        "run --config missing.yaml",
        &["failed to read the configuration missing.yaml"],
    ),
    ("run --config -", &["name a file"]),
    ("replay missing.jsonl", &["missing.jsonl"]),
    ("report verify missing.yaml conforming.yaml", &["missing.yaml"]),
    (
        "report verify conforming.yaml violating.yaml",
        &["conforming.yaml", "it is not a report"],
    ),
    // Files without an end.
    ("run --from /dev/zero", &["/dev/zero:1:1 is not valid YAML"]),
    (
        "report diff /dev/zero /dev/zero",
        &["it has more than 67108864 bytes, and no report does"],
    ),
    (
        "run --kubeconfig /dev/zero",
        &["/dev/zero", "it has more than 64 MiB: is this the right file?"],
    ),
    (
        "run --from conforming.yaml --waivers /dev/zero",
        &["/dev/zero", "it has more than 16 MiB: is this the right file?"],
    ),
];

#[test]
fn bad_usage_is_one_message() {
    for (line, parts) in REFUSED {
        refused(line, parts);
    }
    let folder = Folder::new();
    let kubeconfig = folder.kubeconfig(1);
    for flag in ["--config", "--members", "--provider-file", "--driver"] {
        let line = format!("run --kubeconfig {kubeconfig} --allow-mutations {flag} /dev/zero");
        refused(
            line,
            &["/dev/zero", "it has more than 16 MiB: is this the right file?"],
        );
    }
    for flag in ["--cluster-manager-agent", "--scheduler-agent", "--consumer-agent"] {
        let line = format!("run --from conforming.yaml {flag}");
        refused(
            format!("{line} 'manager/v0.0.0 (linux)'"),
            &[flag, "before the first `/`: write manager"],
        );
        refused(format!("{line} /"), &[flag, "such as manager"]);
    }
}

#[cfg(not(feature = "k3s"))]
#[test]
fn a_build_without_containers_says_how_to_have_them() {
    let parts = ["built without the feature k3s", "--features k3s", "--hub envtest"];
    refused("hub --hub k3s", &parts);
    refused("run --hub k3s --manager reference", &parts);
}

#[test]
fn flags_of_a_role_that_is_not_judged_are_refused() {
    let lab = "run --hub lab --manager reference";
    for flag in [
        "--scheduler",
        "--scheduler-user",
        "--scheduler-agent",
        "--scheduler-field-manager",
    ] {
        let parts = [flag, "it applies only to --role scheduler"];
        refused(format!("{lab} {flag} s"), &parts);
    }
    for flag in [
        "--cluster-manager m",
        "--cluster-manager-user m",
        "--cluster-manager-agent m",
        "--expect-profiles 3",
        "--feature consumer-secrets",
        "--consumer c",
        "--clusterset n=s",
        "--node-tolerance 1",
        "--members from-secrets",
    ] {
        let name = flag.split(' ').next().expect("a name");
        let parts = [name, "it applies only to --role manager"];
        refused(format!("{lab} --role scheduler {flag}"), &parts);
    }
    // A dump or evidence may hold objects of either role.
    let printed = expect(0, "run --from conforming.yaml --scheduler-user s");
    let note = "note: ignoring --scheduler-user: it applies only to --role scheduler";
    assert!(printed.contains(note), "{printed}");
    let printed = expect(0, "replay conforming.yaml --cluster-manager-user u");
    assert!(!printed.contains("ignoring --"), "{printed}");
}

#[test]
fn a_kubeconfig_that_cannot_be_used_is_bad_usage() {
    let folder = Folder::new();
    let kubeconfig = folder.flag("kubeconfig");
    let run = format!("run --observe 0s --kubeconfig {kubeconfig}");
    refused(&run, &["failed to read the kubeconfig", "--kubeconfig"]);
    folder.write("kubeconfig", "{apiVersion: v1, kind: Pod}");
    refused(
        &run,
        &["not a valid kubeconfig: its kind is `Pod`", "--kubeconfig"],
    );
    folder.kubeconfig(1);
    let done = call(&run);
    assert_eq!(done.code, Some(4), "{}", done.err);
    assert!(done.err.contains("try https://"), "{}", done.err);
}

#[test]
fn a_dump_that_cannot_be_used_is_reported() {
    let folder = Folder::new();
    let junit = folder.flag("junit.xml");
    refused(
        format!("run --from missing.yaml --junit {junit}"),
        &["missing.yaml", "No such file"],
    );
    assert_contains(&folder.text("junit.xml"), &["No such file"]);
    for (name, text) in [("empty.yaml", ""), ("broken.yaml", "a: [")] {
        refused(format!("run --from {}", folder.write(name, text)), &[name]);
    }
}

#[test]
fn outputs_are_checked_before_anything_else() {
    let folder = Folder::new();
    let input = folder.write("dump.yaml", include_str!("conforming.yaml"));
    let log = folder.write("audit.log", "{}");
    let report = folder.flag("report");
    fs::create_dir(folder.path("folder")).expect("created");
    let run = format!("run --from {input}");
    let path = |name: &str| folder.flag(name);
    for (flags, parts) in [
        (
            format!("--junit {}", path("no/such/report.xml")),
            ["--junit", "create the folder"],
        ),
        (format!("--json {}", path("")), ["--json", "it is a folder"]),
        (
            format!("--json {report} --junit {report}"),
            ["--junit and --json both name", "report"],
        ),
        (
            format!("--json {report} --record {}", path("folder/../report")),
            ["--record and --json", "report"],
        ),
        (
            format!("--json {input}"),
            ["is both an input and an output", "dump.yaml"],
        ),
        (
            format!("--audit-log {log} --record {log}"),
            ["is both an input and an output", "audit.log"],
        ),
    ] {
        refused(format!("{run} {flags}"), &parts);
    }
    assert!(!folder.path("report").exists());
}

/// A file on standard output stays.
#[test]
fn evidence_may_go_to_standard_output() {
    let folder = Folder::new();
    let file = fs::File::create(folder.path("out")).expect("created");
    let mut run = command("run --from conforming.yaml --record /dev/stdout");
    assert!(run.stdout(file).status().expect("the command runs").success());
    let printed = folder.text("out");
    assert!(printed.starts_with("{\"header\":"), "{printed}");
    assert_contains(&printed, &["\n{\"end\":{}}\n", "\nno violation found: "]);
}

#[test]
fn a_closed_pipe_is_not_a_failure() {
    let folder = Folder::new();
    let mut run = command(format!(
        "run --from conforming.yaml --json {}",
        folder.flag("report.json")
    ))
    .stdout(Stdio::piped())
    .stderr(Stdio::piped())
    .spawn()
    .expect("the command runs");
    drop(run.stdout.take());
    let done = run.wait_with_output().expect("it ends");
    assert_eq!(done.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&done.stderr), "");
    assert_eq!(folder.json("report.json")["decision"], "no-violation");
}

#[test]
fn help_version_and_namespace_are_as_in_kubectl() {
    let version = expect(0, "version");
    assert_eq!(version, expect(0, "--version"));
    assert!(version.contains(env!("CARGO_PKG_VERSION")), "{version}");
    assert_eq!(expect(0, "help run"), expect(0, "run --help"));
    assert_eq!(expect(0, "help"), expect(0, "--help"));
    let judged = |flag| expect(3, format!("run --from conforming.yaml {flag} nowhere"));
    assert_eq!(judged("-n"), judged("--namespace"));
    assert_contains(&expect(0, "rbac -n fleet"), &["namespace: \"fleet\""]);
}

#[test]
fn the_flag_for_colors_wins_over_the_environment() {
    let is_colored = |flags: &str, environment: &[(&str, &str)]| {
        let mut command = command(format!("run --from conforming.yaml version/ {flags}"));
        for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE"] {
            command.env_remove(name);
        }
        let done = done(command.envs(environment.iter().copied()));
        assert_eq!(done.code, Some(0), "{flags}");
        done.out.contains('\u{1b}')
    };
    let forced = [("CLICOLOR_FORCE", "1")];
    // None of this is a terminal.
    assert!(!is_colored("", &[]));
    assert!(is_colored("", &forced));
    assert!(!is_colored("", &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]));
    assert!(!is_colored("--color never", &forced));
    assert!(is_colored("--color=always", &[("NO_COLOR", "1")]));
    assert!(!is_colored("--color auto", &[("NO_COLOR", "1")]));
}
