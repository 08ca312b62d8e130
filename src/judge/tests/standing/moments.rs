//! The rules' examples at each moment of their time lines.

use std::env;

use evidence::{Evidence, ObjectKey};
use judge::{Selection, Standing};

use super::{
    difference,
    timeline::{as_of, examples, moments},
};

/// Of so many examples, `cargo test` keeps the verdicts of one at each moment.
const STEP: usize = 9;

/// Examples as they come about: what their verdicts turn on is in their time lines.
#[test]
fn examples_are_judged_alike_at_each_moment() {
    let step = env::var("STANDING_STEP").map_or(STEP, |step| step.parse().expect("a number"));
    let mut asked = 0;
    for (rule, example) in examples().step_by(step) {
        let mut standing = Standing::new(Selection::default());
        let mut before = Evidence::default();
        for now in moments(example.evidence()) {
            let then = as_of(example.evidence(), now);
            for history in &then.profiles {
                if !before.profiles.contains(history) {
                    standing.profile_changed(ObjectKey::of(history.last()));
                }
            }
            if let Some(difference) = difference(&standing.judgement(&then), &then) {
                panic!(
                    "suites/{}.yaml, example `{}`, at {now}: {difference}",
                    rule.id, example.name
                );
            }
            asked += 1;
            before = then;
        }
    }
    assert!(asked > 1_000, "{asked} judgements");
}
