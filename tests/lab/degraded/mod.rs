//! What the lab does is known. A record of it that lacks something may tell less than the whole record, and nothing else.
//!
//! `DEGRADED_SEEDS` says how many records are judged, and `DEGRADED_SEED` where they begin. With `DEGRADED_WORLDS=all`, they
//! are of every fault.

mod exceptions;
mod laws;
#[path = "../../../src/judge/tests/support/less.rs"]
mod less;
mod loss;
mod worlds;

use std::{collections::BTreeMap, env};

use laws::{Law, breaches};
use loss::{Loss, losses, without};
use proptest::strategy::{Strategy, ValueTree};
use worlds::{World, play_all, plots};

use crate::seeds;

/// How many records `cargo test` judges.
const RECORDS: u32 = 300;
/// Of how many faults it plays one.
const ONE_OF: usize = 16;

/// The laws that are broken: by which rule, of which world, and the least losses that show it.
type Broken = BTreeMap<(Law, &'static str), String>;

#[test]
fn a_part_of_a_record_tells_nothing_else_than_the_whole() {
    let all = env::var("DEGRADED_WORLDS").is_ok_and(|worlds| worlds == "all");
    let mut plots = plots();
    let mut number = 0;
    plots.retain(|plot| {
        number += 1;
        all || (plot.fault.is_none() && number % 2 == 1) || number % ONE_OF == 0
    });
    let worlds = play_all(&plots);
    let try_some = |seed, cases| {
        let broken = tried(&worlds, seed, cases);
        let told = broken
            .into_iter()
            .map(|((law, rule), told)| format!("{law:?} {rule}: DEGRADED_SEED={seed}: {told}"));
        let told: Vec<String> = told.collect();
        if told.is_empty() {
            Ok(())
        } else {
            Err(told.join("\n\n"))
        }
    };
    let complaints = seeds::complaints("DEGRADED", RECORDS, try_some).join("\n\n");
    assert!(complaints.is_empty(), "{complaints}");
}

fn tried(worlds: &[World], seed: u64, cases: u32) -> Broken {
    let mut runner = seeds::runner(seed, cases);
    let cases_of = (0..worlds.len(), losses());
    let mut broken = Broken::new();
    for _ in 0..cases {
        let mut case = cases_of.new_tree(&mut runner).expect("a case");
        let (world, losses) = case.current();
        let law = new(&worlds[world], &losses, &broken).into_iter().next();
        if let Some(law) = law {
            let told = least(worlds, &mut case, &law);
            broken.insert(law, told);
            case = cases_of.new_tree(&mut runner).expect("a case");
        }
    }
    broken
}

/// The laws that are broken there, and neither elsewhere nor excused.
fn new(world: &World, losses: &[Loss], known: &Broken) -> Vec<(Law, &'static str)> {
    let breaches = breaches(world, &without(&world.whole, losses)).into_iter();
    let laws = breaches.map(|breach| (breach.law, breach.rule));
    laws.filter(|law| !known.contains_key(law) && !exceptions::excuses(world, *law))
        .collect()
}

/// The least losses that break a law, with what is told then.
fn least(
    worlds: &[World],
    case: &mut impl ValueTree<Value = (usize, Vec<Loss>)>,
    law: &(Law, &'static str),
) -> String {
    let told = |(world, losses): (usize, Vec<Loss>)| {
        let world = &worlds[world];
        let breaches = breaches(world, &without(&world.whole, &losses)).into_iter();
        let breach = breaches
            .into_iter()
            .find(|breach| (breach.law, breach.rule) == *law)?;
        Some(format!(
            "{:?}\n  without {losses:?}\n    {}",
            world.plot, breach.how
        ))
    };
    let mut last = told(case.current()).unwrap_or_default();
    let mut can_go_on = case.simplify();
    for _ in 0..300 {
        if !can_go_on {
            break;
        }
        can_go_on = match told(case.current()) {
            Some(told) => {
                last = told;
                case.simplify()
            }
            None => case.complicate(),
        };
    }
    last
}
