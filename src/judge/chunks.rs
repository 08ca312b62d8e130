//! Has the rules examine the evidence, on all cores, and large fleets in chunks.
//!
//! A fleet of 100,000 profiles takes hundreds of megabytes, and a rule that reads all of them waits for the memory most of
//! the time. So the rules that look at one profile at a time take turns on a few profiles, which then come from the
//! processor's cache.

use std::{iter, num::NonZero, thread};

use evidence::{Evidence, ProfileHistory};

use crate::{
    excerpt::Excerpt,
    rules::{Division, Findings, Rule},
    side_by_side::side_by_side,
    subjects::{name, profiles},
};

/// How many profiles a chunk has. They take half a megabyte.
const CHUNK: usize = 100;

/// How many profiles a thread takes at a time: enough that setting out costs nothing.
const TURN: usize = 20 * CHUNK;

/// The fewest versions and requests that several threads examine. Fewer take a few milliseconds.
pub(crate) const MANY: usize = 100;

/// What a thread does next.
enum Work<'e> {
    /// One rule, told by its place, examines everything.
    Whole(usize),
    /// The rules that look at one profile at a time examine these.
    Turn(&'e [&'e ProfileHistory]),
}

/// What each of the rules finds in the evidence, in their order.
pub(crate) fn findings(rules: &[&'static Rule], evidence: &Evidence) -> Vec<Findings> {
    let chunked = Chunked::of(rules, evidence);
    let whole = (0..rules.len()).filter(|place| !chunked.has(*place));
    let profiles = if chunked.rules.is_empty() {
        Vec::new()
    } else {
        by_name(evidence)
    };
    // What takes longest comes first.
    let work = whole
        .map(Work::Whole)
        .chain(parts(&profiles, TURN).map(Work::Turn));
    let work: Vec<Work> = work.collect();
    let found = side_by_side(&work, threads(evidence), |work| match work {
        Work::Whole(place) => vec![(*place, rules[*place].findings(evidence))],
        Work::Turn(profiles) => chunked.examine(profiles),
    });
    let mut totals = vec![Findings::default(); rules.len()];
    for (place, found) in chunked.of_none().chain(found.into_iter().flatten()) {
        totals[place].absorb(found);
    }
    totals
}

/// The rules that look at one profile at a time.
struct Chunked {
    rules: Vec<OneByOne>,
    /// Evidence without profiles.
    none: Excerpt,
}

/// A rule that looks at one profile at a time.
struct OneByOne {
    place: usize,
    rule: &'static Rule,
    /// What it says of no profile at all.
    of_none: Findings,
}

impl Chunked {
    /// None of the rules if the fleet is small, or if a driver changed it: what came of its steps is told by all profiles.
    fn of(rules: &[&'static Rule], evidence: &Evidence) -> Self {
        let is_chunked = evidence.profiles.len() > CHUNK && evidence.driver.is_none();
        let looks_at_one =
            |rule: &Rule| matches!(rule.division(evidence), Division::Profiles) && !remembers_much(rule);
        let mut none = Excerpt::default();
        if is_chunked {
            none.renew(evidence);
        }
        let one_by_one = rules
            .iter()
            .copied()
            .enumerate()
            .filter(|(_, rule)| is_chunked && looks_at_one(rule))
            .map(|(place, rule)| OneByOne {
                place,
                rule,
                of_none: rule.findings(none.as_of(None)),
            })
            .collect();
        Self {
            rules: one_by_one,
            none,
        }
    }

    fn has(&self, place: usize) -> bool {
        self.rules.iter().any(|one| one.place == place)
    }

    fn of_none(&self) -> impl Iterator<Item = (usize, Findings)> {
        self.rules.iter().map(|one| (one.place, one.of_none.clone()))
    }

    /// What each rule finds in these profiles, beyond what it says of none.
    fn examine(&self, profiles: &[&ProfileHistory]) -> Vec<(usize, Findings)> {
        let mut excerpt = self.none.clone();
        let mut totals: Vec<_> = self
            .rules
            .iter()
            .map(|one| (one.place, Findings::default()))
            .collect();
        for chunk in parts(profiles, CHUNK) {
            excerpt.hold(chunk.iter().copied());
            for (one, (_, total)) in self.rules.iter().zip(&mut totals) {
                total.absorb(one.rule.findings(excerpt.as_of(None)).without(&one.of_none));
            }
        }
        totals
    }
}

/// The histories of all profiles. A profile that was deleted and made again has its lives beside each other.
fn by_name(evidence: &Evidence) -> Vec<&ProfileHistory> {
    let profiles = profiles(evidence, evidence.profiles.iter()).into_iter();
    profiles.flat_map(|profile| profile.lives).collect()
}

/// Parts of so many histories, or a few more: the lives of one profile stay together.
fn parts<'s, 'e>(
    mut profiles: &'s [&'e ProfileHistory],
    size: usize,
) -> impl Iterator<Item = &'s [&'e ProfileHistory]> {
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

/// Whether a rule examines once what many profiles share, at such a cost that all profiles should share it: it parses
/// certificates.
fn remembers_much(rule: &Rule) -> bool {
    matches!(
        rule.id,
        "access/ca-data-is-certificates" | "access/ca-data-current"
    )
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

    /// The evidence of an example with its profiles repeated under other names until they are more than two chunks.
    fn many(example: &Example) -> Evidence {
        let mut evidence = example.evidence().clone();
        let few = std::mem::take(&mut evidence.profiles);
        let turns = (0..=2 * CHUNK).flat_map(|turn| few.iter().map(move |history| (turn, history.clone())));
        let many = turns.take(2 * CHUNK + 1).map(|(turn, mut history)| {
            for version in &mut history.versions {
                let metadata = &mut version.object.metadata;
                metadata.name = format!("{}-{turn}", metadata.name).into();
            }
            history
        });
        evidence.profiles = many.collect();
        evidence
    }

    #[test]
    fn chunks_give_what_a_pass_over_all_profiles_gives() {
        let mut compared = 0;
        for rule in rules::all() {
            for example in Example::of(rule).expect("examples") {
                let evidence = many(&example);
                if !Chunked::of(&[rule], &evidence).has(0) {
                    continue;
                }
                let in_chunks = findings(&[rule], &evidence).remove(0).conclude();
                let whole = rule.findings(&evidence).conclude();
                assert_eq!(in_chunks, whole, "{}, example `{}`", rule.id, example.name);
                compared += 1;
            }
        }
        assert!(compared > 300, "{compared}");
    }

    #[test]
    fn rules_that_compare_profiles_judge_all_at_once() {
        let rule = rules::find("identity/name-unique").expect("a rule");
        let example = Example::of(rule).expect("examples").remove(0);
        assert!(!Chunked::of(&[rule], &many(&example)).has(0));
    }
}
