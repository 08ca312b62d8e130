//! Plots over time, with the finding marked: the conditions of a profile, or its status writes against the write budget.

use std::collections::BTreeSet;

use evidence::{
    ProfileHistory, Tracked as _, Version, Window,
    api::{ClusterProfile, names},
};
use jiff::{SignedDuration, Timestamp};
use judge::{
    RuleVerdict,
    rules::{BURST, Draw, Finding, REFILL_SECONDS, Spending, Spendings, WriteSource},
};

use super::display::{brief, shown};
use crate::{Coverage, Report, story::named, text::count};

/// Where the time axis begins, and its width: names are to the left of it.
const LEFT: f64 = 150.0;
const WIDTH: f64 = 730.0;

/// Above the drawing is room for the mark of the finding.
const TOP: f64 = 22.0;
const ROW: f64 = 24.0;
const BUDGET: f64 = 120.0;

/// The most conditions of a plot.
const ROWS: usize = 8;

/// The width of a letter, in pixels.
const LETTER: f64 = 7.0;

/// The possible distances of ticks in seconds, and the most ticks.
const STEPS: [i64; 16] = [
    1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 14_400, 43_200, 86_400, 604_800,
];
const TICKS: i64 = 8;

#[derive(Default)]
pub(super) struct Plot {
    pub(super) title: &'static str,
    pub(super) summary: String,
    /// The conditions; empty for a plot of writes.
    pub(super) rows: Vec<Row>,
    pub(super) budget: Option<Budget>,
    /// The times without a watch.
    pub(super) gaps: Vec<Bar>,
    /// The version of the finding.
    pub(super) mark: Option<Mark>,
    pub(super) ticks: Vec<Mark>,
    /// Where the drawing ends, in pixels from the top.
    pub(super) bottom: f64,
}

pub(super) struct Row {
    pub(super) name: String,
    pub(super) y: f64,
    pub(super) bars: Vec<Bar>,
}

#[derive(Default)]
pub(super) struct Bar {
    pub(super) x: String,
    pub(super) width: String,
    pub(super) class: &'static str,
    pub(super) label: String,
    pub(super) title: String,
}

pub(super) struct Mark {
    pub(super) x: String,
    pub(super) title: String,
}

/// The write budget of a profile over time.
pub(super) struct Budget {
    /// How many writes are left, as a path.
    pub(super) level: String,
    /// Where no write is left, in pixels from the top.
    pub(super) empty: String,
    /// The writes over the budget, each with its place from the top.
    pub(super) over: Vec<(Mark, String)>,
}

struct Axis(Window);

impl Axis {
    fn since(&self, at: Timestamp) -> f64 {
        at.duration_since(self.0.from).as_secs_f64()
    }

    fn seconds(&self) -> f64 {
        self.since(self.0.until).max(1.0)
    }

    /// The place of a time; times outside of the axis go to the nearer end.
    fn x(&self, at: Timestamp) -> f64 {
        self.x_of_second(self.since(at))
    }

    fn x_of_second(&self, second: f64) -> f64 {
        LEFT + WIDTH * (second / self.seconds()).clamp(0.0, 1.0)
    }

    fn ticks(&self) -> Vec<Mark> {
        let all = self.seconds() as i64;
        let step = STEPS
            .into_iter()
            .find(|step| all / step <= TICKS)
            .unwrap_or(all / TICKS + 1);
        let seconds = (0..=all / step).map(|number| number * step);
        seconds
            .map(|second| Mark {
                x: pixels(self.x_of_second(second as f64)),
                title: format!("+{}", span(second)),
            })
            .collect()
    }

    fn describe(&self, at: Timestamp) -> String {
        format!(
            "{} UTC (+{})",
            at.strftime("%H:%M:%S"),
            span(self.since(at).max(0.0) as i64)
        )
    }

    fn bar(&self, from: Timestamp, until: Timestamp) -> Bar {
        let (x, end) = (self.x(from), self.x(until));
        Bar {
            x: pixels(x),
            width: pixels((end - x).max(1.0)),
            ..Bar::default()
        }
    }
}

