//! Evaluates a value that must not change as long as an object exists.

use std::{ops::Range, ptr};

use evidence::{Evidence, History, Version, api::ClusterProfile};

use super::{
    Evaluate, EvaluatePart, Hub,
    author::{Author, NOTHING_RECORDED},
    judged::JudgedObject,
};
use crate::{
    rules::Facts,
    subjects::{Finding, Findings},
    timeline::Timeline,
};

/// A value of a profile, with its path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Value {
    /// Where it is.
    pub(crate) path: String,
    /// What it is; never empty.
    pub(crate) value: String,
}

/// A rule on a value of each profile. Versions without the value are no change, and neither is what a gap hides.
#[derive(Debug)]
pub(crate) struct Stable {
    value: fn(&ClusterProfile) -> Option<Value>,
    /// The value may change with this one; none if it must not change at all.
    within: Option<fn(&ClusterProfile) -> Option<&str>>,
    /// Whether it does not matter who changed the value.
    is_anyone: bool,
    message: &'static str,
}

/// The last value that was not empty never changes within one uid. `message` says what is wrong otherwise.
pub(crate) fn stable(value: fn(&ClusterProfile) -> Option<Value>, message: &'static str) -> Stable {
    Stable {
        value,
        within: None,
        is_anyone: false,
        message,
    }
}

impl Stable {
    /// A change counts whoever made it.
    pub(crate) fn anyone(self) -> Self {
        Self {
            is_anyone: true,
            ..self
        }
    }

    /// The value may change when this one does.
    pub(crate) fn within(self, scope: fn(&ClusterProfile) -> Option<&str>) -> Self {
        Self {
            within: Some(scope),
            ..self
        }
    }

    fn judge_all<'e>(
        &self,
        hub: &Hub<'e>,
        objects: &[JudgedObject<'e, ClusterProfile>],
        findings: &mut Findings,
    ) {
        for object in objects {
            for life in &object.lives {
                self.judge(hub, object, life, findings);
            }
        }
    }

    fn judge<'e>(
        &self,
        hub: &Hub<'e>,
        object: &JudgedObject<'e, ClusterProfile>,
        life: &'e History<ClusterProfile>,
        findings: &mut Findings,
    ) {
        let mut known: Option<Known> = None;
        let mut is_examined = false;
        for version in life
            .versions
            .iter()
            .filter(|version| object.judges(version.received()))
        {
            known = known.filter(|known| self.is_of_one_scope(known.at, version));
            let Some(value) = (self.value)(&version.object) else {
                continue;
            };
            is_examined = true;
            let Some(known) = &mut known else {
                known = Some(Known::first(value, version));
                continue;
            };
            let last = std::mem::replace(&mut known.last, value.value.clone());
            known.at = version;
            // Another client may have changed the value, and the implementation restored it.
            if value.value == last || value.value == known.own.value {
                continue;
            }
            let change = ValueChange {
                life,
                after: version,
                old: &known.own,
                new: &value,
            };
            if self.judge_change(hub, &change, findings) {
                known.own = value;
            }
        }
        if is_examined {
            findings.examine();
        }
    }

    fn is_of_one_scope(&self, before: &Version, after: &Version) -> bool {
        self.within.is_none_or(|scope| {
            let old = scope(&before.object);
            old.is_some() && old == scope(&after.object)
        })
    }

    /// Reports a change by the implementation. Returns whether it made the change.
    fn judge_change<'e>(&self, hub: &Hub<'e>, change: &ValueChange<'e, '_>, findings: &mut Findings) -> bool {
        let timeline = Timeline::of_name(hub.evidence, &[change.life]);
        let made = timeline
            .changes()
            .find(|made| made.after.is_some_and(|after| ptr::eq(after, change.after)));
        let Some(made) = made else { return false };
        if made.is_over_gap && self.within.is_some() {
            findings.cannot_tell(OVER_GAP);
            return false;
        }
        if !self.is_anyone {
            let attribution = hub.profile_authors().of_change(&made, &change.new.path);
            match attribution.author {
                Author::Implementation => {}
                // Without any record of writers, the judged implementation is the only known one.
                Author::Unknown(reason) if reason == NOTHING_RECORDED => {}
                Author::Run | Author::Other => return false,
                Author::Unknown(reason) => {
                    findings.cannot_tell(reason);
                    return false;
                }
            }
        }
        findings.report(
            Finding::on(&change.after.object, self.message)
                .at(&change.new.path)
                .expected(&change.old.value)
                .observed(&change.new.value),
        );
        true
    }
}

/// The values that a profile has had.
struct Known<'e> {
    /// The value by the implementation, or the first one.
    own: Value,
    /// The last value, by any client.
    last: String,
    /// The last version with a value.
    at: &'e Version,
}

impl<'e> Known<'e> {
    fn first(value: Value, at: &'e Version) -> Self {
        Self {
            last: value.value.clone(),
            own: value,
            at,
        }
    }
}

/// A value that differs from the last one, and from the one of the implementation.
struct ValueChange<'e, 'v> {
    life: &'e History<ClusterProfile>,
    after: &'e Version,
    old: &'v Value,
    new: &'v Value,
}

/// The reason for no verdict if the object was unobserved between two values.
const OVER_GAP: &str = "the value changed while the watch was interrupted";

impl Evaluate for Stable {
    fn evaluate(&self, hub: &Hub, findings: &mut Findings) {
        self.judge_all(hub, hub.profiles(), findings);
    }

    fn per_profile(&self, _facts: &Facts, _evidence: &Evidence) -> Option<&dyn EvaluatePart> {
        Some(self)
    }

    fn judges_published_objects(&self) -> bool {
        true
    }
}

impl EvaluatePart for Stable {
    fn evaluate_part(&self, hub: &Hub, places: Range<usize>, findings: &mut Findings) {
        self.judge_all(hub, &hub.profiles()[places], findings);
    }
}
