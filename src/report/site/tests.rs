//! What the board promises: nothing unproven is a pass, everything leads somewhere, and nobody's text is more than text.

use std::collections::BTreeMap;

use evidence::{
    About, Asked, Checksum, Environment, Evidence, Implementation, Kind, Realness, Submitter, api::Edition,
};
use jiff::Timestamp;
use judge::{Decision, Selection, judge, rules, rules::example::Example};
use quick_xml::{Reader, events::Event};
use serde_json::json;

use super::*;
use crate::{
    Report,
    formats::markdown::code,
    said::sources::cited,
    submitted::{Check, Document, Held, Proof, compose, verify_with},
};

/// All that breaks out of where it is put, and what leads out of a folder.
const HOSTILE: &str = "../../x</title></script><script>document.title='ran'</script>\"' onload=alert(1) --><svg/onload=x>\u{202e}|`";

/// The rule that `evidence(false)` breaks.
const RULE: &str = "identity/manager-label-present";

type Files = BTreeMap<String, String>;

/// One profile, which keeps the rule or breaks it.
fn evidence(keeps: bool) -> Evidence {
    let mut profile = json!({"metadata": {"name": "lisbon"}});
    if !keeps {
        profile["metadata"]["labels"] = json!({"x-k8s.io/cluster-manager": null});
    }
    let example = json!({"name": "one", "fails": {"observe": "10m", "profiles": [profile]}});
    let example = Example::parse(&example, Edition::Standard).unwrap_or_else(|error| panic!("{error}"));
    example.evidence().clone()
}

/// A submission to be made.
struct Made {
    folder: String,
    implementation: Implementation,
    edition: Edition,
    /// Whether the report says that the rule is kept, and whether the evidence does; none without evidence.
    says: bool,
    shows: Option<bool>,
    selection: Selection,
    edit: fn(&mut Document),
}

fn made(folder: &str, project: &str, version: &str) -> Made {
    Made {
        folder: folder.to_owned(),
        implementation: Implementation {
            organization: "Example".to_owned(),
            project: project.to_owned(),
            url: "https://fleet.example".to_owned(),
            version: version.to_owned(),
            contact: vec!["@someone".to_owned()],
        },
        edition: Edition::Standard,
        says: true,
        shows: Some(true),
        selection: Selection::default(),
        edit: |_| {},
    }
}

impl Made {
    fn evidence(&self, keeps: bool) -> Evidence {
        let mut evidence = evidence(keeps);
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

    fn submission(self) -> Submission {
        let sum = Checksum {
            sha256: "ab".repeat(32),
            bytes: 4096,
        };
        let evidence = self.evidence(self.says);
        let report = Report {
            evidence: &evidence,
            judgement: &judge(&evidence, &self.selection),
            selection: &self.selection,
            judged_at: "2026-06-01T10:00:00Z".parse::<Timestamp>().expect("a time"),
            file: Some("evidence.jsonl.zst"),
            place: None,
            advice: crate::no_advice,
        };
        let mut document = compose(&report, Some(&sum));
        (self.edit)(&mut document);
        let mut runs = Vec::new();
        let proof = match self.shows {
            None => Proof::Missing,
            Some(keeps) => {
                let evidence = self.evidence(keeps);
                let held = Held { evidence, sum };
                Proof::Judged(verify_with(&document, held, |report| {
                    runs.push(RunPage::of(report).expect("a vector takes all"));
                }))
            }
        };
        Submission {
            folder: self.folder,
            check: Check::of(&document, proof),
            signature: None,
            submitted_for: None,
            document,
            runs,
        }
    }
}

fn files_of(board: &Board) -> Files {
    let mut files = Files::new();
    board
        .write(|path, content| {
            let text = String::from_utf8(content.to_vec()).expect("UTF-8");
            assert!(
                files.insert(path.to_owned(), text).is_none(),
                "{path} is written twice"
            );
            Ok(())
        })
        .expect("a map takes all");
    files
}

fn board(made: impl IntoIterator<Item = Made>) -> Files {
    files_of(&Board::new(
        made.into_iter().map(Made::submission).collect(),
        Vec::new(),
    ))
}

/// The cell of a rule in the matrix of the first page, which has one column.
fn cell<'a>(files: &'a Files, rule: &str) -> &'a str {
    let page = &files["index.html"];
    let row = page.find(&format!("rules/{rule}.html")).expect("the rule's row");
    let row = &page[row..];
    let row = &row[..row.find("</tr>").expect("its end")];
    &row[row.find("<a class=\"cell ").expect("a cell")..]
}