impl Plot {
    /// Plots what a finding is about; `None` if that is neither a condition nor writes over the budget, or without a
    /// watch.
    pub(super) fn of(
        report: &Report,
        spendings: &Spendings,
        verdict: &RuleVerdict,
        finding: &Finding,
    ) -> Option<Self> {
        let object = &finding.object;
        if object.kind != names::KIND {
            return None;
        }
        let evidence = report.evidence;
        let watched = Coverage::of(report).watched;
        let window = watched.or(evidence.requests.as_ref().map(|requests| requests.covers));
        let axis = Axis(window.filter(|window| window.seconds() > 0)?);
        let histories = named(&evidence.profiles, object);
        let mut plot = if let Some(path) = finding.path.strip_prefix("status.conditions") {
            conditions(&histories, path, &axis).filter(|_| watched.is_some())?
        } else if verdict.rule.suite() == "updates" {
            let spendings = spendings.of_profile(&object.namespace, &object.name);
            writes(spendings.iter().rfind(|spending| spending.is_overdrawn())?, &axis)
        } else {
            return None;
        };
        let gaps = evidence
            .gaps
            .concerning(ClusterProfile::WATCHED, &object.namespace, &object.name);
        plot.gaps = gaps
            .take(ROWS)
            .map(|gap| {
                let (from, until) = (gap.from.unwrap_or(axis.0.from), gap.until.unwrap_or(axis.0.until));
                Bar {
                    title: format!(
                        "not observed, from {}: {}",
                        axis.describe(from),
                        shown(&gap.reason)
                    ),
                    ..axis.bar(from, until)
                }
            })
            .collect();
        let versions = histories.iter().flat_map(|history| &history.versions);
        let of_finding = versions
            .rev()
            .find(|version| version.object.metadata.resource_version == object.resource_version);
        plot.mark = of_finding.and_then(|version| version.at).map(|at| Mark {
            x: pixels(axis.x(at)),
            title: format!("the finding, at {}", axis.describe(at)),
        });
        Some(plot)
    }
}

/// Plots the condition of a path, for example `[Joined].status`, or all conditions.
fn conditions(histories: &[&ProfileHistory], path: &str, axis: &Axis) -> Option<Plot> {
    let of_path = path.strip_prefix('[').and_then(|path| path.split_once(']'));
    let is_own = |kind: &&str| of_path.is_none_or(|(kind_of_path, _)| kind_of_path == *kind);
    let versions = histories.iter().flat_map(|history| &history.versions);
    let conditions = versions.flat_map(|version| version.object.status.conditions.iter());
    let kinds: BTreeSet<&str> = conditions
        .map(|condition| &*condition.kind)
        .filter(is_own)
        .collect();
    if kinds.is_empty() {
        return None;
    }
    let mut summary = Vec::new();
    let mut rows = Vec::new();
    for (place, kind) in kinds.into_iter().take(ROWS).enumerate() {
        let states = states(histories, kind);
        let (_, last) = states.last()?;
        summary.push(format!(
            "{}: {}, at the end {last}",
            brief(kind, 60),
            count(states.len() - 1, "change")
        ));
        rows.push(Row {
            name: brief(kind, 20),
            y: TOP + ROW * place as f64,
            bars: bars(&states, axis),
        });
    }
    Some(Plot {
        title: "Conditions over time",
        summary: summary.join(". "),
        ticks: axis.ticks(),
        bottom: TOP + ROW * rows.len() as f64,
        rows,
        ..Plot::default()
    })
}

/// The states of a condition, each with its beginning, for example `False (NoAnswer)`.
fn states(histories: &[&ProfileHistory], kind: &str) -> Vec<(Timestamp, String)> {
    let mut states: Vec<(Timestamp, String)> = Vec::new();
    for history in histories {
        let of_version = |version: &Version| {
            let mut conditions = version.object.status.conditions.iter();
            let state = match conditions.find(|condition| *condition.kind == *kind) {
                None => "absent".to_owned(),
                Some(condition) if condition.reason.is_empty() => brief(&condition.status, 60),
                Some(condition) => format!(
                    "{} ({})",
                    brief(&condition.status, 60),
                    brief(&condition.reason, 60)
                ),
            };
            (version.received(), state)
        };
        states.extend(history.versions.iter().map(of_version));
        states.extend(history.deleted.map(|at| (at, "absent".to_owned())));
    }
    states.sort_by_key(|(at, _)| *at);
    states.dedup_by(|(_, next), (_, last)| next == last);
    states
}

