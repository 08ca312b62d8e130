//! A profile's status writes against its token bucket, drawn from the rule's own count.

use judge::rules::{BURST, Draw, REFILL_SECONDS, Source, Spending};

use super::{
    axis::{Axis, Tick},
    text::place,
};
use crate::text::number::count;

/// Where the drawing begins and ends, from above.
const TOP: f64 = 14.0;
const BOTTOM: f64 = 134.0;

/// More writes than this are drawn by columns.
const DRAWN: usize = 400;

/// The drawing.
pub(super) struct Bucket {
    /// The level over time, as a path.
    pub(super) level: String,
    /// The writes, as a path of strokes below the level.
    pub(super) writes: String,
    /// The writes that overdrew the bucket.
    pub(super) overdrawn: Vec<Mark>,
    /// Heights with a name.
    pub(super) heights: Vec<Height>,
    /// Where the bucket is empty.
    pub(super) empty: String,
    /// How deep the part below that is.
    pub(super) debt: String,
    pub(super) ticks: Vec<Tick>,
    /// The drawing in words.
    pub(super) told: String,
}

/// A write that is marked.
pub(super) struct Mark {
    pub(super) x: String,
    pub(super) y: String,
    pub(super) title: String,
}

/// A height with a name.
pub(super) struct Height {
    pub(super) y: String,
    pub(super) name: String,
}

impl Bucket {
    /// Draws one bucket.
    pub(super) fn draw(spending: &Spending, axis: &Axis) -> Self {
        let lowest = spending
            .draws
            .iter()
            .map(|draw| draw.left)
            .fold(0.0, f64::min)
            .floor();
        let scale = Scale { lowest };
        let drawn = seen(&spending.draws, axis);
        let mut heights = vec![
            Height::of(&scale, BURST as f64, format!("full: {BURST} writes")),
            Height::of(&scale, 0.0, "empty: 0".to_owned()),
        ];
        if lowest < 0.0 {
            heights.push(Height::of(&scale, lowest, format!("{} over", -lowest)));
        }
        Self {
            level: level(&drawn, axis, &scale),
            writes: drawn
                .iter()
                .map(|draw| format!("M{} {}v6", place(axis.x(draw.at)), BOTTOM + 3.0))
                .collect(),
            overdrawn: drawn
                .iter()
                .filter(|draw| draw.is_too_much())
                .map(|draw| Mark {
                    x: place(axis.x(draw.at)),
                    y: place(scale.y(draw.left)),
                    title: format!(
                        "{}: write over budget, by {:.1}",
                        axis.describe(draw.at),
                        -draw.left
                    ),
                })
                .collect(),
            heights,
            empty: place(scale.y(0.0)),
            debt: place(BOTTOM - scale.y(0.0)),
            ticks: axis.ticks(),
            told: describe(spending, axis, drawn.len()),
        }
    }
}

impl Height {
    fn of(scale: &Scale, left: f64, name: String) -> Self {
        Self {
            y: place(scale.y(left)),
            name,
        }
    }
}

/// From what is left to a height.
struct Scale {
    lowest: f64,
}

impl Scale {
    fn y(&self, left: f64) -> f64 {
        let full = BURST as f64;
        TOP + (BOTTOM - TOP) * (full - left.clamp(self.lowest, full)) / (full - self.lowest)
    }
}

/// Selects the writes to draw. With very many, it keeps two for each column: the one that leaves least, and the last
/// one, from which the bucket refills.
fn seen(draws: &[Draw], axis: &Axis) -> Vec<Draw> {
    if draws.len() <= DRAWN {
        return draws.to_vec();
    }
    let column = |draw: &Draw| (axis.x(draw.at) / 2.0) as i64;
    let columns = draws.chunk_by(|one, other| column(one) == column(other));
    let kept = columns.flat_map(|column| {
        let places = 0..column.len();
        let lowest = places.min_by(|one, other| column[*one].left.total_cmp(&column[*other].left));
        let last = column.len() - 1;
        let lowest = lowest.filter(|lowest| *lowest != last);
        lowest.into_iter().chain([last]).map(|place| column[place])
    });
    kept.collect()
}

/// Draws the level: full at first, one less with each write, slowly refilled.
fn level(draws: &[Draw], axis: &Axis, scale: &Scale) -> String {
    let full = BURST as f64;
    let mut path = format!("M{} {}", place(axis.x(axis.from())), place(scale.y(full)));
    let mut line = |x: f64, left: f64| path += &format!("L{} {}", place(x), place(scale.y(left)));
    let (mut left, mut since) = (full, 0.0);
    let until = axis.since(axis.until());
    let ends = draws.iter().map(|draw| (axis.since(draw.at), Some(draw.left)));
    for (at, after) in ends.chain([(until, None)]) {
        let wait = (full - left) * REFILL_SECONDS as f64;
        let begin = axis.x(axis.from());
        let x = |seconds: f64| begin + (axis.x(axis.until()) - begin) * (seconds / until).clamp(0.0, 1.0);
        if since + wait < at {
            line(x(since + wait), full);
            line(x(at), full);
        } else {
            let earned = left + (at - since) / REFILL_SECONDS as f64;
            line(x(at), after.map_or(earned, |after| (after + 1.0).min(full)));
        }
        if let Some(after) = after {
            line(x(at), after);
            (left, since) = (after, at);
        }
    }
    path
}

