//! Evidence and its judgement, for reports.

use std::path::Path;

use evidence::{Digester, Evidence, Gap, Kind, ObjectRef, Requested, read_input};
use jiff::{Timestamp, civil::Date};
use judge::{
    Judgement, RuleVerdict, Selection, Verdict, WaiverOutcome, Waivers, judge,
    rules::{self, Finding},
};
use report::{EditionDecision, Report, by_edition};

use super::hostile;

pub struct World {
    pub evidence: Evidence,
    pub judgement: Judgement,
    pub selection: Selection,
    pub editions: Vec<EditionDecision>,
}

pub fn today() -> Date {
    "2026-06-01".parse().expect("a day")
}

impl World {
    pub fn of(evidence: Evidence) -> Self {
        let selection = Selection::default();
        Self {
            judgement: judge(&evidence, &selection),
            evidence,
            selection,
            editions: Vec::new(),
        }
    }

    /// A dump that violates rules of every level and leaves others inconclusive, with a valid, an expired, and an idle
    /// waiver.
    pub fn violating() -> Self {
        let path = Path::new(super::super::ROOT).join("tests/cli/violating.yaml");
        let digester = Digester::new([7; 32]);
        let mut evidence = read_input(&path, &digester).expect("a dump").evidence;
        evidence.header.hub.source = "context hub".to_owned();
        evidence.header.cut_short = Some("stopped by a signal".to_owned());
        evidence.header.requested.insert(Kind::Namespaces, Requested::Yes);
        let gap = Gap::of(Kind::Namespaces, "namespaces may not be listed");
        evidence.gaps.push(gap);
        let mut world = Self::of(evidence);
        let broken = |level: &str| {
            let mut verdicts = world.judgement.verdicts.iter();
            let broken = verdicts.find(|verdict| {
                matches!(verdict.verdict, Verdict::Fail | Verdict::Warn) && verdict.level().name() == level
            });
            broken.expect("a broken rule").rule.id
        };
        let waivers = [
            (broken("MUST"), "2027-01-01"),
            (broken("SHOULD"), "2026-01-01"),
            ("identity/manager-unique", "2027-01-01"),
        ];
        let waivers = waivers.map(|(rule, expires)| {
            format!("{{rule: {rule}, reason: legacy, link: 'https://issues.example/1', expires: {expires}}}")
        });
        let waivers = format!("waivers: [{}]", waivers.join(", "));
        let waivers = Waivers::parse(&waivers).expect("waivers");
        world.judgement.waive(&waivers, today(), false);
        world.editions = by_edition(
            &world.evidence,
            &world.judgement,
            &world.selection,
            Some((&waivers, today())),
            rules::as_of(),
        );
        assert_eq!(world.editions.len(), 3);
        world
    }

    pub fn report<T>(&self, use_report: impl FnOnce(&Report) -> T) -> T {
        let (evidence, judgement) = (&self.evidence, &self.judgement);
        use_report(&Report {
            editions: &self.editions,
            ..Report::new(evidence, judgement, &self.selection, Timestamp::UNIX_EPOCH)
        })
    }
}

/// The judgement of a hostile hub, with the whole texts in all places of its verdicts.
pub fn hostile_world(texts: &[String]) -> World {
    let mut world = World::of(hostile::evidence(texts));
    let rule = "identity/manager-label-present";
    let waivers = format!(
        "waivers: [{{rule: {rule}, reason: r, link: 'https://a.example/1', expires: 2027-01-01}}, \
         {{rule: {rule}, object: '*/*', reason: r, link: 'https://a.example/2', expires: 2020-01-01}}]"
    );
    let waivers = Waivers::parse(&waivers).expect("waivers");
    world.judgement.waive(&waivers, today(), false);
    let WaiverOutcome { waiver, .. } = &mut world.judgement.waivers[0];
    waiver.reason = texts.join(" ");
    waiver.link = texts.join(" ");
    let findings = texts.iter().map(|text| {
        let mut finding = Finding::on(ObjectRef::default(), "");
        for part in [
            &mut finding.object.kind,
            &mut finding.object.namespace,
            &mut finding.object.name,
            &mut finding.path,
            &mut finding.expected,
            &mut finding.observed,
            &mut finding.message,
        ] {
            part.clone_from(text);
        }
        finding
    });
    let all: Vec<Finding> = findings.collect();
    let verdicts = &mut world.judgement.verdicts;
    // Long texts are in one verdict only.
    let short = all.iter().filter(|finding| finding.path.len() < hostile::LONG);
    let short: Vec<Finding> = short.cloned().collect();
    let outcomes = Verdict::ALL
        .into_iter()
        .filter(|outcome| *outcome != Verdict::Pass);
    for (verdict, outcome) in verdicts.iter_mut().zip(outcomes) {
        let findings = if outcome == Verdict::Fail { &all } else { &short };
        plant(verdict, outcome, texts, findings);
    }
    world
}

fn plant(verdict: &mut RuleVerdict, outcome: Verdict, texts: &[String], findings: &[Finding]) {
    verdict.verdict = outcome;
    verdict.notes = texts.iter().cloned().map(evidence::Reason::from).collect();
    verdict.reasons.clear();
    verdict.findings.clear();
    verdict.waived.clear();
    match outcome {
        Verdict::Fail | Verdict::Warn => verdict.findings = findings.to_vec(),
        Verdict::Waived => verdict.waived = findings.iter().map(|finding| (finding.clone(), 0)).collect(),
        _ => verdict.reasons = vec![texts.join(" ").into()],
    }
}
