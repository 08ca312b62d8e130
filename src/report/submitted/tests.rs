//! A submitted report reads back as it was written, and holds only against its own evidence.

use evidence::{
    Checksum, Driver, Environment, Evidence, Gap, Kind, Member, Realness, Requested, api::Edition,
};
use judge::{Decision, Selection, Verdict, Waivers, judge, rules};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{
    compose::suites,
    document::shown,
    obstacles::{not_real, obstacles},
    *,
};
use crate::{
    Report, by_edition,
    tests::{about, assert_contains, world},
};

const RULE: &str = "identity/manager-label-present";
const WAIVED: &str = "identity/manager-label-matches";

/// Two profiles: one without the label, and one with that of another manager.
fn evidence() -> Evidence {
    let profile = |name: &str, manager: Value| {
        let labels = json!({"x-k8s.io/cluster-manager": manager});
        json!({"metadata": {"name": name, "namespace": "secret-fleet", "labels": labels}})
    };
    let profiles = [profile("lisbon", Value::Null), profile("porto", json!("other"))];
    let text = json!({"observe": "10m", "profiles": profiles});
    let mut evidence = world(Edition::Standard, &text);
    evidence.header.claim.about = about("fleet-manager", "v1.2.3");
    for kind in [Kind::Namespaces, Kind::Timeline, Kind::Members, Kind::Driver] {
        evidence.header.requested.insert(kind, Requested::Yes);
    }
    let gap = Gap::of(Kind::Namespaces, "the list of secret-fleet was refused");
    evidence.gaps.push(gap);
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

fn document() -> ConformanceReport {
    let (evidence, selection) = (evidence(), Selection::default());
    let mut judgement = judge(&evidence, &selection);
    let (waivers, day) = (waivers(), "2026-06-01".parse().expect("a day"));
    judgement.waive(&waivers, day, false);
    let waivers = Some((&waivers, day));
    let editions = by_edition(&evidence, &judgement, &selection, waivers, rules::as_of());
    let judged_at = "2026-06-01T10:00:00.5Z".parse().expect("a time");
    let report = Report {
        file: Some("/home/someone/evidence.jsonl.zst"),
        is_whole_file: true,
        editions: &editions,
        ..Report::new(&evidence, &judgement, &selection, judged_at)
    };
    compose(&report, Some(&sum()))
}

fn written(document: &ConformanceReport) -> String {
    let mut bytes = Vec::new();
    document.write(&mut bytes).expect("a vector takes all");
    String::from_utf8(bytes).expect("UTF-8")
}

fn checked(document: &ConformanceReport) -> Check {
    let held = Held {
        evidence: evidence(),
        sum: sum(),
    };
    Check::of(document, None, &mut Proof::Held(Box::new(held)), |_| {})
}

#[test]
fn report_reads_back_as_written_and_names_no_object() {
    let document = document();
    let text = written(&document);
    assert_eq!(ConformanceReport::parse(&text).expect("a report"), document);
    assert_eq!(written(&ConformanceReport::parse(&text).expect("a report")), text);
    for private in ["lisbon", "porto", "secret-fleet", "/home", "someone/"] {
        assert!(!text.contains(private), "{private}: {text}");
    }
    assert_eq!(document.decision, Decision::NotConformant);
    assert_eq!(document.date.to_string(), "2026-06-01T10:00:00Z");
    let identity = &document.suites[0];
    let core = identity.core.as_ref().expect("MUST rules");
    assert_eq!((&*identity.name, core.result), ("identity", GroupResult::Failure));
    assert_eq!(core.failed_rules[0].rule, RULE);
    assert_eq!(core.warned_rules[0].verdict, Verdict::Waived);
    let listed = core.failed_rules.len() + core.warned_rules.len() + core.skipped_rules.len();
    assert_eq!(core.statistics.passed, core.statistics.rules - listed);
    let mut open = document
        .listed()
        .filter(|entry| entry.verdict == Verdict::Inconclusive);
    let gap = "evidence is missing: namespaces (1 gap";
    assert!(open.any(|entry| entry.reasons.iter().any(|reason| reason.starts_with(gap))));
}

/// What a text of a report is replaced by, and a part of the error.
const REFUSED: &str = r#"
ConformanceReport => ConformanceReports => not a report of this suite
decision: => verdict: x\ndecision: => verdict
edition: standard => edition: standart => standart
scope: => scopes: => scope
claim:\n => claim:\n  certified: true\n => claim.certified
claim:\n => claim:\n  certified: {}\n => claim.certified
claim:\n => claim:\n  certified: ~\n => claim.certified
waivers:\n- => waivers:\n- approved: true\n  => approved
claim: => certification:\n  "certified by the SIG": {"level gold": []}\nclaim: => unknown field `certification`
claim: => certified: ~\nclaim: => unknown field `certified`
scope: => scope:\n  certified: [] => unknown field `certified`
evidence: => evidence:\n  certified: [] => unknown field `certified`
- name: identity => - certified: ~\n  name: identity => unknown field `certified`
  core:\n =>   core:\n    certified: ~\n => unknown field `certified`
- rule: => - certified: {}\n      rule: => unknown field `certified`"#;

#[test]
fn files_that_are_not_reports_are_refused() {
    let text = written(&document());
    let refused = |text: &str, part: &str| {
        let error = ConformanceReport::parse(text).expect_err(part).to_string();
        assert_contains(&error, &[part]);
    };
    for not_a_report in ["a: b", "a: ["] {
        refused(not_a_report, "not a report of this suite");
    }
    for [old, new, part] in rows(REFUSED) {
        assert_contains(&text, &[&old]);
        refused(&text.replacen(&old, &new, 1), &part);
    }
}

/// The rows of a table, with `\n` for a line's end in a cell.
fn rows(table: &str) -> impl Iterator<Item = [String; 3]> {
    table.lines().skip(1).map(|row| {
        let mut cells = row.split(" => ").map(|cell| cell.replace("\\n", "\n"));
        [(); 3].map(|()| cells.next().unwrap_or_default())
    })
}

#[test]
fn report_holds_against_its_evidence() {
    let check = checked(&document());
    assert_eq!(check.fitness, Fitness::Holds);
    assert_eq!((check.obstacles.len(), check.notes.len()), (0, 0));
}

/// The report with another value in one place.
fn tampered(pointer: &str, part: Value) -> ConformanceReport {
    let mut value = serde_json::to_value(document()).expect("JSON");
    let (parent, key) = pointer.rsplit_once('/').expect("a pointer");
    let parent = value.pointer_mut(parent).expect("its parent");
    assert_ne!(parent.get(key), Some(&part), "it changes nothing");
    parent[key] = part;
    serde_json::from_value(value).expect("a report")
}

/// A place in a report, a forged value, and the difference.
const TAMPERED: &str = r#"
/evidence/sha256 => "cdcd" => evidence.sha256
/edition => "2026-07" => suites[consumers]
/editions/0/decision => "conformant" => editions[0].decision
/decision => "conformant" => decision
/suites/0/core/statistics/passed => 99 => suites[identity].core.statistics.passed
/suites/0/core/failedRules => [] => suites[identity].core.failedRules
/suites/0/core/failedRules/0/reasons => ["agreed"] => failedRules[identity/manager-label-present].reasons
/waivers/0/reason => "agreed with the SIG" => reason
/waivers/0/waived => 0 => waivers[identity/manager-label-matches].waived
/implementation/version => "v2" => implementation.version
/scope/profiles => 100 => scope.profiles
/scope/partial => "stopped" => scope.partial"#;

#[test]
fn every_change_to_a_report_is_found() {
    for [pointer, part, at] in rows(TAMPERED) {
        let part = serde_json::from_str(&part).expect("JSON");
        let differences = checked(&tampered(&pointer, part)).differences;
        let is_found = differences.iter().any(|change| change.at.contains(&at));
        assert!(is_found, "{at}: {differences:?}");
    }
}

#[test]
fn reordered_list_is_a_difference() {
    let mut reordered = document();
    let suites = reordered.suites.iter_mut();
    let mut groups = suites.flat_map(|suite| suite.core.iter_mut().chain(&mut suite.extended));
    let group = groups.find(|group| group.skipped_rules.len() > 1);
    group.expect("two skipped rules").skipped_rules.swap(0, 1);
    let check = checked(&reordered);
    assert_eq!(check.fitness, Fitness::DoesNotHold);
    assert_eq!(check.differences.len(), 1);
    assert_contains(&check.differences[0].at, &["order"]);
}

#[test]
fn contradiction_is_found_without_evidence() {
    let fitness =
        |document: &ConformanceReport| Check::of(document, None, &mut Proof::Missing, |_| {}).fitness;
    assert_eq!(fitness(&document()), Fitness::NotVerified);
    for (pointer, part) in [
        ("/decision", json!("conformant")),
        ("/decision", json!("inconclusive")),
        ("/editions/0/decision", json!("conformant")),
        ("/suites/0/core/failedRules", json!([])),
    ] {
        let tampered = tampered(pointer, part);
        assert_eq!(fitness(&tampered), Fitness::DoesNotHold, "{pointer}");
    }
    // An inconclusive MUST rule leaves the decision open.
    let mut open = arbitrary(&[0], "a", 1);
    open.editions.clear();
    open.scope.scope.namespaces.clear();
    open.decision = Decision::Conformant;
    assert_eq!(fitness(&open), Fitness::NotVerified);
    let core = open.suites[0].core.as_mut().expect("MUST rules");
    core.skipped_rules.push(RuleEntry {
        verdict: Verdict::Inconclusive,
        ..document().listed().next().expect("a rule").clone()
    });
    assert_eq!(fitness(&open), Fitness::DoesNotHold);
}

#[test]
fn other_suite_version_is_noted() {
    let check = checked(&tampered("/suiteVersion", json!("0.0.1")));
    assert_eq!(check.differences, []);
    assert_contains(&check.notes[0], &["by suite 0.0.1"]);
}

/// A part of a report, another value of it, and the obstacles.
const OBSTACLES: &str = r#"
/implementation => null => implementation is missing
/implementation => {} => implementation.organization, implementation.project, implementation.url, implementation.version, implementation.contact
/implementation/url => "javascript:alert(1)" => not an address of a web page
/submittedBy => null => submittedBy is missing
/submittedBy => {} => submittedBy.organization, submittedBy.url
/environment => null => environment.hub, environment.members, environment.agents, no audit log
/hubVersion => "v1.36.3+lab" => the suite's own test hub
/evidence => null => no evidence file
/scope/partial => "interrupted" => the run was cut short
/scope/window => {"from": "2026-01-01T00:00:00Z", "until": "2026-01-01T00:09:59Z"} => watched for 9m 59s
/scope/watched => false => single snapshot
/scope/notAsked => {"members": "not requested"} => it lacks evidence: members
/scope/notAsked => {"driver": "not requested"} => it lacks evidence: driver
/suites/0/core/failedRules => [{"rule": "a/b", "level": "MUST", "verdict": "skipped", "title": "t", "reasonId": "deselected"}] => 1 of the edition's rules were deselected"#;

#[test]
fn each_obstacle_is_listed_once() {
    assert_eq!(obstacles(&document()), [""; 0]);
    for [pointer, part, parts] in rows(OBSTACLES) {
        let part = serde_json::from_str(&part).expect("JSON");
        let listed = obstacles(&tampered(&pointer, part));
        let parts: Vec<&str> = parts.split(", ").collect();
        assert_eq!(listed.len(), parts.len(), "{listed:?}");
        for (line, part) in listed.iter().zip(parts) {
            assert_contains(line, &[part]);
        }
    }
}

#[test]
fn a_version_that_moves_is_an_obstacle() {
    let moving = "main| Master|HEAD|latest|refs/heads/release-1.2|origin/main";
    let lasting = "v1.2.4|1.2|374cfa966338|main-374cfa966338|refs/tags/v1.2.3";
    for (versions, is_obstacle) in [(moving, true), (lasting, false)] {
        for version in versions.split('|') {
            let listed = obstacles(&tampered("/implementation/version", json!(version)));
            let is_listed = listed
                .iter()
                .any(|line| line.contains("which means something else"));
            assert_eq!(is_listed, is_obstacle, "{version}");
        }
    }
}

/// What the environment's parts are called, and what of it the evidence contradicts.
#[test]
fn environment_is_checked_against_the_evidence() {
    let contradicted = |environment: &str, evidence: &Evidence| {
        let realness: Option<Realness> = Some(environment.parse().expect("a word"));
        let environment = Environment {
            hub: realness.clone(),
            members: realness.clone(),
            agents: realness,
            ..Environment::default()
        };
        let texts = not_real(&environment, evidence);
        let parts = texts.iter().filter_map(|text| text.split_once("environment."));
        let names = parts.filter_map(|(_, rest)| rest.split(' ').next());
        names.collect::<Vec<_>>().join(" ")
    };
    let expected = ["", "hub agents", "agents", "members", "members"];
    let mut cases = expected.map(|_| evidence());
    cases[1].header.hub.source = "lab".to_owned();
    cases[2].header.hub.source = "k3s".to_owned();
    cases[3].driver.insert(Driver::default()).fake_members = true;
    cases[4].members = vec![Member::default()];
    cases[4].members[0].access = "stand-in lisbon".to_owned();
    for (evidence, expected) in cases.iter().zip(expected) {
        assert_eq!(contradicted("real", evidence), expected);
        assert_eq!(contradicted("imitated: stand-ins", evidence), "");
    }
}

/// A report whose verdicts are drawn from these numbers.
fn arbitrary(seed: &[u8], namespace: &str, sum: u8) -> ConformanceReport {
    let mut document = document();
    let rules = rules::all().iter().filter_map(|rule| {
        let applies = rule.facts.in_edition(Edition::Standard)?;
        Some((rule, applies.level))
    });
    let entry = |(place, (rule, level)): (usize, (&rules::Rule, _))| {
        let drawn = usize::from(seed[place % seed.len()]);
        let verdict = Verdict::ALL[drawn % Verdict::ALL.len()];
        let number = if verdict == Verdict::Pass { 0 } else { drawn / 7 };
        let reason = (number > 20).then(|| format!("reason {number}"));
        RuleEntry {
            rule: rule.id.to_owned(),
            level,
            verdict,
            title: rule.facts.title.clone(),
            examined: number,
            violations: number / 2,
            hints: 0,
            waived: 0,
            reasons: reason.into_iter().collect(),
            reason_id: None,
        }
    };
    let entries: Vec<RuleEntry> = rules.enumerate().map(entry).collect();
    document.suites = suites(&entries);
    document.waivers.clear();
    document.scope.scope.namespaces = vec![namespace.to_owned()];
    document.decision = document.decision_by_verdicts();
    if let Some(kept) = &mut document.evidence {
        kept.sha256 = format!("{sum:02x}").repeat(32);
    }
    document
}

fn drawn() -> impl Strategy<Value = ConformanceReport> {
    (prop::collection::vec(any::<u8>(), 1..40), "[ab]", any::<u8>())
        .prop_map(|(seed, namespace, sum)| arbitrary(&seed, &namespace, sum))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn any_report_reads_back_as_written(document in drawn()) {
        prop_assert_eq!(ConformanceReport::parse(&written(&document)).expect("a report"), document.clone());
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
fn diff_finds_what_got_worse() {
    let compare = |old: &ConformanceReport, new: &ConformanceReport| diff(old, new).expect("one API");
    let (old, new) = (arbitrary(&[0], "a", 1), arbitrary(&[1], "a", 1));
    let same = compare(&old, &old);
    assert!(!same.worse && same.head.is_empty() && same.rules.is_empty());
    let worse = compare(&old, &new);
    assert!(worse.worse);
    assert_eq!(worse.head[0].at, "decision");
    let first = &worse.rules[0];
    assert_eq!(Some(&*first.rule), rules::all().iter().map(|rule| rule.id).min());
    assert_eq!((first.old, first.new), (Some(Verdict::Pass), Some(Verdict::Fail)));
    let better = compare(&new, &old);
    assert!(!better.worse && better.rules.len() == worse.rules.len());
    assert!(!better.rules[0].worse && worse.rules[0].worse);
}

#[test]
fn rule_that_is_no_longer_judged_is_not_better() {
    use Verdict::{Fail, Inconclusive, NotApplicable, Pass, Skipped, Waived, Warn};
    let is_better = |old, new| trend(old, new) == "better";
    for old in [Fail, Warn, Waived, Inconclusive] {
        assert!(is_better(old, Pass) && !is_better(old, NotApplicable), "{old:?}");
    }
    for old in [NotApplicable, Skipped, Pass] {
        assert!(!is_better(old, Pass), "{old:?}");
    }
}

/// A rule file may say on which day the suite got the rule: earlier reports are consistent without it.
#[test]
fn report_has_no_rule_of_a_later_day() {
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
        let document = ConformanceReport {
            rules_as_of: on(as_of),
            ..document()
        };
        assert_eq!(document.has(&facts), has, "{added:?} {as_of:?}");
    }
}
