//! What a submitted report promises: it is read as it was written, and holds against its
//! evidence and nothing else.

use evidence::{
    Asked, Checksum, Driver, Environment, Evidence, Gap, Implementation, Kind, Member, Realness, Submitter,
    api::Edition,
};
use jiff::Timestamp;
use judge::{Decision, Judgement, Selection, Verdict, Waivers, judge, rules, rules::example::Example};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{
    compose::{decision, suites},
    document::shown,
    obstacles::not_real,
    *,
};
use crate::{Report, by_edition};

const RULE: &str = "identity/manager-label-present";
const WAIVED: &str = "identity/manager-label-matches";

/// Two profiles: one without the label, and one with that of another manager.
fn evidence() -> Evidence {
    let labelled = |name: &str, label: Value| json!({"metadata": {"name": name, "namespace": "secret-fleet", "labels": {"x-k8s.io/cluster-manager": label}}});
    let example = json!({"name": "two", "fails": {"observe": "10m", "profiles": [labelled("lisbon", Value::Null), labelled("porto", json!("other"))]}});
    let example = Example::parse(&example, Edition::Standard).expect("an example");
    let mut evidence = example.evidence().clone();
    let about = &mut evidence.header.claim.about;
    about.submitted_by = Some(Submitter {
        organization: "Example".to_owned(),
        url: "https://fleet.example/conformance".to_owned(),
    });
    about.environment = Some(Environment {
        hub: Some(Realness::Real),
        members: Some(Realness::Imitated("API servers without nodes".to_owned())),
        agents: Some(Realness::Real),
        no_audit_log: Some("the provider keeps it".to_owned()),
    });
    about.implementation = Some(Implementation {
        organization: "Example".to_owned(),
        project: "fleet-manager".to_owned(),
        url: "https://fleet.example".to_owned(),
        version: "v1.2.3".to_owned(),
        contact: vec!["@someone".to_owned()],
    });
    for kind in [Kind::Namespaces, Kind::Timeline, Kind::Members, Kind::Driver] {
        evidence.header.asked.insert(kind, Asked::Yes);
    }
    evidence
        .gaps
        .push(Gap::of(Kind::Namespaces, "the list of secret-fleet was refused"));
    evidence
}

fn sum() -> Checksum {
    Checksum {
        sha256: "ab".repeat(32),
        bytes: 4096,
    }
}

fn waivers() -> Waivers {
    let yaml = format!(
        "waivers: [{{rule: {WAIVED}, reason: legacy, link: 'https://issues.example/1', expires: 2027-01-01}}]"
    );
    Waivers::parse(&yaml).expect("waivers")
}

/// The report of those rules.
fn document_of(evidence: &Evidence, selection: &Selection, sum: &Checksum) -> Document {
    let mut evidence = evidence.clone();
    let mut judgement: Judgement = judge(&evidence, selection);
    let (waivers, day) = (waivers(), "2026-06-01".parse().expect("a day"));
    judgement.waive(&waivers, day, false);
    let waivers = Some((&waivers, day));
    let editions = by_edition(&mut evidence, &judgement, selection, waivers, rules::as_of());
    let report = Report {
        evidence: &evidence,
        judgement: &judgement,
        selection,
        judged_at: "2026-06-01T10:00:00.5Z".parse().expect("a time"),
        file: Some("/home/someone/evidence.jsonl.zst"),
        is_whole_file: true,
        editions: &editions,
        advice: crate::no_advice,
    };
    compose(&report, Some(sum))
}

fn document() -> Document {
    document_of(&evidence(), &Selection::default(), &sum())
}

fn written(document: &Document) -> String {
    let mut bytes = Vec::new();
    document.write(&mut bytes).expect("a vector takes all");
    String::from_utf8(bytes).expect("UTF-8")
}

fn checked(document: &Document) -> Check {
    let held = Held {
        evidence: evidence(),
        sum: sum(),
    };
    Check::of(document, &mut Proof::Held(Box::new(held)), |_| {})
}

