//! Shares of a fleet: judged apart they never contradict the whole, and merged they are judged as the whole is.

mod fleet;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};

use evidence::{
    Asked, Digester, Evidence, Gap, History, Kind, ObjectRef, Origin, ProfileHistory, Shard, Share, Tracked,
    Window,
    api::{Edition, Feature, Role, names},
    merge::{MergeError, OF_FIRST_SHARE, Part, merge},
    read_input,
};
use jiff::{SignedDuration, Timestamp};
use judge::{
    Decision, Judgement, RuleVerdict, Selection, Verdict, judge, rules,
    rules::{Level, example::Example},
};
use rstest::rstest;

const EDITIONS: [Edition; 3] = [Edition::Standard, Edition::Y2026M07, Edition::Y2026M09];

/// What the runners of so many shares would have recorded of what one runner recorded.
fn shares(whole: &Evidence, count: u32) -> Vec<Part> {
    let share = |index| {
        let shard = Shard { index, count };
        let is_own = |object: &ObjectRef| shard.holds(&object.namespace);
        let is_object =
            |object: &ObjectRef| [names::KIND, names::PLACEMENT_KIND].contains(&object.kind.as_str());
        let mut own = whole.clone();
        own.profiles
            .retain(|history| shard.holds(&history.last().metadata.namespace));
        own.slices
            .retain(|history| shard.holds(&history.last().metadata.namespace));
        own.later
            .slices
            .retain(|history| shard.holds(&history.last().metadata.namespace));
        own.unreadable
            .retain(|unreadable| !is_object(&unreadable.object) || is_own(&unreadable.object));
        let holding: BTreeSet<String> = own
            .slices
            .iter()
            .map(|history| history.last().metadata.namespace.to_string())
            .collect();
        let referred: BTreeSet<String> = own
            .slices()
            .flat_map(|slice| slice.references().collect::<Vec<_>>())
            .map(|to| to.namespace.to_string())
            .collect();
        for access in &mut own.consumer_access {
            access.writes.retain(|write| holding.contains(&write.namespace));
            access.profiles.retain(|of| referred.contains(&of.namespace));
        }
        own.gaps.retain(|gap| gap.object.as_ref().is_none_or(is_own));
        own.probes.retain(|probe| is_own(&probe.object));
        own.members.retain(|member| is_own(&member.profile));
        own.endpoint_calls.retain(|call| is_own(&call.profile));
        own.logins.retain(|login| is_own(&login.profile));
        if !shard.reads_hub() {
            own.secrets.clear();
            own.unlabelled_secrets.clear();
            own.requests = None;
            own.slice_requests = None;
            own.workloads.clear();
            own.unreadable.retain(|unreadable| is_object(&unreadable.object));
            for kind in OF_FIRST_SHARE {
                own.header
                    .asked
                    .insert(kind, Asked::No("share 0 reads it".into()));
            }
        }
        let of_profiles = own
            .profiles
            .iter()
            .map(|history| history.last().metadata.namespace.to_string());
        let namespaces = of_profiles.chain(holding);
        own.header.shares = vec![Share {
            shard,
            namespaces: namespaces.collect::<BTreeSet<_>>().into_iter().collect(),
            window: own.header.window,
            settled: own.header.settled,
        }];
        own.header.scope.shard = Some(shard);
        Part {
            name: format!("share-{index}.jsonl"),
            evidence: own,
        }
    };
    (0..count).map(share).collect()
}

/// Evidence in the order in which a hub lists profiles. Examples have an order of their own.
fn listed(mut evidence: Evidence) -> Evidence {
    fn sort<T: Tracked>(histories: &mut [History<T>]) {
        histories.sort_by_cached_key(|history| {
            let first = &history.versions[0];
            let came = (history.origin != Origin::Listed).then_some(first.at);
            (came, ObjectRef::from(&first.object).path())
        });
    }
    sort(&mut evidence.profiles);
    sort(&mut evidence.slices);
    evidence
}

fn judged(evidence: &Evidence) -> Judgement {
    judge(evidence, &Selection::default())
}

fn merged(parts: Vec<Part>) -> Evidence {
    merge(parts).unwrap_or_else(|error| panic!("{error}"))
}

