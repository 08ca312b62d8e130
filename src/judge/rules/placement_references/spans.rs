//! Arithmetic on spans of time.

use crate::rules::write_time::Micros;

/// A span: its beginning and its end. One that ends when it begins is empty.
pub(super) type Span = (Micros, Micros);

/// Adds a span that begins no earlier than the last one. Spans that touch become one.
pub(super) fn add(spans: &mut Vec<Span>, span: Span) {
    add_near(spans, span, 0);
}

/// The same, and spans that are so near to each other become one, too.
pub(super) fn add_near(spans: &mut Vec<Span>, (from, until): Span, near: Micros) {
    match spans.last_mut() {
        Some(last) if from <= last.1.saturating_add(near) => last.1 = last.1.max(until),
        _ => spans.push((from, until)),
    }
}

/// The parts of `spans` that lie in one of `others`. Both are in order and apart from each other.
pub(super) fn within(spans: &[Span], others: &[Span]) -> Vec<Span> {
    let mut parts = Vec::new();
    let (mut own, mut other) = (0, 0);
    while let (Some(one), Some(two)) = (spans.get(own), others.get(other)) {
        let part = (one.0.max(two.0), one.1.min(two.1));
        if part.0 < part.1 {
            parts.push(part);
        }
        if one.1 < two.1 {
            own += 1;
        } else {
            other += 1;
        }
    }
    parts
}

/// The parts of `spans` that lie in none of `others`, which may overlap. Both are in the order of their beginnings.
pub(super) fn without(spans: &[Span], others: &[Span]) -> Vec<Span> {
    let mut between = Vec::with_capacity(others.len() + 1);
    let mut at = Micros::MIN;
    for (from, until) in others {
        if *from > at {
            between.push((at, *from));
        }
        at = at.max(*until);
    }
    between.push((at, Micros::MAX));
    within(spans, &between)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn touching_spans_become_one() {
        let mut spans = Vec::new();
        for span in [(0, 5), (5, 9), (6, 7), (12, 14)] {
            add(&mut spans, span);
        }
        assert_eq!(spans, [(0, 9), (12, 14)]);
    }

    #[test]
    fn common_parts_are_found_in_order() {
        assert_eq!(
            within(&[(0, 10), (20, 30)], &[(5, 25), (28, 40)]),
            [(5, 10), (20, 25), (28, 30)]
        );
        assert_eq!(within(&[(0, 10)], &[(10, 20)]), []);
        assert_eq!(within(&[(0, 10)], &[]), []);
    }

    #[test]
    fn what_is_taken_away_may_overlap() {
        assert_eq!(
            without(&[(0, 10), (20, 30)], &[(2, 4), (3, 6), (9, 21)]),
            [(0, 2), (6, 9), (21, 30)]
        );
        assert_eq!(without(&[(0, 10)], &[]), [(0, 10)]);
        assert_eq!(without(&[(0, 10)], &[(Micros::MIN, Micros::MAX)]), []);
        assert_eq!(without(&[(0, 10)], &[(5, 5)]), [(0, 5), (5, 10)]);
    }
}
