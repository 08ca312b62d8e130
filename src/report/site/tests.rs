//! The board: only verified reports have green passes, every link leads to a finding, and text of others stays text.

use evidence::{
    About, Asked, Checksum, Environment, Evidence, Implementation, Kind, Realness, Submitter, api::Edition,
};
use jiff::Timestamp;
use judge::{Decision, Selection, judge, rules::example::Example};
use serde_json::json;

use super::*;
use crate::{
    Report,
    format_tests::support::is_inert,
    formats::markdown::code,
    submitted::{Check, Document, Fitness, Held, Proof, Submission, Unreadable, comment, compose},
};

const HOSTILE: &str = "../../x</title></script><script>document.title='ran'</script>\"' onload=alert(1) --><svg/onload=x>\u{202e}|`";

/// The rule that `evidence(false)` violates.
const RULE: &str = "identity/manager-label-present";

/// One profile with the manager label, or without it.
fn evidence(has_label: bool) -> Evidence {
    let mut profile = json!({"metadata": {"name": "lisbon"}});
    if !has_label {
        profile["metadata"]["labels"] = json!({"x-k8s.io/cluster-manager": null});
    }
    let example = json!({"name": "one", "fails": {"observe": "10m", "profiles": [profile]}});
    let example = Example::parse(&example, Edition::Standard).unwrap_or_else(|error| panic!("{error}"));
    example.evidence().clone()
}

/// A submission for a test.
struct Made {
    folder: String,
    implementation: Implementation,
    edition: Edition,
    /// Whether the profile has the label: by the report, and by the evidence, if there is any.
    claimed: bool,
    recorded: Option<bool>,
    edit: fn(&mut Document),
}

