//! The board: only verified reports have green passes, links lead to findings, and submitted text is escaped.

use evidence::{About, Checksum, Evidence, Kind, Realness, Requested, api::Edition};
use judge::{Decision, Selection, judge};
use serde_json::json;

use super::*;
use crate::{
    Report,
    format_tests::support::is_inert,
    submitted::{Check, ConformanceReport, Held, Proof, UnreadableFolder, compose},
    tests::{about, assert_contains, report_of, world},
};

const HOSTILE: &str = "../../x</title></script><script>document.title='ran'</script>\"' onload=alert(1) \
                       --><svg/onload=x>\u{202e}|`";

/// The rule that `evidence(false)` violates.
const RULE: &str = "identity/manager-label-present";

/// One profile with the manager label, or without it.
fn evidence(has_label: bool) -> Evidence {
    let mut profile = json!({"metadata": {"name": "lisbon"}});
    if !has_label {
        profile["metadata"]["labels"] = json!({"x-k8s.io/cluster-manager": null});
    }
    let text = json!({"observe": "10m", "profiles": [profile]});
    world(Edition::Standard, &text)
}

struct Made {
    folder: String,
    about: About,
    edition: Edition,
    /// Whether the profile has the label: by the report, and by the evidence, if there is any.
    claimed: bool,
    recorded: Option<bool>,
    edit: fn(&mut ConformanceReport),
}

fn made(project: &str, version: &str) -> Made {
    Made {
        folder: format!("{project}/{version}"),
        about: about(project, version),
        edition: Edition::Standard,
        claimed: true,
        recorded: Some(true),
        edit: |_| {},
    }
}

fn violating(project: &str, version: &str) -> Made {
    Made {
        claimed: false,
        recorded: Some(false),
        ..made(project, version)
    }
}

impl Made {
    fn evidence(&self, has_label: bool) -> Evidence {
        let mut evidence = evidence(has_label);
        evidence.header.claim.edition = self.edition;
        evidence.header.claim.about = self.about.clone();
        for kind in [Kind::Members, Kind::Driver] {
            evidence.header.requested.insert(kind, Requested::Yes);
        }
        evidence
    }

    fn entry(self) -> BoardEntry {
        let sum = Checksum {
            sha256: "ab".repeat(32),
            bytes: 4096,
        };
        let evidence = self.evidence(self.claimed);
        let judgement = judge(&evidence, &Selection::default());
        let report = Report {
            file: Some("evidence.jsonl.zst"),
            judged_at: "2026-06-01T10:00:00Z".parse().expect("a time"),
            ..report_of(&evidence, &judgement)
        };
        let mut document = compose(&report, Some(&sum));
        (self.edit)(&mut document);
        let mut proof = match self.recorded {
            None => Proof::Missing,
            Some(has_label) => {
                let evidence = self.evidence(has_label);
                Proof::Held(Box::new(Held { evidence, sum }))
            }
        };
        let (mut judged, as_of) = (None, document.rules_as_of);
        let check = Check::of(&document, Some(&self.folder), &mut proof, |report| {
            let waivers = &report.judgement.waivers;
            judged = Some(EditionResult::judged(report, waivers, as_of));
        });
        BoardEntry {
            editions: vec![judged.unwrap_or_else(|| EditionResult::claimed(&document))],
            folder: self.folder,
            document,
            check,
        }
    }
}

fn page_of(entries: &[BoardEntry], unreadable: &[UnreadableFolder]) -> String {
    let mut bytes = Vec::new();
    write(entries, unreadable, &mut bytes).expect("a vector takes all");
    let page = String::from_utf8(bytes).expect("UTF-8");
    is_inert(&page);
    page
}

fn page(made: impl IntoIterator<Item = Made>) -> String {
    page_of(&Vec::from_iter(made.into_iter().map(Made::entry)), &[])
}

/// The row of a rule, or of a version, in its table.
fn row<'a>(page: &'a str, name: &str) -> &'a str {
    let mut rows = page.split("<tr").skip(1);
    let row = rows.find(|row| row.contains(&format!(">{name}<")) && row.contains("scope=\"row\""));
    row.unwrap_or_else(|| panic!("no row of {name}: {page}"))
}

#[test]
fn verdict_links_to_its_finding() {
    let page = page([violating("fleet", "v1.0.0")]);
    let rule = row(&page, RULE);
    let link = format!("<a href=\"#fleet/v1.0.0/{RULE}\"><span class=\"verdict fail\">");
    assert_contains(rule, &[&link]);
    let (_, finding) = page
        .split_once(&format!("<article id=\"fleet/v1.0.0/{RULE}\">"))
        .expect("its finding");
    let (finding, _) = finding.split_once("</article>").expect("its end");
    let parts = ["lisbon", "standard", "<dt>path", "<dt>expected", "<dt>object"];
    assert_contains(finding, &parts);
    let version = row(&page, "fleet v1.0.0");
    let submitter = "<td data-head=\"Submitted by\">Example</td>";
    let parts = ["not conformant", "1 fails,", "verified", submitter, "hub: real"];
    assert_contains(version, &parts);
}

