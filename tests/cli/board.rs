//! The board, and the verification of a folder of reports: published reports, and what a pull request may contain.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::{Folder, call, command, expect, refused};

/// The reports of real managers.
fn published(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("reports").join(name)
}

impl Folder {
    /// Submits the report of a dump, in a folder of its own, by that edition.
    fn submit(&self, folder: &str, dump: &str, edition: &str, more: &[&str]) {
        let place = self.path(folder);
        fs::create_dir_all(&place).expect("created");
        let own = folder.strip_prefix("reports/").expect("in reports/");
        let (project, version) = own.rsplit_once('/').expect("IMPLEMENTATION/VERSION");
        let config = format!(
            "apiVersion: conformance.clusterprofile/v1\nkind: Configuration\nimplementation: {{organization: Example, project: {project:?}, \
             url: 'https://fleet.example', version: {version}, contact: ['@someone']}}\n"
        );
        let config_file = self.flag("conformance.yaml");
        fs::write(&config_file, config).expect("written");
        let file = |name: &str| place.join(name).display().to_string();
        let (report, evidence) = (file("report.yaml"), file("evidence.jsonl.zst"));
        let arguments = [
            "run",
            "--from",
            dump,
            "--config",
            &config_file,
            "--edition",
            edition,
        ];
        let leave = ["--report", &report, "--record", &evidence];
        let done = call(&[&arguments[..], more, &leave].concat());
        assert!(matches!(done.code, Some(0 | 1)), "{}", done.err);
    }

    fn change(&self, file: &str, old: &str, new: &str) {
        let text = self.text(file);
        assert!(text.contains(old), "{old:?} is not in: {text}");
        fs::write(self.path(file), text.replacen(old, new, 1)).expect("written");
    }

    /// Writes the board of `reports` and returns the page.
    fn board(&self) -> String {
        let out = self.flag("board.html");
        expect(0, &["report", "site", &self.flag("reports"), "--out", &out]);
        self.text("board.html")
    }
}

/// The row of a version.
fn row<'a>(page: &'a str, name: &str) -> &'a str {
    let start = format!("<th scope=\"row\">{name}<small>");
    let (_, row) = page
        .split_once(&start)
        .unwrap_or_else(|| panic!("no {name}: {page}"));
    row.split("</tr>").next().unwrap_or(row)
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("created");
    for entry in fs::read_dir(from).expect("a folder") {
        let entry = entry.expect("an entry");
        fs::copy(entry.path(), to.join(entry.file_name())).expect("copied");
    }
}

#[test]
fn the_published_reports_make_a_page() {
    let folder = Folder::new();
    let reports = published("").display().to_string();
    let out = folder.flag("board.html");
    let printed = expect(0, &["report", "site", &reports, "--out", &out]);
    assert!(
        printed.contains(" reports, 0 unreadable folders: open "),
        "{printed}"
    );
    let page = folder.text("board.html");
    for role in ["manager", "scheduler", "consumer"] {
        assert!(page.contains(&format!("<section id=\"{role}\">")), "{role}");
    }
    let version = row(&page, "ocm v1.3.1");
    for part in [
        "not conformant",
        "MUST rules: ",
        " not applicable",
        "clusterprofile-conformance",
        "agents: real",
        "hub: imitated: ",
        "verified",
        "not submitted: from the same evidence",
    ] {
        assert!(version.contains(part), "{part}: {version}");
    }
    let link = "<a href=\"#ocm/v1.3.1/clustersets/namespace-labelled\">";
    let finding = "<article id=\"ocm/v1.3.1/clustersets/namespace-labelled\">";
    assert!(page.contains(link) && page.contains(finding));
    let (_, rule) = page
        .split_once("<code>updates/no-empty-writes</code>")
        .expect("a rule");
    let rule = rule.split("</tr>").next().expect("its row");
    assert!(
        rule.contains("<strong class=\"better\">better</strong>"),
        "{rule}"
    );
}

