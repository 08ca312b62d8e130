//! Sets of time, and how long something is there in one.

use super::Micros;

/// A set of time: half-open spans, in order, apart from each other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Set(Vec<(Micros, Micros)>);

/// A stretch in which something was there again and again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stretch {
    pub(crate) from: Micros,
    pub(crate) until: Micros,
    /// For how long it was there in all.
    pub(crate) total: Micros,
    /// How many times it was there.
    pub(crate) times: usize,
}

impl Set {
    /// The time in any of the spans.
    pub(crate) fn of(spans: impl IntoIterator<Item = (Micros, Micros)>) -> Self {
        let mut spans: Vec<(Micros, Micros)> =
            spans.into_iter().filter(|(from, until)| from < until).collect();
        spans.sort_unstable();
        let mut apart: Vec<(Micros, Micros)> = Vec::with_capacity(spans.len());
        for (from, until) in spans {
            match apart.last_mut() {
                Some(last) if from <= last.1 => last.1 = last.1.max(until),
                _ => apart.push((from, until)),
            }
        }
        Self(apart)
    }

    pub(crate) fn spans(&self) -> &[(Micros, Micros)] {
        &self.0
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn length(&self) -> Micros {
        let lengths = self.0.iter().map(|(from, until)| until.saturating_sub(*from));
        lengths.fold(0, Micros::saturating_add)
    }

    pub(crate) fn or(&self, other: &Self) -> Self {
        Self::of(self.0.iter().chain(&other.0).copied())
    }

    pub(crate) fn and(&self, other: &Self) -> Self {
        let mut both = Vec::new();
        let (mut ours, mut theirs) = (self.0.iter().peekable(), other.0.iter().peekable());
        while let (Some(one), Some(two)) = (ours.peek(), theirs.peek()) {
            let (from, until) = (one.0.max(two.0), one.1.min(two.1));
            if from < until {
                both.push((from, until));
            }
            if one.1 <= two.1 {
                ours.next();
            } else {
                theirs.next();
            }
        }
        Self(both)
    }

    pub(crate) fn not(&self) -> Self {
        let mut others = Vec::with_capacity(self.0.len() + 1);
        let mut from = Micros::MIN;
        for span in &self.0 {
            others.push((from, span.0));
            from = span.1;
        }
        others.push((from, Micros::MAX));
        Self::of(others)
    }

    pub(crate) fn until(&self, end: Micros) -> Self {
        self.and(&Self::of([(Micros::MIN, end)]))
    }

    /// The stretches in which it was there for more than `d` in all and for more than half of the stretch, with no pause as
    /// long as `d`: the one meaning of "longer than the grace". Where stretches overlap, the one that ends last.
    ///
    /// More time in the set never takes the last stretch away.
    pub(crate) fn stretches(&self, d: Micros) -> Vec<Stretch> {
        let spans = self.0.chunk_by(|one, next| next.0.saturating_sub(one.1) < d);
        spans
            .filter_map(|spans| lasting_without_pause(spans, d))
            .collect()
    }

    /// Whether there is such a stretch.
    pub(crate) fn lasts(&self, d: Micros) -> bool {
        let mut spans = self.0.chunk_by(|one, next| next.0.saturating_sub(one.1) < d);
        spans.any(|spans| lasting_without_pause(spans, d).is_some())
    }
}

/// The last stretch that is longer than `d`, of spans without a pause as long as `d`. A stretch that qualifies also
/// qualifies if it begins and ends with a span, so only those are tried.
fn lasting_without_pause(spans: &[(Micros, Micros)], d: Micros) -> Option<Stretch> {
    // How long it was there before each span.
    let mut before: Vec<Micros> = Vec::with_capacity(spans.len() + 1);
    before.push(0);
    for (from, until) in spans {
        let length = until.saturating_sub(*from);
        before.push(before.last().map_or(0, |sum| sum.saturating_add(length)));
    }
    // More than half of it: twice the time there is more than the stretch is long. So the first span is best where
    // twice the time before it exceeds its beginning by the least.
    let excess = |at: usize| before[at].saturating_mul(2).saturating_sub(spans[at].0);
    let (mut best, mut tried) = (0, 0);
    let mut found = None;
    for last in 0..spans.len() {
        let total_from = |first: usize| before[last + 1].saturating_sub(before[first]);
        while tried <= last && total_from(tried) > d {
            if excess(tried) < excess(best) {
                best = tried;
            }
            tried += 1;
        }
        if tried == 0 {
            continue;
        }
        let length = spans[last].1.saturating_sub(spans[best].0);
        // Not twice the time, which may be infinite.
        if total_from(best) > length.saturating_sub(total_from(best)) {
            found = Some(Stretch {
                from: spans[best].0,
                until: spans[last].1,
                total: total_from(best),
                times: last - best + 1,
            });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn longer_than_the_grace_has_one_meaning() {
        let lasts = |spans: &[(Micros, Micros)]| Set::of(spans.iter().copied()).lasts(120);
        assert!(!lasts(&[]));
        assert!(!lasts(&[(0, 120)]), "exactly as long is not longer");
        assert!(lasts(&[(0, 121)]));
        assert!(lasts(&[(0, 110), (115, 225)]), "it came back before its grace");
        assert!(!lasts(&[(0, 110), (230, 340)]), "a pause as long as the grace");
        assert!(
            !lasts(&[(0, 50), (150, 200), (300, 350)]),
            "not for more than half"
        );
        let flaps: Vec<(Micros, Micros)> = (0..50).map(|turn| (turn * 100, turn * 100 + 10)).collect();
        assert!(!lasts(&flaps));
        let hidden: Vec<(Micros, Micros)> = flaps.iter().copied().chain([(6_000, 6_130)]).collect();
        assert!(lasts(&hidden), "an unbroken one does not hide in flapping");
        assert!(lasts(&[(Micros::MIN, Micros::MAX)]));
    }

    #[test]
    fn sets_are_joined_and_cut() {
        let one = Set::of([(5, 8), (0, 3), (3, 4)]);
        assert_eq!(one.spans(), [(0, 4), (5, 8)]);
        let other = Set::of([(2, 6)]);
        assert_eq!(one.or(&other).spans(), [(0, 8)]);
        assert_eq!(one.and(&other).spans(), [(2, 4), (5, 6)]);
        assert_eq!(
            one.not().and(&Set::of([(-1, 9)])).spans(),
            [(-1, 0), (4, 5), (8, 9)]
        );
        assert_eq!(one.not().not(), one);
    }

    /// Up to 60 moments, of which each is in the set or not.
    fn moments() -> impl Strategy<Value = Vec<bool>> {
        prop::collection::vec(prop::sample::select(vec![true, true, false]), 0..60)
    }

    fn set(moments: &[bool]) -> Set {
        let at = (0..).zip(moments).filter(|(_, is_in)| **is_in);
        Set::of(at.map(|(at, _)| (at, at + 1)))
    }

    /// By trying all stretches.
    fn lasts(moments: &[bool], d: usize) -> bool {
        let stretches =
            (0..moments.len()).flat_map(|from| (from + 1..=moments.len()).map(move |until| (from, until)));
        stretches.into_iter().any(|(from, until)| {
            let stretch = &moments[from..until];
            let total = stretch.iter().filter(|is_in| **is_in).count();
            let pauses = stretch.split(|is_in| *is_in).map(<[bool]>::len);
            total > d && 2 * total > stretch.len() && pauses.max() < Some(d.max(1))
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2_000) })]

        #[test]
        fn the_quick_way_finds_what_all_stretches_show(moments in moments(), d in 1_usize..12) {
            prop_assert_eq!(set(&moments).lasts(d as Micros), lasts(&moments, d));
        }

        #[test]
        fn more_time_takes_no_stretch_away(moments in moments(), more in moments(), d in 1_i64..12) {
            let (set, more) = (set(&moments), set(&more));
            if set.lasts(d) {
                prop_assert!(set.or(&more).lasts(d));
            }
        }
    }
}
