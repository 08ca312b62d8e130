//! How the pages show verdicts and hub text, and what they let a browser do. Squares, one for each rule and one for each
//! profile or placement decision, link to findings.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use evidence::{
    Tracked,
    api::{ObjectKind, Role},
    redact::without_credentials,
};
use jiff::Timestamp;
use judge::{Decision, RuleVerdict, Verdict, rules::Level};
use ring::digest;

use crate::{
    Report,
    summary::{findings::extent, rank, shown_verdict},
    text::{count, escape},
};

/// How many characters of a text are shown.
const LONGEST: usize = 400;

/// Colours, text, tables, squares: the style of all pages.
const BASE: &str = include_str!("../templates/style/base.css");

/// The style of a page: the base, then its own.
pub(crate) fn page_style(style: &str) -> String {
    format!("{BASE}{style}")
}

/// The policy of a page: a browser allows only its own style, by its digest, and no script.
pub(crate) fn policy(style: &str) -> String {
    let digest = BASE64.encode(digest::digest(&digest::SHA256, style.as_bytes()));
    format!("default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'")
}

/// How a verdict is shown: a color, a mark, and a word, so that color is never the only cue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sign {
    /// The class that sets the color.
    pub(crate) class: &'static str,
    pub(crate) mark: &'static str,
    pub(crate) word: &'static str,
}

impl Sign {
    pub(crate) const fn new(class: &'static str, mark: &'static str, word: &'static str) -> Self {
        Self { class, mark, word }
    }

    pub(crate) fn of(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Pass => Self::new("pass", "✓", "pass"),
            Verdict::Fail => Self::new("fail", "✕", "fail"),
            Verdict::Warn => Self::new("warn", "!", "warn"),
            Verdict::Waived => Self::new("waived", "~", "waived"),
            Verdict::Inconclusive => Self::new("doubt", "?", "inconclusive"),
            Verdict::NotApplicable => Self::new("none", "–", "not applicable"),
            Verdict::Skipped => Self::new("none", "·", "skipped"),
        }
    }

    pub(crate) fn of_decision(decision: Decision) -> Self {
        match decision {
            Decision::Conformant => Self::new("pass", "✓", "conformant"),
            Decision::NoViolation => Self::new("none", "–", "no violation"),
            Decision::NotConformant => Self::new("fail", "✕", "not conformant"),
            Decision::Inconclusive => Self::new("doubt", "?", "inconclusive"),
        }
    }
}

/// Escapes, redacts, and shortens hub text.
pub(crate) fn shown(text: &str) -> String {
    brief(text, LONGEST)
}

/// Shows a text of the hub, cut to at most `longest` characters.
pub(crate) fn brief(text: &str, longest: usize) -> String {
    let clean = without_credentials(text);
    match escape::cut(&clean, longest) {
        Some((start, rest)) => format!("{}{rest}", escape::line(start)),
        None => escape::line(&clean).into_owned(),
    }
}

pub(super) fn utc(at: Timestamp) -> String {
    at.strftime("%Y-%m-%d %H:%M:%S UTC").to_string()
}

/// The most squares for the objects of a role.
const SQUARES: usize = 600;

const NO_FINDING: Sign = Sign::new("pass", "✓", "no finding");

/// A square, with the rule that it links to.
pub(crate) struct Square {
    pub(super) sign: Sign,
    pub(super) title: String,
    pub(super) rule: Option<&'static str>,
}

pub(super) struct NamespaceSquares {
    pub(super) name: String,
    pub(super) squares: Vec<Square>,
}

pub(super) struct ObjectSquares {
    pub(super) heading: &'static str,
    pub(super) number: String,
    /// How many have which sign.
    pub(super) legend: Vec<(Sign, usize)>,
    pub(super) namespaces: Vec<NamespaceSquares>,
    pub(super) hidden: Option<String>,
}

/// The worst verdict of a finding on an object, its rule, and the number of findings.
type Worst = (Verdict, &'static str, usize);

/// A square for each of these rules that has that level.
pub(crate) fn rule_squares(verdicts: &[RuleVerdict], level: &Level) -> Vec<Square> {
    let of_level = verdicts.iter().filter(|verdict| verdict.level() == *level);
    let square = |verdict: &RuleVerdict| {
        let (sign, id) = (Sign::of(shown_verdict(verdict)), verdict.rule.id);
        let (weight, extent) = (verdict.applies.weight(), extent(verdict));
        Square {
            sign,
            title: format!("{id} ({weight}): {}, {extent}", sign.word),
            rule: Some(id),
        }
    };
    of_level.map(square).collect()
}

/// A square for each object of a role, by namespace.
pub(super) fn object_squares(report: &Report, role: Role) -> ObjectSquares {
    let evidence = report.evidence;
    let (heading, kind, names) = match role.objects() {
        ObjectKind::ClusterProfile => ("Profiles", "profile", names(evidence.histories())),
        ObjectKind::PlacementDecision => ("Placement decisions", "slice", names(evidence.slice_histories())),
    };
    let worst = worst_of(report, role.objects().name());
    let mut counts: BTreeMap<usize, (Sign, usize)> = BTreeMap::new();
    let mut namespaces: Vec<NamespaceSquares> = Vec::new();
    for (place, (namespace, name)) in names.iter().enumerate() {
        let finding = worst.get(&(*namespace, *name));
        let (sign, order) = finding.map_or((NO_FINDING, usize::MAX), |(verdict, ..)| {
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
            _ => namespaces.push(NamespaceSquares {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_text_is_cut_with_a_count() {
        assert_eq!(shown("a\u{202e}\n"), r"a\u{202e}\n");
        assert!(!shown(&format!("Bearer {}", "CANARY".repeat(9))).contains("CANARY"));
        let long = "é".repeat(1 << 20);
        let expected = format!("{}… 1,048,176 more characters", "é".repeat(400));
        assert_eq!(shown(&long), expected);
    }
}
