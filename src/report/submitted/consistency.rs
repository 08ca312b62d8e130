//! Checks that a report is consistent: its counts with its rules, its decision with its verdicts.

use std::collections::BTreeMap;

use judge::{
    Extent, Verdict, rules,
    rules::{Applies, Facts, Rule},
};

use super::{
    change::{Change, changes},
    document::{Document, Entry},
    outcome::{decision, suites},
};

/// How a report contradicts itself.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{contradiction}{}", hint(.suite_version))]
pub struct Inconsistent {
    /// Where, and how.
    pub contradiction: String,
    /// The suite that wrote it, by its own words.
    pub suite_version: String,
}

/// Rules come and go with the suite's versions.
fn hint(suite_version: &str) -> String {
    if suite_version == env!("CARGO_PKG_VERSION") {
        String::new()
    } else {
        format!(
            ": it was written by suite {suite_version}, and this is {}, whose rules may differ",
            env!("CARGO_PKG_VERSION")
        )
    }
}

impl Document {
    /// Lists every rule of its edition in the ledger's order.
    ///
    /// # Errors
    /// When it lists a rule that the edition does not have, or a rule twice, or its counts or its decision do not
    /// follow from its rules.
    pub fn entries(&self) -> Result<Vec<Entry>, Inconsistent> {
        let entries = self.all_entries()?;
        let wanted = decision(&entries, self.extent(), &self.waivers, self.claim.strict);
        if wanted != self.decision {
            return Err(self.inconsistent(format!(
                "decision: it says {}, and its verdicts make {}",
                self.decision.name(),
                wanted.name()
            )));
        }
        Ok(entries)
    }

    fn all_entries(&self) -> Result<Vec<Entry>, Inconsistent> {
        let mut told: BTreeMap<&str, &Entry> = BTreeMap::new();
        for entry in self.suites.iter().flat_map(|suite| suite.entries()) {
            if told.insert(&entry.rule, entry).is_some() {
                return Err(self.inconsistent(format!("{}: the rule is told of twice", entry.rule)));
            }
        }
        let entries: Vec<Entry> = self
            .rules()
            .map(|(rule, applies)| {
                let entry = told.remove(rule.id).cloned();
                entry.unwrap_or_else(|| passed(rule, applies))
            })
            .collect();
        if let Some(rule) = told.keys().next() {
            return Err(self.inconsistent(format!("{rule}: edition {} has no such rule", self.edition)));
        }
        match changes(&self.suites, &suites(&entries)).into_iter().next() {
            Some(change) => Err(self.inconsistent(contradiction(&change))),
            None => Ok(entries),
        }
    }

    /// The rules that it judged or says why not: those of its edition that its suite had.
    pub(crate) fn rules(&self) -> impl Iterator<Item = (&'static Rule, &'static Applies)> {
        let rules = rules::all().iter().filter(|rule| self.has(&rule.facts));
        rules.filter_map(|rule| Some((rule, rule.facts.in_edition(self.edition)?)))
    }

    /// Whether its edition has a rule with these facts, and its suite had it.
    pub(crate) fn has(&self, facts: &Facts) -> bool {
        // None comes before each day.
        facts.added <= self.rules_as_of && facts.in_edition(self.edition).is_some()
    }

    /// What of the hub the run has seen.
    pub(super) fn extent(&self) -> Extent {
        Extent::of(
            self.edition.role(),
            self.is_partial(),
            !self.scope.namespaces.is_empty(),
        )
    }

    /// Whether the run was cut short.
    pub fn is_partial(&self) -> bool {
        self.scope.partial.is_some()
    }

    /// Whether it judged all rules on all profiles to its end.
    pub fn is_whole_run(&self) -> bool {
        self.scope.selection.is_none() && !self.is_partial()
    }

    fn inconsistent(&self, contradiction: String) -> Inconsistent {
        Inconsistent {
            contradiction,
            suite_version: self.suite_version.clone(),
        }
    }
}

fn contradiction(change: &Change) -> String {
    format!(
        "suites{}: it says {}, and its rules make {}",
        change.at,
        change.old_text(),
        change.new_text()
    )
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
