//! From single verdicts to suites, counts and the decision: the same sums for a run, for merged runs and for a check.

use evidence::ReasonId;
use judge::{
    Count, Decision, Extent, Outcome, Tally, Verdict, Waiver, WaiverOutcome, decide_with, rules::Level,
};

use super::document::{Entry, Group, Judged, SuiteResult, Waived};

/// Groups entries by suite. `entries` include rules that passed and are in the ledger's order.
pub(super) fn suites(entries: &[Entry]) -> Vec<SuiteResult> {
    let mut names: Vec<&str> = Vec::new();
    for entry in entries {
        if !names.contains(&entry.suite()) {
            names.push(entry.suite());
        }
    }
    let of_suite = |name: &str| {
        let own = |core: bool| {
            let own = entries.iter().filter(move |entry| entry.suite() == name);
            group(own.filter(move |entry| (entry.level == Level::Must) == core))
        };
        SuiteResult {
            name: name.to_owned(),
            core: own(true),
            extended: own(false),
        }
    };
    names.into_iter().map(of_suite).collect()
}

/// None where there are no such rules.
fn group<'a>(entries: impl Iterator<Item = &'a Entry>) -> Option<Group> {
    let mut group = Group {
        result: Judged::Partial,
        statistics: Count::default(),
        failed_rules: Vec::new(),
        warned_rules: Vec::new(),
        skipped_rules: Vec::new(),
    };
    for entry in entries {
        group.statistics.add(entry.verdict);
        let list = match entry.verdict {
            Verdict::Pass => continue,
            Verdict::Fail => &mut group.failed_rules,
            Verdict::Warn | Verdict::Waived => &mut group.warned_rules,
            Verdict::Inconclusive | Verdict::NotApplicable | Verdict::Skipped => &mut group.skipped_rules,
        };
        list.push(entry.clone());
    }
    group.result = in_a_word(&group.statistics);
    (group.statistics.rules > 0).then_some(group)
}

fn in_a_word(count: &Count) -> Judged {
    if count.failed > 0 {
        Judged::Failure
    } else if count.judged() == 0 || count.waived + count.inconclusive + count.skipped > 0 {
        Judged::Partial
    } else {
        Judged::Success
    }
}

/// The decision that the verdicts lead to.
pub(super) fn decision(entries: &[Entry], extent: Extent, waivers: &[Waived], strict: bool) -> Decision {
    let outcomes: Vec<WaiverOutcome> = waivers.iter().map(Waived::outcome).collect();
    decide_with(&tally(entries), extent, &outcomes, strict)
}

/// How many rules have each verdict.
pub(super) fn tally(entries: &[Entry]) -> Tally {
    let outcomes = entries.iter().map(|entry| Outcome {
        level: entry.level,
        verdict: entry.verdict,
        reason: entry.reason_id,
    });
    outcomes.collect()
}

impl Group {
    /// Every rule that it lists.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        let lists = [&self.failed_rules, &self.warned_rules, &self.skipped_rules];
        lists.into_iter().flatten()
    }
}

impl SuiteResult {
    /// Every rule in it.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        let groups = self.core.iter().chain(&self.extended);
        groups.flat_map(Group::entries)
    }
}

impl Entry {
    /// Whether it was not judged only because the user deselected it.
    pub(crate) fn is_deselected(&self) -> bool {
        self.verdict == Verdict::Skipped && self.reason_id == Some(ReasonId::Deselected)
    }

    /// The suite's name.
    pub(crate) fn suite(&self) -> &str {
        self.rule.split_once('/').map_or(&*self.rule, |(suite, _)| suite)
    }
}

impl Waived {
    /// The waiver itself.
    pub(super) fn waiver(&self) -> Waiver {
        Waiver {
            rule: self.rule.clone(),
            object: self.object.clone(),
            reason: self.reason.clone(),
            link: self.link.clone(),
            expires: self.expires,
        }
    }

    fn outcome(&self) -> WaiverOutcome {
        WaiverOutcome {
            waiver: self.waiver(),
            waived: self.waived,
            expired: self.expired,
            judged: self.judged,
        }
    }
}

impl From<&WaiverOutcome> for Waived {
    fn from(outcome: &WaiverOutcome) -> Self {
        let waiver = outcome.waiver.clone();
        Self {
            rule: waiver.rule,
            object: waiver.object,
            reason: waiver.reason,
            link: waiver.link,
            expires: waiver.expires,
            waived: outcome.waived,
            expired: outcome.expired,
            judged: outcome.judged,
        }
    }
}
