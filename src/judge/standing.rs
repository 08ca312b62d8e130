//! Verdicts on a fleet that changes: each change costs what the changed profiles cost, however large the fleet is.

mod kinds;
mod roster;
mod sum;
mod web;

use std::{collections::BTreeSet, iter};

use evidence::{Evidence, ObjectKey, api::Api};
use jiff::{SignedDuration, Timestamp};

use self::{
    kinds::{Kinds, Needed},
    roster::{Changed, Roster, Serial},
    sum::{Family, Times},
};
use crate::{
    excerpt::Excerpt,
    judgement::Judgement,
    judging::{Left, conclude, judge, judgement, rules_of, without_examining},
    rules::{Applies, Division, Rule, ties_of_lives},
    selection::Selection,
};

/// How long the verdicts on unchanged profiles stand until all are judged again.
const HOLDS: SignedDuration = SignedDuration::from_secs(60);

/// Verdicts that are kept up to date while evidence changes.
///
/// The verdicts are those of [`judge()`] on the same evidence, with two differences. Texts that say how long a fault has
/// lasted by now may be up to a minute old. And where a rule compares profiles, its findings may come in another order.
///
/// A judgement takes as long as what changed takes to be judged: the changed profiles, those tied to them, and those of
/// which time changes the verdict. Each minute (by the end of the evidence's window) it judges the whole fleet again. So
/// it does when something changes that is not of a single profile or namespace: the gaps, the clock skew, the beginning
/// of the window. So move the beginning in steps of minutes. Of a gap that ends just then, it judges the whole fleet once
/// more.
///
/// What is no evidence of profiles and namespaces (slices of decisions, Secrets, members, an audit log, dry runs) is
/// judged whole each time by the rules that read it. With a driver, everything is.
#[derive(Debug)]
pub struct Standing {
    selection: Selection,
    changed: BTreeSet<ObjectKey>,
    changed_namespaces: BTreeSet<String>,
    now: Option<Timestamp>,
    /// When all is judged again; none before the first judgement.
    until: Option<Timestamp>,
    shape: Option<Shape>,
    roster: Roster,
    excerpt: Excerpt,
    rules: Vec<(&'static Rule, &'static Applies, Place)>,
    families: Vec<Family>,
    kinds: Vec<Kinds>,
    /// The profiles that are judged, and those of them that exist.
    judged: BTreeSet<Serial>,
    left: BTreeSet<Serial>,
}

/// What decides by what the evidence may be divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shape {
    has_profiles: bool,
    has_requests: bool,
    has_probes: bool,
}

/// Where the findings of a rule are.
#[derive(Clone, Copy, Debug)]
enum Place {
    Sum(usize, usize),
    Kinds(usize),
    /// Nowhere: all evidence is judged each time.
    Whole,
}

impl Standing {
    /// No verdicts yet: the first judgement judges everything.
    pub fn new(selection: Selection) -> Self {
        Self {
            selection,
            changed: BTreeSet::new(),
            changed_namespaces: BTreeSet::new(),
            now: None,
            until: None,
            shape: None,
            roster: Roster::default(),
            excerpt: Excerpt::default(),
            rules: Vec::new(),
            families: Vec::new(),
            kinds: Vec::new(),
            judged: BTreeSet::new(),
            left: BTreeSet::new(),
        }
    }

    /// Says that a history of a profile with that name changed in the evidence, was added or was dropped. Without this, a
    /// change counts from the next minute on.
    ///
    /// Histories should be added at the end, and those that stay should keep their order: otherwise all are judged again.
    /// Whenever some are dropped, the others are looked up again, so drop several together.
    pub fn profile_changed(&mut self, profile: ObjectKey) {
        self.changed.insert(profile);
    }

    /// Says that a namespace changed in the evidence, was added or was dropped.
    pub fn namespace_changed(&mut self, name: impl Into<String>) {
        self.changed_namespaces.insert(name.into());
    }

    /// True if a judgement as of then would judge the whole fleet again, whatever has changed.
    pub fn is_due(&self, now: Timestamp) -> bool {
        self.until.is_none_or(|until| now >= until)
    }

