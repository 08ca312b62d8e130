//! An overview of the fleet, and its worst profiles in detail.

use std::collections::BTreeMap;

use evidence::{Asked, Kind, Window};

use super::{
    activity::Activity,
    axis::Axis,
    namespaces::{NamespaceRow, rows, whole},
    objects::Objects,
    profiles::{DETAILED, Entry, ProfileView},
    sign::Sign,
    text::brief,
};
use crate::{Coverage, Report, text::number::count};

/// The most profiles to show as cells.
const CELLS: usize = 600;

/// All profiles.
pub(super) struct Fleet {
    /// How many there are.
    pub(super) profiles: String,
    pub(super) whole: NamespaceRow,
    /// A cell for each profile, namespace by namespace; empty where there are too many.
    pub(super) cells: Vec<(String, Vec<ProfileCell>)>,
    /// The namespaces, if there are too many profiles for cells.
    pub(super) namespaces: Vec<NamespaceRow>,
    pub(super) activity: Option<Activity>,
    /// Why there is no drawing over time.
    pub(super) undrawn: Option<String>,
    pub(super) detailed: Vec<ProfileView>,
    /// How many are not shown in detail.
    pub(super) hidden: Option<String>,
}

/// A profile in the grid.
pub(super) struct ProfileCell {
    pub(super) sign: Sign,
    pub(super) title: String,
    /// Its place among those that are shown in detail.
    pub(super) place: Option<usize>,
}

impl Fleet {
    /// Shows the ranked profiles.
    pub(super) fn of(report: &Report, objects: &Objects, entries: &[Entry]) -> Self {
        let axis = window(report).map(Axis::new);
        let detailed = entries.iter().take(DETAILED).enumerate();
        let has_cells = entries.len() <= CELLS;
        Self {
            profiles: count(entries.len(), "profile"),
            whole: whole(entries),
            cells: if has_cells { cells(entries) } else { Vec::new() },
            namespaces: if has_cells { Vec::new() } else { rows(entries) },
            activity: axis.as_ref().and_then(|axis| Activity::draw(entries, axis)),
            undrawn: axis.is_none().then(|| why_undrawn(report)),
            detailed: detailed
                .map(|(place, entry)| ProfileView::of(report, objects, entry, place, axis.as_ref()))
                .collect(),
            hidden: (entries.len() > DETAILED).then(|| count(entries.len() - DETAILED, "more profile")),
        }
    }
}

impl Fleet {
    /// Whether a profile is drawn at the top of the page.
    pub(super) fn is_any_on_top(&self) -> bool {
        self.detailed.iter().any(|profile| profile.is_on_top)
    }
}

/// Returns the window to draw: that of the watch, else of the audit log.
fn window(report: &Report) -> Option<Window> {
    let requests = report.evidence.requests.as_ref();
    let watched = Coverage::of(report).watched;
    let drawn = watched.or(requests.map(|requests| requests.covers))?;
    (drawn.seconds() > 0).then_some(drawn)
}

fn why_undrawn(report: &Report) -> String {
    let why = match report.evidence.asked(Kind::Timeline) {
        Asked::No(reason) if !reason.is_empty() => format!(" ({})", brief(&report.told(reason, None), 200)),
        _ => String::new(),
    };
    format!(
        "No charts of writes and conditions over time: the evidence is a single snapshot{why}. Watch the hub, for example \
         for 30 minutes, to get them."
    )
}

fn cells(entries: &[Entry]) -> Vec<(String, Vec<ProfileCell>)> {
    let mut cells: BTreeMap<&str, Vec<ProfileCell>> = BTreeMap::new();
    for (place, entry) in entries.iter().enumerate() {
        let sign = entry.worst.sign();
        cells.entry(entry.namespace).or_default().push(ProfileCell {
            sign,
            title: format!("{}: {}", entry.path(), sign.word),
            place: (place < DETAILED).then_some(place),
        });
    }
    cells
        .into_iter()
        .map(|(namespace, cells)| (brief(namespace, 60), cells))
        .collect()
}
