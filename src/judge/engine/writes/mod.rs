//! Evaluates a function on all writes to one object, each with its author.

mod budget;
mod by_name;
#[cfg(test)]
mod laws;

use std::cell::OnceCell;

pub(crate) use self::budget::BUDGET;
pub use self::budget::{BURST, Draw, REFILL_SECONDS, Spending, Spendings, WriteSource};
use self::by_name::{WritesToName, writes_by_name};
use super::{Value, author::creates, change::changed_fields};
use crate::{engine::prelude::*, time::LATE, timeline::ObservedChange};

/// The writes that a rule counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CountedWrites {
    /// Status writes, also those that change nothing if the audit log shows them.
    Status,
    /// All writes that change the object.
    Changing,
    /// Changes that the watch observed, with both versions.
    Observed,
    /// Creations, updates, and patches in the audit log, also those that change nothing.
    Logged,
    /// Requests in the audit log that the hub refused, whether there is an object of the name or not.
    Refused,
}

/// A write to an object, from the audit log or from the watch.
#[derive(Clone, Debug)]
pub(crate) struct ObjectWrite<'e, T> {
    /// When it took place, or the span in which it did.
    pub(super) at: Edge,
    /// When it took place if nothing was late and no clock was wrong.
    pub(super) likely_at: Edge,
    /// The time in the evidence.
    pub(crate) reported: Micros,
    /// The request; none if the watch observed the write.
    pub(crate) request: Option<&'e Request>,
    /// What the watch observed; none for a write of the audit log.
    change: Option<ObservedChange<'e, T>>,
    /// See [`Self::changed_fields`].
    changed_fields: OnceCell<BTreeSet<String>>,
}

/// Writes by their authors, without those that are known to be another client's.
pub(crate) struct WritesByAuthor<'w, 'e, T> {
    /// Writes of the implementation, in order.
    pub(crate) own: Vec<&'w ObjectWrite<'e, T>>,
    /// Writes of unknown authors, each with the reason.
    pub(crate) unknown: Vec<(&'w ObjectWrite<'e, T>, Reason)>,
}

/// All writes to one object, in order: one uid, from its creation to its deletion.
pub(crate) struct Writes<'h, 'e, T> {
    writes_to_name: &'h WritesToName<'h, 'e, T>,
    count: CountedWrites,
    source: WriteSource,
    /// The object; none if only the audit log knows it.
    history: Option<&'e History<T>>,
    writes: Vec<ObjectWrite<'e, T>>,
    /// The field that all of them change; none for any field.
    field: Option<String>,
}

/// The reason if the audit log does not show which writes changed the object.
const NO_RESPONSES: Reason = Reason::unknown(
    "the audit log does not show which writes changed the object: log them at level RequestResponse",
);

impl<'e, T: Judged> ObjectWrite<'e, T> {
    /// The versions before and after; none for a write of the audit log.
    pub(crate) fn versions(&self) -> Option<(&'e Version<T>, &'e Version<T>)> {
        let change = self.change.as_ref()?;
        change.before.zip(change.after)
    }

    /// The fields in which both versions differ.
    fn changed_fields(&self) -> &BTreeSet<String> {
        let fields =
            |(before, after): (&Version<T>, &Version<T>)| changed_fields(&before.object, &after.object);
        self.changed_fields
            .get_or_init(|| self.versions().map(fields).unwrap_or_default())
    }

    fn is_of_status(&self) -> bool {
        match (self.request, self.versions()) {
            (Some(request), _) => request.is_status_write(),
            (None, Some((before, after))) => after.object.has_other_status(&before.object),
            (None, None) => false,
        }
    }
}

impl<'h, 'e, T: Judged> Writes<'h, 'e, T> {
    pub(crate) fn all(&self) -> &[ObjectWrite<'e, T>] {
        &self.writes
    }

    pub(crate) fn of_status(&self) -> Self {
        let writes = self.all().iter().filter(|write| write.is_of_status());
        self.only(writes.cloned().collect(), None)
    }

    /// The updates and patches, without the creation.
    pub(crate) fn of_updates(&self) -> Self {
        let is_creation = |write: &&ObjectWrite<T>| write.request.is_some_and(creates);
        let writes = self.all().iter().filter(|write| !is_creation(write));
        self.only(writes.cloned().collect(), None)
    }

    /// The writes of the implementation, and those of unknown authors.
    pub(crate) fn by_author(&self) -> WritesByAuthor<'_, 'e, T> {
        let mut by_author = WritesByAuthor {
            own: Vec::new(),
            unknown: Vec::new(),
        };
        for write in self.all() {
            match self.author(write).author {
                Author::Implementation => by_author.own.push(write),
                Author::Unknown(reason) => by_author.unknown.push((write, reason)),
                Author::Run | Author::Other => {}
            }
        }
        by_author
    }

    pub(crate) fn author(&self, write: &ObjectWrite<'e, T>) -> Attribution<'e> {
        let authors = T::authors(self.writes_to_name.hub);
        let (Some(change), Some(_)) = (&write.change, write.versions()) else {
            return match write.request {
                Some(request) if self.count == CountedWrites::Changing && request.changed.is_none() => {
                    Attribution::unknown(NO_RESPONSES)
                }
                Some(request) => authors.of_request(request),
                None => Attribution::unknown(NO_RESPONSES),
            };
        };
        let field = match &self.field {
            Some(field) => field.clone(),
            None => common_field(write.changed_fields()),
        };
        authors.of_change(change, &field)
    }

    /// The author of the object's creation, or the owner of a field if it was there from the beginning.
    pub(crate) fn creator(&self, field: &str) -> Attribution<'e> {
        match self.history {
            Some(history) => T::authors(self.writes_to_name.hub).creator(history, field),
            None => Attribution::unknown(NO_RESPONSES),
        }
    }