/// What a verdict says, but for the reason, which names the shares that have gaps.
fn essence(verdict: &RuleVerdict) -> (Verdict, usize, BTreeSet<String>) {
    (verdict.verdict, verdict.examined, findings(verdict))
}

fn findings(verdict: &RuleVerdict) -> BTreeSet<String> {
    verdict
        .findings
        .iter()
        .map(|finding| format!("{finding:?}"))
        .collect()
}

/// The same without how sure they are: a share does not know whether other programs publish slices, too.
fn unsure(verdict: &RuleVerdict) -> BTreeSet<String> {
    let mut verdict = verdict.clone();
    if verdict.rule.role() == Role::Scheduler {
        verdict
            .findings
            .iter_mut()
            .for_each(|finding| finding.advisory = true);
    }
    findings(&verdict)
}

/// Checks that shares and their merge agree with the whole.
fn check(whole: &Evidence, count: u32, what: &str) {
    let parts = shares(whole, count);
    let of_whole = judged(whole);
    let of_merged = judged(&merged(parts.clone()));
    assert_eq!(of_merged.decision, of_whole.decision, "{what} in {count} shares");
    for (one, other) in of_whole.verdicts.iter().zip(&of_merged.verdicts) {
        assert_eq!(
            essence(other),
            essence(one),
            "{what} in {count} shares, merged: {} ({:?} and {:?})",
            one.rule.id,
            other.reason(),
            one.reason()
        );
    }
    let of_shares: Vec<Judgement> = parts.iter().map(|part| judged(&part.evidence)).collect();
    for (place, verdict) in of_whole.verdicts.iter().enumerate() {
        let rule = verdict.rule;
        let apart: Vec<&RuleVerdict> = of_shares.iter().map(|share| &share.verdicts[place]).collect();
        if rule.facts.whole_fleet {
            let is_judged = |verdict: &&RuleVerdict| verdict.verdict != Verdict::Skipped;
            assert!(!apart.iter().any(is_judged), "{what}: {} in a share", rule.id);
            continue;
        }
        // The runners of other shares do not read the audit log, and know less.
        if whole.requests.is_some() || whole.slice_requests.is_some() {
            let of_first = unsure(apart[0]);
            assert!(
                of_first.is_subset(&unsure(verdict)),
                "{what}: {} in share 0",
                rule.id
            );
            continue;
        }
        let found: BTreeSet<String> = apart.iter().flat_map(|verdict| unsure(verdict)).collect();
        assert_eq!(
            found,
            unsure(verdict),
            "{what} in {count} shares, apart: {}",
            rule.id
        );
    }
    let is_conformant = |share: &Judgement| share.decision == Decision::Conformant;
    assert!(
        !of_shares.iter().any(is_conformant),
        "{what}: a share is called conformant"
    );
}

#[test]
fn examples_are_judged_alike_in_shares() {
    let mut tried = 0;
    for rule in rules::all() {
        for example in Example::of(rule).expect("examples") {
            let evidence = example.evidence();
            let profiles = evidence.profiles.iter();
            let profiles = profiles.map(|history| &*history.last().metadata.namespace);
            let slices = evidence.slices.iter();
            let slices = slices.map(|history| &*history.last().metadata.namespace);
            let namespaces: BTreeSet<&str> = profiles.chain(slices).collect();
            let is_divided = namespaces.len() > 1
                || !evidence.secrets.is_empty()
                || evidence.requests.is_some()
                || evidence.slice_requests.is_some();
            // Nor is there a stage in a share.
            if evidence.stage.is_some() {
                continue;
            }
            // A share cannot be driven.
            if !is_divided || evidence.driver.is_some() {
                continue;
            }
            tried += 1;
            let whole = listed(evidence.clone());
            check(&whole, 3, &format!("{}, `{}`", rule.file(), example.name));
        }
    }
    assert!(tried > 100, "{tried} examples");
}

#[rstest]
fn fixtures_are_judged_alike_in_shares(
    #[files("../../fixtures/topologies/*.yaml")]
    #[files("../../fixtures/managers/*.yaml")]
    path: PathBuf,
) {
    // Those that are about the dump of another one hold no objects.
    let Ok(input) = read_input(&path, &Digester::new([7; 32])) else {
        return;
    };
    let mut whole = listed(input.evidence);
    for edition in EDITIONS {
        whole.header.claim.edition = edition;
        check(&whole, 3, &path.display().to_string());
    }
}