    /// Judges the evidence as of the end of its window.
    pub fn judgement(&mut self, evidence: &Evidence) -> Judgement {
        if evidence.driver.is_some() {
            self.until = None;
            self.shape = None;
            return judge(evidence, &self.selection);
        }
        let changed = std::mem::take(&mut self.changed);
        let namespaces = std::mem::take(&mut self.changed_namespaces);
        let known = if self.is_outdated(evidence) {
            None
        } else {
            self.roster.changed(evidence, &changed)
        };
        let changed = match known {
            Some(known) => self.with_namespaces(evidence, known, &namespaces),
            None => self.renew(evidence),
        };
        self.now = evidence.header.window.map(|window| window.until);
        self.update(evidence, &changed);
        self.conclude(evidence)
    }

    /// Whether everything must be judged.
    fn is_outdated(&mut self, evidence: &Evidence) -> bool {
        let now = evidence.header.window.map(|window| window.until);
        let is_due = now < self.now || self.until.is_some_and(|until| now >= Some(until));
        self.excerpt.is_outdated(evidence) || self.shape != Some(Shape::of(evidence)) || is_due
    }

    /// Forgets all verdicts.
    fn renew(&mut self, evidence: &Evidence) -> Changed {
        let now = evidence.header.window.map(|window| window.until);
        // What follows a gap that ends now has no length yet, and deserves another verdict as soon as it has.
        let follows_gap = evidence
            .gaps
            .iter()
            .any(|gap| gap.until.is_some() && gap.until == now);
        let holds = if follows_gap { SignedDuration::ZERO } else { HOLDS };
        self.until = now.map(|now| now.saturating_add(holds).unwrap_or(Timestamp::MAX));
        self.shape = Some(Shape::of(evidence));
        self.excerpt.renew(evidence);
        (self.judged, self.left) = Default::default();
        self.plan(evidence);
        self.roster.renew(evidence)
    }

    /// Decides how each rule is judged.
    fn plan(&mut self, evidence: &Evidence) {
        self.families = vec![Family::new(ties_of_lives, Vec::new())];
        self.kinds = Vec::new();
        self.rules = Vec::new();
        let mut by_profile = Vec::new();
        for (rule, applies) in rules_of(&evidence.header.claim) {
            let is_examined = without_examining(rule, applies, evidence, &self.selection).is_none();
            let place = match rule.division(evidence) {
                Division::Profiles if is_examined => {
                    by_profile.push(rule);
                    Place::Sum(0, by_profile.len() - 1)
                }
                Division::Ties(ties) if is_examined => {
                    self.families.push(Family::new(ties, vec![rule]));
                    Place::Sum(self.families.len() - 1, 0)
                }
                Division::Kinds(kind_of) if is_examined => {
                    self.kinds.push(Kinds::new(rule, kind_of));
                    Place::Kinds(self.kinds.len() - 1)
                }
                _ => Place::Whole,
            };
            self.rules.push((rule, applies, place));
        }
        self.families[0] = Family::new(ties_of_lives, by_profile);
    }

    /// Adds the profiles of the namespaces that changed.
    fn with_namespaces(
        &mut self,
        evidence: &Evidence,
        mut changed: Changed,
        namespaces: &BTreeSet<String>,
    ) -> Changed {
        for name in namespaces {
            self.excerpt.renew_namespace(evidence, name);
            changed.changed.extend(self.roster.in_namespace(name));
            self.kinds.iter_mut().for_each(Kinds::outdate);
        }
        changed
    }

    /// Judges what changed, and what time changes.
    fn update(&mut self, evidence: &Evidence, changed: &Changed) {
        let times = Times {
            now: self.now,
            later: self.until,
        };
        self.excerpt.hold([].iter());
        for family in &mut self.families {
            family.judge_none(&mut self.excerpt, times);
        }
        for serial in &changed.gone {
            self.drop_profile(*serial);
        }
        for serial in &changed.changed {
            self.put_profile(evidence, *serial, times);
        }
        self.judge_ties(evidence, times);
        self.judge_unsettled(evidence, &changed.changed, times);
        self.judge_kinds(evidence, times);
        // No profile is held longer than it takes to judge it.
        self.excerpt.hold([].iter());
        self.excerpt.as_of(times.now);
    }