    /// The author of the object's deletion, and when the watch reported it; none if it was not deleted.
    pub(crate) fn deletion(&self) -> Option<(Attribution<'e>, Micros)> {
        let history = self.history?;
        let deleted = history
            .deleted
            .filter(|deleted| self.writes_to_name.judges(*deleted))?;
        let reported_at = deleted.as_microsecond();
        let edge = Edge::between(reported_at.saturating_sub(LATE), reported_at);
        Some((
            T::authors(self.writes_to_name.hub).of_deletion(history, edge),
            reported_at,
        ))
    }

    /// The versions of the object, without those after the run's first write.
    pub(crate) fn versions(&self) -> impl Iterator<Item = &'e T> {
        let versions = self.history.into_iter().flat_map(|history| &history.versions);
        let versions = versions.filter(|version| self.writes_to_name.judges(version.received()));
        versions.map(|version| &version.object)
    }

    /// The changes of each value, by its path. A value that is absent for some time is compared with the one before.
    fn changes(&self, values: fn(&T) -> Vec<Value>) -> BTreeMap<String, Self> {
        let mut last: BTreeMap<String, String> = BTreeMap::new();
        let mut changes: BTreeMap<String, Vec<ObjectWrite<'e, T>>> = BTreeMap::new();
        for write in self.all() {
            let Some((before, after)) = write.versions() else {
                continue;
            };
            last.extend(single(values(&before.object)));
            for (path, value) in single(values(&after.object)) {
                if last.get(&path).is_some_and(|before| *before != value) {
                    changes.entry(path).or_default().push(write.clone());
                }
            }
        }
        let changes = changes.into_iter();
        let changes = changes.map(|(path, writes)| (path.clone(), self.only(writes, Some(path))));
        changes.collect()
    }

    fn only(&self, writes: Vec<ObjectWrite<'e, T>>, field: Option<String>) -> Self {
        Self {
            writes,
            field,
            ..*self
        }
    }

    /// The answer about the writes that the evidence shows, unless it lacks some that may violate the rule.
    pub(crate) fn unless_missed(&self, answer: Answer) -> Answer {
        let may_be_violated = matches!(answer, Answer::Kept | Answer::NotApplicable);
        let is_missed = |history| self.writes_to_name.has_unobserved_writes(history);
        if may_be_violated && self.source == WriteSource::Watch && self.history.is_some_and(is_missed) {
            Answer::Unknown(MISSED)
        } else {
            answer
        }
    }
}

/// Values by their paths, without paths that occur twice.
fn single(values: Vec<Value>) -> BTreeMap<String, String> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for value in &values {
        *counts.entry(value.path.clone()).or_default() += 1;
    }
    let single = values.into_iter().filter(|value| counts[&value.path] == 1);
    single.map(|value| (value.path, value.value)).collect()
}

/// The reason if the object changed while the watch was interrupted.
const MISSED: Reason = Reason::unknown(
    "an object changed while the watch was interrupted, and the audit log does not show all writes",
);

/// The field that contains all of these: itself if there is only one, else the section that they share.
fn common_field(fields: &BTreeSet<String>) -> String {
    let Some(first) = fields.first() else {
        return String::new();
    };
    if fields.len() == 1 {
        return first.clone();
    }
    let section = first.split(['.', '[']).next().unwrap_or_default();
    let is_shared = fields.iter().all(|field| field.starts_with(section));
    if is_shared {
        section.to_owned()
    } else {
        String::new()
    }
}

pub(crate) struct WritesRule<T> {
    check: fn(&Writes<'_, '_, T>, &Hub) -> Answer,
    count: CountedWrites,
    /// Which requests of the audit log show enough, and what is missing in the others.
    needs: Option<NeededRequest>,
}

/// Whether a request shows enough, and what is missing in the others.
type NeededRequest = (fn(&Request) -> bool, &'static str);

/// A rule on all writes to each profile or slice.
pub(crate) fn writes<T>(
    count: CountedWrites,
    check: fn(&Writes<'_, '_, T>, &Hub) -> Answer,
) -> WritesRule<T> {
    WritesRule {
        check,
        count,
        needs: None,
    }
}

impl<T> WritesRule<T> {
    /// What the audit log has to show of a request. If it shows that of no request, the rule is skipped for this reason.
    pub(crate) fn needs(mut self, shows: fn(&Request) -> bool, reason: &'static str) -> Self {
        self.needs = Some((shows, reason));
        self
    }
}

impl<T: Judged> WritesRule<T> {
    fn judge<'e>(&self, hub: &Hub<'e>, writes_to_name: &WritesToName<'_, 'e, T>, findings: &mut Findings) {
        if let Some((shows, absence)) = self.needs
            && writes_to_name.requests.iter().any(|request| !shows(request))
        {
            findings.not_asked(absence);
        }
        for writes in writes_to_name.of_each_object(self.count) {
            if matches!(self.count, CountedWrites::Status | CountedWrites::Changing) {
                findings.note(writes.source.note());
            }
            match (self.check)(&writes, hub) {
                Answer::Unknown(reason) => findings.cannot_tell_unless_found(reason),
                answer => findings.count(answer.on(|| writes_to_name.object())),
            }
        }
    }
}

impl<T: Judged> Evaluate for WritesRule<T> {
    fn evaluate(&self, hub: &Hub, findings: &mut Findings) {
        for writes_to_name in writes_by_name(hub, self.count) {
            self.judge(hub, &writes_to_name, findings);
        }
    }
}
