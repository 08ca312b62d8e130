//! What the parts of a fleet add up to.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use jiff::Timestamp;

use super::{roster::Serial, web::Web};
use crate::{
    excerpt::Excerpt,
    rules::{Findings, Rule, TiesOf},
};

/// When parts are judged: now, and when all of them will be judged again. What gives the same then is not judged in
/// between.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Times {
    pub(super) now: Option<Timestamp>,
    pub(super) later: Option<Timestamp>,
}

/// Rules whose evidence is divided in the same way, and what they found in each part.
#[derive(Debug)]
pub(super) struct Family {
    /// The ties of a profile.
    pub(super) ties: TiesOf,
    /// The parts that they lead to.
    pub(super) web: Web,
    pub(super) sums: Vec<Sum>,
    /// How many things each rule examined in each part.
    examined: HashMap<Serial, Box<[usize]>>,
}

/// What one rule found in all parts.
#[derive(Debug)]
pub(super) struct Sum {
    rule: &'static Rule,
    /// What it says of no profile at all.
    of_none: Findings,
    of_none_later: Findings,
    examined: usize,
    /// The parts of which there is more to say than how much was examined.
    remarkable: BTreeMap<Serial, Findings>,
    /// The parts of which it will say something else soon.
    unsettled: BTreeSet<Serial>,
}

impl Family {
    pub(super) fn new(ties: TiesOf, rules: Vec<&'static Rule>) -> Self {
        Self {
            ties,
            web: Web::default(),
            sums: rules.into_iter().map(Sum::new).collect(),
            examined: HashMap::new(),
        }
    }

    /// The profiles of a part.
    pub(super) fn profiles(&self, part: Serial) -> Vec<Serial> {
        self.web.profiles(part)
    }

    /// The parts that must be judged again soon.
    pub(super) fn unsettled(&self) -> BTreeSet<Serial> {
        self.sums.iter().flat_map(|sum| &sum.unsettled).copied().collect()
    }

    /// Judges no profile at all, to know what does not come from profiles.
    pub(super) fn judge_none(&mut self, excerpt: &mut Excerpt, times: Times) {
        for sum in &mut self.sums {
            sum.of_none = sum.rule.findings(excerpt.as_of(times.now));
            sum.of_none_later = sum.rule.findings(excerpt.as_of(times.later));
        }
    }

    /// Judges a part, which the excerpt holds, by all rules.
    pub(super) fn judge(&mut self, part: Serial, excerpt: &mut Excerpt, times: Times) {
        let all = 0..self.sums.len();
        self.judge_by(all.collect(), part, excerpt, times);
    }

    /// Judges a part, which the excerpt holds, by those rules that say something else of it from time to time.
    pub(super) fn judge_unsettled(&mut self, part: Serial, excerpt: &mut Excerpt, times: Times) {
        let rules = 0..self.sums.len();
        let unsettled = rules.filter(|place| self.sums[*place].unsettled.contains(&part));
        self.judge_by(unsettled.collect(), part, excerpt, times);
    }

    fn judge_by(&mut self, rules: Vec<usize>, part: Serial, excerpt: &mut Excerpt, times: Times) {
        let count = self.sums.len();
        let examined = self
            .examined
            .entry(part)
            .or_insert_with(|| vec![0; count].into_boxed_slice());
        let now = excerpt.as_of(times.now);
        let found: Vec<Findings> = rules
            .iter()
            .map(|place| {
                self.sums[*place]
                    .rule
                    .findings(now)
                    .without(&self.sums[*place].of_none)
            })
            .collect();
        let later = excerpt.as_of(times.later);
        for (place, found) in rules.into_iter().zip(found) {
            let sum = &mut self.sums[place];
            let is_settled = times.later.is_none()
                || sum
                    .rule
                    .findings(later)
                    .without(&sum.of_none_later)
                    .agrees_with(&found);
            sum.take(part, &mut examined[place], found, is_settled);
        }
    }

    /// Takes a part away.
    pub(super) fn withdraw(&mut self, part: Serial) {
        let examined = self.examined.remove(&part);
        for (sum, examined) in self.sums.iter_mut().zip(examined.into_iter().flatten()) {
            sum.examined -= examined;
            sum.remarkable.remove(&part);
            sum.unsettled.remove(&part);
        }
    }
}

impl Sum {
    fn new(rule: &'static Rule) -> Self {
        Self {
            rule,
            of_none: Findings::default(),
            of_none_later: Findings::default(),
            examined: 0,
            remarkable: BTreeMap::new(),
            unsettled: BTreeSet::new(),
        }
    }

    fn take(&mut self, part: Serial, examined: &mut usize, found: Findings, is_settled: bool) {
        self.examined -= *examined;
        self.examined += found.examined;
        *examined = found.examined;
        if found.is_plain() {
            self.remarkable.remove(&part);
        } else {
            self.remarkable.insert(part, found);
        }
        if is_settled {
            self.unsettled.remove(&part);
        } else {
            self.unsettled.insert(part);
        }
    }

    /// What the rule found in all parts.
    pub(super) fn total(&self) -> Findings {
        let mut total = self.of_none.clone();
        let remarkable: usize = self.remarkable.values().map(|found| found.examined).sum();
        total.examined += self.examined - remarkable;
        for found in self.remarkable.values() {
            total.absorb(found.clone());
        }
        total
    }
}