#[test]
fn a_report_is_read_as_it_was_written_and_names_no_object() {
    let document = document();
    let text = written(&document);
    assert_eq!(Document::parse(&text).expect("a report"), document);
    assert_eq!(written(&Document::parse(&text).expect("a report")), text);
    for private in ["lisbon", "porto", "secret-fleet", "/home", "someone/"] {
        assert!(!text.contains(private), "{private}: {text}");
    }
    assert_eq!(document.decision, Decision::NotConformant);
    assert_eq!(
        document.date,
        "2026-06-01T10:00:00Z".parse::<Timestamp>().expect("a time")
    );
    let identity = &document.suites[0];
    let core = identity.core.as_ref().expect("MUST rules");
    assert_eq!((&*identity.name, core.result), ("identity", Judged::Failure));
    assert_eq!(core.failed_rules[0].rule, RULE);
    assert_eq!(core.warned_rules[0].verdict, Verdict::Waived);
    let listed = core.failed_rules.len() + core.warned_rules.len() + core.skipped_rules.len();
    assert_eq!(core.statistics.passed, core.statistics.rules - listed);
    let doubtful = document
        .listed()
        .filter(|entry| entry.verdict == Verdict::Inconclusive);
    let mut reasons = doubtful.flat_map(|entry| &entry.reasons);
    assert!(
        reasons.any(|reason| reason.starts_with("evidence is missing: namespaces (1 gap")),
        "the gap leaves doubts"
    );
}

#[test]
fn other_files_are_refused() {
    let text = written(&document());
    let with = |old: &str, new: &str| Document::parse(&text.replacen(old, new, 1));
    // JSON is YAML.
    let forged = |pointer: &str, key: &str| {
        let mut value = serde_json::to_value(document()).expect("JSON");
        value.pointer_mut(pointer).expect("a part")[key] = json!(true);
        Document::parse(&value.to_string())
    };
    for (outcome, output) in [
        (Document::parse("a: b"), "not a report of this suite"),
        (Document::parse("a: ["), "not a report of this suite"),
        (
            with("ConformanceReport", "ConformanceReports"),
            "not a report of this suite",
        ),
        (with("decision:", "verdict: x\ndecision:"), "verdict"),
        (with("edition: standard", "edition: standart"), "standart"),
        (with("scope:", "scopes:"), "scopes"),
        (forged("/claim", "certified"), "claim.certified"),
        (forged("/waivers/0", "approved"), "approved"),
    ] {
        let error = outcome.expect_err(output).to_string();
        assert!(error.contains(output), "{error}");
    }
}

#[test]
fn a_report_holds_against_its_evidence() {
    let check = checked(&document());
    assert_eq!(check.fitness, Fitness::Holds);
    assert_eq!((check.to_do().count(), check.notes.len()), (0, 0));
}

/// Sets a part of a report, as a forger might.
fn tampered(pointer: &str, part: Value) -> Document {
    let mut value = serde_json::to_value(document()).expect("JSON");
    let (parent, key) = pointer.rsplit_once('/').expect("a pointer");
    let parent = value.pointer_mut(parent).expect("its parent");
    assert_ne!(parent.get(key), Some(&part), "it changes nothing");
    parent[key] = part;
    serde_json::from_value(value).expect("a report")
}

#[test]
fn every_tampering_is_caught() {
    let core = "/suites/0/core";
    for (at, pointer, part) in [
        ("evidence.sha256", "/evidence/sha256", json!("cd".repeat(32))),
        ("suites[consumers]", "/edition", json!("2026-07")),
        (
            "editions[0].decision",
            "/editions/0/decision",
            json!("conformant"),
        ),
        ("decision", "/decision", json!("conformant")),
        (
            "suites[identity].core.statistics.passed",
            &format!("{core}/statistics/passed"),
            json!(99),
        ),
        (
            "suites[identity].core.failedRules",
            &format!("{core}/failedRules"),
            json!([]),
        ),
        (
            "failedRules[identity/manager-label-present].reasons",
            &format!("{core}/failedRules/0/reasons"),
            json!(["agreed"]),
        ),
        ("reason", "/waivers/0/reason", json!("agreed with the SIG")),
        (
            "waivers[identity/manager-label-matches].waived",
            "/waivers/0/waived",
            json!(0),
        ),
        ("implementation.version", "/implementation/version", json!("v2")),
        ("scope.profiles", "/scope/profiles", json!(100)),
        ("scope.partial", "/scope/partial", json!("stopped")),
    ] {
        let differences = checked(&tampered(pointer, part)).differences;
        assert!(
            differences.iter().any(|change| change.at.contains(at)),
            "{at}: {differences:?}"
        );
    }
}

