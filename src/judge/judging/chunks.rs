//! Has the rules examine the evidence, on all cores, and large fleets in chunks.
//!
//! A fleet of 100,000 profiles takes hundreds of megabytes, and a rule that reads all of them waits for the memory most of
//! the time. So the rules on each profile take turns on a few profiles, which then come from the processor's cache.

use std::{iter, num::NonZero, thread};

use evidence::{Evidence, ProfileHistory};

use crate::{
    judging::side_by_side::side_by_side,
    rules::{Findings, Rule},
    subjects::{Profiles, by_name, name},
};

/// How many profiles a chunk has. They take half a megabyte.
const CHUNK: usize = 100;

/// How many chunks a thread takes at a time: enough that setting out costs nothing.
const TURN: usize = 20;

/// The fewest versions and requests that several threads examine. Fewer take a few milliseconds.
pub(crate) const MANY: usize = 100;

/// What a thread does next.
enum Work<'p, 'e> {
    /// One rule, told by its place, examines everything.
    Whole(usize),
    /// The rules on each profile examine these.
    Turn(&'p [&'e ProfileHistory]),
}

/// What each of the rules finds in the evidence, in their order.
pub(crate) fn findings(rules: &[&'static Rule], evidence: &Evidence) -> Vec<Findings> {
    findings_in_chunks(rules, evidence, CHUNK)
}

/// The same, in chunks of so many profiles.
fn findings_in_chunks(rules: &[&'static Rule], evidence: &Evidence, chunk: usize) -> Vec<Findings> {
    let mut profiles = Vec::new();
    if evidence.profiles.len() > chunk {
        let named = by_name(evidence, evidence.histories()).into_iter();
        profiles.extend(named.flat_map(|profile| profile.lives));
    }
    let of_each = |place: &usize| {
        let examine = rules[*place].each_profile(evidence)?;
        (!profiles.is_empty()).then_some((*place, examine))
    };
    let (each, whole): (Vec<usize>, Vec<usize>) =
        (0..rules.len()).partition(|place| of_each(place).is_some());
    let each: Vec<_> = each.iter().filter_map(of_each).collect();
    let nothing = vec![Findings::default(); rules.len()];
    // What takes longest comes first.
    let work = whole.into_iter().map(Work::Whole);
    let work: Vec<Work> = work
        .chain(parts(&profiles, TURN * chunk).map(Work::Turn))
        .collect();
    let examine = |work: &Work| {
        let mut found = nothing.clone();
        match work {
            Work::Whole(place) => found[*place] = rules[*place].findings(evidence),
            Work::Turn(profiles) => {
                for part in parts(profiles, chunk) {
                    let chunk = Profiles::some(evidence, part);
                    for (place, examine) in &each {
                        let mut of_chunk = Findings::default();
                        examine(&chunk, &mut of_chunk);
                        found[*place].absorb(of_chunk);
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

/// Parts of so many histories, or a few more: the lives of one profile stay together.
fn parts<'p, 'e>(
    mut profiles: &'p [&'e ProfileHistory],
    size: usize,
) -> impl Iterator<Item = &'p [&'e ProfileHistory]> {
    iter::from_fn(move || {
        let mut end = size.min(profiles.len());
        while end > 0 && end < profiles.len() && name(profiles[end - 1].last()) == name(profiles[end].last())
        {
            end += 1;
        }
        let (part, rest) = profiles.split_at(end);
        profiles = rest;
        (!part.is_empty()).then_some(part)
    })
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
                if rule.each_profile(&evidence).is_none() {
                    continue;
                }
                let in_chunks = findings_in_chunks(&[rule], &evidence, FEW).remove(0).conclude();
                let whole = rule.findings(&evidence).conclude();
                assert_eq!(in_chunks, whole, "{}, example `{}`", rule.id, example.name);
                compared += 1;
            }
        }
        assert!(compared > 100, "{compared}");
    }
}
