//! Evaluates a value that must not change as long as an object exists.

use std::ptr;

use evidence::{History, Version, api::ClusterProfile};

use super::{
    Evaluate, Hub,
    author::{Author, NOTHING_RECORDED},
    judged::JudgedObject,
};
use crate::{
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

impl Value {
    /// A value at a path.
    pub(crate) fn new(path: impl Into<String>, value: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            value: value.into(),
        }
    }
}

/// A rule on a value of each profile. Versions without the value are no change, and neither is what a gap hides.
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

/// The values that a profile has had.
struct KnownValue<'e> {
    /// The value by the implementation, or the first one.
    own: Value,
    /// The last value, by any client.
    last: String,
    /// The last version with a value.
    at: &'e Version,
}

impl Stable {
    /// A change counts whoever made it.
    pub(crate) fn anyone(mut self) -> Self {
        self.is_anyone = true;
        self
    }

    /// The value may change when this one does.
    pub(crate) fn within(mut self, scope: fn(&ClusterProfile) -> Option<&str>) -> Self {
        self.within = Some(scope);
        self
    }

    fn judge<'e>(
        &self,
        hub: &Hub<'e>,
        object: &JudgedObject<'e, ClusterProfile>,
        life: &'e History<ClusterProfile>,
        findings: &mut Findings,
    ) {
        let mut known: Option<KnownValue> = None;
        let mut is_examined = false;
        for version in object.judged_versions(life) {
            known = known.filter(|known| self.is_of_one_scope(known.at, version));
            let Some(value) = (self.value)(&version.object) else {
                continue;
            };
            is_examined = true;
            let known = known.get_or_insert_with(|| KnownValue {
                own: value.clone(),
                last: value.value.clone(),
                at: version,
            });
            known.at = version;
            let last = std::mem::replace(&mut known.last, value.value.clone());
            // Another client may have changed the value, and the implementation restored it.
            let is_changed = value.value != last && value.value != known.own.value;
            if is_changed && self.judge_change(hub, life, version, (&known.own, &value), findings) {
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
    fn judge_change<'e>(
        &self,
        hub: &Hub<'e>,
        life: &'e History<ClusterProfile>,
        version: &'e Version,
        (old, new): (&Value, &Value),
        findings: &mut Findings,
    ) -> bool {
        let timeline = Timeline::of_name(hub.evidence, &[life]);
        let mut changes = timeline.changes();
        let change = changes.find(|change| change.after.is_some_and(|after| ptr::eq(after, version)));
        let Some(change) = change else { return false };
        if change.is_over_gap && self.within.is_some() {
            findings.cannot_tell("the value changed while the watch was interrupted");
            return false;
        }
        if !self.is_anyone {
            match hub.profile_authors().of_change(&change, &new.path).author {
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
            Finding::on(&version.object, self.message)
                .at(&new.path)
                .expected(&old.value)
                .observed(&new.value),
        );
        true
    }
}

impl Evaluate for Stable {
    fn evaluate(&self, hub: &Hub, findings: &mut Findings) {
        for object in hub.profiles() {
            for life in &object.lives {
                self.judge(hub, object, life, findings);
            }
        }
    }

    fn judges_published_objects(&self) -> bool {
        true
    }
}