#[test]
fn a_contradiction_shows_without_evidence() {
    let fitness = |document: &Document| Check::of(document, &mut Proof::Missing, |_| {}).fitness;
    assert_eq!(fitness(&document()), Fitness::NotVerified);
    let core = "/suites/0/core";
    for (pointer, part) in [
        ("/decision", json!("conformant")),
        ("/decision", json!("inconclusive")),
        ("/editions/0/decision", json!("conformant")),
        (&format!("{core}/failedRules"), json!([])),
    ] {
        let tampered = tampered(pointer, part);
        assert_eq!(fitness(&tampered), Fitness::DoesNotHold, "{pointer}");
    }
    // An inconclusive MUST rule leaves the decision open.
    let mut open = arbitrary(&[0], "a", 1);
    open.editions.clear();
    open.scope.namespaces.clear();
    open.decision = Decision::Conformant;
    assert_eq!(fitness(&open), Fitness::NotVerified);
    let core = open.suites[0].core.as_mut().expect("MUST rules");
    core.skipped_rules.push(Entry {
        verdict: Verdict::Inconclusive,
        ..document().listed().next().expect("a rule").clone()
    });
    assert_eq!(fitness(&open), Fitness::DoesNotHold);
}

#[test]
fn other_suite_version_is_noted() {
    let older = tampered("/suiteVersion", json!("0.0.1"));
    let check = checked(&older);
    assert_eq!(check.differences, []);
    assert!(check.notes[0].contains("by suite 0.0.1"), "{:?}", check.notes);
}

#[test]
fn each_obstacle_is_listed_once() {
    type Case = (fn(&mut Document), &'static [&'static str]);
    let cases: [Case; 13] = [
        (
            |document| document.implementation = None,
            &["who made the implementation"],
        ),
        (
            |document| document.implementation = Some(Implementation::default()),
            &[
                "implementation.organization ",
                "implementation.project ",
                "implementation.url ",
                "implementation.version ",
                "implementation.contact ",
            ],
        ),
        (
            |document| named(document).url = "javascript:alert(1)".to_owned(),
            &["not an address of a web page"],
        ),
        (|document| document.submitted_by = None, &["who submits it"]),
        (
            |document| document.environment = None,
            &[
                "environment.hub",
                "environment.members",
                "environment.agents",
                "no audit log",
            ],
        ),
        (
            |document| document.hub_version = Some("v1.36.3+lab".to_owned()),
            &["the suite's own test hub"],
        ),
        (|document| document.evidence = None, &["no evidence file"]),
        (
            |document| document.scope.partial = Some("interrupted".to_owned()),
            &["the run was cut short"],
        ),
        (
            |document| {
                let window = document.scope.window.as_mut().expect("a window");
                window.until = window.from + jiff::SignedDuration::from_secs(599);
            },
            &["watched for 9m 59s"],
        ),
        (|document| document.scope.watched = false, &["single snapshot"]),
        (
            |document| lack(document, Kind::Members),
            &["it lacks evidence: members"],
        ),
        (
            |document| lack(document, Kind::Driver),
            &["it lacks evidence: driver"],
        ),
        (
            |document| {
                let core = document.suites[0].core.as_mut().expect("rules");
                core.failed_rules[0].verdict = Verdict::Skipped;
                core.failed_rules[0].reason_id = Some(evidence::ReasonId::Deselected);
            },
            &["1 of the edition's rules were deselected"],
        ),
    ];
    assert_eq!(obstacles(&document()), [""; 0]);
    for (change, parts) in cases {
        let mut document = document();
        change(&mut document);
        let listed = obstacles(&document);
        assert_eq!(listed.len(), parts.len(), "{listed:?}");
        for (line, part) in listed.iter().zip(parts) {
            assert!(line.contains(part), "{part}: {line}");
        }
    }
}

