//! What a write did to what only a producer publishes.

use evidence::{Evidence, History, Kind, Request};
use jiff::Timestamp;

use super::logged::{Judged, creates};
use crate::time::{LATE, Micros, SECOND, SERVERS_APART, known_skew, missed};

/// What a write did to what only a producer publishes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// It made the object, which takes nothing from anybody.
    Created,
    /// It changed what is published.
    Changed,
    /// It deleted the object.
    Deleted,
    /// It left what is published as it was.
    Kept,
    /// The evidence does not tell.
    Unknown,
}

/// The objects of one name: what the log and the watch hold of them.
pub(crate) struct Observed<'a, T> {
    pub(crate) evidence: &'a Evidence,
    /// All writes that the log has.
    pub(crate) writes: &'a [&'a Request],
    /// All versions that the watch saw.
    pub(crate) histories: &'a [&'a History<T>],
}

impl<T: Judged> Observed<'_, T> {
    /// What one of these writes did. The body of a patch tells, unless it holds labels, of which only some are published; the
    /// body of an update holds all of the object. Else a change that the watch saw tells, if no other user can have made it.
    pub(crate) fn effect(&self, write: &Request, differ: fn(&T, &T) -> bool) -> Effect {
        if write.changed == Some(false) {
            return Effect::Kept;
        } else if creates(write) {
            return Effect::Created;
        } else if write.verb.starts_with("delete") {
            return Effect::Deleted;
        }
        let body = write.body.as_ref().filter(|_| &*write.verb == "patch");
        let mut parts = body.into_iter().flat_map(|body| &body.parts);
        if parts.clone().any(|part| T::is_published(part)) {
            return Effect::Changed;
        } else if body.is_some() && !parts.any(|part| part == "metadata.labels") {
            return Effect::Kept;
        }
        self.as_seen(write, differ)
    }

    /// What a write did as the watch saw it.
    fn as_seen(&self, write: &Request, differ: fn(&T, &T) -> bool) -> Effect {
        let Some(skew) = known_skew(self.evidence) else {
            return Effect::Unknown;
        };
        let sent = write.at.as_microsecond().saturating_sub(skew);
        let steps = self.histories.iter().flat_map(|history| history.steps());
        let (mut is_any, mut is_kept) = (false, true);
        for (before, after) in steps.filter(|(_, after)| may_show(sent, after.at, SERVERS_APART)) {
            let differs = differ(&before.object, &after.object);
            let mut others = self.writes.iter().filter(|other| other.user != write.user);
            let may_be_another_s = others.any(|other| {
                let sent = other.at.as_microsecond().saturating_sub(skew);
                may_show(sent, after.at, 0)
            });
            let is_one_write = !self.was_missed(after.at, after.at) && self.is_logged(after.at);
            if differs && is_one_write && !may_be_another_s && may_show(sent, after.at, 0) {
                return Effect::Changed;
            }
            is_any = true;
            is_kept &= !differs;
        }
        let shown_from = timestamp(sent - SECOND - SERVERS_APART);
        let shown_by = timestamp(sent.saturating_add(LATE + SERVERS_APART));
        let is_whole = !self.was_missed(shown_from, shown_by) && self.goes_on_until(shown_by);
        if is_any && is_kept && is_whole {
            Effect::Kept
        } else {
            Effect::Unknown
        }
    }

    /// Whether nobody watched at some time of a closed span. At the end of a gap, a version has the changes of all who wrote
    /// meanwhile.
    fn was_missed(&self, from: Timestamp, until: Timestamp) -> bool {
        let names = self.histories.iter().map(|history| history.last().metadata());
        let mut names = names.map(|metadata| (&*metadata.namespace, &*metadata.name));
        names.any(|name| missed::<T>(self.evidence, Some(name), from, until).is_some())
    }

    /// Whether the log has no hole at a time, in which another user may have written.
    fn is_logged(&self, seen: Timestamp) -> bool {
        let seen = seen.as_microsecond();
        let mut holes = self.evidence.gaps(Kind::Requests);
        !holes.any(|hole| {
            let from = hole.from.map_or(Micros::MIN, Timestamp::as_microsecond);
            let until = hole.until.map_or(Micros::MAX, Timestamp::as_microsecond);
            from <= seen.saturating_add(LATE) && until >= seen.saturating_sub(LATE)
        })
    }

    /// Whether the watch went on until a time.
    fn goes_on_until(&self, at: Timestamp) -> bool {
        let window = self.evidence.header.window;
        window.is_some_and(|window| window.until >= at)
    }
}

/// Whether a version that the watch showed may be of a write that was sent at a time, by the runner's clock, which may be
/// `apart` further off.
fn may_show(sent: Micros, seen: Timestamp, apart: Micros) -> bool {
    let late = seen.as_microsecond().saturating_sub(sent);
    (-SECOND - apart..=LATE + apart).contains(&late)
}

fn timestamp(at: Micros) -> Timestamp {
    Timestamp::from_microsecond(at).unwrap_or(Timestamp::MAX)
}
