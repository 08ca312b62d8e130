//! Dumps, audit logs and records: what a run reads from files.

use flate2::{Compression, write::GzEncoder};

use super::*;

#[test]
fn an_empty_list_is_an_inventory_without_profiles() {
    let folder = Folder::new();
    let text = "apiVersion: v1\nkind: List\nitems: []\nmetadata: {resourceVersion: ''}\n";
    let (dump, junit) = (folder.write("empty.yaml", text), folder.flag("report.xml"));
    let printed = expect(3, format!("run --from {dump} --junit {junit}"));
    assert!(
        printed.contains("there is no ClusterProfile to examine"),
        "{printed}"
    );
    assert!(folder.text("report.xml").contains("<testsuite"));
}

#[test]
fn what_is_claimed_is_asked_for_in_a_dump_too() {
    let run = "run --from conforming.yaml";
    expect(0, run);
    for claim in ["--feature consumer-secrets", "--consumer argocd"] {
        let printed = expect(3, format!("{run} {claim}")).replace("\n  ", " ");
        assert!(
            printed.contains("claimed, but the dump holds no Secrets"),
            "{printed}"
        );
    }
}

#[test]
fn a_clusterset_is_declared_by_its_namespace_and_recorded() {
    let rule = "clustersets/namespace-labelled";
    let run = format!("run --from conforming.yaml {rule}");
    // Nothing else declares a ClusterSet there.
    expect(3, &run);
    let folder = Folder::new();
    let (record, json) = (folder.flag("evidence.jsonl"), folder.flag("report.json"));
    expect(
        1,
        format!("{run} --clusterset fleet=production --record {record}"),
    );
    expect(1, format!("replay {record} {rule} --json {json}"));
    let report = folder.json("report.json");
    let finding = &verdict_of(&report, rule)["findings"][0];
    assert_eq!(finding["object"]["name"], "fleet");
    assert_eq!(finding["expected"], "production");
    // What is said later replaces what was recorded.
    let printed = expect(3, format!("replay {record} {rule} --clusterset flet=production"));
    assert!(
        printed.contains("namespace flet represents a ClusterSet, as declared, but was not seen"),
        "{printed}"
    );
}

#[test]
fn an_audit_log_is_read_from_a_folder_with_its_rotated_files() {
    let folder = Folder::new();
    let recorded = Path::new(ROOT).join("fixtures/recorded");
    let log = fs::read_to_string(recorded.join("audit.log")).expect("the fixture is there");
    let half = log[..log.len() / 2].rfind('\n').expect("it has lines") + 1;
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed
        .write_all(&log.as_bytes()[..half])
        .expect("a vector takes all");
    let packed = packed.finish().expect("a vector takes all");
    fs::create_dir(folder.path("logs")).expect("created");
    folder.write("logs/audit-2026-10-05T08-16-10.000.log.gz", packed);
    folder.write("logs/audit.log", &log[half..]);

    let dump = recorded.to_str().expect("UTF-8");
    let requests = |given: &str| {
        let evidence = folder.flag("evidence");
        let run = format!("run --from {dump} --audit-log {given} --record {evidence}");
        let done = call(&run);
        let text = folder.text("evidence");
        let requests: Vec<String> = text
            .lines()
            .filter(|line| line.starts_with("{\"request"))
            .map(str::to_owned)
            .collect();
        (requests, done.err)
    };
    let (whole, said) = requests(&format!("{dump}/audit.log"));
    assert!(whole.len() > 20, "{whole:?}");
    assert!(!said.contains("note: "), "{said}");
    let (in_folder, _) = requests(&folder.flag("logs"));
    assert_eq!(in_folder, whole);
    refused(
        format!("run --from {dump} --audit-log {}", folder.flag("none.log")),
        &["failed to read the audit log", "none.log"],
    );
}

#[test]
fn a_conforming_dump_has_no_violation_and_is_not_called_conformant() {
    let printed = expect(0, "run --from conforming.yaml");
    assert!(!printed.contains("conformant with"), "{printed}");
    let words = unwrapped(&printed);
    assert!(words.contains("no violation found: "), "{printed}");
    let (_, needs) = words
        .split_once("2 profiles, single snapshot to check the rest, add ")
        .expect("it says what a dump cannot show");
    assert!(needs.contains("a watch") && needs.contains("a driver"), "{needs}");
    assert!(!printed.contains('\u{1b}'), "no colours in a pipe: {printed:?}");
}