/// The rules that find something in a fleet of which each violation has its two sides in two shares.
fn across(judgement: &Judgement) -> Vec<&'static str> {
    let found = judgement
        .verdicts
        .iter()
        .filter(|verdict| !verdict.findings.is_empty());
    found.map(|verdict| verdict.rule.id).collect()
}

#[test]
fn violations_across_shares_are_found_by_the_merge_alone() {
    let whole = fleet::evidence(400, 20);
    let whole = listed(whole);
    for count in [1, 2, 8] {
        check(&whole, count, "a fleet");
    }
    let parts = shares(&whole, 8);
    for part in &parts {
        let apart = judged(&part.evidence);
        assert_eq!(across(&apart), [""; 0], "{}", part.name);
        assert_eq!(apart.decision, Decision::NoViolation, "{}", part.name);
    }
    let whole = judged(&merged(parts));
    assert_eq!(whole.decision, Decision::NotConformant);
    assert_eq!(across(&whole), fleet::BROKEN);
}

/// Takes some 40 s in a build without optimization.
#[test]
#[ignore = "it takes long: run it with --ignored in a release build"]
fn twenty_thousand_profiles_in_twenty_namespaces_are_judged_alike() {
    let whole = listed(fleet::evidence(20_000, 20));
    check(&whole, 8, "a large fleet");
    assert_eq!(across(&judged(&merged(shares(&whole, 8)))), fleet::BROKEN);
}

fn small() -> Evidence {
    listed(fleet::evidence(40, 20))
}

#[test]
fn the_order_of_shares_does_not_matter() {
    let mut parts = shares(&small(), 4);
    let forward = merged(parts.clone());
    parts.reverse();
    assert_eq!(merged(parts), forward);
    assert_eq!(forward.header.shares.len(), 4);
    assert_eq!(forward.header.scope.shard, None);
}

#[test]
fn a_missing_share_leaves_rules_inconclusive_and_hides_no_violation() {
    let whole = listed(fleet::conforming(40, 20));
    assert_eq!(judged(&whole).decision, Decision::NoViolation);
    for missing in 0..4 {
        let mut parts = shares(&whole, 4);
        parts.remove(missing);
        let judgement = judged(&merged(parts));
        assert_eq!(
            judgement.decision,
            Decision::Inconclusive,
            "without share {missing}"
        );
        for verdict in judgement.verdicts {
            let passes = verdict.verdict == Verdict::Pass && verdict.level() == Level::Must;
            assert!(!passes, "{} passes without share {missing}", verdict.rule.id);
        }
    }
    // A single share hides none of its own violations.
    let mut broken = whole.clone();
    for history in &mut broken.profiles {
        history.versions[0].object.metadata.labels = Default::default();
    }
    let of_one = merged(shares(&broken, 4).drain(1..2).collect());
    assert_eq!(of_one.header.shares.len(), 1);
    assert_eq!(judged(&of_one).decision, Decision::NotConformant);
    // Namespaces of both sides of a violation are there.
    let mut parts = shares(&small(), 4);
    let used: BTreeSet<u32> = fleet::CLASHING.map(|name| Shard::index_of(name, 4)).into();
    let unused = (0..4)
        .find(|index| !used.contains(index))
        .expect("a share without a violation");
    parts.remove(unused as usize);
    assert_eq!(judged(&merged(parts)).decision, Decision::NotConformant);
}

#[test]
fn an_empty_share_is_no_failure() {
    let whole = listed(fleet::conforming(10, 1));
    let empty: Vec<Part> = shares(&whole, 3)
        .into_iter()
        .filter(|part| part.evidence.profiles.is_empty())
        .collect();
    assert_eq!(empty.len(), 2);
    for part in empty {
        let judgement = judged(&part.evidence);
        assert_eq!(judgement.decision, Decision::NoViolation, "{}", part.name);
        assert_eq!(judgement.tally.judged(), 0);
        let mut unread = part.evidence;
        unread
            .gaps
            .push(Gap::of(Kind::Inventory, "it could not be listed"));
        assert_eq!(judged(&unread).decision, Decision::Inconclusive);
    }
    check(&whole, 3, "a fleet in one namespace");
}

