//! An overview of all profiles or decisions, and the worst of them in detail.

use std::collections::BTreeMap;

use evidence::{Asked, Window};

use super::{
    activity::Activity,
    axis::Axis,
    detail::Detail,
    entries::{Anchor, DETAILED, Ranking},
    namespaces::{NamespaceRow, rows, whole},
    objects::Objects,
    sign::Sign,
    text::brief,
    words::Words,
};
use crate::{Report, text::number::count};

/// The most to show as cells.
const CELLS: usize = 600;

/// All objects of a role.
pub(super) struct Fleet {
    pub(super) words: &'static Words,
    /// How many there are.
    pub(super) number: String,
    pub(super) whole: NamespaceRow,
    /// A cell for each, namespace by namespace; empty where there are too many.
    pub(super) cells: Vec<(String, Vec<EntryCell>)>,
    /// The namespaces, if there are too many for cells.
    pub(super) namespaces: Vec<NamespaceRow>,
    pub(super) activity: Option<Activity>,
    /// Why there is no drawing over time.
    pub(super) undrawn: Option<String>,
    pub(super) detailed: Vec<Detail>,
    /// How many are not shown in detail.
    pub(super) hidden: Option<String>,
}

/// One in the grid.
pub(super) struct EntryCell {
    pub(super) sign: Sign,
    pub(super) title: String,
    /// Where it is shown in detail.
    pub(super) place: Option<Anchor>,
}

impl Fleet {
    /// Shows what is ranked.
    pub(super) fn of(report: &Report, objects: &Objects, ranking: &Ranking) -> Self {
        let Ranking { words, entries } = ranking;
        let axis = window(report, words).map(Axis::new);
        let detailed = entries.iter().take(DETAILED).enumerate();
        let has_cells = entries.len() <= CELLS;
        Self {
            words,
            number: count(entries.len(), words.one),
            whole: whole(entries),
            cells: if has_cells { cells(ranking) } else { Vec::new() },
            namespaces: if has_cells { Vec::new() } else { rows(entries) },
            activity: axis.as_ref().and_then(|axis| Activity::draw(ranking, axis)),
            undrawn: axis.is_none().then(|| why_undrawn(report, words)),
            detailed: detailed
                .map(|entry| Detail::of(report, objects, words, entry, axis.as_ref()))
                .collect(),
            hidden: (entries.len() > DETAILED)
                .then(|| count(entries.len() - DETAILED, &format!("more {}", words.one))),
        }
    }
}

impl Fleet {
    /// Whether one is drawn at the top of the page.
    pub(super) fn is_any_on_top(&self) -> bool {
        self.detailed.iter().any(|one| one.is_on_top)
    }
}

/// Returns the window to draw: that of the watch, else of the audit log.
fn window(report: &Report, words: &Words) -> Option<Window> {
    let evidence = report.evidence;
    let was_watched = matches!(evidence.asked(words.watched), Asked::Yes);
    let watched = was_watched.then_some(evidence.header.window).flatten();
    let requests = evidence.requests.as_ref().filter(|_| words.has_budget);
    let drawn = watched.or(requests.map(|requests| requests.covers))?;
    (drawn.seconds() > 0).then_some(drawn)
}

fn why_undrawn(report: &Report, words: &Words) -> String {
    let why = match report.evidence.asked(words.watched) {
        Asked::No(reason) if !reason.is_empty() => format!(" ({})", brief(&report.told(reason, None), 200)),
        _ => String::new(),
    };
    format!(
        "No charts of {} over time: the evidence is a single snapshot{why}. Watch the hub, for example for 30 minutes, to \
         get them.",
        words.charts
    )
}

fn cells(ranking: &Ranking) -> Vec<(String, Vec<EntryCell>)> {
    let mut cells: BTreeMap<&str, Vec<EntryCell>> = BTreeMap::new();
    for (place, entry) in ranking.entries.iter().enumerate() {
        let sign = entry.worst.sign();
        cells.entry(entry.namespace).or_default().push(EntryCell {
            sign,
            title: format!("{}: {}", entry.path(), sign.word),
            place: (place < DETAILED).then(|| Anchor::of(ranking.words, place)),
        });
    }
    cells
        .into_iter()
        .map(|(namespace, cells)| (brief(namespace, 60), cells))
        .collect()
}