#[test]
fn only_verified_reports_have_green_passes() {
    let recorded = |recorded: Option<bool>| Made {
        recorded,
        ..made("fleet", "v1.0.0")
    };
    let mut contradictory = violating("fleet", "v1.0.0");
    contradictory.edit = |document| document.decision = Decision::Conformant;
    let otherwise = ": the report says";
    for (case, words, has_marks) in [
        (recorded(None), "the evidence is missing", false),
        (recorded(Some(false)), otherwise, true),
        (contradictory, "the report contradicts itself", true),
    ] {
        let page = page([case]);
        assert!(page.contains(words), "{words}: {page}");
        assert_eq!(page.contains("pass, not verified"), has_marks, "{words}");
        assert!(!page.contains("class=\"verdict pass\""), "{words}: {page}");
    }
    assert!(page([made("fleet", "v1.0.0")]).contains("class=\"verdict pass\""));
}

#[test]
fn versions_are_compared_in_order() {
    let fixed = page([made("fleet", "v1.10.0"), violating("fleet", "v1.9.0")]);
    assert_contains(row(&fixed, RULE), &["<strong class=\"better\">better</strong>"]);
    let [older, newer] = ["fleet v1.9.0", "fleet v1.10.0"].map(|name| fixed.find(name));
    assert!(older < newer, "{fixed}");
    let broken = page([violating("fleet", "v1.10.0"), made("fleet", "v1.9.0")]);
    assert_contains(row(&broken, RULE), &["<strong class=\"worse\">worse</strong>"]);
    assert!(broken.contains("worse than in the previous version"));
    // Neither a forged report nor a report in another folder counts as the previous version.
    let mut forged = made("fleet", "v1.9.0");
    forged.recorded = Some(false);
    let mut elsewhere = made("fleet", "v1.9.0");
    elsewhere.folder = "other/v1.9.0".to_owned();
    for previous in [forged, elsewhere] {
        let page = page([violating("fleet", "v1.10.0"), previous]);
        assert!(!page.contains("<strong class=\"worse\">"), "{page}");
    }
}

#[test]
fn rules_that_fail_or_differ_come_first() {
    let page = page([made("one", "v1"), violating("two", "v1")]);
    let (first, folded) = page.split_once("<details>").expect("the other rules");
    assert_contains(first, &[&format!("<code>{RULE}</code>")]);
    let (others, _) = folded.split_once("</details>").expect("their end");
    assert!(!others.contains(RULE), "{others}");
}

#[test]
fn each_role_has_a_section_and_the_order_of_reports_does_not_matter() {
    let scheduler = || Made {
        edition: Edition::Placement2025M09,
        ..made("scheduler", "v1.0.0")
    };
    let one = page([made("fleet", "v1.0.0"), scheduler()]);
    assert_contains(&one, &["<section id=\"manager\">", "<section id=\"scheduler\">"]);
    assert_eq!(one, page([scheduler(), made("fleet", "v1.0.0")]));
}

#[test]
fn hostile_text_stays_text() {
    let hostile = |folder: &str| {
        let mut made = made(HOSTILE, HOSTILE);
        made.folder = format!("{folder}/{HOSTILE}");
        let implementation = made.about.implementation.as_mut().expect("one");
        implementation.organization = HOSTILE.to_owned();
        implementation.url = "javascript:alert(1)".to_owned();
        implementation.contact = vec![HOSTILE.to_owned()];
        made.edit = |document| {
            let by = document.about.submitted_by.as_mut().expect("a submitter");
            by.organization = HOSTILE.to_owned();
            let environment = document.about.environment.as_mut().expect("an environment");
            environment.agents = Some(Realness::Imitated(HOSTILE.to_owned()));
        };
        made
    };
    let unreadable = [UnreadableFolder {
        folder: HOSTILE.to_owned(),
        reason: HOSTILE.to_owned(),
    }];
    let entries = ["a", "b"].map(|folder| hostile(folder).entry());
    let page = page_of(&entries, &unreadable);
    assert!(page.contains("&#60;/title&#62;") && !page.contains("<script") && !page.contains('\u{202e}'));
}

#[test]
fn without_reports_the_page_lists_unreadable_folders() {
    let unreadable = [UnreadableFolder {
        folder: "fleet/v1".to_owned(),
        reason: "it has no report.yaml".to_owned(),
    }];
    let page = page_of(&[], &unreadable);
    assert_contains(&page, &["There are no reports yet.", "fleet/v1"]);
}
