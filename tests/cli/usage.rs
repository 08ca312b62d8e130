//! Bad usage: one message, and the code 2. What kubectl and a shell lead a user to expect.

use super::*;

const REFUSED: &str = "
# Names that do not exist.
run --nonsense | --nonsense
rum --hub lab | 'rum' | 'run'
completion | 'completions'
run --feature consumer-secret | did you mean `consumer-secrets`?
run --from conforming.yaml --feature secrets | unknown feature `secrets` | consumer-secrets
run --edition standart | did you mean `standard`?
run --edition zzz | (the editions: standard, 2026-07, 2026-09, placement-2025-09, placement-2026-09, consumer-2026-07, consumer-2026-09)
list --edition 2027-01 | standard, 2026-07, 2026-09, placement-2025-09
hub --manager refrence | did you mean `reference`?
explain identity/manager-label-presnt | did you mean `identity/manager-label-present`?
explain manager-label-presnt | did you mean `identity/manager-label-present`?
run --from conforming.yaml --exact identity | unknown rule `identity`
run --from conforming.yaml --exact manager-label-presnt | did you mean `identity/manager-label-present`?
run --from conforming.yaml --skip identiy | did you mean `identity`?
run --from conforming.yaml identiy/ | did you mean `identity`?
run --from conforming.yaml zzz/ | unknown rule `zzz/`
run --from conforming.yaml member-id-non-empty | edition standard has no rule like `member-id-non-empty` | 2026-09
run --hub lab --manager reference=identity/manager-label-presnt | did you mean `identity/manager-label-present`?
run --hub lab --manager reference=identity/member-id-set | edition standard | add --edition 2026-09
doctor zzz | unknown rule
# Values.
run --observe 5 | 30s, 5m or 1h30m
run --request-timeout 5 | 30s, 5m or 1h30m, or 0s for no limit
run --hub lab --manager reference --settle 131s | at most 130s
run --from conforming.yaml --expect-profiles some | --expect-profiles
run --from conforming.yaml --basis derived | --basis | explicit
run --from conforming.yaml --clusterset fleet | --clusterset | for example fleet=production
run --from conforming.yaml --clusterset =production | for example fleet=production
run --from conforming.yaml --clusterset Fleet=production | for example fleet=production
run --from conforming.yaml --clusterset 'fleet=in production' | a label value
run --from conforming.yaml --clusterset fleet=one --clusterset fleet=two | fleet=two contradicts --clusterset fleet=one
run --from conforming.yaml --cluster-manager-agent 'manager/v0 (linux)' | before the first `/`: write manager
run --from conforming.yaml --scheduler-agent 'manager/v0 (linux)' | --scheduler-agent | write manager
run --from conforming.yaml --consumer-agent / | --consumer-agent | for example manager
replay conforming.yaml --max-input lots | for example 500Mi or 4Gi
rbac --bind Nobody | write it as NAMESPACE:NAME
# Flags that contradict each other, or that need another one.
run --from conforming.yaml --hub lab | --from | --hub
run --from conforming.yaml --observe 5m | --from | --observe
run --from conforming.yaml --settle 1s | --settle
run --from conforming.yaml --request-timeout 5s | --from | --request-timeout
run --from conforming.yaml identity/ --skip identity/ | no rule is left
run --from conforming.yaml --feature consumer-secrets --no-feature consumer-secrets | contradicts
run --from conforming.yaml --role manager,consumer | a consumer is judged alone | leave out the other roles
run --from conforming.yaml --role manager --edition placement-2025-09 | is for the role scheduler | add --role scheduler
run --role consumer --namespace a | --namespace | the driver file names the namespaces
run --role consumer --observe 5m | --observe | the scenarios of a consumer set the duration
run --manager reference | add --hub lab, --hub envtest or --hub k3s
run --hub lab | --manager reference
run --hub lab --manager reference --context x | --context
run --hub lab --manager reference --clean | --clean
run --hub lab --manager reference --request-timeout 5s | --request-timeout
run --hub lab --manager reference --driver x.yaml | use --driver reference
run --hub lab --manager reference --audit-log conforming.yaml | a test hub's own audit log is read
run --hub lab --manager reference --driver none --allow-mutations | leave out --allow-mutations
run --hub lab --manager reference --members none --members m.yaml | --members none queries no member
run --probe --no-probe | --no-probe
doctor --probe --no-probe | --no-probe
run --allow-mutations | add --driver FILE
run --clean --allow-mutations | --clean | --allow-mutations
run --driver reference | add --hub lab --manager reference
run --driver x.yaml --observe 0s | --observe 0s cannot see
hub --hub envtest --port 6443 | --port is for --hub lab
report verify report.yaml --dir . | cannot be used with
# Flags of a role that is not judged.
run --hub lab --manager reference --scheduler s | --scheduler | it applies only to --role scheduler
run --hub lab --manager reference --scheduler-user s | --scheduler-user | it applies only to --role scheduler
run --hub lab --manager reference --scheduler-agent s | --scheduler-agent | it applies only to --role scheduler
run --hub lab --manager reference --scheduler-field-manager s | --scheduler-field-manager | applies only to --role scheduler
run --hub lab --manager reference --role scheduler --cluster-manager m | --cluster-manager | applies only to --role manager
run --hub lab --manager reference --role scheduler --cluster-manager-user m | applies only to --role manager
run --hub lab --manager reference --role scheduler --cluster-manager-agent m | applies only to --role manager
run --hub lab --manager reference --role scheduler --expect-profiles 3 | --expect-profiles | applies only to --role manager
run --hub lab --manager reference --role scheduler --feature consumer-secrets | --feature | applies only to --role manager
run --hub lab --manager reference --role scheduler --consumer c | --consumer | applies only to --role manager
run --hub lab --manager reference --role scheduler --clusterset n=s | --clusterset | applies only to --role manager
run --hub lab --manager reference --role scheduler --node-tolerance 1 | --node-tolerance | applies only to --role manager
run --hub lab --manager reference --role scheduler --members from-secrets | --members | applies only to --role manager
# Files.
run --from missing.yaml | missing.yaml | No such file
run --from conforming.yaml --audit-log none.log | failed to read the audit log | none.log
run --driver x.yaml | failed to read the driver file x.yaml
run --config missing.yaml | failed to read the configuration missing.yaml
run --config - | name a file
run --from conforming.yaml --waivers missing.yaml | failed to read the waivers missing.yaml
run --from conforming.yaml --waivers - | name a file
replay missing.jsonl | missing.jsonl
report verify missing.yaml conforming.yaml | missing.yaml
report verify conforming.yaml violating.yaml | conforming.yaml | it is not a report
run --observe 0s --kubeconfig missing | failed to read the kubeconfig | --kubeconfig
run --observe 0s --kubeconfig conforming.yaml | not a valid kubeconfig: its kind is `List` | --kubeconfig
# Files without an end.
run --from /dev/zero | /dev/zero:1: an object of more than 16 MiB
report diff /dev/zero /dev/zero | it has more than 67108864 bytes: is it the evidence?
run --kubeconfig /dev/zero | /dev/zero | it has more than 64 MiB: is this the right file?
run --from conforming.yaml --waivers /dev/zero | /dev/zero | it has more than 16 MiB: is this the right file?
run --kubeconfig unreachable.kubeconfig --config /dev/zero | /dev/zero | it has more than 16 MiB: is this the right file?
run --kubeconfig unreachable.kubeconfig --allow-mutations --members /dev/zero | /dev/zero | it has more than 16 MiB: is this the right file?
run --kubeconfig unreachable.kubeconfig --allow-mutations --provider-file /dev/zero | /dev/zero | it has more than 16 MiB: is this the right file?
run --kubeconfig unreachable.kubeconfig --allow-mutations --driver /dev/zero | /dev/zero | it has more than 16 MiB: is this the right file?
";