/// What merging says of shares after a change.
fn refusal(change: impl FnOnce(&mut Vec<Part>)) -> MergeError {
    let mut parts = shares(&small(), 3);
    change(&mut parts);
    merge(parts).expect_err("it does not belong together")
}

#[test]
fn what_does_not_belong_together_is_refused() {
    assert_eq!(merge(Vec::new()), Err(MergeError::None));
    let differs = |change: fn(&mut Evidence)| match refusal(|parts| change(&mut parts[1].evidence)) {
        MergeError::Differ {
            field, one, other, ..
        } => {
            assert_eq!((&*one, &*other), ("share-0.jsonl", "share-1.jsonl"));
            field
        }
        other => panic!("{other}"),
    };
    let changes: BTreeMap<&str, fn(&mut Evidence)> = BTreeMap::from([
        (
            "the suite's version",
            (|e| e.header.suite_version += "1") as fn(&mut Evidence),
        ),
        ("the edition", |e| e.header.claim.edition = Edition::Y2026M09),
        ("the claim", |e| e.header.claim.strict ^= true),
        ("the API version", |e| e.header.hub.api_version = None),
        ("the scope", |e| e.header.scope.namespaces = vec!["a".to_owned()]),
        ("the uid of the hub's namespace kube-system", |e| {
            let system = e
                .namespaces
                .iter_mut()
                .find(|namespace| namespace.name == "kube-system");
            system.expect("the namespace").uid += "1";
        }),
        ("the hub", |e| {
            e.namespaces.clear();
            e.header.hub.source += "1";
        }),
    ]);
    for (field, change) in changes {
        assert_eq!(differs(change), field);
    }
    let twice = refusal(|parts| parts.push(parts[2].clone()));
    assert!(twice.to_string().contains("both share 2/3"), "{twice}");
    let whole = refusal(|parts| parts[0].evidence = small());
    assert!(matches!(whole, MergeError::NotAShare { .. }), "{whole}");
    let again = refusal(|parts| parts[0].evidence = merged(shares(&small(), 3)));
    assert!(matches!(again, MergeError::Merged { .. }), "{again}");
    let other =
        refusal(|parts| *parts = [shares(&small(), 3).remove(0), shares(&small(), 4).remove(1)].into());
    assert!(
        other.to_string().starts_with("the number of shares differs"),
        "{other}"
    );
    let foreign = refusal(|parts| {
        let stolen = parts[1].evidence.profiles[0].clone();
        parts[2].evidence.profiles.push(stolen);
    });
    assert!(matches!(foreign, MergeError::Foreign { .. }), "{foreign}");
}

/// Moves all that a share saw.
fn later(part: &mut Part, by: SignedDuration) {
    let move_on = |at: &mut Timestamp| *at += by;
    let header = &mut part.evidence.header;
    let windows = header
        .window
        .iter_mut()
        .chain(header.shares.iter_mut().flat_map(|share| &mut share.window));
    for window in windows {
        let Window { from, until } = window;
        move_on(from);
        move_on(until);
    }
    let versions = part
        .evidence
        .profiles
        .iter_mut()
        .flat_map(|history| &mut history.versions);
    versions
        .filter_map(|version| version.at.as_mut())
        .for_each(move_on);
}

#[test]
fn shares_of_other_times_are_not_compared() {
    let whole = listed(fleet::conforming(40, 20));
    let after = |minutes| {
        let mut parts = shares(&whole, 4);
        later(&mut parts[1], SignedDuration::from_mins(minutes));
        judged(&merged(parts))
    };
    // The windows last for ten minutes.
    assert_eq!(after(5).decision, Decision::NoViolation);
    assert_eq!(after(11).decision, Decision::NoViolation);
    let judgement = after(30);
    assert_eq!(judgement.decision, Decision::Inconclusive);
    for verdict in judgement.verdicts {
        let reason = verdict.reason().unwrap_or_default();
        let is_doubted = reason.contains("20 min lie between their windows");
        let compares = verdict.rule.facts.whole_fleet && verdict.verdict == Verdict::Inconclusive;
        assert_eq!(is_doubted, compares, "{}: {reason}", verdict.rule.id);
    }
}

