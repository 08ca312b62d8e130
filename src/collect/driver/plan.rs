//! The plan of a driver: which scenarios, with which members and timeouts.

use std::{collections::BTreeMap, fmt, path::PathBuf, sync::Arc, time::Duration};

use evidence::{
    DriverAction, ObjectKey,
    runs::{RUN_ID_LENGTH, RUN_ID_LETTERS},
};
use ring::rand::{SecureRandom, SystemRandom};

use super::{
    hooks::{Hooks, Offer},
    journal::Journal,
};

/// How long the implementation may take to answer, where the driver file does not say.
pub const PATIENCE: Duration = Duration::from_secs(120);
/// With how many members the scale scenario tries a fleet of stand-ins, where the driver file does not say.
pub const MEMBERS: usize = 50;
/// The most members that the scale scenario tries: each has a stand-in of its own, and a hook that runs.
pub(super) const MOST_MEMBERS: usize = 1_000;
/// How many of them join at once, where the driver file does not say.
pub const AT_ONCE: usize = 10;

/// What the implementation is to be made to do, and by what.
#[derive(Clone)]
pub struct DriverPlan {
    /// The id of the run: what it creates bears it, and the names of its members hold it.
    pub run: String,
    /// What makes the implementation act.
    pub hooks: Arc<dyn Hooks>,
    /// Where members come from.
    pub fleet: Fleet,
    /// How long the implementation may take to answer.
    pub patience: Patience,
    /// The scale scenario; none: it is left out.
    pub scale: Option<Scale>,
    /// The namespace that the run may create and delete; none if it must not.
    pub own_namespace: Option<String>,
    /// Whether the run may write to profiles of its own members, and put one of its own beside.
    pub mutations: bool,
    /// Where it is written down what is to be undone; none where the hub goes with the run.
    pub journal: Option<Arc<Journal>>,
}

/// Where members come from.
#[derive(Clone)]
pub enum Fleet {
    /// The run offers stand-ins.
    StandIns(Arc<dyn Offer>),
    /// The join hook makes them. An upgrade takes them to that version.
    Made(Option<String>),
    /// They are the implementer's own. An upgrade takes them to that version.
    Own(Vec<OwnMember>, Option<String>),
}

/// A member of the implementer's own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnMember {
    /// Its name.
    pub name: String,
    /// The file of its kubeconfig.
    pub kubeconfig: Option<PathBuf>,
    /// Its profile, where its name does not tell.
    pub profile: Option<ObjectKey>,
}

/// How long the implementation may take to answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Patience {
    /// To what is not named.
    pub usual: Duration,
    /// To some actions.
    pub to: BTreeMap<DriverAction, Duration>,
}

/// The scale scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    /// How many members.
    pub members: usize,
    /// How many of them join, or leave, at once.
    pub at_once: usize,
}

impl Patience {
    /// How long the implementation may take to answer an action.
    pub(super) fn with(&self, action: DriverAction) -> Duration {
        self.to.get(&action).copied().unwrap_or(self.usual)
    }
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            usual: PATIENCE,
            to: BTreeMap::new(),
        }
    }
}

impl Default for Scale {
    fn default() -> Self {
        Self {
            members: MEMBERS,
            at_once: AT_ONCE,
        }
    }
}

impl fmt::Debug for DriverPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DriverPlan")
            .field("run", &self.run)
            .field("patience", &self.patience)
            .field("scale", &self.scale)
            .field("mutations", &self.mutations)
            .finish_non_exhaustive()
    }
}

/// A new run's id: short, a valid part of a name and of a label's value, and no word.
pub fn new_run_id() -> String {
    let mut random = [0; RUN_ID_LENGTH];
    SystemRandom::new()
        .fill(&mut random)
        .expect("the random source works");
    random
        .iter()
        .map(|byte| char::from(RUN_ID_LETTERS[usize::from(*byte) % RUN_ID_LETTERS.len()]))
        .collect()
}
