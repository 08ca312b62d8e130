//! The findings of a rule, as many as a report can list.

use evidence::Reason;

use super::Finding;

/// How many violations of a rule are listed, and how many hints: one on each profile of the largest hub. What exceeds it is
/// counted only, as the findings on a million profiles would take gigabytes.
const LISTED: usize = 100_000;

/// How many findings are counted, but not listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unlisted {
    /// Violations.
    pub violations: usize,
    /// Findings that are warnings only.
    pub hints: usize,
}

/// The first violations and the first hints, in the order of all, and how many there are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Bounded {
    list: Vec<Finding>,
    violations: usize,
    hints: usize,
}

impl Unlisted {
    /// Both sorts.
    pub fn all(self) -> usize {
        self.violations + self.hints
    }

    /// A remark that there are so many more findings than are listed; none if there are none.
    pub fn note(self) -> Option<Reason> {
        let told = format!("{} more findings are counted, but not listed", self.all());
        (self.all() > 0).then(|| told.into())
    }
}

impl Bounded {
    /// The listed findings, in their order.
    pub(super) fn list(&self) -> &[Finding] {
        &self.list
    }

    /// How many are counted only.
    pub(super) fn unlisted(&self) -> Unlisted {
        Unlisted {
            violations: self.violations.saturating_sub(LISTED),
            hints: self.hints.saturating_sub(LISTED),
        }
    }

    /// Adds a finding.
    pub(super) fn push(&mut self, finding: Finding) {
        let found = if finding.advisory {
            &mut self.hints
        } else {
            &mut self.violations
        };
        *found += 1;
        if *found <= LISTED {
            self.list.push(finding);
        }
    }

    /// Adds findings that come after these.
    pub(super) fn append(&mut self, other: Self) {
        let unlisted = other.unlisted();
        for finding in other.list {
            self.push(finding);
        }
        self.violations += unlisted.violations;
        self.hints += unlisted.hints;
    }

    /// The listed findings, in their order.
    pub(super) fn into_list(self) -> Vec<Finding> {
        self.list
    }
}

#[cfg(test)]
mod tests {
    use evidence::ObjectRef;

    use super::*;

    /// Findings in turns: two violations, then a hint.
    fn found(places: std::ops::Range<usize>) -> Bounded {
        let mut bounded = Bounded::default();
        for place in places {
            let finding = Finding::on(ObjectRef::default(), place.to_string());
            bounded.push(if place % 3 == 2 {
                finding.advisory()
            } else {
                finding
            });
        }
        bounded
    }

    #[test]
    fn parts_give_what_the_whole_gives() {
        let end = 4 * LISTED;
        let whole = found(0..end);
        assert_eq!(whole.list().len(), 2 * LISTED);
        let unlisted = whole.unlisted();
        assert_eq!(unlisted.all(), end - 2 * LISTED);
        assert_eq!(unlisted.hints, end / 3 - LISTED);
        for at in [3, LISTED / 2, end - 5] {
            let mut joined = found(0..at);
            joined.append(found(at..end));
            assert_eq!(joined, whole, "{at}");
        }
    }
}
