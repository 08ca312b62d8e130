//! When there was no object of a name.

use evidence::{Asked, Evidence, History, Origin, Tracked};

use super::{Timeline, While};
use crate::time::{Gaps, LATE, Micros, Set};

/// When there was no object of that namespace and name, by all of its lives, if it had any. The first list, which was read
/// by `listed`, showed that there was none, unless it showed one. What came and went within a gap, nobody saw.
pub(crate) fn absent<'e, T: Tracked>(
    evidence: &'e Evidence,
    (namespace, name): (&str, &str),
    lives: &[&'e History<T>],
    listed: Micros,
) -> While {
    let window = evidence.header.window;
    let window = window.filter(|_| matches!(evidence.asked(T::WATCHED), Asked::Yes));
    let gaps = match window {
        Some(_) => Gaps::of::<T>(evidence, namespace, name),
        None => Gaps::default(),
    };
    let lost = gaps.lost();
    let gaps = Set::of(gaps.spans().iter().copied());
    let seen = |from: Micros, until: Micros| Set::of([(from, until)]);
    if lives.is_empty() {
        let window_end = window.map_or(Micros::MAX, |window| window.until.as_microsecond());
        let settled = evidence.header.settled;
        let settled = settled.filter(|_| window.is_some() && evidence.was_awaited::<T>(namespace, name));
        let settled = settled.map(|settled| settled.until.as_microsecond());
        // What came after the window ends what was open when it ended.
        let came = evidence.later_of::<T>(namespace, name).first();
        let came = came
            .filter(|_| settled.is_some())
            .map(|life| life.versions[0].received().as_microsecond());
        let end = came.or(settled).unwrap_or(window_end);
        return While {
            sure: seen(listed, came.map_or(end, |came| came.saturating_sub(LATE))).and(&lost.not()),
            possible: seen(Micros::MIN, came.unwrap_or(Micros::MAX)),
            told: seen(listed, end).and(&gaps.not()),
            hidden: seen(Micros::MIN, listed).or(&lost),
            end,
            is_open: came.is_none(),
        };
    }
    let timeline = Timeline::of(evidence, lives);
    let mut absent = timeline.absent();
    let is_later = lives.iter().all(|life| life.origin != Origin::Listed);
    let is_relisted = lives.iter().any(|life| life.origin == Origin::Relisted);
    let first = timeline.runs().iter().find(|run| run.seen_at > Micros::MIN);
    if let Some(first) = first.filter(|_| is_later) {
        // A later list shows what may have come in the gap before it.
        let mut before = gaps.spans().iter().rev().filter(|_| is_relisted);
        let gap = before.find(|(from, _)| *from < first.seen_at);
        let came = gap.map_or(Micros::MAX, |(from, _)| *from);
        let sure = seen(listed, first.from.earliest.min(came)).and(&lost.not());
        absent.sure = absent.sure.or(&sure);
        let told = seen(listed, first.seen_at.min(came)).and(&gaps.not());
        absent.told = absent.told.or(&told);
        let hidden = seen(listed, first.from.latest).and(&lost.not());
        absent.hidden = absent.hidden.and(&hidden.not());
    }
    absent
}
