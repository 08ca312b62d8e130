//! The board, and the verification of a folder of reports: published reports, and what a pull request may contain.

use std::path::PathBuf;

use super::*;
use crate::hostile::does_no_harm;

/// The folders of published reports: `reports/NAME/VERSION`.
fn published() -> Vec<PathBuf> {
    let entries = |path: PathBuf| {
        let entries = fs::read_dir(path).expect("a folder");
        entries.map(|entry| entry.expect("an entry").path())
    };
    let implementations = entries(Path::new(ROOT).join("reports"));
    implementations.flat_map(entries).collect()
}

const FILES: [&str; 2] = ["report.yaml", "evidence.jsonl.zst"];

impl Folder {
    fn submitted(name: &str, file: &str) -> String {
        format!("reports/{name}/v1.0.0/{file}")
    }

    /// Submits the report of a dump as `reports/NAME/v1.0.0`.
    fn submit(&self, name: &str, dump: &str, flags: &str) {
        fs::create_dir_all(self.path(&Self::submitted(name, ""))).expect("created");
        let config = self.config(&format!(
            "implementation: {{organization: Example, project: {name}, url: 'https://fleet.example', \
             version: v1.0.0, contact: ['@someone']}}"
        ));
        let [report, evidence] = FILES.map(|file| self.flag(&Self::submitted(name, file)));
        let run = format!("run --from {dump} --config {config} {flags}");
        let done = call(format!("{run} --report {report} --record {evidence}"));
        assert!(matches!(done.code, Some(0 | 1)), "{}", done.err);
    }

    fn board(&self) -> String {
        let (reports, out) = (self.flag("reports"), self.flag("board.html"));
        expect(0, format!("report site {reports} --out {out}"));
        self.text("board.html")
    }

    fn verify(&self) -> command::Done {
        call(format!("report verify --dir {}", self.flag("reports")))
    }
}

fn row<'a>(page: &'a str, name: &str) -> &'a str {
    let start = format!("<th scope=\"row\">{name}<small>");
    let parts = page.split_once(&start);
    let (_, row) = parts.unwrap_or_else(|| panic!("no {name}: {page}"));
    row.split("</tr>").next().unwrap_or(row)
}

#[test]
fn published_reports_make_a_page() {
    let folder = Folder::new();
    let out = folder.flag("board.html");
    let site = format!("report site {ROOT}/reports --out {out}");
    expect_output(0, site, &[" reports, 0 unreadable folders: open "]);
    let page = folder.text("board.html");
    for role in ["manager", "scheduler", "consumer"] {
        assert_contains(&page, &[&format!("<section id=\"{role}\">")]);
    }
    let finding = "ocm/v1.3.1/clustersets/namespace-labelled";
    let [link, article] = [
        format!("<a href=\"#{finding}\">"),
        format!("<article id=\"{finding}\">"),
    ];
    assert_contains(&page, &[&link, &article]);
    let decision = ["not conformant", "MUST rules: ", " do not apply", "verified"];
    let facts = ["clusterprofile-conformance", "agents: real", "hub: imitated: "];
    let parts = [&decision[..], &facts, &["not submitted: from the same evidence"]].concat();
    assert_contains(row(&page, "ocm v1.3.1"), &parts);
    let rule = page.split_once("<code>updates/no-empty-writes</code>");
    let (_, rule) = rule.expect("the rule");
    let rule = rule.split("</tr>").next().expect("its row");
    assert_contains(rule, &["<strong class=\"better\">better</strong>"]);
}

#[test]
fn published_reports_hold_and_lack_only_time() {
    let verify = format!("report verify --dir {ROOT}/reports");
    let holds = "holds: the evidence reproduces ocm/v1.2.1: ";
    let printed = expect_output(
        0,
        verify,
        &[holds, " 0 do not hold, 0 are not verified, 0 cannot be read"],
    );
    let obstacles = printed
        .lines()
        .filter_map(|line| line.strip_prefix("not submittable: "));
    for obstacle in obstacles {
        assert!(obstacle.starts_with("it watched for "), "{printed}");
    }
    for folder in published() {
        let text = fs::read_to_string(folder.join("report.md")).expect("a report");
        let folder = folder.display();
        assert!(!text.contains("/tmp/"), "{folder} names a path of a machine");
    }
}

/// The table of `ci/managers/README.md`: the decision on each published evidence in each edition of its role.
#[test]
fn published_evidence_gives_the_decisions_of_the_table() {
    let table = fs::read_to_string(format!("{ROOT}/ci/managers/README.md")).expect("a README");
    let out = Folder::new();
    let json = out.flag("report.json");
    for folder in published() {
        let report = fs::read_to_string(folder.join("report.yaml")).expect("a report");
        let editions: &[&str] = if report.contains("\nedition: consumer-") {
            &[]
        } else if report.contains("\nedition: placement-") {
            &["placement-2025-09", "placement-2026-09"]
        } else {
            &["standard", "2026-07", "2026-09"]
        };
        let path = folder.strip_prefix(ROOT).expect("within").display();
        for edition in editions {
            let evidence = format!("{ROOT}/{path}/evidence.jsonl.zst");
            call(format!("replay {evidence} --edition {edition} --json {json}"));
            let report = out.json("report.json");
            let text = |pointer: &str| report.pointer(pointer).and_then(Value::as_str).expect("text");
            let row = format!(
                "| [{} {}](../../{path}/report.md) | `{edition}` | {} |\n",
                text("/claim/implementation/organization"),
                text("/claim/implementation/version"),
                text("/decision").replace('-', " "),
            );
            assert_contains(&table, &[&row]);
        }
    }
}

