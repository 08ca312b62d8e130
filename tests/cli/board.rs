//! The board, and the verification of a folder of reports: real reports, thirty made up, and all that a pull request may
//! hold.

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

    /// Makes the site of `reports` and gives back what was printed.
    fn site(&self) -> String {
        expect(
            0,
            &[
                "report",
                "site",
                &self.flag("reports"),
                "--out",
                &self.flag("site"),
            ],
        )
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("created");
    for entry in fs::read_dir(from).expect("a folder") {
        let entry = entry.expect("an entry");
        fs::copy(entry.path(), to.join(entry.file_name())).expect("copied");
    }
}

#[test]
fn the_published_reports_make_a_site() {
    let folder = Folder::new();
    let reports = published("").display().to_string();
    for site in ["one", "two"] {
        let told = expect(0, &["report", "site", &reports, "--out", &folder.flag(site)]);
        assert!(told.contains(" reports, "), "{told}");
    }
    let first = folder.text("one/index.html");
    assert_eq!(first, folder.text("two/index.html"));
    for name in ["ocm", "kubefleet"] {
        assert!(
            first.contains(&format!("href=\"implementations/{name}/index.html\"")),
            "{name}"
        );
        assert!(
            folder
                .text(&format!("one/implementations/{name}/badge.svg"))
                .contains("MUST rules fail")
        );
    }
    let cell = "href=\"implementations/ocm/v1.3.1-standard/report.html#clustersets/namespace-labelled\"";
    assert!(first.contains(cell), "no cell leads to OCM's finding");
    let report = folder.text("one/implementations/ocm/v1.3.1-standard/report.html");
    assert!(report.contains("id=\"clustersets/namespace-labelled\""));
    assert!(
        folder
            .text("one/sig-multicluster/v1alpha1/ocm/v1.3.1-standard.yaml")
            .contains("project: ocm")
    );
    let history = folder.text("one/implementations/kubefleet/index.html");
    let told = |word: &str, rule: &str| {
        let told = history.split("<li>").find(|item| item.contains(rule));
        assert!(told.is_some_and(|item| item.contains(word)), "{rule}: {history}");
    };
    told("better:", "updates/no-empty-writes");
    told("changed:", "access/tls-verified");
    // The same evidence by other editions: a verdict, but no report of the SIG's.
    for edition in ["2026-07", "2026-09"] {
        let page = folder.text(&format!("one/edition-{edition}.html"));
        assert!(page.contains(&format!("implementations/ocm/v1.3.1-{edition}/index.html")));
        assert!(page.contains("not submitted"), "{edition}");
        let matrix = format!("one/sig-multicluster/v1alpha1/ocm/v1.3.1-{edition}.yaml");
        assert!(!folder.path(&matrix).exists(), "{matrix}");
    }
    // What is there is not written over.
    refused(
        &["report", "site", &reports, "--out", &folder.flag("one")],
        &["--out", "is not empty"],
    );
}

#[test]
fn the_published_reports_hold_and_lack_but_minutes() {
    let reports = published("").display().to_string();
    let told = expect(0, &["report", "verify", "--dir", &reports, "--markdown"]);
    assert!(told.starts_with("## ✅ Conformance reports: "), "{told}");
    let mut to_do = told.lines().filter(|line| line.starts_with("- "));
    assert!(to_do.all(|line| line.starts_with("- it watched for ")), "{told}");
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

    let told = folder.site();
    assert!(told.contains("7 reports"), "{told}");
    let first = folder.text("site/index.html");
    for named in ["<code>empty/v1.0.0</code>", "<code>broken/v1.0.0</code>"] {
        assert!(first.contains(named), "{named}");
    }
    assert!(first.contains("edition-2026-09.html"));
    let page = |name: &str| folder.text(&format!("site/implementations/{name}/v1.0.0-standard/index.html"));
    assert!(page("good").contains("The report holds"));
    // What holds for one edition is judged by the others too, and nothing else is.
    let other = page("other-edition");
    assert!(other.contains("Nobody submitted a report for this edition") && !other.contains("report.yaml"));
    for name in ["narrowed", "forged", "older", "bare", "garbled"] {
        let by_another = format!("site/implementations/{name}/v1.0.0-2026-09");
        assert!(!folder.path(&by_another).exists(), "{by_another}");
    }
    assert!(page("forged").contains("it says conformant, and its verdicts make not-conformant"));
    assert!(page("older").contains("<code>identity/of-another-suite</code>"));
    assert!(page("bare").contains("It is not verified: no evidence."));
    assert!(page("garbled").contains("It is not verified: its evidence cannot be read."));
    assert!(page("narrowed").contains("rules were deselected"));
    for name in ["forged", "older", "bare", "garbled"] {
        let page = page(name);
        assert!(
            !page.contains("verdict pass") && !page.contains("seal pass"),
            "{name}"
        );
    }

    let done = call(&["report", "verify", "--dir", &folder.flag("reports"), "--markdown"]);
    assert_eq!(done.code, Some(1), "{}", done.err);
    for told in [
        "❌ Conformance reports: 3 of 9 hold, 2 do not hold, 2 are not verified, 2 cannot be read",
        "| `bare/v1.0.0` | `bare v1.0.0` | standard |",
        "- it has no report.yaml: write one with \\`run --report\\`",
        "- the evidence is missing: add evidence.jsonl.zst beside report.yaml",
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
    folder.site();
    let first = folder.text("site/index.html");
    let cell = "<a class=\"cell refuted\" href=\"implementations/fleet/v1.0.0-standard/report.html#identity/manager-label-matches\"";
    assert!(first.contains(cell), "{first}");
}

#[test]
fn thirty_implementations_are_shown_and_their_history() {
    let folder = Folder::new();
    folder.submit("reports/fleet/v1.0.0", "conforming.yaml", "standard", &[]);
    let text = folder.text("reports/fleet/v1.0.0/report.yaml");
    // Without evidence: what is made up here is not what a run would make.
    for number in 0..30 {
        for version in ["v1.9.0", "v1.10.0"] {
            let own = text
                .replace("project: fleet", &format!("project: fleet-{number:02}"))
                .replace("version: v1.0.0", &format!("version: {version}"));
            let place = folder.path(&format!("reports/fleet-{number:02}/{version}"));
            fs::create_dir_all(&place).expect("created");
            fs::write(place.join("report.yaml"), own).expect("written");
        }
    }
    let told = folder.site();
    assert!(told.contains("61 reports"), "{told}");
    let first = folder.text("site/index.html");
    for number in 0..30 {
        let version = format!("href=\"implementations/fleet-{number:02}/v1.10.0-standard/index.html\"");
        assert!(first.contains(&version), "{version}");
    }
    assert!(
        folder
            .text("site/implementations/fleet-07/index.html")
            .contains("<h3>v1.9.0 → v1.10.0</h3>")
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