fn named(document: &mut Document) -> &mut Implementation {
    document.implementation.as_mut().expect("it is named")
}

fn lack(document: &mut Document, kind: Kind) {
    document.scope.not_asked.insert(kind, "not requested".to_owned());
}

#[test]
fn a_version_that_moves_is_an_obstacle() {
    let moving = [
        "main",
        " Master",
        "HEAD",
        "latest",
        "refs/heads/release-1.2",
        "origin/main",
    ];
    let lasting = [
        "v1.2.3",
        "1.2",
        "374cfa966338",
        "main-374cfa966338",
        "refs/tags/v1.2.3",
    ];
    for version in moving.iter().chain(&lasting) {
        let mut document = document();
        named(&mut document).version = (*version).to_owned();
        let is_listed = obstacles(&document)
            .iter()
            .any(|line| line.contains("which means something else"));
        assert_eq!(is_listed, moving.contains(version), "{version}");
    }
}

/// What the environment's parts are called, and what of it the evidence contradicts.
#[test]
fn environment_is_checked_against_the_evidence() {
    let parts = |real: bool, change: fn(&mut Evidence)| {
        let mut evidence = evidence();
        change(&mut evidence);
        let said: Realness = if real { "real" } else { "imitated: stand-ins" }
            .parse()
            .expect("a word");
        let environment = Environment {
            hub: Some(said.clone()),
            members: Some(said.clone()),
            agents: Some(said),
            ..Environment::default()
        };
        let part = |text: String| {
            let (_, rest) = text.split_once("environment.").expect("a part");
            rest.split(' ').next().map(str::to_owned)
        };
        not_real(&environment, &evidence)
            .into_iter()
            .filter_map(part)
            .collect::<Vec<String>>()
    };
    assert!(parts(true, |_| {}).is_empty());
    type Case = (fn(&mut Evidence), &'static [&'static str]);
    let cases: [Case; 5] = [
        (
            |evidence| evidence.header.hub.source = "lab".to_owned(),
            &["hub", "agents"],
        ),
        (
            |evidence| evidence.header.hub.server_version = Some("v1.36.3+lab".to_owned()),
            &["hub"],
        ),
        (
            |evidence| evidence.header.hub.source = "k3s".to_owned(),
            &["agents"],
        ),
        (
            |evidence| {
                evidence.driver = Some(Driver {
                    stand_ins: true,
                    ..Driver::default()
                });
            },
            &["members"],
        ),
        (
            |evidence| {
                evidence.members.push(Member {
                    way: "stand-in lisbon".to_owned(),
                    ..Member::default()
                });
            },
            &["members"],
        ),
    ];
    for (change, contradicted) in cases {
        assert_eq!(parts(true, change), contradicted);
        assert!(parts(false, change).is_empty());
    }
}

/// A report whose rules came out as these numbers say.
fn arbitrary(seed: &[u8], namespace: &str, sum: u8) -> Document {
    let mut document = document();
    let of_edition = rules::all()
        .iter()
        .filter(|rule| rule.facts.in_edition(Edition::Standard).is_some());
    let entries: Vec<Entry> = of_edition
        .enumerate()
        .map(|(place, rule)| {
            let drawn = seed[place % seed.len()];
            let verdict = Verdict::ALL[usize::from(drawn) % Verdict::ALL.len()];
            let number = match verdict {
                Verdict::Pass => 0,
                _ => usize::from(drawn / 7),
            };
            Entry {
                rule: rule.id.to_owned(),
                level: rule
                    .facts
                    .in_edition(Edition::Standard)
                    .expect("a rule of it")
                    .level,
                verdict,
                title: rule.facts.title.clone(),
                examined: number,
                violations: number / 2,
                hints: 0,
                waived: 0,
                reasons: (number > 20)
                    .then(|| format!("reason {number}"))
                    .into_iter()
                    .collect(),
                reason_id: None,
            }
        })
        .collect();
    document.suites = suites(&entries);
    document.waivers.clear();
    document.scope.namespaces = vec![namespace.to_owned()];
    document.decision = decision(&entries, document.extent(), &[], document.claim.strict);
    if let Some(kept) = &mut document.evidence {
        kept.sha256 = format!("{sum:02x}").repeat(32);
    }
    document
}

