//! The spans of writes that overdraw a budget, with their writers, as findings show them.

use evidence::{Evidence, ProfileHistory};

use super::{
    log::{Key, Log, Names},
    spendable::Writers,
};
use crate::{
    shared::{
        bucket::{BUDGET, BURST, Overdraw, REFILL_SECONDS, overdrafts},
        changed_fields::changed_fields,
        writes::Write,
    },
    time::{Bucket, Events, Micros, SECOND, skew},
    who::{Seen, Tally},
};

/// The maximum number of spans that a finding shows.
const MOST: usize = 3;

/// A span of writes that overdraws a budget.
pub(super) struct Span {
    found: Overdraw,
    by: Tally,
}

impl Span {
    /// The worst spans of the writes that a log has on the profiles of a name. Steps that the watch saw tell which fields an
    /// update changed.
    pub(super) fn of_log<'a>(
        evidence: &Evidence,
        who: &Writers<'a>,
        (log, key): (&Log<'a>, Key<'a>),
        steps: &[Write<'a>],
    ) -> Vec<Self> {
        let mut spans = Vec::new();
        for life in log.lives(key) {
            for found in overdrafts(&life.writes, BUDGET) {
                let requests = &life.requests[found.places.0..=found.places.1];
                let requests = requests.iter().copied().map(Seen::Request);
                spans.push((found, requests.collect()));
            }
        }
        worst(spans, |found, requests: Vec<_>| {
            let ahead = skew(evidence);
            let (from, until) = (found.from - ahead - SECOND, found.until - ahead + SECOND);
            Tally::of(who, requests, changed_fields).with_fields_of(&within(who, steps, from, until))
        })
    }

    /// The worst spans of the steps that the watch saw on a profile.
    pub(super) fn of_steps<'a>(who: &Writers<'a>, steps: &[Write<'a>], bucket: Bucket) -> Vec<Self> {
        let events: Events = steps.iter().map(|step| step.moment).collect();
        let spans = overdrafts(&events, bucket).into_iter();
        let spans = spans.map(|found| (found, &steps[found.places.0..=found.places.1]));
        worst(spans.collect(), |_, steps: &[_]| tally(who, steps))
    }
}

/// The worst spans, each with its writers, which are asked for these only.
fn worst<T>(mut spans: Vec<(Overdraw, T)>, tally: impl Fn(&Overdraw, T) -> Tally) -> Vec<Span> {
    spans.sort_by_key(|(found, _)| (found.allowed - found.writes, found.from));
    let spans = spans.into_iter().take(MOST);
    spans
        .map(|(found, writes)| Span {
            by: tally(&found, writes),
            found,
        })
        .collect()
}

/// The writers of steps.
pub(super) fn tally<'s, 'a: 's>(who: &Writers<'a>, steps: impl IntoIterator<Item = &'s Write<'a>>) -> Tally {
    let steps = steps.into_iter().map(|step| Seen::Step(step.before, step.after));
    Tally::of(who, steps, changed_fields)
}

/// The writers of the steps that are reported in a span.
pub(super) fn within<'a>(who: &Writers<'a>, steps: &[Write<'a>], from: Micros, until: Micros) -> Tally {
    let reported = |step: &&Write| (from..=until).contains(&step.moment.reported);
    tally(who, steps.iter().filter(reported))
}

/// The steps that the watch saw on the profiles of a name.
pub(super) fn steps_of<'a>(
    names: &Names<'a>,
    key: Key<'a>,
    steps: impl Fn(&'a ProfileHistory) -> Vec<Write<'a>>,
) -> Vec<Write<'a>> {
    names
        .histories(key)
        .iter()
        .flat_map(|history| steps(history))
        .collect()
}

/// What a budget allows, and what was observed instead: the worst spans or, where their writes are not known, one of them.
pub(super) fn shown(spans: &[Span], found: &Overdraw, what: &str) -> (String, String) {
    let texts = spans
        .iter()
        .map(|span| format!("{}: {}", span.found.observed(what), span.by));
    let observed = match spans {
        [] => found.observed(what),
        _ => texts.collect::<Vec<String>>().join("; "),
    };
    let found = spans.first().map_or(found, |worst| &worst.found);
    let expected = format!(
        "{} ({BURST} at once, one more every {REFILL_SECONDS} s)",
        found.expected()
    );
    (expected, observed)
}
