//! A rule's file: its facts in our own words, and its examples.

use std::{ops::Deref, sync::OnceLock};

use evidence::{
    Claim, Kind, ReasonId,
    api::{Edition, Feature},
    named_enum,
    user_file::read_compiled_in,
};
use jiff::civil::Date;
use serde::Deserialize;
use serde_json::Value;

use super::consumer::expectations::ExemptConsumer;

/// The facts of a rule, as its file under `suites/` gives them.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Facts {
    /// What holds if the rule is kept, as a headline.
    pub title: String,
    /// The level in the first edition; `editions` has that of each.
    level: Level,
    /// Whether the first edition's documents state it, or it follows from them.
    basis: Basis,
    /// The step from the documents to the rule; required where it is derived.
    reasoning: Option<String>,
    /// The day on which the suite got the rule; none if it had it from the beginning. Reports of earlier days lack it.
    pub added: Option<Date>,
    /// The first edition that has the rule. It also determines the role.
    pub since: Edition,
    /// The last edition that has the rule; none if the newest has it.
    pub until: Option<Edition>,
    /// What changes with later editions.
    #[serde(default)]
    differs: Vec<Difference>,
    /// The editions that have the rule, oldest first, with its level and basis in each.
    #[serde(skip)]
    pub editions: Vec<Applies>,
    /// Document and section in the first edition.
    source: String,
    /// The words by which the sentences there demand it, as they are written; none if they only say what is.
    #[serde(default)]
    pub keywords: Vec<String>,
    /// Kinds of evidence without which the rule cannot be judged.
    #[serde(default)]
    pub needs: Vec<Kind>,
    /// Kinds of evidence of which it needs at least one.
    #[serde(default)]
    pub needs_one_of: Vec<Kind>,
    /// Optional kinds of evidence that make its verdict more exact.
    #[serde(default)]
    pub helped_by: Vec<Kind>,
    /// The optional feature that it belongs to; if the user declares it absent, the rule is skipped.
    pub feature: Option<Feature>,
    /// Why no function can judge the rule yet; then its function is not called.
    pub unjudged: Option<String>,
    /// What the rule applies to, in the plural, for example `profiles with a location`; none if it is all profiles or slices.
    pub applies_to: Option<String>,
    /// The sort of the reason if there are no such things, where the user can change that.
    pub not_applicable: Option<ReasonId>,
    /// Whether it is skipped unless the user configures how many profiles there are.
    #[serde(default)]
    pub(crate) needs_expected_number: bool,
    /// What did not happen if nothing was examined. The rule was not judged then, although it may apply.
    pub(crate) nothing_happened: Option<String>,
    /// The consumers that it does not judge.
    #[serde(default)]
    pub(crate) not_for: Vec<ExemptConsumer>,
    /// What its findings say where its functions do not say it.
    pub(crate) finding: Option<FindingWords>,
    /// What the findings say if the rule consists of expectations of a consumer's testbed.
    pub(crate) expectations: Option<ExpectationWords>,
    /// How to fix a violation.
    pub remedy: String,
    /// Examples that pass and examples that fail.
    #[serde(skip)]
    pub examples: Examples,
}

/// What the findings of a rule say that consists of expectations.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ExpectationWords {
    /// The field of the profile.
    #[serde(default = "access_providers")]
    pub(crate) path: String,
    /// The consumer does not do what was expected. None: the rule is inconclusive then.
    pub(crate) missing: Option<FindingWords>,
    /// The consumer does something else.
    pub(crate) wrong: Option<FindingWords>,
}

fn access_providers() -> String {
    "status.accessProviders".to_owned()
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct FindingWords {
    /// Empty if the functions say it.
    pub(crate) message: String,
    /// Empty if the functions say it.
    pub(crate) expected: String,
}

/// What is different from an edition on. It replaces the whole of an earlier difference.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Difference {
    /// The first edition in which it is so.
    since: Edition,
    /// The level, if another.
    level: Option<Level>,
    /// The basis, if another.
    basis: Option<Basis>,
    /// The step from the documents to the rule, if another.
    reasoning: Option<String>,
    /// The document and section, if others.
    source: Option<String>,
    /// Whether the rule counts only once its feature is claimed.
    #[serde(default)]
    only_if_claimed: bool,
}

/// An edition that has the rule, with its level and basis there.
#[derive(Clone, Debug)]
pub struct Applies {
    /// The edition.
    pub edition: Edition,
    /// The level.
    pub level: Level,
    /// Whether its documents state the rule, or it follows from them.
    pub basis: Basis,
    /// The step from its documents to the rule; none where they state it.
    pub reasoning: Option<String>,
    /// Its document and section.
    pub source: String,
    /// Whether the rule counts only once its feature is claimed.
    pub only_if_claimed: bool,
}

named_enum! {
    /// The level of a rule (RFC 2119).
    pub enum Level {
        /// Breaking it makes an implementation non-conformant.
        Must = "MUST",
        /// Breaking it is a warning, or a failure under `--strict`.
        Should = "SHOULD",
        /// Advice.
        May = "MAY",
    }
}

