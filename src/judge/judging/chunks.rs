//! Has the rules examine the evidence, on all cores, and large fleets in chunks.
//!
//! A fleet of 100,000 profiles takes hundreds of megabytes, and a rule that reads all of them waits for the memory most of
//! the time. So the rules on each profile take turns on a few profiles, which then come from the processor's cache.

use std::{num::NonZero, ops::Range, thread};

use evidence::Evidence;

use crate::{
    engine::Hub,
    judging::side_by_side::side_by_side,
    rules::{Findings, Rule},
};

/// How many profiles a chunk has. They take half a megabyte.
const CHUNK: usize = 100;

/// How many chunks a thread takes at a time: enough that setting out costs nothing.
const TURN: usize = 20;

/// The fewest versions and requests that several threads examine. Fewer take a few milliseconds.
pub(crate) const MANY: usize = 100;

/// What a thread does next.
enum Work {
    /// One rule, by its place, judges everything.
    Whole(usize),
    /// The rules on each profile judge the profiles at these places.
    Turn(Range<usize>),
}

/// What each of the rules finds in the evidence, in their order.
pub(crate) fn findings(rules: &[&'static Rule], evidence: &Evidence) -> Vec<Findings> {
    findings_in_chunks(rules, evidence, CHUNK)
}

/// The same, in chunks of so many profiles.
fn findings_in_chunks(rules: &[&'static Rule], evidence: &Evidence, chunk: usize) -> Vec<Findings> {
    let hub = Hub::of(evidence);
    let profiles = if evidence.profiles.len() > chunk {
        hub.profiles().len()
    } else {
        0
    };
    let parts_of = |rule: &&'static Rule| {
        if profiles > 0 {
            rule.per_profile(evidence)
        } else {
            None
        }
    };
    let parts_of_rules: Vec<_> = rules.iter().map(parts_of).collect();
    let places = 0..rules.len();
    let whole = places
        .filter(|place| parts_of_rules[*place].is_none())
        .map(Work::Whole);
    // What takes longest comes first.
    let work: Vec<Work> = whole
        .chain(ranges(0..profiles, TURN * chunk).map(Work::Turn))
        .collect();
    let nothing: Vec<Findings> = rules.iter().map(|rule| rule.no_findings()).collect();
    let examine = |work: &Work| {
        let mut found = nothing.clone();
        match work {
            Work::Whole(place) => found[*place] = rules[*place].findings_on(&hub),
            Work::Turn(turn) => {
                for part in ranges(turn.clone(), chunk) {
                    for (place, parts) in parts_of_rules.iter().enumerate() {
                        let mut of_chunk = Findings::default();
                        for evaluator in parts.iter().flatten() {
                            evaluator.evaluate_part(&hub, part.clone(), &mut of_chunk);
                        }
                        found[place].absorb(of_chunk);
                    }
                }
            }
        }
        found
    };
    let join = |found: &mut Vec<Findings>, next: Vec<Findings>| {
        for (found, next) in found.iter_mut().zip(next) {
            found.absorb(next);
        }
    };
    side_by_side(&work, threads(evidence), examine, join).unwrap_or(nothing)
}

/// Ranges of at most that length.
fn ranges(all: Range<usize>, length: usize) -> impl Iterator<Item = Range<usize>> {
    let end = all.end;
    all.step_by(length).map(move |from| from..end.min(from + length))
}

/// How many threads examine the evidence.
fn threads(evidence: &Evidence) -> usize {
    let profiles = evidence.profiles.iter().map(|history| history.versions.len());
    let slices = evidence.slices.iter().map(|history| history.versions.len());
    let versions: usize = profiles.chain(slices).sum();
    let requests = evidence
        .requests
        .as_ref()
        .map_or(0, |requests| requests.events.len());
    if versions + requests >= MANY {
        thread::available_parallelism().map_or(1, NonZero::get)
    } else {
        1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::{self, example::Example};

    /// Smaller chunks than in use: fewer profiles are several turns then.
    const FEW: usize = 2;
    /// So many that several threads take turns.
    const PROFILES: usize = 2 * TURN * FEW + 21;
    const _: () = assert!(PROFILES > MANY);

    /// The evidence of an example with its profiles repeated under other names until they are more than two turns.
    fn many(example: &Example) -> Evidence {
        let mut evidence = example.evidence().clone();
        let few = std::mem::take(&mut evidence.profiles);
        let turns = (0..PROFILES).flat_map(|turn| few.iter().map(move |history| (turn, history.clone())));
        let many = turns.take(PROFILES).map(|(turn, mut history)| {
            for version in &mut history.versions {
                let metadata = &mut version.object.metadata;
                metadata.name = format!("{}-{turn}", metadata.name).into();
            }
            history
        });
        evidence.profiles = many.collect();
        evidence
    }

    /// If this fails, the registry says of a rule on the fleet that it is one on each profile.
    #[test]
    fn chunks_give_what_a_pass_over_all_profiles_gives() {
        let mut compared = 0;
        for rule in rules::all() {
            for example in Example::of(rule).expect("examples").into_iter().take(2) {
                let evidence = many(&example);
                if rule.per_profile(&evidence).is_none() {
                    continue;
                }
                let in_chunks = findings_in_chunks(&[rule], &evidence, FEW).remove(0).conclude();
                let whole = rule.findings(&evidence).conclude();
                assert_eq!(in_chunks, whole, "{}, example `{}`", rule.id, example.name);
                compared += 1;
            }
        }
        assert!(compared > 80, "{compared}");
    }
}