fn made(project: &str, version: &str) -> Made {
    Made {
        folder: format!("{project}/{version}"),
        implementation: Implementation {
            organization: "Example".to_owned(),
            project: project.to_owned(),
            url: "https://fleet.example".to_owned(),
            version: version.to_owned(),
            contact: vec!["@someone".to_owned()],
        },
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
        evidence.header.claim.about = About {
            implementation: Some(self.implementation.clone()),
            submitted_by: Some(Submitter {
                organization: "Example".to_owned(),
                url: "https://fleet.example".to_owned(),
            }),
            environment: Some(Environment {
                hub: Some(Realness::Real),
                members: Some(Realness::Real),
                agents: Some(Realness::Real),
                no_audit_log: Some("the provider keeps it".to_owned()),
            }),
        };
        for kind in [Kind::Members, Kind::Driver] {
            evidence.header.asked.insert(kind, Asked::Yes);
        }
        evidence
    }

    fn entry(self) -> BoardEntry {
        let sum = Checksum {
            sha256: "ab".repeat(32),
            bytes: 4096,
        };
        let evidence = self.evidence(self.claimed);
        let selection = Selection::default();
        let report = Report {
            evidence: &evidence,
            judgement: &judge(&evidence, &selection),
            selection: &selection,
            judged_at: "2026-06-01T10:00:00Z".parse::<Timestamp>().expect("a time"),
            file: Some("evidence.jsonl.zst"),
            is_whole_file: true,
            editions: &[],
            advice: crate::no_advice,
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
        let mut judged = None;
        let check = Check::of(&document, &mut proof, |report| {
            judged = Some(EditionResult::judged(
                report,
                &report.judgement.waivers,
                document.rules_as_of,
            ));
        });
        BoardEntry {
            editions: vec![judged.unwrap_or_else(|| EditionResult::claimed(&document))],
            submission: Submission {
                folder: self.folder,
                check,
                document,
            },
        }
    }
}

fn page_of(entries: &[BoardEntry], unreadable: &[Unreadable]) -> String {
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
    assert!(rule.contains(&link), "{rule}");
    let (_, finding) = page
        .split_once(&format!("<article id=\"fleet/v1.0.0/{RULE}\">"))
        .expect("its finding");
    let (finding, _) = finding.split_once("</article>").expect("its end");
    for part in [
        "lisbon",
        "<dt>path</dt>",
        "<dt>expected</dt>",
        "<dt>object</dt>",
        "standard",
    ] {
        assert!(finding.contains(part), "{part}: {finding}");
    }
    let version = row(&page, "fleet v1.0.0");
    for part in [
        "not conformant",
        "1 fails,",
        "verified",
        "<td data-head=\"Submitted by\">Example</td>",
        "hub: real",
    ] {
        assert!(version.contains(part), "{part}: {version}");
    }
}

#[test]
fn only_verified_reports_have_green_passes() {
    let mut unverified = made("fleet", "v1.0.0");
    unverified.recorded = None;
    let mut forged = made("fleet", "v1.0.0");
    forged.recorded = Some(false);
    let mut contradictory = violating("fleet", "v1.0.0");
    contradictory.edit = |document| document.decision = Decision::Conformant;
    for (case, words, has_marks) in [
        (unverified, "not verified: no evidence", false),
        (forged, "does not hold: its evidence says otherwise", true),
        (contradictory, "does not hold: it contradicts itself", true),
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
    assert!(
        row(&fixed, RULE).contains("<strong class=\"better\">better</strong>"),
        "{fixed}"
    );
    assert!(
        fixed.find("fleet v1.9.0") < fixed.find("fleet v1.10.0"),
        "{fixed}"
    );
    let broken = page([violating("fleet", "v1.10.0"), made("fleet", "v1.9.0")]);
    assert!(
        row(&broken, RULE).contains("<strong class=\"worse\">worse</strong>"),
        "{broken}"
    );
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
    let folded = page.find("<details>").expect("the other rules");
    assert!(
        page.find(&format!("<code>{RULE}</code>"))
            .is_some_and(|at| at < folded)
    );
    assert!(
        !page[folded..]
            .split("</details>")
            .next()
            .expect("a part")
            .contains(RULE)
    );
}

#[test]
fn each_role_has_a_section_and_the_order_of_reports_does_not_matter() {
    let scheduler = || Made {
        edition: Edition::Placement2025M09,
        ..made("scheduler", "v1.0.0")
    };
    let one = page([made("fleet", "v1.0.0"), scheduler()]);
    assert!(
        one.contains("<section id=\"manager\">") && one.contains("<section id=\"scheduler\">"),
        "{one}"
    );
    assert_eq!(one, page([scheduler(), made("fleet", "v1.0.0")]));
}

#[test]
fn hostile_text_stays_text() {
    let hostile = |folder: &str| {
        let mut made = made(HOSTILE, HOSTILE);
        made.folder = format!("{folder}/{HOSTILE}");
        made.implementation.organization = HOSTILE.to_owned();
        made.implementation.url = "javascript:alert(1)".to_owned();
        made.implementation.contact = vec![HOSTILE.to_owned()];
        made.edit = |document| {
            let by = document.submitted_by.as_mut().expect("a submitter");
            by.organization = HOSTILE.to_owned();
            let environment = document.environment.as_mut().expect("an environment");
            environment.agents = Some(Realness::Imitated(HOSTILE.to_owned()));
        };
        made
    };
    let unreadable = [Unreadable {
        folder: HOSTILE.to_owned(),
        reason: HOSTILE.to_owned(),
    }];
    let entries = ["a", "b"].map(|folder| hostile(folder).entry());
    let page = page_of(&entries, &unreadable);
    assert!(page.contains("&#60;/title&#62;") && !page.contains("<script") && !page.contains('\u{202e}'));
    let [one, other] = entries.map(|entry| entry.submission);
    let folders = [one.folder.clone(), other.folder.clone()];
    let text = comment(&[one, other], &unreadable);
    let spans = [
        &*folders[0],
        &folders[1],
        HOSTILE,
        &format!("{HOSTILE} {HOSTILE}"),
    ];
    let rest = spans
        .into_iter()
        .fold(text, |text, span| text.replace(&code(span), ""));
    assert!(
        !rest.replace("\\<", "").contains('<') && !rest.contains('\u{202e}'),
        "{rest}"
    );
}

#[test]
fn without_reports_the_page_lists_unreadable_folders() {
    let unreadable = [Unreadable {
        folder: "fleet/v1".to_owned(),
        reason: "it has no report.yaml".to_owned(),
    }];
    let page = page_of(&[], &unreadable);
    assert!(
        page.contains("There are no reports yet.") && page.contains("fleet/v1"),
        "{page}"
    );
}

#[test]
fn the_comment_says_what_to_do_and_fits() {
    let mut forged = made("fleet", "v1.1.0");
    forged.folder = "fleet/v1.0.0".to_owned();
    forged.recorded = Some(false);
    let mut bare = made("bare", "v1.0.0");
    bare.recorded = None;
    let submissions = [forged, bare, made("good", "v1.0.0")].map(|made| made.entry().submission);
    assert_eq!(submissions[2].check.fitness, Fitness::Holds);
    let text = comment(&submissions, &[]);
    for part in [
        "## ❌ Conformance reports: 1 of 3 hold, 1 does not hold, 1 is not verified\n",
        "- ❌ `fleet/v1.0.0`: `fleet v1.1.0` is ",
        " (edition standard); does not hold: its evidence says otherwise\n",
        "; not verified: no evidence\n",
        "  - the evidence is missing: add evidence.jsonl.zst next to report.yaml",
        "  - the folder is named v1.0.0, and the report is of version v1.1.0: give both the same name\n",
    ] {
        assert!(text.contains(part), "{part:?} is not in: {text}");
    }
    assert!(
        !comment(&submissions[2..], &[]).contains("\n  - "),
        "nothing to do"
    );
    let many: Vec<Unreadable> = (0..5_000)
        .map(|number| Unreadable {
            folder: format!("fleet-{number}/v1"),
            reason: "x".repeat(200),
        })
        .collect();
    let text = comment(&[], &many);
    assert!(
        text.chars().count() < 65_536 && text.contains("more folders"),
        "{}",
        text.len()
    );
}