#[test]
fn a_violation_is_told_so_that_it_can_be_mended() {
    let mut run = command("run --from violating.yaml identity/manager endpoints conditions/");
    let done = done(run.env("COLUMNS", "80"));
    assert_eq!(done.code, Some(1), "{}{}", done.out, done.err);
    for line in done.out.lines() {
        // A command to copy and a test of the list stay in one line.
        let is_whole = line.starts_with("  explain ") || line.starts_with('[');
        assert!(is_whole || line.chars().count() <= 80, "too wide: {line}");
        assert!(!line.chars().any(char::is_control), "harmful: {line:?}");
    }
    let piped = call("run --from violating.yaml identity/manager");
    let is_whole = |line: &str| line.contains("were not selected") && line.contains("single snapshot");
    assert!(piped.out.lines().any(is_whole), "{}", piped.out);
    // How many rules there are besides is not of this test.
    let others =
        Regex::new(r"\d+\s+were\s+not\s+selected|\d+ of \d+\s+MUST\s+rules\s+judged").expect("a pattern");
    assert_eq!(others.find_iter(&done.out).count(), 2, "{}", done.out);
    insta::assert_snapshot!(others.replace_all(&done.out, "[others]"));
}

#[test]
fn should_rules_count_under_strict() {
    let warned = "run --from violating.yaml conditions/joined-reported conditions/well-formed";
    let printed = expect(0, warned);
    assert_contains(&printed, &["warning   conditions/joined-reported (1 finding): "]);
    let printed = expect(1, format!("{warned} --strict"));
    assert!(
        printed.contains("1 SHOULD rule fails (") && printed.contains(", strict)"),
        "{printed}"
    );
}

#[test]
fn a_replay_gives_the_same_report() {
    let folder = Folder::new();
    let [evidence, first, again] = ["evidence.jsonl.zst", "1.json", "2.json"].map(|name| folder.flag(name));
    expect(
        1,
        format!("run --from violating.yaml --record {evidence} --json {first}"),
    );
    expect(1, format!("replay {evidence} --json {again}"));
    let without_time = |name: &str| {
        let mut report = folder.json(name);
        report.as_object_mut().expect("a report").remove("judgedAt");
        report["evidence"]
            .as_object_mut()
            .expect("evidence")
            .remove("file");
        report
    };
    assert_eq!(without_time("1.json"), without_time("2.json"));
    let report = folder.json("2.json");
    assert_eq!(report["evidence"]["file"], Value::from(evidence));
    assert_eq!(
        report["evidence"]["source"],
        folder.json("1.json")["evidence"]["source"]
    );
    assert_eq!(report["decision"], "not-conformant");
}

#[test]
fn each_command_that_reads_a_file_of_others_bounds_it() {
    let folder = Folder::new();
    let (report, evidence) = (folder.flag("report.yaml"), folder.flag("evidence.jsonl.zst"));
    // So many that their evidence is larger than the report.
    let profile = |number: usize| {
        format!(
            "---\napiVersion: multicluster.x-k8s.io/v1alpha1\nkind: ClusterProfile\nmetadata:\n  name: p{number}\n  \
             namespace: fleet\n  annotations:\n    note: {}\n",
            "x".repeat(200)
        )
    };
    let dump: String = (0..200).map(profile).collect();
    let dump = folder.write("dump.yaml", dump);
    expect(
        1,
        format!("run --from {dump} --report {report} --record {evidence}"),
    );
    let messages = ["it holds more than 100 bytes, unpacked", "--max-input SIZE"];
    for line in [
        format!("run --from {dump}"),
        format!("run --from {evidence}"),
        format!("replay {evidence}"),
        format!("report diff {report} {report}"),
        format!("report verify {report} {evidence}"),
    ] {
        refused(format!("{line} --max-input 100"), &messages);
    }
    // The report fits, and the evidence does not.
    let size = fs::metadata(folder.path("report.yaml")).expect("a report").len();
    refused(
        format!("report verify {report} {evidence} --max-input {size}"),
        &[
            "failed to read the evidence",
            "unpacked; allow more with --max-input SIZE",
        ],
    );
    expect(0, format!("report verify {report} {evidence} --max-input 1Mi"));
}
