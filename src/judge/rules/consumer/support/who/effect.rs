//! What a write did to what only a producer publishes.

use std::{cell::OnceCell, ops::Range};

use evidence::{Evidence, History, Origin, Request};
use jiff::Timestamp;

use super::logged::{Judged, creates, served_at};
use crate::rules::consumer::support::time::{
    LATE, Micros, SECOND, SERVERS_APART, is_log_broken, known_skew, missed,
};

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
    evidence: &'a Evidence,
    /// All writes that the log has.
    writes: Vec<&'a Request>,
    /// All versions that the watch saw.
    histories: &'a [&'a History<T>],
    /// Whether two versions differ in what is published.
    differ: fn(&T, &T) -> bool,
    steps: OnceCell<Option<Steps<'a>>>,
}

/// What the watch saw of the writes, by the runner's clock. No deletion is among them.
struct Steps<'a> {
    /// In the order of their arrival.
    all: Vec<Step<'a>>,
    /// When all versions of all writes that made one were seen.
    seen: Vec<Seen>,
}

/// A span in which all versions of its writes were seen.
struct Seen {
    span: Range<Micros>,
    /// Whether there are as many as writes, so that each of these made one.
    are_as_many: bool,
}

/// A write that may have made a version, other than by a deletion.
struct Sent<'a> {
    at: Micros,
    by: &'a str,
    /// Whether the log says that it did.
    made_one: bool,
}

/// A change of an object.
struct Step<'a> {
    at: Micros,
    /// Whether it changed what is published.
    differs: bool,
    /// The only user who can have made it.
    by: Option<&'a str>,
}