/// A fault counts by the window in which its own share was watched, and a gap by the share that has it.
#[test]
fn each_profile_is_judged_by_the_window_of_its_share() {
    let mut whole = listed(fleet::conforming(40, 20));
    // The last version of half of the profiles lacks a property, for less than the grace of 2 min.
    let until = whole.header.window.expect("a window").until;
    let is_first_of_namespace = |history: &&mut ProfileHistory| &*history.last().metadata.name < "m-00020";
    for history in whole.profiles.iter_mut().filter(is_first_of_namespace) {
        let mut version = history.versions[0].clone();
        version.at = Some(until - SignedDuration::from_secs(60));
        version.object.metadata.resource_version += "1";
        version.object.status = Default::default();
        history.versions.push(version);
    }
    let rule = "properties/cluster-endpoints-present";
    let of = |parts: Vec<Part>| {
        let judgement = judged(&merged(parts));
        let verdict = judgement
            .verdicts
            .into_iter()
            .find(|verdict| verdict.rule.id == rule);
        verdict.expect(rule)
    };
    let mut parts = shares(&whole, 4);
    assert_eq!(of(parts.clone()).verdict, Verdict::Pass);
    // The merged window ends 5 min after that of the others.
    later(&mut parts[1], SignedDuration::from_mins(5));
    assert_eq!(of(parts.clone()).verdict, Verdict::Pass);

    // With a violation in share 1, a gap in share 2 does not cut it in two.
    let (from, until) = (until - SignedDuration::from_mins(8), until);
    let mut parts = shares(&whole, 4);
    let history = &mut parts[1].evidence.profiles[0];
    history.versions[1].at = Some(from);
    parts[2].evidence.gaps.push(Gap {
        from: Some(from),
        until: Some(until),
        ..Gap::of(Kind::Timeline, "the watch was lost")
    });
    let whole = merged(parts.clone());
    assert_eq!(whole.gaps[0].reason, "share 2/4: the watch was lost");
    let verdict = of(parts);
    assert_eq!(verdict.verdict, Verdict::Fail);
    assert!(
        verdict.findings[0].observed.contains("8 min"),
        "{:?}",
        verdict.findings
    );
}

#[test]
fn clocks_that_disagree_are_unknown() {
    let skew = |skews: [Option<i64>; 3]| {
        let mut parts = shares(&small(), 3);
        for (part, skew) in parts.iter_mut().zip(skews) {
            part.evidence.header.clock_skew_ms = skew;
        }
        merged(parts).header.clock_skew_ms
    };
    assert_eq!(skew([Some(0), Some(500), Some(900)]), Some(500));
    assert_eq!(skew([Some(0), Some(60_000), Some(0)]), None);
    assert_eq!(skew([Some(0), None, Some(0)]), None);
}

#[test]
fn evidence_that_one_share_lacks_is_a_gap() {
    let mut parts = shares(&listed(fleet::conforming(40, 20)), 4);
    let header = &mut parts[1].evidence.header;
    header.asked.insert(
        Kind::Timeline,
        Asked::No("the hub was looked at only once".into()),
    );
    header.cut_short = Some("it was stopped".to_owned());
    let whole = merged(parts);
    assert_eq!(*whole.asked(Kind::Timeline), Asked::Yes);
    let gaps: Vec<&Gap> = whole.gaps(Kind::Timeline).collect();
    assert_eq!(gaps.len(), 1, "{gaps:?}");
    assert_eq!(gaps[0].reason, "share 1/4: the hub was looked at only once");
    assert_eq!(
        whole.header.cut_short.as_deref(),
        Some("share 1/4: it was stopped")
    );
    assert!(judged(&whole).partial);
}

#[test]
fn secrets_are_those_of_the_first_share() {
    let mut whole = small();
    whole.header.claim.features.insert(Feature::ConsumerSecrets);
    let parts = shares(&whole, 4);
    assert!(!whole.secrets.is_empty());
    assert_eq!(merged(parts.clone()).secrets, whole.secrets);
    let without = merged(parts[1..].to_vec());
    assert_eq!(without.secrets, []);
    assert_ne!(*without.asked(Kind::Secrets), Asked::Yes);
}