#[test]
fn the_published_reports_hold_and_lack_but_minutes() {
    let reports = published("").display().to_string();
    let told = expect(0, &["report", "verify", "--dir", &reports, "--markdown"]);
    assert!(told.starts_with("## ✅ Conformance reports: "), "{told}");
    let mut to_do = told.lines().filter(|line| line.starts_with("  - "));
    assert!(
        to_do.all(|line| line.starts_with("  - it watched for ")),
        "{told}"
    );
    assert!(expect(0, &["report", "verify", "--dir", &reports]).contains("holds: ocm/v1.2.1\n"));
}

#[test]
fn everything_that_a_pull_request_may_hold_is_shown_as_what_it_is() {
    let folder = Folder::new();
    folder.submit("reports/good/v1.0.0", "conforming.yaml", "standard", &[]);
    folder.submit("reports/other-edition/v1.0.0", "conforming.yaml", "2026-09", &[]);
    folder.submit(
        "reports/narrowed/v1.0.0",
        "conforming.yaml",
        "standard",
        &["identity/"],
    );
    folder.submit("reports/forged/v1.0.0", "violating.yaml", "standard", &[]);
    folder.change(
        "reports/forged/v1.0.0/report.yaml",
        "decision: not-conformant",
        "decision: conformant",
    );
    folder.submit("reports/older/v1.0.0", "violating.yaml", "standard", &[]);
    folder.change(
        "reports/older/v1.0.0/report.yaml",
        "identity/manager-label-matches",
        "identity/of-another-suite",
    );
    folder.submit("reports/bare/v1.0.0", "conforming.yaml", "standard", &[]);
    fs::remove_file(folder.path("reports/bare/v1.0.0/evidence.jsonl.zst")).expect("removed");
    folder.submit("reports/garbled/v1.0.0", "conforming.yaml", "standard", &[]);
    fs::write(
        folder.path("reports/garbled/v1.0.0/evidence.jsonl.zst"),
        "no evidence",
    )
    .expect("written");
    fs::create_dir_all(folder.path("reports/empty/v1.0.0")).expect("created");
    fs::create_dir_all(folder.path("reports/broken/v1.0.0")).expect("created");
    fs::write(folder.path("reports/broken/v1.0.0/report.yaml"), "kind: x\n").expect("written");
    fs::write(folder.path("reports/README.md"), "no report").expect("written");

    let page = folder.board();
    for part in ["<code>empty/v1.0.0</code>", "<code>broken/v1.0.0</code>"] {
        assert!(page.contains(part), "{part}");
    }
    let derived = "not submitted: from the same evidence";
    for name in ["good", "other-edition"] {
        let row = row(&page, &format!("{name} v1.0.0"));
        assert!(
            row.contains("holds: its evidence reproduces it") && row.contains(derived),
            "{row}"
        );
    }
    for (name, words) in [
        ("narrowed", "rules were deselected"),
        ("forged", "does not hold: it contradicts itself"),
        ("older", "does not hold: it contradicts itself"),
        ("bare", "not verified: no evidence"),
        ("garbled", "not verified: its evidence cannot be read"),
    ] {
        let row = row(&page, &format!("{name} v1.0.0"));
        assert!(row.contains(words) && !row.contains(derived), "{words}: {row}");
    }

    let done = call(&["report", "verify", "--dir", &folder.flag("reports"), "--markdown"]);
    assert_eq!(done.code, Some(1), "{}", done.err);
    for told in [
        "❌ Conformance reports: 3 of 9 hold, 2 do not hold, 2 are not verified, 2 cannot be read",
        "`bare/v1.0.0`: `bare v1.0.0` is ",
        "- it has no report.yaml: write one with \\`run --report\\`",
        "- the evidence is missing: add evidence.jsonl.zst next to report.yaml",
    ] {
        assert!(done.out.contains(told), "{told:?} is not in: {}", done.out);
    }
}

