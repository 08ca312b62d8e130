//! Dumps, audit logs and records: what a run reads from files.

use super::*;

#[test]
fn an_empty_list_is_an_inventory_without_profiles() {
    let folder = Folder::new();
    let (dump, junit) = (folder.flag("empty.yaml"), folder.flag("report.xml"));
    fs::write(
        &dump,
        "apiVersion: v1\nkind: List\nitems: []\nmetadata: {resourceVersion: ''}\n",
    )
    .expect("written");
    let told = expect(3, &["run", "--from", &dump, "--junit", &junit]);
    assert!(told.contains("there is no ClusterProfile to examine"), "{told}");
    assert!(folder.text("report.xml").contains("<testsuite"));
}

#[test]
fn what_is_claimed_is_asked_for_in_a_dump_too() {
    let run = ["run", "--from", "conforming.yaml"];
    expect(0, &run);
    for claim in [["--feature", "consumer-secrets"], ["--consumer", "argocd"]] {
        let told = expect(3, &[&run[..], &claim].concat()).replace("\n  ", " ");
        assert!(told.contains("claimed, but the dump holds no Secrets"), "{told}");
    }
}

#[test]
fn a_clusterset_is_declared_by_its_namespace_and_recorded() {
    let run = [
        "run",
        "--from",
        "conforming.yaml",
        "clustersets/namespace-labelled",
    ];
    let declared = |sets: &[&'static str]| [&run[..], sets].concat();
    for (given, told) in [
        ("fleet", "such as fleet=production"),
        ("fleet=", "such as fleet=production"),
        ("=production", "such as fleet=production"),
        ("Fleet=production", "`Fleet` is not a valid namespace name"),
        ("fleet=in production", "not a valid label value"),
    ] {
        refused(&declared(&["--clusterset", given]), &["--clusterset", told]);
    }
    let both = ["--clusterset", "fleet=one", "--clusterset", "fleet=two"];
    refused(
        &declared(&both),
        &["fleet=two contradicts --clusterset fleet=one"],
    );

    // Nothing else tells of a ClusterSet there.
    expect(3, &declared(&[]));
    let folder = Folder::new();
    let (record, json) = (folder.flag("evidence.jsonl"), folder.flag("report.json"));
    let fleet = ["--clusterset", "fleet=production"];
    expect(1, &[&run[..], &fleet, &["--record", &record]].concat());
    expect(1, &["replay", &record, run[3], "--json", &json]);
    let report = folder.json("report.json");
    let mut verdicts = report["verdicts"].as_array().expect("verdicts").iter();
    let verdict = verdicts.find(|verdict| verdict["rule"] == run[3]).expect("one");
    let finding = &verdict["findings"][0];
    assert_eq!(finding["object"]["name"], "fleet");
    assert_eq!(finding["expected"], "production");
    // What is said later replaces what was recorded.
    let unseen = ["--clusterset", "flet=production"];
    let told = expect(3, &[&["replay", &record, run[3]][..], &unseen].concat());
    assert!(
        told.contains("namespace flet represents a ClusterSet, as declared, but was not seen"),
        "{told}"
    );
}

#[test]
fn an_audit_log_is_read_from_a_folder_with_its_rotated_files() {
    let folder = Folder::new();
    let recorded = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/recorded");
    let log = fs::read_to_string(recorded.join("audit.log")).expect("the fixture is there");
    let half = log[..log.len() / 2].rfind('\n').expect("it has lines") + 1;
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed
        .write_all(&log.as_bytes()[..half])
        .expect("a vector takes all");
    let packed = packed.finish().expect("a vector takes all");
    fs::create_dir(folder.path("logs")).expect("created");
    let rotated = folder.path("logs/audit-2026-10-05T08-16-10.000.log.gz");
    fs::write(rotated, packed).expect("written");
    fs::write(folder.path("logs/audit.log"), &log[half..]).expect("written");

    let dump = recorded.to_str().expect("UTF-8");
    let requests = |given: &str| {
        let evidence = folder.flag("evidence");
        let run = ["run", "--from", dump, "--audit-log", given, "--record", &evidence];
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
        &["run", "--from", dump, "--audit-log", &folder.flag("none.log")],
        &["failed to read the audit log", "none.log"],
    );
}

#[test]
fn a_conforming_dump_has_no_violation_and_is_not_called_conformant() {
    let told = expect(0, &["run", "--from", "conforming.yaml"]);
    assert!(!told.contains("conformant with"), "{told}");
    let words = told.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("no violation found: "), "{told}");
    let (_, needs) = words
        .split_once("2 profiles, single snapshot to check the rest, add ")
        .expect("it says what a dump cannot show");
    assert!(needs.contains("a watch") && needs.contains("a driver"), "{needs}");
    assert!(!told.contains('\u{1b}'), "no colours in a pipe: {told:?}");
}