impl<'a, T: Judged> Observed<'a, T> {
    pub(crate) fn of(
        evidence: &'a Evidence,
        writes: Vec<&'a Request>,
        histories: &'a [&'a History<T>],
        differ: fn(&T, &T) -> bool,
    ) -> Self {
        Self {
            evidence,
            writes,
            histories,
            differ,
            steps: OnceCell::new(),
        }
    }

    /// What one of these writes did. The body of a patch tells, unless it holds labels, of which only some are published; the
    /// body of an update holds all of the object. Else the changes tell that the watch saw.
    pub(crate) fn effect(&self, write: &Request) -> Effect {
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
        self.as_seen(write)
    }

    /// What a write did as the watch saw it: what no other user can have done, or what all changes did of which one is the
    /// write's. Two that fight answer each other sooner than a watch tells, and each of their changes is one of theirs.
    fn as_seen(&self, write: &Request) -> Effect {
        let Some(steps) = self.steps.get_or_init(|| self.steps()) else {
            return Effect::Unknown;
        };
        let sent = served_at(self.evidence, write);
        let may_be_its = steps.within(shown(sent, 0));
        let mut own = may_be_its.iter().filter(|step| step.by == Some(&*write.user));
        if own.any(|step| step.differs) {
            return Effect::Changed;
        }
        let span = shown(sent, SERVERS_APART);
        let mut seen = steps.seen.iter();
        let Some(seen) = seen.find(|seen| seen.span.start <= span.start && span.end <= seen.span.end) else {
            return Effect::Unknown;
        };
        let may_be_its = steps.within(span);
        let made_one = write.changed == Some(true) || seen.are_as_many;
        match may_be_its.first() {
            Some(first) if may_be_its.iter().any(|step| step.differs != first.differs) => Effect::Unknown,
            Some(first) if !first.differs => Effect::Kept,
            Some(_) if made_one => Effect::Changed,
            _ => Effect::Unknown,
        }
    }

    /// What the watch saw of the writes; none if nobody knows how far the clocks are apart.
    fn steps(&self) -> Option<Steps<'a>> {
        let skew = known_skew(self.evidence)?;
        let mut writes: Vec<Sent> = Vec::new();
        for write in &self.writes {
            if write.changed != Some(false) && !creates(write) && !write.verb.starts_with("delete") {
                writes.push(Sent {
                    at: served_at(self.evidence, write),
                    by: &write.user,
                    made_one: write.changed == Some(true),
                });
            }
        }
        writes.sort_by_key(|write| write.at);
        let mut all: Vec<Step> = Vec::new();
        for (before, after) in self.histories.iter().flat_map(|history| history.steps()) {
            let is_going = |object: &T| object.metadata().deletion_timestamp.is_some();
            if is_going(&after.object) && !is_going(&before.object) {
                continue;
            }
            let at = after.received().as_microsecond();
            let is_one_write = !self.was_missed(after.received(), after.received())
                && !is_log_broken(self.evidence, at - LATE, at + LATE);
            all.push(Step {
                at,
                differs: (self.differ)(&before.object, &after.object),
                by: only_user(&writes, at).filter(|_| is_one_write),
            });
        }
        all.sort_by_key(|step| step.at);
        let mut steps = Steps {
            all,
            seen: Vec::new(),
        };
        let is_seen = |write: &&Sent| self.was_whole(&shown(write.at, SERVERS_APART));
        let seen: Vec<&Sent> = writes.iter().filter(is_seen).collect();
        // Writes that are further apart show in other versions.
        let span_of =
            |first: Micros, last: Micros| shown(first, SERVERS_APART).start..shown(last, SERVERS_APART).end;
        for chain in
            seen.chunk_by(|one, other| span_of(one.at, one.at).end >= span_of(other.at, other.at).start)
        {
            let (Some(first), Some(last)) = (chain.first(), chain.last()) else {
                continue;
            };
            let span = span_of(first.at, last.at);
            let made = steps.within(span.clone()).len();
            let may_show = |write: &&Sent| {
                let shown = shown(write.at, SERVERS_APART);
                shown.start <= span.end && shown.end >= span.start
            };
            let are_as_many = made == writes.iter().filter(may_show).count() && self.was_logged(&span, skew);
            if made >= chain.iter().filter(|write| write.made_one).count() {
                steps.seen.push(Seen { span, are_as_many });
            }
        }
        Some(steps)
    }

    /// Whether the watch saw all that these objects were in a span, but for a first list.
    fn was_whole(&self, span: &Range<Micros>) -> bool {
        let listed = self
            .histories
            .iter()
            .filter(|history| history.origin == Origin::Listed);
        let mut listed =
            listed.filter_map(|history| Some(history.versions.first()?.received().as_microsecond()));
        let (from, until) = (timestamp(span.start), timestamp(span.end));
        !listed.any(|at| (span.start..=span.end).contains(&at))
            && !self.was_missed(from, until)
            && self.goes_on_until(until)
    }

    /// Whether nobody watched at some time of a closed span. At the end of a gap, a version has the changes of all who wrote
    /// meanwhile.
    fn was_missed(&self, from: Timestamp, until: Timestamp) -> bool {
        let metadata = self.histories.first().map(|history| history.last().metadata());
        let name = metadata.map(|metadata| (&*metadata.namespace, &*metadata.name));
        name.is_some_and(|name| missed::<T>(self.evidence, Some(name), from, until).is_some())
    }

    /// Whether the log has all writes of a span.
    fn was_logged(&self, span: &Range<Micros>, skew: Micros) -> bool {
        let covers = T::requests(self.evidence).map(|requests| requests.covers);
        let is_covered = covers.is_some_and(|covers| {
            let (from, until) = (covers.from.as_microsecond(), covers.until.as_microsecond());
            from.saturating_sub(skew) <= span.start && until.saturating_sub(skew) >= span.end
        });
        is_covered && !is_log_broken(self.evidence, span.start, span.end)
    }

    /// Whether the watch went on until a time.
    fn goes_on_until(&self, at: Timestamp) -> bool {
        let window = self.evidence.header.window;
        window.is_some_and(|window| window.until >= at)
    }
}

impl Steps<'_> {
    /// Those that the watch showed in a closed span.
    fn within(&self, span: Range<Micros>) -> &[Step<'_>] {
        let from = self.all.partition_point(|step| step.at < span.start);
        let until = self.all.partition_point(|step| step.at <= span.end);
        self.all.get(from..until).unwrap_or_default()
    }
}

/// The user of all writes of which one may have made a version that was seen then.
fn only_user<'a>(writes: &[Sent<'a>], seen: Micros) -> Option<&'a str> {
    let from = writes.partition_point(|write| shown(write.at, 0).end < seen);
    let may_be_its = writes.get(from..).unwrap_or_default().iter();
    let mut may_be_its = may_be_its.take_while(|write| shown(write.at, 0).start <= seen);
    let user = may_be_its.next()?.by;
    may_be_its.all(|other| other.by == user).then_some(user)
}

/// When the watch may show a write that was sent at a time, by the runner's clock, which may be `apart` further off.
fn shown(sent: Micros, apart: Micros) -> Range<Micros> {
    sent.saturating_sub(SECOND + apart)..sent.saturating_add(LATE + apart)
}

fn timestamp(at: Micros) -> Timestamp {
    Timestamp::from_microsecond(at).unwrap_or(Timestamp::MAX)
}
