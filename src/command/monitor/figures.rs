//! The figures of one judgement: what its metrics show.

use std::collections::{BTreeMap, HashMap};

use evidence::{Evidence, ObjectRef, Tracked as _, api::ClusterProfile, redact::without_credentials};
use judge::{
    Decision, Judgement, Verdict,
    rules::{BURST, Finding, Level, Spendings},
};
use report::escape;

/// What the name of each metric begins with.
pub const PREFIX: &str = "clusterprofile_conformance";
/// How many series a metric has at most that is divided by what the hub names.
pub const MOST_SERIES: usize = 1000;
/// The longest value of a label, in characters.
const LONGEST_LABEL: usize = 100;

/// A namespace of the inventory, and a cluster manager, as label values.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Owner {
    /// The namespace.
    pub namespace: String,
    /// The manager, by the profile's spec.
    pub manager: String,
}

/// A rule, and whose objects break it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Broken {
    /// The rule's id.
    pub rule: &'static str,
    /// Its level.
    pub level: Level,
    /// What the findings come to: those that fail the rule, or those that do not.
    pub verdict: Verdict,
    /// The owner.
    pub owner: Owner,
}

/// The figures of one judgement.
#[derive(Clone, Debug, Default)]
pub struct Figures {
    /// The decision; none before the first judgement.
    pub decision: Option<Decision>,
    /// The verdict on each rule.
    pub verdicts: Vec<(&'static str, Level, Verdict)>,
    /// How many findings each rule has.
    pub findings: BTreeMap<Broken, u64>,
    /// How many profiles there are.
    pub profiles: BTreeMap<Owner, u64>,
    /// How many status writes the emptiest bucket has left.
    pub tokens: BTreeMap<Owner, f64>,
    /// How many series were left out, of findings.
    pub findings_dropped: usize,
    /// How many series were left out of all else.
    pub dropped: usize,
}

/// The verdict that a finding counts for. A hint beside findings that fail the rule fails nothing.
fn weight(verdict: Verdict, finding: &Finding) -> Verdict {
    match verdict {
        Verdict::Fail if finding.advisory => Verdict::Warn,
        verdict => verdict,
    }
}

impl Owner {
    fn named(namespace: &str, manager: &str) -> Self {
        Self {
            namespace: label(namespace),
            manager: label(manager),
        }
    }
}

/// A label's value: what the hub names, bounded and without invisible characters.
fn label(text: &str) -> String {
    escape::short(&without_credentials(text), LONGEST_LABEL).into_owned()
}

impl Figures {
    /// The figures of a judgement, without those of the buckets.
    pub fn of(evidence: &Evidence, judgement: &Judgement) -> Self {
        let mut figures = Self {
            decision: Some(judgement.decision),
            ..Self::default()
        };
        let owners = judgement
            .verdicts
            .iter()
            .any(|verdict| !verdict.findings.is_empty());
        let owners = if owners {
            Owners::of(evidence)
        } else {
            Owners::default()
        };
        let mut labels = Labels::default();
        for verdict in &judgement.verdicts {
            let (rule, level) = (verdict.rule.id, verdict.level());
            figures.verdicts.push((rule, level, verdict.verdict));
            for finding in &verdict.findings {
                let object = &finding.object;
                let owner = labels.owner(&object.namespace, owners.manager(object));
                let broken = Broken {
                    rule,
                    level,
                    verdict: weight(verdict.verdict, finding),
                    owner,
                };
                if !add(&mut figures.findings, broken, |count| *count += 1) {
                    figures.findings_dropped += 1;
                }
            }
            figures.findings_dropped += verdict.unlisted.all();
        }
        for profile in evidence.inventory() {
            let owner = labels.owner_of(profile);
            if !add(&mut figures.profiles, owner, |count| *count += 1) {
                figures.dropped += 1;
            }
        }
        figures
    }