fn drawn() -> impl Strategy<Value = Document> {
    (prop::collection::vec(any::<u8>(), 1..40), "[ab]", any::<u8>())
        .prop_map(|(seed, namespace, sum)| arbitrary(&seed, &namespace, sum))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn any_report_is_read_as_it_was_written(document in drawn()) {
        prop_assert_eq!(Document::parse(&written(&document)).expect("a report"), document.clone());
        prop_assert!(diff(&document, &document).expect("one API").rules.is_empty());
    }

    #[test]
    fn cleaned_text_is_not_cleaned_further(text in "\\PC{0,40}|.{0,40}", times in 1usize..200) {
        let once = shown(&text.repeat(times));
        prop_assert!(!once.chars().any(crate::text::escape::is_hidden));
        prop_assert!(once.chars().count() <= 2_000);
        prop_assert_eq!(shown(&once), once);
    }
}

#[test]
fn a_diff_tells_what_got_worse() {
    let old = arbitrary(&[0], "a", 1);
    let mut new = old.clone();
    let same = diff(&old, &new).expect("one API");
    assert!(!same.worse && same.head.is_empty() && same.rules.is_empty());
    new = arbitrary(&[1], "a", 1);
    let worse = diff(&old, &new).expect("one API");
    assert!(worse.worse);
    assert_eq!(worse.head[0].at, "decision");
    assert_eq!(
        Some(&*worse.rules[0].rule),
        rules::all().iter().map(|rule| rule.id).min()
    );
    assert_eq!(
        (worse.rules[0].old, worse.rules[0].new),
        (Some(Verdict::Pass), Some(Verdict::Fail))
    );
    let better = diff(&new, &old).expect("one API");
    assert!(!better.worse && better.rules.len() == worse.rules.len());
    assert!(!better.rules[0].worse && worse.rules[0].worse);
}

#[test]
fn rule_that_is_no_longer_judged_is_not_better() {
    let is_better = |old, new| trend(old, new) == "better";
    for old in [
        Verdict::Fail,
        Verdict::Warn,
        Verdict::Waived,
        Verdict::Inconclusive,
    ] {
        assert!(
            is_better(old, Verdict::Pass) && !is_better(old, Verdict::NotApplicable),
            "{old:?}"
        );
    }
    for old in [Verdict::NotApplicable, Verdict::Skipped, Verdict::Pass] {
        assert!(!is_better(old, Verdict::Pass), "{old:?}");
    }
}

/// A rule file may say on which day the suite got the rule: earlier reports are consistent without it.
#[test]
fn a_report_has_no_rule_of_a_later_day() {
    let rule = rules::find(RULE).expect("the rule");
    let on = |day: Option<&str>| day.map(|day| day.parse().expect("a day"));
    for (added, as_of, has) in [
        (None, None, true),
        (None, Some("2026-12-01"), true),
        (Some("2026-12-01"), None, false),
        (Some("2026-12-01"), Some("2026-11-30"), false),
        (Some("2026-12-01"), Some("2026-12-01"), true),
    ] {
        let mut facts = rule.facts.clone();
        facts.added = on(added);
        let document = Document {
            rules_as_of: on(as_of),
            ..document()
        };
        assert_eq!(
            document.has(&facts),
            has,
            "added {added:?}, rules as of {as_of:?}"
        );
    }
}
