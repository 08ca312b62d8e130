//! Which kinds of evidence a run would have, and which rules the others would let it judge.

use collect::{Plan, Wish};
use evidence::{
    Asked, Evidence, Kind, Reason,
    api::{Feature, Role},
};
use jiff::SignedDuration;
use judge::Selection;

use super::{
    check::Check,
    gain::{Gain, by_claim, by_kinds},
    hub::ROLE,
};

/// Counts what missing evidence keeps from being judged.
pub struct Gains<'a> {
    pub evidence: &'a Evidence,
    selection: &'a Selection,
    /// Whether the hub has said what the runner may do. Otherwise nothing can be counted.
    is_known: bool,
    /// What was found so far.
    pub found: Vec<Gain>,
}

impl<'a> Gains<'a> {
    /// Counts for a run that asks for that evidence. `is_known`: the hub has said what the runner may do.
    pub fn new(evidence: &'a Evidence, selection: &'a Selection, is_known: bool) -> Self {
        Self {
            evidence,
            selection,
            is_known,
            found: Vec::new(),
        }
    }

    /// Checks evidence that a run has, or could have `with` that flag or permission. Without a hub, there is nothing to
    /// say of what is not asked for.
    pub fn check(
        &mut self,
        check: &'static str,
        kinds: &[Kind],
        with: &str,
        words: Words<'_>,
    ) -> Option<Check> {
        if kinds.iter().all(|kind| self.reason(*kind).is_none()) {
            return Some(Check::ok(check, words.given));
        }
        if !self.is_known {
            return None;
        }
        let gain = by_kinds(with, self.evidence, self.selection, kinds);
        if gain.amount.is_none() {
            return Some(Check::ok(
                check,
                &format!("no selected rule needs {}", words.subject),
            ));
        }
        Some(self.missing(check, gain, words.absent, words.remedy))
    }

    fn missing(&mut self, check: &'static str, gain: Gain, absent: &str, remedy: &str) -> Check {
        let fact = format!("{absent}, which leaves {} unjudged", gain.amount);
        self.found.push(gain);
        Check::missing(check, &fact, remedy)
    }

    /// Why a run would not have that evidence.
    pub fn reason(&self, kind: Kind) -> Option<Reason> {
        match self.evidence.asked(kind) {
            Asked::No(reason) => Some(reason.clone()),
            Asked::Yes => self.evidence.gaps(kind).next().map(|gap| gap.reason.clone()),
        }
    }
}

/// How a check tells of one kind of evidence.
pub struct Words<'a> {
    /// What it is.
    pub subject: &'a str,
    /// Where a run has it.
    pub given: &'a str,
    /// Where it does not.
    pub absent: &'a str,
    /// What brings it.
    pub remedy: &'a str,
}

/// Checks the evidence that comes from the hub, by the runner's permissions and the plan.
pub fn of_hub(gains: &mut Gains<'_>, plan: &Plan) -> Vec<Check> {
    let mut checks = Vec::new();
    let seconds = SignedDuration::try_from(plan.observe).unwrap_or(SignedDuration::MAX);
    let watched = match plan.claim.edition_of(Role::Consumer) {
        Some(_) => "a run watches the profiles that it publishes".to_owned(),
        None => format!("a run watches the profiles for {seconds:#}"),
    };
    checks.extend(gains.check(
        "evidence/timeline",
        &[Kind::Timeline],
        "--observe 5m",
        Words {
            subject: "a watch",
            given: &watched,
            absent: "a run takes a single snapshot",
            remedy: "let it watch, such as with --observe 5m",
        },
    ));
    let namespaces = gains.reason(Kind::Namespaces).unwrap_or_default();
    checks.extend(gains.check(
        "evidence/namespaces",
        &[Kind::Namespaces],
        "list on namespaces",
        Words {
            subject: "Namespaces",
            given: "the runner may list Namespaces",
            absent: &what(&namespaces),
            remedy: ROLE,
        },
    ));
    let secrets = gains.reason(Kind::Secrets).unwrap_or_default();
    checks.extend(gains.check(
        "evidence/secrets",
        &[Kind::Secrets],
        "list on secrets",
        Words {
            subject: "the Secrets of consumers",
            given: "the runner may list the consumers' Secrets",
            absent: &what(&secrets),
            remedy: if matches!(plan.secrets, Wish::No(_)) {
                "leave out --no-feature"
            } else {
                ROLE
            },
        },
    ));
    let probe = gains.reason(Kind::Probe).unwrap_or_default();
    checks.extend(gains.check(
        "evidence/probe",
        &[Kind::Probe],
        "get, update and patch on clusterprofiles",
        Words {
            subject: "dry-run writes",
            given: "the runner may send dry-run writes, which change nothing",
            absent: &what(&probe),
            remedy: if matches!(plan.probe, Wish::No(_)) {
                "leave out --no-probe"
            } else {
                ROLE
            },
        },
    ));
    if let Some(reason) = gains.reason(Kind::Writers) {
        checks.extend(gains.check(
            "evidence/managed-fields",
            &[Kind::Writers],
            "managedFields",
            Words {
                subject: "managedFields",
                given: "",
                absent: &reason,
                remedy: "let the hub, or a proxy in between, show metadata.managedFields",
            },
        ));
    }
    checks.extend(claimed(gains));
    checks
}

/// Checks the features that nobody claims or declares absent.
fn claimed(gains: &mut Gains<'_>) -> Vec<Check> {
    let claim = &gains.evidence.header.claim;
    let open = |feature: &Feature| !claim.features.contains(feature) && !claim.no_features.contains(feature);
    let open: Vec<Feature> = Feature::ALL.into_iter().filter(open).collect();
    let mut checks = Vec::new();
    for feature in open {
        let with = format!("--feature {feature}");
        let gain = by_claim(&with, gains.evidence, gains.selection, feature);
        if !gain.amount.is_none() {
            let absent = format!("the feature {feature} is not claimed");
            let remedy = format!("add {with} if the implementation has it");
            checks.push(gains.missing("evidence/features", gain, &absent, &remedy));
        }
    }
    checks
}

/// The reason without what to do about it, which the remedy says.
pub fn what(reason: &str) -> String {
    reason.split(": grant ").next().unwrap_or(reason).to_owned()
}
