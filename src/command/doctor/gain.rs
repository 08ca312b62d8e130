//! Which rules more evidence would let a run judge, by what each rule needs.

use std::fmt;

use evidence::{Asked, Evidence, Kind, ReasonId, api::Feature};
use judge::{Prospect, Selection, gained, prospects, rules::Level};
use report::count;
use serde::Serialize;

/// How many rules of each level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Amount {
    /// MUST rules.
    pub must: usize,
    /// SHOULD rules.
    pub should: usize,
    /// MAY rules.
    pub may: usize,
}

/// The rules that one more kind of evidence lets a run judge.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Gain {
    /// What to add: a flag, or a permission.
    pub with: String,
    /// How many rules.
    #[serde(flatten)]
    pub amount: Amount,
    /// Their ids.
    pub rules: Vec<&'static str>,
}

/// The rules that count in a run, and those of them that it can judge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Rules {
    /// The selected rules of the edition.
    pub selected: Amount,
    /// Those that a run can judge.
    pub judged: Amount,
}

/// Counts the rules of a run that asks for that evidence.
pub fn rules(evidence: &Evidence, selection: &Selection) -> Rules {
    let all = prospects(evidence, selection);
    let is_selected = |prospect: &Prospect| !matches!(prospect, Prospect::LeftOut(why) if why.id == Some(ReasonId::Deselected));
    let of = |counts: &dyn Fn(&Prospect) -> bool| {
        let counted = all.iter().filter(|(_, prospect)| counts(prospect));
        let claim = &evidence.header.claim;
        counted
            .filter_map(|(rule, _)| rule.facts.level_in(claim))
            .collect()
    };
    Rules {
        selected: of(&is_selected),
        judged: of(&|prospect| *prospect == Prospect::Judged),
    }
}

/// Returns the rules that a run could judge too if it asked for these kinds of evidence, and all of it was available.
pub fn by_kinds(with: &str, evidence: &Evidence, selection: &Selection, kinds: &[Kind]) -> Gain {
    gain(with, evidence, selection, |more| add(more, kinds))
}

/// Returns the rules that a run could judge too if the implementation claimed the feature.
pub fn by_claim(with: &str, evidence: &Evidence, selection: &Selection, feature: Feature) -> Gain {
    gain(with, evidence, selection, |more| {
        more.header.claim.features.insert(feature);
        // What is claimed is read.
        add(more, &[Kind::UnlabelledSecrets]);
    })
}

fn add(evidence: &mut Evidence, kinds: &[Kind]) {
    for kind in kinds {
        evidence.header.asked.insert(*kind, Asked::Yes);
        evidence.gaps.retain(|gap| gap.kind != *kind);
    }
}

fn gain(with: &str, evidence: &Evidence, selection: &Selection, change: impl FnOnce(&mut Evidence)) -> Gain {
    let mut more = evidence.clone();
    change(&mut more);
    let new = gained(evidence, &more, selection);
    Gain {
        with: with.to_owned(),
        amount: new
            .iter()
            .filter_map(|rule| rule.facts.level_in(&more.header.claim))
            .collect(),
        rules: new.iter().map(|rule| rule.id).collect(),
    }
}

impl FromIterator<Level> for Amount {
    fn from_iter<I: IntoIterator<Item = Level>>(levels: I) -> Self {
        let mut amount = Self::default();
        for level in levels {
            match level {
                Level::Must => amount.must += 1,
                Level::Should => amount.should += 1,
                Level::May => amount.may += 1,
            }
        }
        amount
    }
}

impl Amount {
    /// Whether there is none.
    pub fn is_none(self) -> bool {
        self == Self::default()
    }
}

impl fmt::Display for Amount {
    /// Such as `5 MUST and 9 SHOULD rules`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let levels = [(self.must, "MUST"), (self.should, "SHOULD"), (self.may, "MAY")];
        let there: Vec<_> = levels.into_iter().filter(|(number, _)| *number > 0).collect();
        let Some(((last, level), before)) = there.split_last() else {
            return f.write_str("no rule");
        };
        let before: Vec<String> = before
            .iter()
            .map(|(number, level)| format!("{number} {level}"))
            .collect();
        if !before.is_empty() {
            write!(f, "{} and ", before.join(", "))?;
        }
        f.write_str(&count(*last, &format!("{level} rule")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_told_as_people_do() {
        let told = |must, should, may| Amount { must, should, may }.to_string();
        assert_eq!(told(5, 9, 1), "5 MUST, 9 SHOULD and 1 MAY rule");
        assert_eq!(told(1, 0, 0), "1 MUST rule");
        assert_eq!(told(0, 2, 3), "2 SHOULD and 3 MAY rules");
        assert_eq!(told(0, 0, 0), "no rule");
    }

    #[test]
    fn a_gain_is_what_the_needs_of_the_rules_say() {
        let mut evidence = Evidence::default();
        let kinds = [Kind::Inventory, Kind::Namespaces, Kind::Timeline];
        evidence.header.asked.extend(kinds.map(|kind| (kind, Asked::Yes)));
        let selection = Selection::default();
        let needs = |rule: &str| &judge::rules::find(rule).expect("a rule").facts.needs;
        let members = by_kinds("--members FILE", &evidence, &selection, &[Kind::Members]);
        assert!(members.rules.contains(&"version/matches-member"));
        assert!(
            members
                .rules
                .iter()
                .all(|rule| needs(rule).contains(&Kind::Members))
        );
        // Credentials of consumers take the Secrets, too.
        assert!(!members.rules.contains(&"consumers/kubeconfig-works"));
        // What is there already gives nothing.
        let nothing = by_kinds("", &evidence, &selection, &[Kind::Timeline]);
        assert!(nothing.amount.is_none() && nothing.rules.is_empty());
        let counted = rules(&evidence, &selection);
        assert!(counted.judged.must > 0 && counted.judged.must < counted.selected.must);
    }
}
