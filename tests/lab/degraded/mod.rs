//! An incomplete record of a known history may be inconclusive where the whole record is not. Other verdicts agree.
//!
//! `DEGRADED_SEEDS` is the number of judged records, and `DEGRADED_SEED` the first seed. With `DEGRADED_WORLDS=all`, they
//! are of every fault.

mod laws;
#[path = "../../../src/judge/tests/support/less.rs"]
mod less;
mod loss;
mod removal;

use std::{collections::BTreeMap, env};

use evidence::{
    Evidence, Kind,
    api::{Edition, Role},
};
use judge::rules::find;
use lab::fault::faults;
use laws::{Law, is_excused, violations};
use loss::{Loss, losses, without};
use proptest::strategy::{Strategy, ValueTree};

use super::{Verdicts, judged, on_all_cores};
use crate::{reference_runs::observe, seeds};

/// How many records `cargo test` judges.
const RECORDS: u32 = 300;
/// It tries one of so many faults.
const ONE_OF: usize = 16;

/// The violated laws, by rule, each with the world and the fewest losses that show it.
type Broken = BTreeMap<(Law, &'static str), String>;

#[test]
fn part_of_a_record_does_not_contradict_the_whole() {
    let all = env::var("DEGRADED_WORLDS").is_ok_and(|worlds| worlds == "all");
    let mut plots = plots();
    let mut number = 0;
    plots.retain(|plot| {
        number += 1;
        all || (plot.fault.is_none() && number % 2 == 1) || number % ONE_OF == 0
    });
    let worlds = on_all_cores(&plots, |plot| plot.observe());
    let try_some = |seed, cases| {
        let broken = broken_laws(&worlds, seed, cases).into_iter();
        let complaint = |((law, rule), how)| format!("{law:?} {rule}: DEGRADED_SEED={seed}: {how}");
        let complaints = broken.map(complaint).collect::<Vec<String>>().join("\n\n");
        if complaints.is_empty() {
            Ok(())
        } else {
            Err(complaints)
        }
    };
    let complaints = seeds::complaints("DEGRADED", RECORDS, try_some).join("\n\n");
    assert!(complaints.is_empty(), "{complaints}");
}

fn broken_laws(worlds: &[World], seed: u64, cases: u32) -> Broken {
    let mut runner = seeds::runner(seed, cases);
    let strategy = (0..worlds.len(), losses());
    let mut broken = Broken::new();
    for _ in 0..cases {
        let mut case = strategy.new_tree(&mut runner).expect("a case");
        let (world, losses) = case.current();
        let world = &worlds[world];
        let violations = violations(world, &without(&world.whole, &losses)).into_iter();
        let mut laws = violations.map(|violation| (violation.law, violation.rule));
        if let Some(law) = laws.find(|law| !broken.contains_key(law) && !is_excused(world, *law)) {
            broken.insert(law, least(worlds, &mut case, &law));
        }
    }
    broken
}

/// The least losses that break a law, and how.
fn least(
    worlds: &[World],
    case: &mut impl ValueTree<Value = (usize, Vec<Loss>)>,
    law: &(Law, &'static str),
) -> String {
    let violation = |(world, losses): (usize, Vec<Loss>)| {
        let world = &worlds[world];
        let mut violations = violations(world, &without(&world.whole, &losses)).into_iter();
        let violation = violations.find(|violation| (violation.law, violation.rule) == *law)?;
        let (plot, how) = (&world.plot, violation.how);
        Some(format!("{plot:?}\n  without {losses:?}\n    {how}"))
    };
    let mut last = violation(case.current()).unwrap_or_default();
    let mut can_go_on = case.simplify();
    for _ in 0..300 {
        if !can_go_on {
            break;
        }
        can_go_on = match violation(case.current()) {
            Some(violation) => {
                last = violation;
                case.simplify()
            }
            None => case.complicate(),
        };
    }
    last
}

#[derive(Clone, Copy, Debug)]
pub struct Plot {
    edition: Edition,
    /// None for an honest implementation.
    pub fault: Option<&'static str>,
    is_driven: bool,
    /// The further flags of the run.
    flags: &'static [&'static str],
}

/// A run on the lab, its whole record, and the verdicts on that.
pub struct World {
    pub plot: Plot,
    pub whole: Evidence,
    pub verdicts: Verdicts,
}

/// All runs: of honest implementations, and then of each fault.
fn plots() -> Vec<Plot> {
    let roles = [Role::Manager, Role::Scheduler];
    let editions = roles.into_iter().flat_map(Role::editions);
    let honest = editions.flat_map(|edition| [(edition, true), (edition, false)]);
    let honest = honest.map(|(edition, is_driven)| Plot {
        edition,
        fault: None,
        is_driven,
        flags: &[],
    });
    let faults = roles.into_iter().flat_map(faults).map(|fault| Plot {
        edition: fault.edition,
        fault: Some(fault.id),
        is_driven: fault.needs_driver
            || find(fault.rule()).is_some_and(|rule| rule.facts.needs.contains(&Kind::Driver)),
        flags: &fault.flags,
    });
    honest.chain(faults).collect()
}

impl Plot {
    fn observe(self) -> World {
        let whole = observe(self.edition, self.fault, self.is_driven, self.flags).evidence;
        World {
            plot: self,
            verdicts: judged(&whole),
            whole,
        }
    }
}
