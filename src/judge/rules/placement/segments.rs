//! The parts of a version's life that the watch confirms.

use evidence::Gap;

use crate::time::{Micros, span_of};

/// A span in which a version is known to have existed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::rules) struct Segment {
    pub(in crate::rules) from: Micros,
    pub(in crate::rules) until: Micros,
    /// Whether the watch missed the time before it.
    pub(in crate::rules) after_gap: bool,
}

/// The spans of gaps, in order. A gap without a beginning or an end goes on for ever there.
pub(in crate::rules) fn spans<'e>(gaps: impl Iterator<Item = &'e Gap>) -> Vec<(Micros, Micros)> {
    let mut spans: Vec<(Micros, Micros)> = gaps.map(span_of).collect();
    spans.sort_unstable();
    spans
}

/// The known parts of the span in which a version existed: at least one, which may be empty.
pub(in crate::rules) fn segments(gaps: &[(Micros, Micros)], from: Micros, until: Micros) -> Vec<Segment> {
    let mut segments = Vec::new();
    let (mut at, mut after_gap) = (from, false);
    for (start, stop) in gaps
        .iter()
        .filter(|(start, stop)| *stop >= from && *start <= until)
    {
        if *start > at {
            segments.push(Segment {
                from: at,
                until: *start,
                after_gap,
            });
        }
        at = at.max(*stop);
        after_gap = true;
    }
    if at < until || segments.is_empty() {
        segments.push(Segment {
            from: at.min(until),
            until,
            after_gap,
        });
    }
    segments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_cuts_and_what_follows_it_is_marked() {
        let spans = |gaps: &[(Micros, Micros)]| -> Vec<(Micros, Micros, bool)> {
            segments(gaps, 10, 20)
                .iter()
                .map(|segment| (segment.from, segment.until, segment.after_gap))
                .collect()
        };
        assert_eq!(spans(&[]), [(10, 20, false)]);
        assert_eq!(spans(&[(1, 9), (21, 30)]), [(10, 20, false)]);
        assert_eq!(spans(&[(12, 15)]), [(10, 12, false), (15, 20, true)]);
        assert_eq!(spans(&[(5, 10)]), [(10, 20, true)]);
        assert_eq!(spans(&[(18, 40)]), [(10, 18, false)]);
        assert_eq!(spans(&[(0, 40)]), [(20, 20, true)]);
    }
}
