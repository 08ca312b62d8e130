//! Every misbehaviour against each manager, and what comes of it.

use std::{
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use judge::Verdict;

use super::{
    check,
    fault::{Act, Fault, On},
    honest,
    rows::rows,
    world::{Manager, Outcome, run},
};

/// The window in which a run has to end within a minute, and one in which something happens.
const SHORT: u64 = 4;
pub const LONG: u64 = 150;

/// How large an object may be, and a bit less than that for what is around an annotation of it.
const LARGEST: usize = evidence::LARGEST_OBJECT;
const AROUND: usize = 4 << 10;

/// Plays every row against one manager, on all cores: what bounds a run's time and its requests is [`check`]. Says how each
/// run ends, with `?` if a rule was inconclusive.
fn plays(manager: Manager, observe: u64) -> String {
    let honest = honest(manager, observe);
    let mut rows = rows();
    rows.insert(0, Vec::new());
    assert!(rows.len() > 130, "{}", rows.len());
    let (next, played) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(|| {
                loop {
                    let place = next.fetch_add(1, Ordering::Relaxed);
                    let Some(faults) = rows.get(place) else { return };
                    let outcome = run(manager, observe, faults);
                    let complaint = check(&honest, faults, observe, &outcome).err();
                    played.lock().expect("a lock").push((place, outcome, complaint));
                }
            });
        }
    });
    let mut played = played.into_inner().expect("no panic");
    played.sort_by_key(|(place, ..)| *place);
    let name_of = |place: usize| {
        let faults: Vec<String> = rows[place].iter().map(Fault::to_string).collect();
        faults.join(" + ")
    };
    let complaints: Vec<String> = played
        .iter()
        .filter_map(|(place, _, complaint)| Some(format!("{}: {}", name_of(*place), complaint.as_ref()?)))
        .collect();
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
    let ends: Vec<String> = played
        .iter()
        .map(|(place, outcome, _)| {
            let is_in_doubt = outcome.count(Verdict::Inconclusive) > 0;
            let doubt = if is_in_doubt { "?" } else { "" };
            format!("{:56} | {}{doubt}", name_of(*place), outcome.exit)
        })
        .collect();
    ends.join("\n")
}

#[test]
fn no_misbehaviour_hides_a_token_in_a_short_run() {
    insta::assert_snapshot!("leaking", plays(Manager::Leaking, SHORT));
}

#[test]
fn no_misbehaviour_breaks_a_rule_for_a_conforming_manager() {
    insta::assert_snapshot!("conforming", plays(Manager::Conforming, LONG));
}

#[test]
#[ignore = "takes long, and is run by `just everything`"]
fn no_misbehaviour_leads_to_a_wrong_verdict_on_a_restless_manager() {
    plays(Manager::Restless, LONG);
}

/// A run whose profiles are that large, with one manager alone, as it is much to read.
fn plays_large(bytes: usize) -> Outcome {
    let calm = honest(Manager::Leaking, SHORT);
    let faults = [Fault::always(On::Profiles, Act::Large(bytes))];
    let outcome = run(Manager::Leaking, SHORT, &faults);
    check(&calm, &faults, SHORT, &outcome).expect("it is a run like others");
    outcome
}

#[test]
#[ignore = "takes long, and is run by `just everything`"]
fn an_object_is_read_up_to_its_bound() {
    assert!(!plays_large(LARGEST - AROUND).verdicts.is_empty());
}

#[test]
fn an_object_is_not_read_beyond_its_bound() {
    let refused = plays_large(LARGEST);
    assert_eq!(refused.exit, 4);
    assert!(refused.outputs.contains("too large"), "{}", refused.outputs);
}