#[test]
fn every_state_of_a_pull_request_is_shown() {
    let folder = Folder::new();
    folder.submit("good", "conforming.yaml", "");
    folder.submit("other-edition", "conforming.yaml", "--edition 2026-09");
    folder.submit("narrowed", "conforming.yaml", "identity/");
    let rule = "identity/manager-label-matches";
    for (name, old, new) in [
        ("forged", "decision: not-conformant", "decision: conformant"),
        ("older", rule, "identity/of-another-suite"),
    ] {
        folder.submit(name, "violating.yaml", "");
        folder.edit(&Folder::submitted(name, FILES[0]), old, new);
    }
    folder.submit("bare", "conforming.yaml", "");
    fs::remove_file(folder.path(&Folder::submitted("bare", FILES[1]))).expect("removed");
    folder.submit("garbled", "conforming.yaml", "");
    folder.write(&Folder::submitted("garbled", FILES[1]), "no evidence");
    for name in ["empty", "broken"] {
        fs::create_dir_all(folder.path(&Folder::submitted(name, ""))).expect("created");
    }
    folder.write(&Folder::submitted("broken", FILES[0]), "kind: x\n");
    folder.write("reports/README.md", "not a report");

    let page = folder.board();
    let unreadable = ["<code>empty/v1.0.0</code>", "<code>broken/v1.0.0</code>"];
    assert_contains(&page, &unreadable);
    for (name, words, has_other_editions) in [
        ("good", "</span> verified<", true),
        ("other-edition", "</span> verified<", true),
        ("narrowed", "rules were deselected", false),
        ("forged", "the report contradicts itself", false),
        ("older", "the evidence does not reproduce", false),
        ("bare", "the evidence is missing", false),
        ("garbled", "the evidence cannot be read", false),
    ] {
        let row = row(&page, &format!("{name} v1.0.0"));
        assert_contains(row, &[words]);
        let shows_other_editions = row.contains("not submitted: from the same evidence");
        assert_eq!(shows_other_editions, has_other_editions, "{row}");
    }
    let done = folder.verify();
    assert_eq!(done.code, Some(1), "{}", done.err);
    let parts = [
        "3 of 9 reports hold, 2 do not hold, 2 are not verified, 2 cannot be read",
        "not verified: bare/v1.0.0: ",
        "not submittable: it has no report.yaml: ",
    ];
    assert_contains(&done.out, &parts);
}

#[test]
fn exit_code_differs_for_unverified_unreadable_and_forged_reports() {
    let folder = Folder::new();
    folder.submit("fleet", "violating.yaml", "");
    fs::remove_file(folder.path(&Folder::submitted("fleet", FILES[1]))).expect("removed");
    assert_eq!(folder.verify().code, Some(0));
    fs::create_dir_all(folder.path("reports/empty")).expect("created");
    assert_eq!(folder.verify().code, Some(2));
    let report = Folder::submitted("fleet", FILES[0]);
    folder.edit(&report, "decision: not-conformant", "decision: conformant");
    assert_eq!(folder.verify().code, Some(1));
    fs::create_dir_all(folder.path("nothing")).expect("created");
    for (name, part) in [
        ("nothing", "there is no report in"),
        ("missing", "failed to read the folder"),
    ] {
        refused(format!("report verify --dir {}", folder.flag(name)), &[part]);
    }
}

#[cfg(unix)]
#[test]
fn names_from_a_pull_request_are_escaped() {
    let folder = Folder::new();
    folder.submit("fleet", "violating.yaml", "");
    let forged = "reports/x\u{1b}[2J\u{202e}\n::error::forged ##[error]";
    fs::rename(folder.path("reports/fleet"), folder.path(forged)).expect("renamed");
    fs::create_dir(folder.path(&format!("{forged}/empty"))).expect("created");
    let done = folder.verify();
    assert_contains(&done.out, &["1 of 2 reports hold", "1 cannot be read"]);
    does_no_harm("verify", &done.out);
}

#[cfg(unix)]
#[test]
fn links_are_not_followed() {
    use std::os::unix::fs::symlink;
    let folder = Folder::new();
    folder.submit("fleet", "conforming.yaml", "");
    fs::create_dir_all(folder.path("reports/linked/v1")).expect("created");
    let secret = folder.write("secret.yaml", "token: abc\n");
    symlink(secret, folder.path("reports/linked/v1/report.yaml")).expect("linked");
    let evidence = folder.path(&Folder::submitted("fleet", FILES[1]));
    fs::rename(&evidence, folder.path("evidence.jsonl.zst")).expect("moved");
    symlink(folder.path("evidence.jsonl.zst"), &evidence).expect("linked");
    let out = call(format!("report verify --dir {}", folder.flag("reports"))).out;
    let parts = ["report.yaml is not a regular file", "not verified: fleet/v1.0.0"];
    assert_contains(&out, &parts);
    assert!(!out.contains("abc"), "{out}");
}
