//! What most evaluators and rule functions use.

pub(crate) use std::collections::{BTreeMap, BTreeSet};

pub(crate) use evidence::{
    DriverAction, DriverStep, Evidence, History, Kind, ObjectKey, ObjectRef, ProfileHistory, Reason,
    ReasonId, Request, Tracked, Version,
    api::{ClusterProfile, Edition, ObjectKind, PlacementDecision, Role},
    parse_time,
};
pub(crate) use jiff::Timestamp;

pub(crate) use super::{Answer, Attribution, Author, Evaluate, Hub, Judged, JudgedObject};
pub(crate) use crate::{
    hash::{HashMap, HashSet},
    subjects::{Finding, Findings},
    text::{counted, listed, redacted},
    time::{Edge, Micros, SECOND, end, known_skew, timestamp},
    timeline::{Certainty, Timeline},
};