/// Draws states as bars. Of those that are narrower than a pixel, only the first is drawn.
fn bars(states: &[(Timestamp, String)], axis: &Axis) -> Vec<Bar> {
    let mut drawn = -1.0;
    let ends = states.iter().skip(1).map(|(at, _)| *at).chain([axis.0.until]);
    let mut bars = Vec::new();
    for ((from, state), until) in states.iter().zip(ends) {
        let from = (*from).max(axis.0.from);
        let x = axis.x(from);
        if axis.x(until) - x < 1.0 && x - drawn < 1.0 {
            continue;
        }
        drawn = x;
        let fits = axis.x(until) - x > LETTER * (state.chars().count() as f64 + 1.0);
        let class = match state.split(' ').next() {
            Some("True") => "c-true",
            Some("False") => "c-false",
            Some("absent") => "c-absent",
            _ => "c-unknown",
        };
        bars.push(Bar {
            class,
            label: if fits { state.clone() } else { String::new() },
            title: format!(
                "{state} from {} for {}",
                axis.describe(from),
                span(until.duration_since(from).as_secs())
            ),
            ..axis.bar(from, until)
        });
    }
    bars
}

/// Plots the writes of a profile against the budget, as the rule counts them.
fn writes(spending: &Spending, axis: &Axis) -> Plot {
    let draws = &spending.draws;
    let full = BURST as f64;
    let lowest = draws.iter().map(|draw| draw.left).fold(0.0, f64::min);
    let y = |tokens: f64| TOP + BUDGET * (full - tokens.clamp(lowest, full)) / (full - lowest);
    let mut level = format!("M{} {}", pixels(LEFT), pixels(y(full)));
    let mut line = |second: f64, tokens: f64| {
        level += &format!("L{} {}", pixels(axis.x_of_second(second)), pixels(y(tokens)))
    };
    let (mut tokens, mut since) = (full, 0.0);
    let ends = lowest_of_pixel(draws, axis)
        .into_iter()
        .map(|draw| (axis.since(draw.at), Some(draw.left)));
    for (at, after) in ends.chain([(axis.seconds(), None)]) {
        let full_at = since + (full - tokens) * REFILL_SECONDS as f64;
        if full_at < at {
            line(full_at, full);
        }
        let before = (tokens + (at - since) / REFILL_SECONDS as f64).min(full);
        line(at, before);
        if let Some(after) = after {
            line(at, after);
            (tokens, since) = (after, at);
        }
    }
    let over: Vec<Draw> = draws.iter().filter(|draw| draw.is_too_much()).copied().collect();
    let source = match spending.source {
        WriteSource::AuditLog => "from the audit log",
        WriteSource::Watch => "from the watch",
    };
    let mut summary = format!(
        "{}, {source}. The budget is {BURST} writes in a burst, and one more every {REFILL_SECONDS} s",
        count(draws.len(), "status write")
    );
    if let Some(first) = over.first() {
        let (number, at) = (count(over.len(), "write"), axis.describe(first.at));
        summary += &format!(
            ". {number} over budget (marked ✕), first at {at}; at worst {:.1} writes over",
            -lowest
        );
    }
    let cross = |draw: Draw| {
        let mark = Mark {
            x: pixels(axis.x(draw.at)),
            title: format!(
                "{}: write over budget, by {:.1}",
                axis.describe(draw.at),
                -draw.left
            ),
        };
        (mark, pixels(y(draw.left)))
    };
    let budget = Budget {
        level,
        empty: pixels(y(0.0)),
        over: lowest_of_pixel(&over, axis).into_iter().map(cross).collect(),
    };
    Plot {
        title: "Status writes against the budget",
        summary,
        budget: Some(budget),
        ticks: axis.ticks(),
        bottom: TOP + BUDGET,
        ..Plot::default()
    }
}

/// The writes that leave least in each pixel of the axis.
fn lowest_of_pixel(draws: &[Draw], axis: &Axis) -> Vec<Draw> {
    let pixel = |draw: &Draw| axis.x(draw.at) as i64;
    let pixels = draws.chunk_by(|one, next| pixel(one) == pixel(next));
    let lowest = pixels.filter_map(|draws| draws.iter().min_by(|one, other| one.left.total_cmp(&other.left)));
    lowest.copied().collect()
}

/// A length of time, for example `2m 5s`.
pub(super) fn span(seconds: i64) -> String {
    format!("{:#}", SignedDuration::from_secs(seconds))
}

fn pixels(place: f64) -> String {
    format!("{place:.1}")
}