#[cfg(not(feature = "k3s"))]
const WITHOUT_K3S: &str = "
hub --hub k3s | built without the feature k3s | --features k3s | --hub envtest
run --hub k3s --manager reference | built without the feature k3s | --features k3s | --hub envtest
";
#[cfg(feature = "k3s")]
const WITHOUT_K3S: &str = "";

#[cfg(not(feature = "k3s"))]
#[test]
fn build_without_k3s_says_so_before_it_writes() {
    let folder = Folder::new();
    let report = folder.write("report.json", "an earlier report");
    let run = format!("run --hub k3s --manager reference --json {report}");
    refused(run, &["built without the feature k3s"]);
    assert_eq!(folder.text("report.json"), "an earlier report");
    let hub = format!(
        "hub --hub k3s --members a --members-out {}",
        folder.flag("members")
    );
    refused(hub, &["built without the feature k3s"]);
    assert!(!folder.path("members").exists());
}

#[test]
fn bad_usage_is_one_message() {
    for row in table(REFUSED).chain(table(WITHOUT_K3S)) {
        refused(row[0], &row[1..]);
    }
    // A dump or evidence may hold objects of either role.
    let note = "note: ignoring --scheduler-user: it applies only to --role scheduler";
    expect_output(0, "run --from conforming.yaml --scheduler-user s", &[note]);
    let printed = expect(0, "replay conforming.yaml --cluster-manager-user u");
    assert!(!printed.contains("ignoring --"), "{printed}");
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
}

#[test]
fn output_has_colors_on_request_only() {
    // None of this is a terminal.
    for (variables, is_colored) in [
        (&[][..], false),
        (&["CLICOLOR_FORCE"], true),
        (&["CLICOLOR_FORCE", "NO_COLOR"], false),
    ] {
        let mut command = command("run --from conforming.yaml version/");
        for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE"] {
            command.env_remove(name);
        }
        let done = done(command.envs(variables.iter().map(|name| (name, "1"))));
        assert_eq!(done.code, Some(0), "{variables:?}");
        assert_eq!(done.out.contains('\u{1b}'), is_colored, "{variables:?}");
    }
}