    /// Adds the level of the emptiest bucket of each owner.
    pub fn add_tokens(&mut self, evidence: &Evidence) {
        let spendings = Spendings::of(evidence);
        let mut labels = Labels::default();
        for profile in evidence.inventory() {
            let metadata = &profile.metadata;
            let spent = spendings.of_profile(&metadata.namespace, &metadata.name);
            let draws = spent.iter().flat_map(|spending| &spending.draws);
            let lowest = draws.map(|draw| draw.left).fold(BURST as f64, f64::min);
            let owner = labels.owner_of(profile);
            let level = self.tokens.get(&owner).copied().unwrap_or(f64::INFINITY);
            add(&mut self.tokens, owner, |left| *left = level.min(lowest));
        }
    }
}

/// Changes the value of a series, if there is room for it.
pub fn add<K: Ord, T: Default>(map: &mut BTreeMap<K, T>, series: K, change: impl FnOnce(&mut T)) -> bool {
    let has_room = map.len() < MOST_SERIES || map.contains_key(&series);
    if has_room {
        change(map.entry(series).or_default());
    }
    has_room
}

/// The owners that were met. Their labels are made once: looking for credentials takes its time, and a fleet has few owners.
#[derive(Default)]
pub struct Labels<'a>(HashMap<(&'a str, &'a str), Owner>);

impl<'a> Labels<'a> {
    fn owner(&mut self, namespace: &'a str, manager: &'a str) -> Owner {
        let owner = self.0.entry((namespace, manager));
        owner.or_insert_with(|| Owner::named(namespace, manager)).clone()
    }

    /// The owner of a profile.
    pub fn owner_of(&mut self, profile: &'a ClusterProfile) -> Owner {
        self.owner(&profile.metadata.namespace, profile.manager())
    }
}

/// The managers of profiles by their namespaces and names.
#[derive(Default)]
struct Owners<'a>(HashMap<(&'a str, &'a str), &'a str>);

impl<'a> Owners<'a> {
    fn of(evidence: &'a Evidence) -> Self {
        let profiles = evidence.profiles.iter().map(|history| history.last());
        let named = profiles.map(|profile| {
            let metadata = &profile.metadata;
            ((&*metadata.namespace, &*metadata.name), profile.manager())
        });
        Self(named.collect())
    }

    /// The manager of the object of a finding. Objects of other kinds have none.
    fn manager(&self, object: &ObjectRef) -> &'a str {
        let is_profile = object.kind == ClusterProfile::KIND;
        let place = (&*object.namespace, &*object.name);
        let manager = self.0.get(&place).copied().filter(|_| is_profile);
        manager.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use judge::{Selection, judge};

    use super::*;

    #[test]
    fn a_hint_beside_a_violation_is_no_failure() {
        let evidence = Evidence::default();
        let mut judgement = judge(&evidence, &Selection::default());
        let on = |name: &str| {
            let object = ObjectRef {
                namespace: name.into(),
                ..ObjectRef::default()
            };
            Finding::on(object, "m")
        };
        let verdict = &mut judgement.verdicts[0];
        let (rule, level) = (verdict.rule.id, verdict.level());
        verdict.findings = vec![on("broken"), on("dubious").advisory()];
        let mut verdicts_with = |of_rule: Verdict| {
            judgement.verdicts[0].verdict = of_rule;
            let figures = Figures::of(&evidence, &judgement);
            let findings = figures.findings.into_keys().map(|broken| {
                assert_eq!((broken.rule, broken.level), (rule, level));
                (broken.owner.namespace, broken.verdict)
            });
            findings.collect::<BTreeMap<_, _>>()
        };
        let failed = verdicts_with(Verdict::Fail);
        assert_eq!(failed["broken"], Verdict::Fail);
        assert_eq!(failed["dubious"], Verdict::Warn);
        for other in [Verdict::Warn, Verdict::Inconclusive, Verdict::Waived] {
            assert!(verdicts_with(other).values().all(|verdict| *verdict == other));
        }
    }
}