fn describe(spending: &Spending, axis: &Axis, drawn: usize) -> String {
    let draws = &spending.draws;
    let by = match spending.source {
        Source::AuditLog => "from the audit log",
        Source::Watch => "from the watch",
    };
    let mut told = format!(
        "{}, {by}. The budget is {BURST} writes at once, and one more every {REFILL_SECONDS} s. ",
        count(draws.len(), "status write")
    );
    let lowest = draws.iter().min_by(|one, other| one.left.total_cmp(&other.left));
    let overdrawn = draws.iter().filter(|draw| draw.is_too_much());
    match (overdrawn.clone().next(), lowest) {
        (Some(first), Some(lowest)) => {
            told += &format!(
                "{} over budget (marked ✕), first at {}; at worst {:.1} writes over, at {}.",
                count(overdrawn.count(), "write"),
                axis.describe(first.at),
                -lowest.left,
                axis.describe(lowest.at)
            );
        }
        (None, Some(lowest)) => {
            told += &format!(
                "Never over budget: at least {:.1} writes are left, at {}.",
                lowest.left,
                axis.describe(lowest.at)
            );
        }
        _ => {}
    }
    if drawn < draws.len() {
        told += &format!(
            " The drawing shows {}: where writes are close together, only the worst and the last.",
            count(drawn, "write")
        );
    }
    told
}

#[cfg(test)]
mod tests {
    use evidence::Window;
    use jiff::{SignedDuration, Timestamp};

    use super::*;

    fn drawing(draws: &[(i64, f64)]) -> Bucket {
        let from = Timestamp::UNIX_EPOCH;
        let second = |seconds| from + SignedDuration::from_secs(seconds);
        let axis = Axis::new(Window {
            from,
            until: second(730),
        });
        let draws = draws
            .iter()
            .map(|(at, left)| Draw {
                at: second(*at),
                left: *left,
            })
            .collect();
        let spending = Spending {
            source: Source::Watch,
            draws,
        };
        Bucket::draw(&spending, &axis)
    }

    #[test]
    fn the_level_passes_through_what_each_write_left() {
        let drawing = drawing(&[(100, 9.0), (100, 8.0), (130, 8.0)]);
        // One unit is twelve pixels, and a second is one.
        assert_eq!(
            drawing.level,
            "M150.0 14.0L150.0 14.0L250.0 14.0L250.0 26.0L250.0 26.0L250.0 38.0L280.0 26.0L280.0 38.0\
             L340.0 14.0L880.0 14.0"
        );
        assert_eq!(drawing.writes.matches('M').count(), 3);
        assert!(drawing.overdrawn.is_empty());
        assert!(
            drawing
                .told
                .contains("Never over budget: at least 8.0 writes are left"),
            "{}",
            drawing.told
        );
    }

    #[test]
    fn each_overdraw_is_marked_where_it_is() {
        let drawing = drawing(&[(10, 0.0), (10, -1.0), (20, -1.7)]);
        let marks: Vec<_> = drawing
            .overdrawn
            .iter()
            .map(|mark| (&*mark.x, &*mark.y))
            .collect();
        assert_eq!(marks, [("160.0", "124.0"), ("170.0", "131.0")]);
        assert_eq!(drawing.empty, "114.0");
        assert!(drawing.overdrawn[1].title.contains("00:00:20 UTC (+20 s)"));
        assert!(drawing.told.contains("2 writes over budget"), "{}", drawing.told);
    }

    #[test]
    fn the_last_write_of_a_column_tells_from_where_the_bucket_is_refilled() {
        let mut writes: Vec<_> = (0..500).map(|_| (100, 0.0)).collect();
        writes.extend([(100, -1.0), (101, 9.0)]);
        let drawing = drawing(&writes);
        assert!(drawing.level.contains("L250.0 134.0"), "{}", drawing.level);
        assert!(drawing.level.ends_with("L880.0 14.0"), "{}", drawing.level);
        assert!(
            drawing.told.contains("The drawing shows 2 writes"),
            "{}",
            drawing.told
        );
    }

    #[test]
    fn ten_thousand_writes_keep_the_worst_of_each_column() {
        let writes: Vec<_> = (0..10_000).map(|n| (n * 73 / 1000, -(n as f64))).collect();
        let drawing = drawing(&writes);
        // Two for each column of two pixels.
        assert!(drawing.overdrawn.len() <= 740 && drawing.level.len() < 40_000);
        assert!(drawing.told.contains("9999.0 writes over"), "{}", drawing.told);
    }
}