named_enum! {
    /// How the documents support a rule.
    pub enum Basis {
        /// The documents use the keyword for this very demand.
        Explicit = "explicit",
        /// It follows from the text by a step of reasoning, which the file gives.
        Derived = "derived",
        /// A guide asks for it, and no document in force: breaking it is a warning, whatever the run.
        Guide = "guide",
    }
}

/// A rule's file that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("failed to read the facts of {rule}: {reason}")]
pub struct FactsError {
    /// The rule's id.
    pub rule: &'static str,
    /// What is wrong, and where.
    pub reason: String,
}

impl Facts {
    /// Reads the text of a rule's file.
    pub fn parse(rule: &'static str, text: &str) -> Result<Self, FactsError> {
        let failed = |reason: String| FactsError { rule, reason };
        let (text, examples) = text.split_at(text.find(KEY).map_or(text.len(), |place| place + 1));
        let mut facts: Facts = read_compiled_in(text).map_err(failed)?;
        // Keeps the line numbers of the file in errors of YAML.
        facts.examples.text = "\n".repeat(text.lines().count()) + examples;
        facts.editions = facts.since_until();
        match facts.problem() {
            Some(problem) => Err(failed(problem.to_owned())),
            None => Ok(facts),
        }
    }

    fn problem(&self) -> Option<&'static str> {
        let mut derived = self.editions.clone();
        derived.retain(|applies| applies.basis != Basis::Explicit);
        let is_needless = self.reasoning.is_some() && derived.is_empty();
        let is_guide = |applies: &Applies| applies.basis == Basis::Guide && applies.level == Level::Must;
        if is_needless || derived.iter().any(|applies| applies.reasoning.is_none()) {
            Some("a rule that is not explicit states its reasoning, an explicit one has none")
        } else if derived.iter().any(is_guide) {
            Some("a rule that only a guide asks for cannot be a MUST")
        } else {
            None
        }
    }

    /// The editions from `since` to `until`, each with the newest difference.
    fn since_until(&self) -> Vec<Applies> {
        let of_role = self.since.role().editions();
        let with_rule = of_role
            .filter(|edition| self.since <= *edition && self.until.is_none_or(|until| *edition <= until));
        let applies = with_rule.map(|edition| {
            let mut differences = self.differs.iter().rev();
            let difference = differences.find(|difference| difference.since <= edition);
            let difference = difference.cloned().unwrap_or_default();
            let basis = difference.basis.unwrap_or(self.basis);
            let reasoning = difference.reasoning.or_else(|| self.reasoning.clone());
            Applies {
                edition,
                level: difference.level.unwrap_or(self.level),
                basis,
                reasoning: reasoning.filter(|_| basis != Basis::Explicit),
                source: difference.source.unwrap_or_else(|| self.source.clone()),
                only_if_claimed: difference.only_if_claimed,
            }
        });
        applies.collect()
    }

    /// The entry of the rule for the first edition that has it.
    pub fn first(&self) -> &Applies {
        self.editions.first().expect("a rule is in an edition at least")
    }

    /// The entry of the rule for the edition that a claim names of its API; none where that edition does not have it.
    pub fn in_claim(&self, claim: &Claim) -> Option<&Applies> {
        claim.editions().find_map(|edition| self.in_edition(edition))
    }

    /// The level in the edition that a claim names of its API; none where that edition does not have it.
    pub fn level_in(&self, claim: &Claim) -> Option<Level> {
        self.in_claim(claim).map(|applies| applies.level)
    }

    /// The entry of the rule for an edition; none where the edition does not have it.
    pub fn in_edition(&self, edition: Edition) -> Option<&Applies> {
        self.editions.iter().find(|applies| applies.edition == edition)
    }
}

impl Applies {
    /// Whether breaking it fails a run.
    pub fn fails(&self, strict: bool) -> bool {
        match (self.level, self.basis) {
            (Level::May, _) | (_, Basis::Guide) => false,
            (Level::Should, _) => strict,
            (Level::Must, _) => true,
        }
    }

    /// The level and the basis of the rule, for example `MUST explicit`.
    pub fn weight(&self) -> String {
        format!("{} {}", self.level, self.basis)
    }
}

/// The last key of a file, which begins the examples.
const KEY: &str = "\nexamples:";

/// The examples of a rule, as its file gives them. They are read at the first use: most runs need none.
#[derive(Clone, Debug, Default)]
pub struct Examples {
    /// YAML: one key, `examples`.
    text: String,
    read: OnceLock<Vec<Value>>,
}

impl Examples {
    fn parse(&self) -> Vec<Value> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Only {
            examples: Vec<Value>,
        }
        if self.text.trim().is_empty() {
            return Vec::new();
        }
        let read: Result<Only, _> = read_compiled_in(&self.text);
        // The files are compiled in, and a test parses each of them.
        read.unwrap_or_else(|error| panic!("failed to read examples: {error}"))
            .examples
    }
}

impl Deref for Examples {
    type Target = [Value];

    fn deref(&self) -> &[Value] {
        self.read.get_or_init(|| self.parse())
    }
}
