use std::collections::{BTreeMap, BTreeSet};

use evidence::{Gap, Kind, ProfileHistory, api::Edition};
use serde_json::{Value, json};

use super::*;
use crate::rules::{self, Conclusion, Finding, Findings, Tie, example::Example};

/// What a rule found, in an order of its own.
#[derive(Debug, PartialEq, Eq)]
struct Told {
    examined: usize,
    findings: Vec<String>,
    doubts: BTreeSet<String>,
    not_asked: Option<String>,
    not_applicable: Option<String>,
    notes: BTreeSet<String>,
}

impl From<Conclusion> for Told {
    fn from(found: Conclusion) -> Self {
        let told = |finding: &Finding| format!("{finding:?}");
        let mut findings: Vec<String> = found.list.iter().map(told).collect();
        findings.sort_unstable();
        Self {
            examined: found.examined,
            findings,
            doubts: found.doubts.into_iter().collect(),
            not_asked: found.not_asked,
            not_applicable: found.not_applicable,
            notes: found.notes.into_iter().collect(),
        }
    }
}

/// What a rule finds in parts of the evidence, added; none if its evidence is not divided.
fn in_parts(rule: &'static Rule, evidence: &Evidence) -> Option<Findings> {
    let mut excerpt = Excerpt::default();
    excerpt.renew(evidence);
    let profiles = || (0..).zip(&evidence.profiles);
    let mut of = |profiles: Vec<&ProfileHistory>| {
        excerpt.hold(profiles.into_iter());
        rule.findings(excerpt.as_of(None))
    };
    let of_none = of(Vec::new());
    let division = match rule.division(evidence) {
        Division::Profiles => Division::Ties(ties_of_lives),
        other => other,
    };
    let parts: Vec<Vec<&ProfileHistory>> = match division {
        Division::Profiles => unreachable!("made of ties"),
        Division::Ties(ties) => {
            let mut web = web::Web::default();
            for (serial, history) in profiles() {
                let mut own = Excerpt::default();
                own.renew(evidence);
                own.hold([history].into_iter());
                web.put(serial, ties(own.as_of(None), history));
            }
            let parts = web.settle().made.into_iter();
            let history = |serial: Serial| &evidence.profiles[usize::try_from(serial).expect("a place")];
            parts
                .map(|part| web.profiles(part).into_iter().map(history).collect())
                .collect()
        }
        Division::Kinds(kind_of) => {
            let mut kinds = Kinds::new(rule, kind_of);
            for (serial, history) in profiles() {
                excerpt.hold([history].into_iter());
                kinds.put(serial, history, &mut excerpt, Times::default());
            }
            return Some(match kinds.needed() {
                Needed::Some(some) => {
                    let some = profiles().filter(|(serial, _)| some.contains(serial));
                    excerpt.hold(some.map(|(_, history)| history));
                    excerpt.hold_namespaces(evidence);
                    rule.findings(excerpt.as_of(None))
                }
                _ => rule.findings(evidence),
            });
        }
        Division::Whole => return None,
    };
    let mut sum = of_none.clone();
    for part in parts {
        sum.absorb(of(part).without(&of_none));
    }
    Some(sum)
}

