//! Every misbehaviour against each manager, and what comes of it.

use std::{
    fmt::Write as _,
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
pub const LONG: u64 = 120;

/// How large an object may be, and a bit less than that for what is around an annotation of it.
const LARGEST: usize = evidence::LARGEST_OBJECT;
const AROUND: usize = 4 << 10;

/// What came of one row.
struct Row {
    told: String,
    complaints: Vec<String>,
}

fn play(faults: &[Fault], calm: &[(Manager, u64, Outcome)]) -> Row {
    let name: Vec<String> = faults.iter().map(Fault::to_string).collect();
    let mut row = Row {
        told: format!("{:56}", name.join(" + ")),
        complaints: Vec::new(),
    };
    for (manager, observe, honest) in calm {
        let outcome = run(*manager, *observe, faults);
        if let Err(complaint) = check(honest, faults, *observe, &outcome) {
            row.complaints.push(format!(
                "{}, {manager:?}, {observe} s: {complaint}",
                name.join(" + ")
            ));
        }
        let _ = write!(
            row.told,
            " | {} {:3} s {:3} req {:2} ?",
            outcome.exit,
            outcome.took,
            outcome.requests.len(),
            outcome.count(Verdict::Inconclusive)
        );
    }
    row
}

#[test]
fn no_misbehaviour_leads_to_a_wrong_verdict_or_a_long_run() {
    let calm = [
        (Manager::Unlabelled, SHORT),
        (Manager::Conforming, LONG),
        (Manager::Restless, LONG),
    ];
    let calm = calm.map(|(manager, observe)| (manager, observe, honest(manager, observe)));
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
                    let row = play(faults, &calm);
                    played.lock().expect("a lock").push((place, row));
                }
            });
        }
    });
    let mut played = played.into_inner().expect("no panic");
    played.sort_by_key(|(place, _)| *place);
    let complaints: Vec<&str> = played
        .iter()
        .flat_map(|(_, row)| row.complaints.iter().map(String::as_str))
        .collect();
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
    let told: Vec<&str> = played.iter().map(|(_, row)| row.told.trim_end()).collect();
    insta::assert_snapshot!("table", told.join("\n"));
}

/// With one manager alone, as it is much to read.
#[test]
fn an_object_is_read_up_to_its_bound_and_no_further() {
    let calm = honest(Manager::Unlabelled, SHORT);
    let outcome = |bytes| {
        let faults = [Fault::always(On::Profiles, Act::Large(bytes))];
        let outcome = run(Manager::Unlabelled, SHORT, &faults);
        check(&calm, &faults, SHORT, &outcome).expect("it is a run like others");
        outcome
    };
    assert!(!outcome(LARGEST - AROUND).verdicts.is_empty());
    let refused = outcome(LARGEST);
    assert_eq!(refused.exit, 4);
    assert!(refused.outputs.contains("too large"), "{}", refused.outputs);
}