#[test]
fn a_report_that_holds_is_shown_with_its_verdicts_and_leads_to_its_findings() {
    let mut broken = made("fleet/v1.0.0", "fleet", "v1.0.0");
    (broken.says, broken.shows) = (false, Some(false));
    let files = board([broken]);
    let cell = cell(&files, RULE);
    assert!(
        cell.starts_with("<a class=\"cell fail\" href=\"implementations/fleet/v1.0.0-standard/report.html#"),
        "{cell}"
    );
    assert!(cell.contains("1 finding"), "{cell}");
    assert!(files["implementations/fleet/badge.svg"].contains("not conformant"));
    assert!(files["implementations/fleet/v1.0.0-standard/index.html"].contains("The report holds"));
    let matrix = &files["sig-multicluster/v1alpha1/fleet/v1.0.0-standard.yaml"];
    assert!(
        matrix.contains("project: fleet") && matrix.contains(RULE),
        "{matrix}"
    );
}

#[test]
fn what_is_not_proven_is_never_a_pass() {
    let mut unverified = made("fleet/v1.0.0", "fleet", "v1.0.0");
    unverified.shows = None;
    let mut forged = made("fleet/v1.0.0", "fleet", "v1.0.0");
    forged.shows = Some(false);
    let mut contradictory = made("fleet/v1.0.0", "fleet", "v1.0.0");
    contradictory.edit = |document| document.decision = Decision::Conformant;
    contradictory.says = false;
    contradictory.shows = Some(false);
    let mut unknown = made("fleet/v1.0.0", "fleet", "v1.0.0");
    unknown.says = false;
    unknown.shows = None;
    unknown.edit = |document| {
        let group = document.suites[0].core.as_mut().expect("MUST rules");
        group.failed_rules[0].rule = "identity/no-such-rule".to_owned();
    };
    for (case, words) in [
        (unverified, "not verified: no evidence"),
        (forged, "does not hold: its evidence says otherwise"),
        (contradictory, "does not hold: it contradicts itself"),
        (unknown, "does not hold: it contradicts itself"),
    ] {
        let files = board([case]);
        for (path, text) in &files {
            if path.ends_with("/report.html") {
                continue;
            }
            for pass in ["cell pass", "verdict pass", "seal pass", "#1a7f37"] {
                assert!(!text.contains(pass), "{words}: {path} has {pass}");
            }
            assert!(!path.starts_with("sig-multicluster/"), "{words}: {path}");
        }
        let page = &files["implementations/fleet/v1.0.0-standard/index.html"].to_lowercase();
        assert!(page.contains(words), "{words}");
        let (fitness, _) = words.split_once(':').expect("a fitness");
        assert!(files["implementations/fleet/badge.svg"].contains(fitness));
        assert!(
            files["index.html"].contains(&format!(">{fitness}</td>")),
            "{fitness}"
        );
    }
}

#[test]
fn what_the_evidence_refutes_is_marked_where_it_does() {
    let mut forged = made("fleet/v1.0.0", "fleet", "v1.0.0");
    forged.shows = Some(false);
    let files = board([forged]);
    assert!(cell(&files, RULE).starts_with("<a class=\"cell refuted\""));
    let counted = "<td class=\"number fail\" data-head=\"MUST fail\">1</td>";
    assert!(
        files["index.html"].contains(counted),
        "the failure that the evidence shows counts"
    );
    let page = &files["implementations/fleet/v1.0.0-standard/index.html"];
    assert!(page.contains("Where the report and its evidence differ") && page.contains(RULE));
    let first = page.find("<tr id=").expect("rules");
    assert!(page.contains("the report says pass, its evidence fail"), "{page}");
    assert!(
        page[first..].starts_with(&format!("<tr id=\"{RULE}\"")),
        "the refuted rule comes first"
    );
}

#[test]
fn rules_that_the_edition_does_not_have_are_named() {
    let mut unknown = made("fleet/v1.0.0", "fleet", "v1.0.0");
    (unknown.says, unknown.shows) = (false, Some(false));
    unknown.edit = |document| {
        let group = document.suites[0].core.as_mut().expect("MUST rules");
        group.failed_rules[0].rule = "identity/no-such-rule".to_owned();
    };
    let files = board([unknown]);
    let page = &files["implementations/fleet/v1.0.0-standard/index.html"];
    assert!(page.contains("<code>identity/no-such-rule</code>"), "{page}");
    assert!(!files.contains_key("rules/identity/no-such-rule.html"));
}

