//! Squares: one for each rule, and one for each profile or placement decision, that links to its finding.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use evidence::{
    Tracked,
    api::{ObjectKind, Role},
};
use judge::{RuleVerdict, Verdict, rules::Level};

use super::display::{Sign, WORST_FIRST, brief, rank, shown};
use crate::{Report, summary::findings::extent, text::number::count};

/// The most squares for the objects of a role.
const SQUARES: usize = 600;

/// The sign of an object without a finding.
const NO_FINDING: Sign = Sign::new("pass", "✓", "no finding");

/// A square, with the rule that it links to.
pub(crate) struct Square {
    pub(super) sign: Sign,
    pub(super) title: String,
    pub(super) rule: Option<&'static str>,
}

/// The squares of a namespace.
pub(super) struct Group {
    pub(super) name: String,
    pub(super) squares: Vec<Square>,
}

/// The objects of a role.
pub(super) struct ObjectSquares {
    pub(super) heading: &'static str,
    pub(super) number: String,
    /// How many have which sign.
    pub(super) legend: Vec<(Sign, usize)>,
    pub(super) namespaces: Vec<Group>,
    pub(super) hidden: Option<String>,
}

/// The worst verdict of a finding on an object, its rule, and the number of findings.
type Worst = (Verdict, &'static str, usize);

/// A square for each of these rules that has that level.
pub(crate) fn rules(verdicts: &[RuleVerdict], level: &Level) -> Vec<Square> {
    let own = verdicts.iter().filter(|verdict| verdict.level() == *level);
    let square = |verdict: &RuleVerdict| {
        let (sign, id) = (Sign::of(verdict.verdict), verdict.rule.id);
        let (weight, extent) = (verdict.applies.weight(), extent(verdict));
        Square {
            sign,
            title: format!("{id} ({weight}): {}, {extent}", sign.word),
            rule: Some(id),
        }
    };
    own.map(square).collect()
}

/// A square for each object of a role, by namespace.
pub(super) fn objects(report: &Report, role: Role) -> ObjectSquares {
    let evidence = report.evidence;
    let (heading, kind, names) = match role.objects() {
        ObjectKind::ClusterProfile => ("Profiles", "profile", names(evidence.histories())),
        ObjectKind::PlacementDecision => ("Placement decisions", "slice", names(evidence.slice_histories())),
    };
    let worst = worst_of(report, role.objects().name());
    let mut counts: BTreeMap<usize, (Sign, usize)> = BTreeMap::new();
    let mut namespaces: Vec<Group> = Vec::new();
    for (place, (namespace, name)) in names.iter().enumerate() {
        let finding = worst.get(&(*namespace, *name));
        let (sign, order) = finding.map_or((NO_FINDING, WORST_FIRST.len()), |(verdict, ..)| {
            (Sign::of(*verdict), rank(*verdict))
        });
        counts.entry(order).or_insert((sign, 0)).1 += 1;
        if place >= SQUARES {
            continue;
        }
        let findings = finding.map_or(String::new(), |(.., number)| {
            format!(", {}", count(*number, "finding"))
        });
        let square = Square {
            sign,
            title: format!(
                "{}: {}{findings}",
                shown(&format!("{namespace}/{name}")),
                sign.word
            ),
            rule: finding.map(|(_, rule, _)| *rule),
        };
        let namespace = brief(namespace, 60);
        match namespaces.last_mut() {
            Some(last) if last.name == namespace => last.squares.push(square),
            _ => namespaces.push(Group {
                name: namespace,
                squares: vec![square],
            }),
        }
    }
    ObjectSquares {
        heading,
        number: count(names.len(), kind),
        legend: counts.into_values().collect(),
        namespaces,
        hidden: (names.len() > SQUARES).then(|| count(names.len() - SQUARES, &format!("more {kind}"))),
    }
}

/// The namespaces and names of objects, in order.
fn names<'e, T: Tracked>(
    histories: impl Iterator<Item = &'e evidence::History<T>>,
) -> BTreeSet<(&'e str, &'e str)> {
    let metadata = histories.map(|history| history.last().metadata());
    metadata
        .map(|metadata| (&*metadata.namespace, &*metadata.name))
        .collect()
}

/// The worst finding of each object of a kind.
fn worst_of<'e>(report: &Report<'e>, kind: &str) -> HashMap<(&'e str, &'e str), Worst> {
    let mut worst: HashMap<(&str, &str), Worst> = HashMap::new();
    for verdict in &report.judgement.verdicts {
        let open = verdict.findings.iter().map(|finding| {
            let counts = verdict.verdict == Verdict::Fail && !finding.advisory;
            (if counts { Verdict::Fail } else { Verdict::Warn }, finding)
        });
        let waived = verdict
            .waived
            .iter()
            .map(|(finding, _)| (Verdict::Waived, finding));
        for (verdict_of_finding, finding) in open
            .chain(waived)
            .filter(|(_, finding)| finding.object.kind == kind)
        {
            let name = (&*finding.object.namespace, &*finding.object.name);
            let of_object = worst
                .entry(name)
                .or_insert((verdict_of_finding, verdict.rule.id, 0));
            of_object.2 += 1;
            if rank(verdict_of_finding) < rank(of_object.0) {
                (of_object.0, of_object.1) = (verdict_of_finding, verdict.rule.id);
            }
        }
    }
    worst
}
