//! What the page says of the objects of a role: profiles, or decisions.

use evidence::{
    Kind, Tracked as _,
    api::{ClusterProfile, ObjectKind, PlacementDecision, Role},
};

use super::state::State;

/// The words for the objects of a role, and the names of their sections.
pub(super) struct Words {
    /// One of them; more with an `s`. Ids of the page begin with it.
    pub(super) one: &'static str,
    /// The same, at the beginning of a heading.
    pub(super) heading: &'static str,
    /// The section that shows all of them, and its heading.
    pub(super) overview: &'static str,
    pub(super) overview_heading: &'static str,
    /// The section of the worst of them.
    pub(super) worst: &'static str,
    /// Who publishes them.
    pub(super) publisher: &'static str,
    /// What is counted of them over time, and the same of all of them, as a heading.
    pub(super) change: &'static str,
    pub(super) changes_of_all: &'static str,
    /// What is drawn over time.
    pub(super) charts: &'static str,
    /// The states in the legend, each with its letter or word.
    pub(super) states: &'static [(State, &'static str)],
    /// Whether their changes have a budget.
    pub(super) has_budget: bool,
    /// The watch of them.
    pub(super) watched: Kind,
}

static PROFILES: Words = Words {
    one: "profile",
    heading: "Profile",
    overview: "fleet",
    overview_heading: "Fleet",
    worst: "worst",
    publisher: "Cluster manager",
    change: "status write",
    changes_of_all: "Status writes of the whole fleet",
    charts: "writes and conditions",
    states: &[
        (State::True, "T True"),
        (State::False, "F False"),
        (State::Unknown, "U Unknown"),
        (State::Absent, "– absent"),
    ],
    has_budget: true,
    watched: ClusterProfile::WATCHED,
};

static DECISIONS: Words = Words {
    one: "decision",
    heading: "Decision",
    overview: "placements",
    overview_heading: "Placements",
    worst: "worst-decisions",
    publisher: "Scheduler",
    change: "slice change",
    changes_of_all: "Slice changes of all decisions",
    charts: "slices and clusters",
    states: &[
        (State::There, "slice there, cluster chosen"),
        (State::NoSlice, "not there, not chosen"),
    ],
    has_budget: false,
    watched: PlacementDecision::WATCHED,
};

impl Words {
    /// The words for the objects of that role.
    pub(super) fn of(role: Role) -> &'static Self {
        match role.objects() {
            ObjectKind::ClusterProfile => &PROFILES,
            ObjectKind::PlacementDecision => &DECISIONS,
        }
    }
}