#[test]
fn whose_words_a_rule_has_is_said_in_each_edition() {
    let of = |edition, version: &str| {
        let mut made = made(&format!("fleet/{version}"), "fleet", version);
        made.edition = edition;
        made
    };
    let files = board([of(Edition::Standard, "v1.0.0"), of(Edition::Y2026M09, "v1.1.0")]);
    for rule in rules::all() {
        let Some(page) = files.get(&format!("rules/{}.html", rule.id)) else {
            continue;
        };
        for (matrix, report, edition) in [
            ("index.html", "v1.0.0-standard", Edition::Standard),
            ("edition-2026-09.html", "v1.1.0-2026-09", Edition::Y2026M09),
        ] {
            let Some(applies) = rule.facts.in_edition(edition) else {
                continue;
            };
            let (level, basis) = (applies.level, applies.basis);
            let heading = format!(">Edition {edition}</a> <small>{level} {basis}</small>");
            assert!(page.contains(&heading), "{}: {page}", rule.id);
            let address = cited(&applies.source, edition)[0].address.clone().expect("one");
            assert!(
                page.contains(&format!("href=\"{address}\"")),
                "{}: {address}",
                rule.id
            );
            let cell = format!(r#"<td class="level">{level} <span class="basis">{basis}</span></td>"#);
            let row = format!("rules/{}.html\"", rule.id);
            for name in [matrix, &format!("implementations/fleet/{report}/index.html")] {
                let row = files[name]
                    .lines()
                    .find(|line| line.contains(&row))
                    .expect("a row");
                assert!(row.contains(&cell), "{name}: {row}");
            }
        }
    }
}

#[test]
fn each_edition_has_its_page_and_its_rules() {
    let of = |edition, version: &str| {
        let mut made = made(&format!("fleet/{version}"), "fleet", version);
        made.edition = edition;
        made
    };
    let files = board([of(Edition::Standard, "v1.0.0"), of(Edition::Y2026M09, "v1.1.0")]);
    let has = |page: &str, rule: &str| files[page].contains(&format!("href=\"rules/{rule}.html\""));
    for rule in rules::all() {
        for (page, edition) in [
            ("index.html", Edition::Standard),
            ("edition-2026-09.html", Edition::Y2026M09),
        ] {
            let in_edition = rule.facts.in_edition(edition).is_some();
            assert_eq!(has(page, rule.id), in_edition, "{page}: {}", rule.id);
        }
    }
    assert!(!files.contains_key("edition-2026-07.html"));
    assert!(
        files["edition-2026-09.html"].contains(">v1.1.0<")
            && !files["edition-2026-09.html"].contains(">v1.0.0<")
    );
}

#[test]
fn history_goes_by_version_and_tells_what_changed() {
    let mut broken = made("fleet/v1.10.0", "fleet", "v1.10.0");
    (broken.says, broken.shows) = (false, Some(false));
    let files = board([broken, made("fleet/v1.9.0", "fleet", "v1.9.0")]);
    let page = &files["implementations/fleet/index.html"];
    assert!(page.contains("<h3>v1.9.0 → v1.10.0</h3>"), "{page}");
    let worse = page.find("worse:").expect("something got worse");
    assert!(page[worse..worse + 300].contains(RULE));
    assert!(files["index.html"].contains(">v1.10.0<") && !files["index.html"].contains(">v1.9.0<"));
}

#[test]
fn an_edition_s_page_speaks_of_its_role() {
    let files = board([
        made("fleet/v1.0.0", "Fleet", "v1.0.0"),
        made("other/v1.0.0", "Other", "v1.0.0"),
        Made {
            edition: Edition::Placement2025M09,
            ..made("scheduler/v1.0.0", "Scheduler", "v1.0.0")
        },
    ]);
    let page = &files["edition-placement-2025-09.html"];
    for told in [
        "<p class=\"kind\">PlacementDecision conformance</p>",
        "How schedulers compare, edition placement-2025-09",
        "Schedulers <small>newest report of each</small>",
        "<small>1 scheduler</small>",
        "<small>2 cluster managers</small>",
    ] {
        assert!(page.contains(told), "{told}: {page}");
    }
    let page = &files["index.html"];
    assert!(
        page.contains("<p class=\"kind\">ClusterProfile conformance</p>"),
        "{page}"
    );
    assert!(
        page.contains("How cluster managers compare, edition standard"),
        "{page}"
    );
}

#[test]
fn nobody_adds_a_version_to_an_implementation_of_another_folder() {
    let files = board([
        made("fleet/v1.0.0", "fleet", "v1.0.0"),
        made("other/v9.0.0", "fleet", "v9.0.0"),
    ]);
    assert!(files.contains_key("implementations/fleet/v1.0.0-standard/index.html"));
    assert!(files.contains_key("implementations/fleet-2/v9.0.0-standard/index.html"));
}

#[test]
fn a_run_that_left_out_rules_or_was_cut_short_says_so() {
    let mut narrowed = made("a/v1", "a", "v1");
    narrowed.selection.filters = vec!["identity/".to_owned()];
    let mut cut = made("b/v1", "b", "v1");
    cut.shows = None;
    cut.edit = |document| {
        document.scope.partial = Some("interrupted".to_owned());
    };
    let files = board([narrowed, cut]);
    let page = &files["index.html"];
    assert!(
        page.contains("<small>not all rules</small>") && page.contains("<small>cut short</small>"),
        "{page}"
    );
    assert!(!page.contains("> conformant<"));
}

#[test]
fn hostile_text_stays_text_and_in_its_folder() {
    let hostile = |folder: &str| {
        let mut made = made(folder, HOSTILE, HOSTILE);
        made.implementation.organization = HOSTILE.to_owned();
        made.implementation.url = "javascript:alert(1)".to_owned();
        made.implementation.contact = vec![HOSTILE.to_owned()];
        made
    };
    let unreadable = vec![Unreadable {
        folder: HOSTILE.to_owned(),
        reason: HOSTILE.to_owned(),
    }];
    let mut forged = hostile(&format!("a/{HOSTILE}"));
    forged.shows = Some(false);
    let submissions = [forged, hostile(&format!("b/{HOSTILE}")), hostile("b/c")];
    let submissions = submissions.map(Made::submission);
    let text = comment(&submissions, &unreadable);
    let spans = [
        &format!("a/{HOSTILE}"),
        &format!("b/{HOSTILE}"),
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
    let files = files_of(&Board::new(submissions.into(), unreadable));
    for (path, text) in &files {
        let is_plain = |part: &str| {
            let safe = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
            !part.is_empty() && part.chars().all(safe) && !part.starts_with('.') && part.len() < 80
        };
        assert!(path.split('/').all(is_plain), "{path}");
        if path.ends_with(".html") && !path.ends_with("report.html") {
            well_formed(path, text, &files);
        }
    }
}

/// Checks that elements nest, that nothing runs or loads but what is ours, and that every link leads somewhere.
fn well_formed(path: &str, page: &str, files: &Files) {
    let mut reader = Reader::from_str(page);
    let (mut scripts, mut styles) = (0, 0);
    loop {
        match reader
            .read_event()
            .unwrap_or_else(|error| panic!("{path}: {error}"))
        {
            Event::Start(element) | Event::Empty(element) => {
                let name = element.name();
                let name = name.as_ref();
                scripts += usize::from(name == "script");
                styles += usize::from(name == "style");
                assert!(
                    !["img", "link", "iframe", "object", "base", "svg"].contains(&name),
                    "{path}: {name}"
                );
                for attribute in element.attributes() {
                    let attribute = attribute.expect("an attribute");
                    let key = attribute.key.as_ref();
                    assert!(
                        !key.starts_with("on") && key != "style" && key != "src",
                        "{path}: {key}"
                    );
                    if key == "href" {
                        leads_somewhere(path, &attribute.value, page, files);
                    }
                }
            }
            Event::Eof => break,
            _ => {}
        }
    }
    assert!(
        scripts <= 1 && styles == 1,
        "{path}: {scripts} scripts, {styles} styles"
    );
}

fn leads_somewhere(from: &str, href: &str, page: &str, files: &Files) {
    if href.starts_with("https://") {
        return;
    }
    assert!(!href.contains(':'), "{from}: {href}");
    let (path, anchor) = href.split_once('#').unwrap_or((href, ""));
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in path.split('/') {
        if part == ".." {
            assert!(parts.pop().is_some(), "{from}: {href} leaves the board");
        } else {
            parts.push(part);
        }
    }
    let target = if path.is_empty() {
        page
    } else {
        files
            .get(&parts.join("/"))
            .unwrap_or_else(|| panic!("{from}: {href} leads nowhere"))
    };
    assert!(
        anchor.is_empty() || target.contains(&format!("id=\"{anchor}\"")),
        "{from}: {href}"
    );
}

#[test]
fn thirty_implementations_lead_everywhere_and_the_same_reports_give_the_same_files() {
    let thirty = || {
        (0..30).map(|number| {
            let mut made = made(
                &format!("m{number}/v1.{number}.0"),
                &format!("manager {number}"),
                &format!("v1.{number}.0"),
            );
            made.edition = Edition::ALL[number % 3];
            (made.says, made.shows) = match number % 5 {
                0 => (false, Some(false)),
                1 => (true, None),
                2 => (true, Some(false)),
                _ => (true, Some(true)),
            };
            made
        })
    };
    let files = board(thirty());
    for (path, text) in &files {
        if path.ends_with(".html") && !path.ends_with("report.html") {
            well_formed(path, text, &files);
        }
    }
    let mut backwards: Vec<Made> = thirty().collect();
    backwards.reverse();
    assert!(board(backwards) == files, "the order of the reports matters");
}

#[test]
fn a_board_without_reports_names_the_folders() {
    let unreadable = vec![Unreadable {
        folder: "fleet/v1".to_owned(),
        reason: "it has no report.yaml".to_owned(),
    }];
    let files = files_of(&Board::new(Vec::new(), unreadable));
    let page = &files["index.html"];
    assert!(
        page.contains("There are no reports yet.") && page.contains("fleet/v1"),
        "{page}"
    );
    well_formed("index.html", page, &files);
}

#[test]
fn a_row_says_who_judged_and_what_was_imitated_and_greys_what_is_old() {
    let own = made("own/v1", "own", "v1");
    let mut other = made("other/v1", "other", "v1");
    other.edit = |document| {
        let by = document.submitted_by.as_mut().expect("it says who");
        by.organization = "A <neighbour>".to_owned();
        let environment = document.environment.as_mut().expect("it says what");
        environment.agents = Some(Realness::Imitated("a script".to_owned()));
    };
    let mut silent = made("silent/v1", "silent", "v1");
    silent.edit = |document| document.submitted_by = None;
    let submissions = [own, other, silent].map(Made::submission);
    let page = |board: Board| files_of(&board)["index.html"].clone();
    let fresh = page(Board::new(submissions.into(), Vec::new()).on(jiff::civil::date(2027, 6, 1)));
    let places = [
        "Judged by the project itself",
        ">own</a>",
        r#"class="by">the project"#,
        "Judged by others",
        ">other</a>",
        "A &#60;neighbour&#62; <small>agents imitated</small>",
        "The report does not say who judged",
        ">silent</a>",
    ]
    .map(|part| fresh.find(part));
    assert!(places.is_sorted() && places[0].is_some(), "{places:?}: {fresh}");
    assert!(!fresh.contains("over a year old"), "{fresh}");
    let again = [made("own/v1", "own", "v1").submission()];
    let old = page(Board::new(again.into(), Vec::new()).on(jiff::civil::date(2027, 6, 2)));
    assert!(
        old.contains(r#"<tr class="old">"#) && old.contains("over a year old"),
        "{old}"
    );
}

#[test]
fn the_comment_says_what_to_do_and_fits() {
    let mut forged = made("fleet/v1.0.0", "fleet", "v1.1.0");
    forged.shows = Some(false);
    let mut bare = made("bare/v1.0.0", "bare", "v1.0.0");
    bare.shows = None;
    let good = made("good/v1.0.0", "good", "v1.0.0").submission();
    let submissions = [forged.submission(), bare.submission(), good];
    let text = comment(&submissions, &[]);
    for told in [
        "## ❌ Conformance reports: 1 of 3 hold, 1 does not hold, 1 is not verified\n",
        "| `fleet/v1.0.0` | `fleet v1.1.0` | standard |",
        "❌ does not hold: its evidence says otherwise |\n",
        "❔ not verified: no evidence |\n",
        "- the evidence is missing: add evidence.jsonl.zst beside report.yaml",
        "- the folder is named v1.0.0, and the report is of version v1.1.0: name both alike\n",
    ] {
        assert!(text.contains(told), "{told:?} is not in: {text}");
    }
    assert!(!text.contains("\n`good/v1.0.0`\n"), "{text}");
    assert!(comment(&submissions[2..], &[]).ends_with("Nothing to do.\n"));
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
