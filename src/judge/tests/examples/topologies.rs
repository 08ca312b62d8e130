//! No false alarms: inventories as the documents imagine them and as real managers publish them, each with the complete
//! list of findings that it deserves.
//!
//! A fixture is a kubectl dump. Its first document holds what is expected of it, the comments at its objects say why.
//! A rule that is not named there must have no finding, and be in no doubt.

use std::{
    collections::BTreeSet,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

use evidence::{
    Digester,
    api::{Edition, Feature, Role},
    read_input,
};
use judge::{RuleVerdict, Selection, Verdict, judge, rules};
use rstest::rstest;
use serde::Deserialize;

/// The first document of a fixture.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fixture {
    /// The dump, where it is not the fixture itself; relative to it.
    of: Option<PathBuf>,
    /// What the implementation claims.
    #[serde(default)]
    claim: Claim,
    /// Every rule that does not simply pass.
    expect: Vec<Expected>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Claim {
    features: BTreeSet<Feature>,
    consumers: Vec<String>,
}

/// What is expected of one rule.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Expected {
    rule: String,
    verdict: String,
    /// In which editions; all, where none is given.
    #[serde(default)]
    editions: Vec<Edition>,
    #[serde(default)]
    findings: Vec<ExpectedFinding>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ExpectedFinding {
    path: String,
    objects: Vec<String>,
}

/// One rule's outcome: its verdict, and each finding as object and path.
type Outcome = (String, Vec<(String, String)>);

impl Fixture {
    fn read(path: &Path) -> (Self, String) {
        let text = fs::read_to_string(path).expect("a fixture");
        let options = serde_saphyr::options! { strict_booleans: true };
        let first = text.split("\n---\n").next().expect("a document");
        let fixture = serde_saphyr::from_str_with_options(first, options)
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        (fixture, text)
    }
}

impl Expected {
    fn is_of(&self, edition: Edition) -> bool {
        self.editions.is_empty() || self.editions.contains(&edition)
    }

    fn outcome(&self) -> Outcome {
        let findings = self.findings.iter();
        let findings = findings.flat_map(|finding| {
            finding
                .objects
                .iter()
                .map(|object| (object.clone(), finding.path.clone()))
        });
        (self.verdict.clone(), sorted(findings.collect()))
    }
}

fn outcome(verdict: &RuleVerdict) -> Outcome {
    let findings = verdict.findings.iter();
    let findings = findings.map(|finding| (finding.object.to_string(), finding.path.clone()));
    (verdict.verdict.name().to_owned(), sorted(findings.collect()))
}

fn sorted(mut findings: Vec<(String, String)>) -> Vec<(String, String)> {
    findings.sort();
    findings
}

/// Whether a verdict needs no expectation.
fn is_quiet(verdict: &RuleVerdict) -> bool {
    let quiet = [Verdict::Pass, Verdict::NotApplicable, Verdict::Skipped];
    quiet.contains(&verdict.verdict) && verdict.findings.is_empty()
}

fn describe((verdict, findings): &Outcome) -> String {
    let mut text = verdict.clone();
    for (object, path) in findings {
        let _ = write!(text, "\n    {object}: {path}");
    }
    text
}

/// The fixtures of placements are what the stories of KEP-5313 describe.
#[rstest]
fn a_fixture_has_the_findings_that_it_deserves(
    #[files("../../fixtures/topologies/*.yaml")]
    #[files("../../fixtures/managers/*.yaml")]
    #[files("../../fixtures/placements/*.yaml")]
    path: PathBuf,
) {
    let is_of_schedulers = path.parent().is_some_and(|folder| folder.ends_with("placements"));
    let role = if is_of_schedulers {
        Role::Scheduler
    } else {
        Role::Manager
    };
    for edition in role.editions() {
        check(&path, edition);
    }
}

fn check(path: &Path, edition: Edition) {
    let (fixture, _) = Fixture::read(path);
    let dump = match &fixture.of {
        Some(dump) => path.parent().expect("a folder").join(dump),
        None => path.to_owned(),
    };
    let mut evidence = read_input(&dump, &Digester::new([7; 32]))
        .expect("a dump")
        .evidence;
    assert_eq!(evidence.unreadable, [], "all of it can be read");
    let claim = &mut evidence.header.claim;
    claim.edition = edition;
    claim.features = fixture.claim.features;
    claim.consumers = fixture.claim.consumers;

    let expected: Vec<&Expected> = fixture.expect.iter().filter(|rule| rule.is_of(edition)).collect();
    let mut complaints = String::new();
    for verdict in &judge(&evidence, &Selection::default()).verdicts {
        let expected = expected.iter().find(|expected| expected.rule == verdict.rule.id);
        let found = outcome(verdict);
        let reason = verdict.reason().unwrap_or_default();
        let complaint = match expected.map(|expected| expected.outcome()) {
            None if is_quiet(verdict) => continue,
            None => format!("is expected to be quiet, and is: {}", describe(&found)),
            Some(expected) if expected == found => continue,
            Some(expected) => format!("expected: {}\n  found: {}", describe(&expected), describe(&found)),
        };
        let _ = writeln!(complaints, "{} {complaint}\n  {reason}", verdict.rule.id);
    }
    assert!(
        complaints.is_empty(),
        "{} in edition {edition}:\n{complaints}",
        path.display()
    );
}

/// What is expected is expected of rules that there are, in editions that have them, and explained at the objects.
#[rstest]
fn what_a_fixture_expects_makes_sense(
    #[files("../../fixtures/topologies/*.yaml")]
    #[files("../../fixtures/managers/*.yaml")]
    #[files("../../fixtures/placements/*.yaml")]
    path: PathBuf,
) {
    let (fixture, text) = Fixture::read(&path);
    let (_, objects) = text
        .split_once("\n---\n")
        .expect("objects behind the expectations");
    let comments: Vec<&str> = objects
        .lines()
        .filter(|line| line.trim_start().starts_with('#'))
        .collect();
    for expected in &fixture.expect {
        let id = expected.rule.as_str();
        assert!(
            comments.iter().any(|comment| comment.contains(id)),
            "{}: no comment says why {id} is expected",
            path.display()
        );
        let Some(rule) = rules::find(id) else {
            panic!("{}: there is no rule {id}", path.display());
        };
        for edition in &expected.editions {
            assert!(
                rule.facts.in_edition(*edition).is_some(),
                "{}: edition {edition} does not have {id}",
                path.display()
            );
        }
    }
}
