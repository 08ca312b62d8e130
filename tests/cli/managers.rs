//! The published reports of real managers: they follow from the evidence beside them, by the suite as it is.

use super::*;

/// A folder of a manager's version: `reports/NAME/VERSION`.
fn published() -> Vec<PathBuf> {
    let reports = Path::new(env!("CARGO_MANIFEST_DIR")).join("reports");
    let mut folders = Vec::new();
    for manager in fs::read_dir(&reports).expect("reports") {
        let versions = fs::read_dir(manager.expect("a folder").path()).expect("versions");
        folders.extend(versions.map(|version| version.expect("a folder").path()));
    }
    assert!(folders.len() >= 2, "{folders:?}");
    folders
}

#[test]
fn published_reports_follow_from_their_evidence() {
    for folder in published() {
        let file = |name: &str| folder.join(name).display().to_string();
        let verify = [
            "report",
            "verify",
            &file("report.yaml"),
            &file("evidence.jsonl.zst"),
        ];
        let told = expect(0, &verify);
        // They watched for less than the floor of evidence, and lack nothing else.
        let lacks = told.lines().filter(|line| line.starts_with("not submittable: "));
        let others: Vec<&str> = lacks.filter(|line| !line.contains("it watched for ")).collect();
        assert!(others.is_empty(), "{}: {told}", folder.display());
        for name in ["report.json", "report.md"] {
            let text = fs::read_to_string(folder.join(name)).expect(name);
            assert!(
                !text.contains("/tmp/"),
                "{}/{name} names a place of a machine",
                folder.display()
            );
        }
    }
}

#[test]
fn published_decisions_follow_from_the_evidence_in_every_edition() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = fs::read_to_string(root.join("ci/managers/README.md")).expect("a README");
    for folder in published() {
        if is_of_consumer(&folder) {
            continue;
        }
        for edition in editions(&folder) {
            let evidence = folder.join("evidence.jsonl.zst").display().to_string();
            let out = Folder::new();
            let report = out.flag("report.json");
            call(&["replay", &evidence, "--edition", edition, "--json", &report]);
            let row = row(
                &out.json("report.json"),
                folder.strip_prefix(root).expect("within"),
            );
            assert!(readme.contains(&row), "ci/managers/README.md lacks:\n{row}");
        }
    }
}

/// Whether a consumer was judged.
fn is_of_consumer(folder: &Path) -> bool {
    let report = fs::read_to_string(folder.join("report.json")).expect("a report");
    report.contains(r#""edition": "consumer-"#)
}

/// The editions of the role that was judged.
fn editions(folder: &Path) -> &'static [&'static str] {
    let report = fs::read_to_string(folder.join("report.json")).expect("a report");
    if report.contains(r#""edition": "placement-"#) {
        &["placement-2025-09", "placement-2026-09"]
    } else {
        &["standard", "2026-07", "2026-09"]
    }
}

/// Whether a manager's own configuration, and so its pin, is of that version.
fn is_pinned(root: &Path, folder: &Path) -> bool {
    let mut parts = folder.iter().rev().map(|part| part.to_str().expect("text"));
    let (version, name) = parts.next().zip(parts.next()).expect("a name and a version");
    let configuration = root.join("ci/managers").join(name).join("conformance.yaml");
    let text = fs::read_to_string(configuration).expect("a configuration");
    text.contains(&format!("  version: {version}\n"))
}

#[test]
fn a_manager_has_reports_of_its_pinned_version_and_of_another() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let of = |name: &str, pinned: bool| {
        let mut folders = published().into_iter();
        folders.any(|folder| {
            folder.parent().is_some_and(|parent| parent.ends_with(name)) && is_pinned(root, &folder) == pinned
        })
    };
    assert!(of("ocm", true) && of("kubefleet", true), "the pinned versions");
    assert!(of("ocm", false), "an earlier version, for the board's history");
}

/// An implementation and its version, as people call it.
fn name_of(report: &Value) -> String {
    let implementation = &report["claim"]["implementation"];
    let text = |key: &str| implementation[key].as_str().expect("text").to_owned();
    format!("{} {}", text("organization"), text("version"))
}

/// The row of the README's table that a report gives.
fn row(report: &Value, folder: &Path) -> String {
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    format!(
        "| [{}](../../{}/report.md) | `{}` | {} |\n",
        name_of(report),
        folder.display(),
        text(&report["edition"]),
        text(&report["decision"]).replace('-', " "),
    )
}