#[test]
fn the_code_tells_forged_from_unreadable_from_unproven() {
    let folder = Folder::new();
    let verify = |folder: &Folder| call(&["report", "verify", "--dir", &folder.flag("reports")]).code;
    folder.submit("reports/fleet/v1.0.0", "violating.yaml", "standard", &[]);
    fs::remove_file(folder.path("reports/fleet/v1.0.0/evidence.jsonl.zst")).expect("removed");
    assert_eq!(verify(&folder), Some(0));
    fs::create_dir_all(folder.path("reports/empty")).expect("created");
    assert_eq!(verify(&folder), Some(2));
    folder.change(
        "reports/fleet/v1.0.0/report.yaml",
        "decision: not-conformant",
        "decision: conformant",
    );
    assert_eq!(verify(&folder), Some(1));
    fs::create_dir_all(folder.path("nothing")).expect("created");
    refused(
        &["report", "verify", "--dir", &folder.flag("nothing")],
        &["there is no report in"],
    );
    refused(
        &["report", "verify", "--dir", &folder.flag("missing")],
        &["failed to read the folder"],
    );
    refused(
        &["report", "verify", "report.yaml", "--dir", "."],
        &["cannot be used with"],
    );
    refused(
        &["report", "verify", "report.yaml", "evidence", "--markdown"],
        &["--markdown"],
    );
}

/// A report with the evidence of a worse run, and its checksum.
#[test]
fn evidence_of_another_run_refutes_each_verdict() {
    let folder = Folder::new();
    folder.submit("reports/fleet/v1.0.0", "conforming.yaml", "standard", &[]);
    folder.submit("reports/worse/v1.0.0", "violating.yaml", "standard", &[]);
    let kept = |folder: &Folder, name: &str, key: &str| {
        let text = folder.text(&format!("reports/{name}/v1.0.0/report.yaml"));
        let line = text
            .lines()
            .find(|line| line.starts_with(&format!("  {key}: ")))
            .expect("a line");
        line.to_owned()
    };
    for key in ["sha256", "bytes"] {
        let (old, new) = (kept(&folder, "fleet", key), kept(&folder, "worse", key));
        folder.change("reports/fleet/v1.0.0/report.yaml", &old, &new);
    }
    let evidence = |name: &str| folder.path(&format!("reports/{name}/v1.0.0/evidence.jsonl.zst"));
    fs::copy(evidence("worse"), evidence("fleet")).expect("copied");
    let page = folder.board();
    let fleet = row(&page, "fleet v1.0.0");
    assert!(
        fleet.contains("does not hold: its evidence says otherwise"),
        "{fleet}"
    );
    // The page shows what the evidence says.
    assert!(
        page.contains("<article id=\"fleet/v1.0.0/identity/manager-label-matches\">"),
        "{page}"
    );
}

#[cfg(unix)]
#[test]
fn links_are_not_followed() {
    let folder = Folder::new();
    copy(&published("ocm/v1.2.1"), &folder.path("reports/ocm/v1.2.1"));
    let secret = folder.path("secret.yaml");
    fs::write(&secret, "token: abc\n").expect("written");
    let linked = folder.path("reports/linked/v1");
    fs::create_dir_all(&linked).expect("created");
    std::os::unix::fs::symlink(&secret, linked.join("report.yaml")).expect("linked");
    let evidence = folder.path("reports/ocm/v1.2.1/evidence.jsonl.zst");
    fs::rename(&evidence, folder.path("evidence.jsonl.zst")).expect("moved");
    std::os::unix::fs::symlink(folder.path("evidence.jsonl.zst"), &evidence).expect("linked");
    let told = command(&["report", "verify", "--dir", &folder.flag("reports")])
        .output()
        .expect("it runs");
    let told = String::from_utf8(told.stdout).expect("UTF-8");
    assert!(
        told.contains("report.yaml is no regular file") && !told.contains("abc"),
        "{told}"
    );
    assert!(told.contains("not verified: ocm/v1.2.1"), "{told}");
}
