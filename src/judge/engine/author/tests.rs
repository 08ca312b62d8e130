use evidence::{
    Evidence,
    api::{Edition, Role},
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::*;
use crate::{rules::example::Example, time::LATE};

/// A world, and who did what in it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AttributedWorld {
    world: Value,
    asks: Vec<ExpectedAuthor>,
}

/// What was done, and its expected author.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ExpectedAuthor {
    change: Option<String>,
    #[serde(default)]
    is_over_gap: bool,
    listed: Option<String>,
    sender: Option<usize>,
    creation: Option<usize>,
    deletion: Option<usize>,
    #[serde(default)]
    is_inferred: bool,
    by: String,
}

impl ExpectedAuthor {
    fn attribution<'e>(&self, evidence: &'e Evidence) -> Attribution<'e> {
        let authors = Authors::of(evidence, Role::Manager);
        let (first, profiles) = (evidence.profiles.first(), &evidence.profiles);
        if let Some(number) = self.sender {
            let log = evidence.requests.as_ref().expect("a log");
            authors.of_request(&log.events[number])
        } else if let Some(number) = self.creation {
            authors.of_creation(&profiles[number])
        } else if let Some(number) = self.deletion {
            let deletion = profiles[number].deleted.expect("a deletion").as_microsecond();
            authors.of_deletion(&profiles[number], Edge::between(deletion - LATE, deletion))
        } else if let Some(field) = &self.listed {
            authors.owner_in_list(first.expect("a profile").last(), field)
        } else {
            let field = self.change.as_ref().expect("one thing that was done");
            authors.of_change(&last_change(first.expect("a profile"), self.is_over_gap), field)
        }
    }

    fn matches(&self, attribution: &Attribution) -> bool {
        let is_expected = match &attribution.author {
            Author::Implementation => self.by == "implementation",
            Author::Run => self.by == "run",
            Author::Other => self.by == "other",
            Author::Unknown(reason) => {
                !["implementation", "run", "other"].contains(&&*self.by) && reason.contains(&self.by)
            }
        };
        is_expected && (attribution.is_inferred || !self.is_inferred)
    }
}

fn last_change(history: &ProfileHistory, is_over_gap: bool) -> ObservedChange<'_, ClusterProfile> {
    let (before, after) = history.steps().last().expect("a change");
    let arrival = after.received().as_microsecond();
    ObservedChange {
        history,
        before: Some(before),
        after: Some(after),
        at: Edge::between(arrival - LATE, arrival),
        seen_at: arrival,
        is_over_gap,
        place: 0,
    }
}

#[test]
fn each_author_is_the_expected_one() {
    let worlds = serde_saphyr::from_str(include_str!("tests.yaml"));
    let worlds: Vec<AttributedWorld> = worlds.expect("valid YAML");
    for AttributedWorld { world, asks } in worlds {
        let example = json!({"name": "authors", "passes": world});
        let example = Example::parse(&example, Edition::Standard).expect("a world");
        for expected in asks {
            let attribution = expected.attribution(example.evidence());
            assert!(
                expected.matches(&attribution),
                "{expected:?}, got {attribution:?} in {world}"
            );
        }
    }
}