    fn drop_profile(&mut self, serial: Serial) {
        self.judged.remove(&serial);
        self.left.remove(&serial);
        self.kinds.iter_mut().for_each(|kinds| kinds.remove(serial));
        for family in &mut self.families {
            family.web.remove(serial);
        }
    }

    /// Finds the ties and kinds of a profile.
    fn put_profile(&mut self, evidence: &Evidence, serial: Serial, times: Times) {
        let history = self.roster.history(evidence, serial);
        let is_judged = evidence.judges_history(history);
        put(&mut self.judged, serial, is_judged);
        put(&mut self.left, serial, is_judged && history.deleted.is_none());
        self.excerpt.hold(iter::once(history));
        for family in &mut self.families {
            let ties = (family.ties)(self.excerpt.as_of(times.now), history);
            family.web.put(serial, ties);
        }
        for kinds in &mut self.kinds {
            kinds.put(serial, history, &mut self.excerpt, times);
        }
    }

    /// Judges the profiles whose ties changed, and those that are tied to changed ones.
    fn judge_ties(&mut self, evidence: &Evidence, times: Times) {
        for family in &mut self.families {
            let change = family.web.settle();
            change.gone.iter().for_each(|part| family.withdraw(*part));
            for part in change.made {
                let profiles = family.profiles(part).into_iter();
                let histories = profiles.map(|serial| self.roster.history(evidence, serial));
                self.excerpt.hold(histories);
                family.judge(part, &mut self.excerpt, times);
            }
        }
    }

    /// Judges what time changes, but for the profiles that were judged just now.
    fn judge_unsettled(&mut self, evidence: &Evidence, judged: &BTreeSet<Serial>, times: Times) {
        for family in &mut self.families {
            for part in family.unsettled().difference(judged).copied() {
                let profiles = family.profiles(part).into_iter();
                let histories = profiles.map(|serial| self.roster.history(evidence, serial));
                self.excerpt.hold(histories);
                family.judge_unsettled(part, &mut self.excerpt, times);
            }
        }
        for kinds in &mut self.kinds {
            let unsettled: Vec<Serial> = kinds.unsettled.difference(judged).copied().collect();
            for serial in unsettled {
                let history = self.roster.history(evidence, serial);
                self.excerpt.hold(iter::once(history));
                kinds.put(serial, history, &mut self.excerpt, times);
            }
        }
    }

    /// Judges by the rules that look at all profiles, or at one of each kind.
    fn judge_kinds(&mut self, evidence: &Evidence, times: Times) {
        for kinds in &mut self.kinds {
            kinds.found = match kinds.needed() {
                Needed::None => continue,
                Needed::All => kinds.rule.findings(evidence),
                Needed::Some(profiles) => {
                    let profiles = profiles.into_iter();
                    let histories = profiles.map(|serial| self.roster.history(evidence, serial));
                    self.excerpt.hold(histories);
                    self.excerpt.hold_namespaces(evidence);
                    kinds.rule.findings(self.excerpt.as_of(times.now))
                }
            };
        }
    }

    /// The verdicts by what was found.
    fn conclude(&self, evidence: &Evidence) -> Judgement {
        let left = |api| match api {
            Api::ClusterProfile => Left {
                was_any: !self.judged.is_empty(),
                is_any: !self.left.is_empty(),
            },
            Api::Placement => Left::of(evidence, api),
        };
        let verdicts = self.rules.iter().map(|(rule, applies, place)| {
            without_examining(rule, applies, evidence, &self.selection).unwrap_or_else(|| {
                let found = match *place {
                    Place::Sum(family, sum) => self.families[family].sums[sum].total(),
                    Place::Kinds(kinds) => self.kinds[kinds].found.clone(),
                    Place::Whole => rule.findings(evidence),
                };
                conclude(rule, evidence, found, left)
            })
        });
        judgement(evidence, verdicts.collect())
    }
}

impl Shape {
    fn of(evidence: &Evidence) -> Self {
        Self {
            has_profiles: !evidence.profiles.is_empty(),
            has_requests: evidence.requests.is_some(),
            has_probes: !evidence.probes.is_empty(),
        }
    }
}

fn put(serials: &mut BTreeSet<Serial>, serial: Serial, is_in: bool) {
    if is_in {
        serials.insert(serial);
    } else {
        serials.remove(&serial);
    }
}

#[cfg(test)]
mod tests;
