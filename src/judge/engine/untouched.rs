//! What the implementation did to an object that it should leave alone for some time.

use evidence::{DriverStep, History, ObjectRef, Reason, Tracked};

use super::{
    Answer, Hub, Judged,
    author::Author,
    driver_steps::{cut_short, missed_after, observed_until, to_the_second},
    judged::key,
};
use crate::{
    subjects::Finding,
    text::by,
    time::{LATE, Micros, timestamp},
    timeline::{Change, Timeline},
};

/// An object that the implementation should leave alone after a driver's action.
pub(crate) struct Untouched<T> {
    /// The part in which two versions differ, if the implementation must not change it.
    pub(crate) changed: fn(&T, &T) -> Option<&'static str>,
    /// The message if it was changed.
    pub(crate) message_changed: &'static str,
    /// The message if it was deleted.
    pub(crate) message_deleted: &'static str,
}

/// The reason for no verdict if a change may have been made before the driver's action.
const REPORTED_LATE: &str = "perhaps before the driver's action: a watch reports a change up to 10 s late";

/// The time after a driver's action.
struct Span<'s> {
    taken: &'s DriverStep,
    from: Micros,
    until: Micros,
    is_created_by_run: bool,
}

/// An object with the moments between which it should be left alone.
pub(crate) struct Guarded<'o, 'e, T> {
    /// Its histories.
    pub(crate) lives: &'o [&'e History<T>],
    /// From when on.
    pub(crate) from: Micros,
    /// Until when, at most; the run may stop watching before.
    pub(crate) until: Option<Micros>,
    /// Whether the run created the object, so that no change by the implementation is too early to count.
    pub(crate) is_created_by_run: bool,
}

impl<T: Judged> Untouched<T> {
    /// Kept if the implementation neither changed nor deleted any of the objects while the run watched; not applicable
    /// without any object.
    pub(crate) fn judge<'e>(
        &self,
        hub: &Hub<'e>,
        taken: &DriverStep,
        guarded: &[Guarded<'_, 'e, T>],
    ) -> Answer {
        let observed = observed_until(hub.evidence, taken).as_microsecond();
        let mut answer = Answer::NotApplicable;
        let mut unobserved = None;
        for object in guarded {
            let span = Span {
                taken,
                from: object.from,
                until: object.until.unwrap_or(Micros::MAX).min(observed),
                is_created_by_run: object.is_created_by_run,
            };
            answer = answer.and(self.of_object(hub, object.lives, &span));
            unobserved = unobserved.or_else(|| why_unobserved(hub, object.lives[0].last(), &span));
        }
        match (answer, unobserved) {
            (Answer::Kept, Some(reason)) => Answer::Unknown(reason),
            (answer, _) => answer,
        }
    }

    /// Kept if the implementation leaves alone what the run created for another implementation, since the end of the action,
    /// or since the creation if the run replaced the object in the action.
    pub(crate) fn judge_created(&self, hub: &Hub, taken: &DriverStep, created: Option<&ObjectRef>) -> Answer {
        let Some(created) = created else {
            return Answer::Unknown("the object that the run created is unknown".into());
        };
        let replaced = taken.profile.as_ref().filter(|before| before.uid != created.uid);
        let is_created = |life: &&History<T>| {
            key(life) == (&*created.namespace, &*created.name)
                && replaced.is_none_or(|before| before.uid != *life.last().metadata().uid)
        };
        let lives: Vec<&History<T>> = T::histories(hub.evidence).iter().filter(is_created).collect();
        if lives.is_empty() {
            return Answer::Unknown(format!("the watch never showed {created}").into());
        }
        let guarded = Guarded {
            lives: &lives,
            from: replaced.map_or(taken.until, |_| taken.from).as_microsecond(),
            until: None,
            is_created_by_run: true,
        };
        self.judge(hub, taken, &[guarded])
    }

    fn of_object<'e>(&self, hub: &Hub<'e>, lives: &[&'e History<T>], span: &Span) -> Answer {
        let timeline = Timeline::of_name(hub.evidence, lives);
        let is_within = |change: &Change<'e, T>| span.from < change.at.latest && change.seen_at < span.until;
        let changes = timeline.changes();
        let changes = changes.filter(|change| is_within(change) && !change.is_over_gap);
        Answer::each(changes, |change| self.of_change(hub, &change, span)).or_kept()
    }

    fn of_change<'e>(&self, hub: &Hub<'e>, change: &Change<'e, T>, span: &Span) -> Answer {
        let Some(before) = change.before.map(|version| &version.object) else {
            return Answer::Kept;
        };
        let authors = T::authors(hub);
        let after = change.after.map(|version| &version.object);
        let (object, path, at) = match after.filter(|after| !after.is_terminating()) {
            None if before.is_terminating() => return Answer::Kept,
            None => {
                let at = authors.deleted_at(change.life, change.at);
                (before, "metadata.name", at.unwrap_or(change.at))
            }
            Some(after) => match (self.changed)(before, after) {
                Some(part) => (after, part, change.at),
                None => return Answer::Kept,
            },
        };
        let is_deletion = path == "metadata.name";
        let (message, verb) = if is_deletion {
            (self.message_deleted, "deleted")
        } else {
            (self.message_changed, "changed")
        };
        let attribution = authors.of_change(change, path);
        let by_whom = by(&attribution.names);
        let seen_at = to_the_second(timestamp(change.seen_at));
        let finding = Finding::on(object.object_ref(), message)
            .at(path)
            .expected(span.expected())
            .observed(format!("{verb} at {seen_at}{by_whom}"));
        // Nothing but an audit log shows who deleted an object.
        let is_hint = is_deletion && T::log(hub.evidence).is_none();
        match attribution.author {
            Author::Run | Author::Other => Answer::Kept,
            _ if at.latest < span.from => Answer::Kept,
            Author::Unknown(_) if is_hint => Answer::warning(finding),
            Author::Implementation if span.is_created_by_run => Answer::broken(finding),
            _ if at.earliest < span.from => {
                Answer::Unknown(format!("{message}{by_whom}, {REPORTED_LATE}").into())
            }
            Author::Implementation => Answer::broken(finding),
            Author::Unknown(reason) => Answer::Unknown(reason.after(format!("{message}{by_whom}"))),
        }
    }
}

impl Span<'_> {
    fn expected(&self) -> String {
        let [from, until] = [self.from, self.until].map(|at| to_the_second(timestamp(at)));
        format!("untouched from {from} until {until}")
    }
}

/// Whether other clients own fields of an object in two versions.
pub(crate) fn has_other_owners<T: Tracked>(before: &T, after: &T) -> bool {
    before.metadata().writers != after.metadata().writers
}

/// Why the run cannot know that nothing happened to the object, if so.
fn why_unobserved<T: Tracked>(hub: &Hub, object: &T, span: &Span) -> Option<Reason> {
    cut_short(hub.evidence, span.taken).or_else(|| {
        let metadata = object.metadata();
        let name = (&*metadata.namespace, &*metadata.name);
        let times = (timestamp(span.from), timestamp(span.until.saturating_add(LATE)));
        missed_after::<T>(hub.evidence, Some(name), span.taken, times)
    })
}