/// If this fails, a rule is said to be divisible that is not: see `rules/division.rs`.
#[test]
fn what_the_parts_of_an_example_give_adds_up_to_the_whole() {
    let mut complaints = BTreeMap::new();
    let mut compared = 0;
    for example_of in rules::all() {
        for example in Example::of(example_of).expect("examples") {
            let evidence = example.evidence();
            if evidence.driver.is_some() {
                continue;
            }
            for (rule, applies) in rules_of(&evidence.header.claim) {
                if without_examining(rule, applies, evidence, &Selection::default()).is_some() {
                    continue;
                }
                let Some(parts) = in_parts(rule, evidence) else {
                    continue;
                };
                compared += 1;
                let (parts, whole) = (Told::from(parts.conclude()), rule.findings(evidence).conclude());
                let whole = Told::from(whole);
                if parts != whole {
                    complaints.entry(rule.id).or_insert_with(|| {
                        format!(
                            "{}, example `{}` of {}: in parts {parts:#?}\nas a whole {whole:#?}",
                            rule.id, example.name, example_of.id
                        )
                    });
                }
            }
        }
    }
    assert!(compared > 10_000, "{compared}");
    let complaints: Vec<String> = complaints.into_values().collect();
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

#[test]
fn the_whole_fleet_is_due_a_minute_after_it_was_judged() {
    let second = |second| Timestamp::from_second(second).expect("a time");
    let mut standing = Standing::new(Selection::default());
    assert!(standing.is_due(second(0)), "nothing was judged yet");
    let mut evidence = Evidence::default();
    evidence.header.window = Some(evidence::Window {
        from: second(0),
        until: second(100),
    });
    standing.judgement(&evidence);
    assert!(!standing.is_due(second(159)));
    assert!(standing.is_due(second(160)));

    // At the end of a gap nothing has followed it yet.
    evidence.gaps.push(Gap {
        from: Some(second(90)),
        until: Some(second(120)),
        ..Gap::of(Kind::Timeline, "the connection was lost")
    });
    let mut judge_at = |at, standing: &mut Standing| {
        evidence.header.window.as_mut().expect("a window").until = second(at);
        standing.judgement(&evidence);
    };
    judge_at(120, &mut standing);
    assert!(standing.is_due(second(120)));
    judge_at(121, &mut standing);
    assert!(!standing.is_due(second(180)));
}

#[test]
fn each_division_is_of_a_rule() {
    let text = include_str!("../rules/division.rs");
    let named: BTreeSet<&str> = text.split('"').skip(1).step_by(2).collect();
    let known: BTreeSet<&str> = rules::all().iter().map(|rule| rule.id).collect();
    assert!(named.len() > 50);
    assert_eq!(named.difference(&known).collect::<Vec<_>>(), Vec::<&&str>::new());
}

/// The parts of a web after a change, each with its profiles.
fn parts(web: &mut web::Web) -> Vec<Vec<Serial>> {
    web.settle()
        .made
        .into_iter()
        .map(|part| web.profiles(part))
        .collect()
}

#[test]
fn parts_join_and_fall_apart() {
    let tie = |key, says| Tie { key, says };
    let mut web = web::Web::default();
    for serial in 0..4 {
        web.put(serial, vec![tie(1, Some(7))]);
    }
    assert_eq!(parts(&mut web), [[0], [1], [2], [3]], "all say the same");
    web.put(2, vec![tie(1, Some(8))]);
    assert_eq!(parts(&mut web), [[0, 1, 2, 3]]);
    web.remove(2);
    assert_eq!(parts(&mut web), [[0], [1], [3]]);
    web.put(0, vec![Tie::to_all(2)]);
    web.put(1, vec![Tie::to_all(2), Tie::to_all(3)]);
    web.put(3, vec![Tie::to_all(3)]);
    assert_eq!(parts(&mut web), [[0, 1, 3]], "tied by another one");
    web.put(1, vec![Tie::to_all(3)]);
    assert_eq!(parts(&mut web), [vec![0], vec![1, 3]]);
    web.put(0, Vec::new());
    assert_eq!(parts(&mut web), [[0]], "the others are not concerned");
    web.put(3, vec![tie(3, Some(1)), tie(3, Some(2))]);
    web.put(1, vec![tie(3, Some(1))]);
    assert_eq!(
        parts(&mut web),
        [[1, 3]],
        "one that says two things is like no other"
    );
}

/// A fleet of so many profiles, as a watch has seen it for ten minutes.
fn fleet(profiles: usize) -> Evidence {
    let profile = |number| json!({"metadata": {"name": format!("m-{number}")}});
    let profiles: Vec<Value> = (0..profiles).map(profile).collect();
    let example = json!({"name": "fleet", "passes": {"observe": "10m", "profiles": profiles}});
    let example = Example::parse(&example, Edition::Standard).expect("a world");
    example.evidence().clone()
}

/// How many profiles a judgement looks at after such a change, each as often as it does.
fn looks(profiles: usize, change: fn(&mut Evidence) -> ObjectKey) -> usize {
    let mut evidence = fleet(profiles);
    let mut standing = Standing::new(Selection::default());
    standing.judgement(&evidence);
    let before = standing.excerpt.held;
    let changed = change(&mut evidence);
    standing.profile_changed(changed);
    let judgement = standing.judgement(&evidence);
    assert!(
        judgement
            .verdicts
            .iter()
            .any(|verdict| verdict.examined == profiles)
    );
    standing.excerpt.held - before
}

#[test]
fn a_change_costs_the_same_in_a_small_and_in_a_large_fleet() {
    let version = |evidence: &mut Evidence| {
        let history = &mut evidence.profiles[7];
        let mut version = history.versions[0].clone();
        version.at = evidence.header.window.expect("a window").until;
        version.object.status.version.kubernetes = Some("latest".into());
        history.versions.push(version);
        ObjectKey::of(history.last())
    };
    let member_id = |evidence: &mut Evidence| {
        let other = evidence.profiles[3].versions[0].object.metadata.labels.clone();
        let history = &mut evidence.profiles[7];
        history.versions[0].object.metadata.labels = other;
        ObjectKey::of(history.last())
    };
    for change in [version, member_id] {
        let (small, large) = (looks(20, change), looks(200, change));
        assert_eq!(small, large);
        assert!(small < 30, "{small}");
    }
}
