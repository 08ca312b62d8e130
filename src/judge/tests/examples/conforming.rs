//! Whole worlds that conform: no rule may object to them.

use std::collections::BTreeSet;

use evidence::api::Role;
use judge::{Verdict, rules, rules::example::Example};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::verdicts;

/// Advice that examples need not follow: short names are easier to read.
const ADVICE_ON_NAMES: &str = "identity/name-follows-guidance";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ConformingWorld {
    role: Role,
    name: String,
    world: Value,
}

#[test]
fn a_conforming_world_trips_no_rule() {
    let options = serde_saphyr::options! { strict_booleans: true };
    let worlds = serde_saphyr::from_str_with_options(include_str!("conforming.yaml"), options);
    let worlds: Vec<ConformingWorld> = worlds.expect("valid YAML");
    let mut passed = BTreeSet::new();
    for ConformingWorld { role, name, world } in worlds {
        for edition in role.editions() {
            let example = json!({"name": name, "passes": world});
            let example = Example::parse(&example, edition).expect("a world");
            for (rule, verdict) in verdicts(&example) {
                match verdict.verdict {
                    Verdict::Pass => _ = passed.insert(rule),
                    Verdict::NotApplicable | Verdict::Skipped => {}
                    Verdict::Warn if rule == ADVICE_ON_NAMES => {}
                    _ => panic!("{rule} ({edition}) objects to `{name}`: {verdict:#?}"),
                }
            }
        }
    }
    let all: BTreeSet<&str> = rules::all().iter().map(|rule| rule.id).collect();
    assert_eq!(
        passed, all,
        "each rule has something to judge in a conforming world"
    );
}