#[test]
fn a_violation_is_told_so_that_it_can_be_mended() {
    let done = call_in_80_columns(&[
        "run",
        "--from",
        "violating.yaml",
        "identity/manager",
        "endpoints",
        "conditions/",
    ]);
    assert_eq!(done.code, Some(1), "{}{}", done.out, done.err);
    for line in done.out.lines() {
        // A command to copy and a test of the list stay in one line.
        let is_whole = line.starts_with("  explain ") || line.starts_with('[');
        assert!(is_whole || line.chars().count() <= 80, "too wide: {line}");
        assert!(!line.chars().any(char::is_control), "harmful: {line:?}");
    }
    let piped = call(&["run", "--from", "violating.yaml", "identity/manager"]);
    let unwrapped = |line: &str| line.contains("were not selected") && line.contains("single snapshot");
    assert!(piped.out.lines().any(unwrapped), "{}", piped.out);
    // How many rules there are besides is not of this test.
    let others =
        Regex::new(r"\d+\s+were\s+not\s+selected|\d+ of \d+\s+MUST\s+rules\s+judged").expect("a pattern");
    assert_eq!(others.find_iter(&done.out).count(), 2, "{}", done.out);
    insta::assert_snapshot!(others.replace_all(&done.out, "[others]"));
}

#[test]
fn should_rules_count_under_strict() {
    let warned = [
        "run",
        "--from",
        "violating.yaml",
        "conditions/joined-reported",
        "conditions/well-formed",
    ];
    let told = expect(0, &warned);
    assert!(
        told.contains("warning   conditions/joined-reported (1 finding): "),
        "{told}"
    );
    let told = expect(1, &[&warned[..], &["--strict"]].concat());
    assert!(
        told.contains("1 SHOULD rule fails (") && told.contains(", strict)"),
        "{told}"
    );
}

#[test]
fn a_replay_gives_the_same_report() {
    let folder = Folder::new();
    let (evidence, first, again) = (
        folder.flag("evidence.jsonl.zst"),
        folder.flag("1.json"),
        folder.flag("2.json"),
    );
    expect(
        1,
        &[
            "run",
            "--from",
            "violating.yaml",
            "--record",
            &evidence,
            "--json",
            &first,
        ],
    );
    expect(1, &["replay", &evidence, "--json", &again]);
    let but_for_the_time = |name: &str| {
        let text = folder.text(name);
        let lines: Vec<String> = text
            .lines()
            .filter(|line| !line.contains("\"judgedAt\""))
            .map(str::to_owned)
            .collect();
        assert_eq!(lines.len() + 1, text.lines().count());
        lines
    };
    assert_eq!(but_for_the_time("1.json"), but_for_the_time("2.json"));
    let report = folder.json("2.json");
    assert_eq!(report["evidence"]["file"], Value::from(evidence));
    assert_eq!(
        report["evidence"]["source"],
        folder.json("1.json")["evidence"]["source"]
    );
    assert_eq!(report["decision"], "not-conformant");
}
