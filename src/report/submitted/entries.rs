//! The rules of a report: their groups, their decision, and whether they are consistent.

use std::collections::BTreeMap;

use evidence::ReasonId;
use judge::{
    Count, Decision, Extent, Outcome, Verdict, WaiverOutcome, decide_with,
    rules::{self, Applies, Facts, Level, Rule},
};

use super::{
    diff::changes,
    document::{Document, Entry, Group, Judged, SuiteResult},
};

/// Groups entries by suite. `entries` include rules that passed, in the order of the rules.
pub(super) fn suites(entries: &[Entry]) -> Vec<SuiteResult> {
    let suites = entries.chunk_by(|one, next| one.suite() == next.suite());
    suites
        .map(|entries| {
            let group = |is_core| {
                group(
                    entries
                        .iter()
                        .filter(|entry| (entry.level == Level::Must) == is_core),
                )
            };
            SuiteResult {
                name: entries[0].suite().to_owned(),
                core: group(true),
                extended: group(false),
            }
        })
        .collect()
}

/// `None` if there are no such rules.
fn group<'a>(entries: impl Iterator<Item = &'a Entry>) -> Option<Group> {
    let mut statistics = Count::default();
    let (mut failed_rules, mut warned_rules, mut skipped_rules) = (Vec::new(), Vec::new(), Vec::new());
    for entry in entries {
        statistics.add(entry.verdict);
        match entry.verdict {
            Verdict::Pass => {}
            Verdict::Fail => failed_rules.push(entry.clone()),
            Verdict::Warn | Verdict::Waived => warned_rules.push(entry.clone()),
            _ => skipped_rules.push(entry.clone()),
        }
    }
    let Count {
        waived,
        inconclusive,
        skipped,
        ..
    } = statistics;
    let result = match statistics.judged() {
        _ if statistics.failed > 0 => Judged::Failure,
        judged if judged == 0 || waived + inconclusive + skipped > 0 => Judged::Partial,
        _ => Judged::Success,
    };
    (statistics.rules > 0).then_some(Group {
        result,
        statistics,
        failed_rules,
        warned_rules,
        skipped_rules,
    })
}

/// The decision that follows from the verdicts.
pub(super) fn decision(
    entries: &[Entry],
    extent: Extent,
    waivers: &[WaiverOutcome],
    strict: bool,
) -> Decision {
    let outcomes = entries.iter().map(|entry| Outcome {
        level: entry.level,
        verdict: entry.verdict,
        reason: entry.reason_id,
    });
    decide_with(&outcomes.collect(), extent, waivers, strict)
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

impl Document {
    /// The rules that it lists: those that did not pass.
    pub(crate) fn listed(&self) -> impl Iterator<Item = &Entry> {
        let groups = self
            .suites
            .iter()
            .flat_map(|suite| suite.core.iter().chain(&suite.extended));
        groups.flat_map(|group| {
            [&group.failed_rules, &group.warned_rules, &group.skipped_rules]
                .into_iter()
                .flatten()
        })
    }

    /// Every rule of its edition, in the order of the rules.
    ///
    /// # Errors
    /// How it contradicts itself: it lists a rule that the edition does not have, or a rule twice, or its counts or its
    /// decision do not follow from its rules.
    pub fn entries(&self) -> Result<Vec<Entry>, String> {
        let own = env!("CARGO_PKG_VERSION");
        let hint = match &*self.suite_version {
            wrote if wrote == own => String::new(),
            wrote => format!(": it was written by suite {wrote}, and this is {own}, whose rules may differ"),
        };
        let mut listed: BTreeMap<&str, &Entry> = BTreeMap::new();
        for entry in self.listed() {
            if listed.insert(&entry.rule, entry).is_some() {
                return Err(format!("{}: the rule is listed twice{hint}", entry.rule));
            }
        }
        let of_edition = rules::all().iter().filter(|rule| self.has(&rule.facts));
        let of_edition = of_edition.filter_map(|rule| Some((rule, rule.facts.in_edition(self.edition)?)));
        let entries = of_edition.map(|(rule, applies)| match listed.remove(rule.id) {
            Some(entry) => entry.clone(),
            None => passed(rule, applies),
        });
        let entries: Vec<Entry> = entries.collect();
        if let Some(rule) = listed.keys().next() {
            return Err(format!("{rule}: edition {} has no such rule{hint}", self.edition));
        }
        if let Some(change) = changes(&self.suites, &suites(&entries)).first() {
            let (says, makes) = (change.old_text(), change.new_text());
            return Err(format!(
                "suites{}: it says {says}, and its rules make {makes}{hint}",
                change.at
            ));
        }
        let wanted = decision(&entries, self.extent(), &self.waivers, self.claim.strict);
        if wanted != self.decision {
            let (says, make) = (self.decision.name(), wanted.name());
            return Err(format!(
                "decision: it says {says}, and its verdicts make {make}{hint}"
            ));
        }
        Ok(entries)
    }

    /// Whether its edition has a rule with these facts, and its suite had it.
    pub(crate) fn has(&self, facts: &Facts) -> bool {
        // `None` comes before each day.
        facts.added <= self.rules_as_of && facts.in_edition(self.edition).is_some()
    }

    /// How much of the hub the run has seen.
    pub(super) fn extent(&self) -> Extent {
        let confined = !self.scope.namespaces.is_empty();
        Extent::of(self.edition.role(), self.scope.partial.is_some(), confined)
    }

    /// Whether it judged all rules on all profiles to its end.
    pub fn is_whole_run(&self) -> bool {
        self.scope.selection.is_none() && self.scope.partial.is_none()
    }
}

/// A rule that the report does not list has passed.
fn passed(rule: &Rule, applies: &Applies) -> Entry {
    Entry {
        rule: rule.id.to_owned(),
        level: applies.level,
        verdict: Verdict::Pass,
        title: rule.facts.title.clone(),
        examined: 0,
        violations: 0,
        hints: 0,
        waived: 0,
        reasons: Default::default(),
        reason_id: None,
    }
}
