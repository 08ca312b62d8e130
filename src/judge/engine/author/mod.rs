//! Finds the author of a write: the judged implementation, a conformance run, or another client.
//!
//! Authors are attributed by name. The user configures the names of the implementation, or the only writer of its objects
//! is inferred to be the implementation. No source other than the audit log and managedFields counts.

mod names;
mod sources;
#[cfg(test)]
mod tests;

use std::ptr;

use evidence::{Origin, api::Metadata};

pub use self::sources::{HistoryWriters, WriterList, WriterNames, writers};
pub(crate) use self::sources::{ProgramFields, is_part_of};
pub(in crate::engine) use self::{
    names::is_kubectl,
    sources::{creates, is_touched, owners, owns_part, recorded_entries, requests},
};
use self::{
    names::{ImplementationNames, WriterName},
    sources::{
        RequestIndex, Writers, entries, field_managers, is_partly_removed, moved_entries, owning_entries,
        writers_of_role,
    },
};
use crate::{
    engine::prelude::*,
    time::{CLOCKS_APART, is_log_broken},
    timeline::ObservedChange,
};

/// The largest difference between the time of a request in the audit log and the change that it made.
const LOG_TOLERANCE: Micros = 2 * SECOND;

/// The reason without managedFields and without an audit log. `State`, `Stable`, and `Group` then assume the implementation.
pub(crate) const NOTHING_RECORDED: Reason = Reason::new(
    ReasonId::NoAuditLog,
    "the object has no managedFields, and there is no audit log",
);
const NO_OWNER: Reason = Reason::unknown("managedFields list no owner of the field");
const NO_LOG: Reason = Reason::new(
    ReasonId::NoAuditLog,
    "only an audit log shows which client did this",
);
const NOT_IN_LOG: Reason = Reason::unknown("the audit log does not contain the request");
const SEVERAL: Reason = Reason::unknown("several clients wrote the object at that time");
const GAP: Reason = Reason::unknown("the watch missed changes, so the author is unknown");

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Author {
    /// The judged implementation.
    Implementation,
    /// A run of this suite.
    Run,
    /// Another client: a person, another program, or a controller of the hub.
    Other,
    /// The evidence does not decide. The reason names the flag or the evidence that would.
    Unknown(Reason),
}

/// The author of a write, and the names in the evidence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Attribution<'e> {
    /// The author.
    pub(crate) author: Author,
    /// Users of the audit log, or field managers.
    pub(crate) names: BTreeSet<&'e str>,
    /// True if the implementation's name was inferred, not configured.
    pub(crate) is_inferred: bool,
    /// True if the client is kubectl, or the hub itself.
    pub(crate) is_kubectl_or_hub: bool,
}

/// Attributes writes of one role's objects.
pub(crate) struct Authors<'e> {
    evidence: &'e Evidence,
    kind: ObjectKind,
    names: ImplementationNames<'e>,
    writers: Writers<'e>,
    log: Option<RequestIndex<'e>>,
}

impl<'e> Attribution<'e> {
    pub(super) fn unknown(reason: Reason) -> Self {
        Self {
            author: Author::Unknown(reason),
            names: BTreeSet::new(),
            is_inferred: false,
            is_kubectl_or_hub: false,
        }
    }

    /// Whether the run or another client is known to be the author.
    pub(super) fn is_other_client(&self) -> bool {
        matches!(self.author, Author::Run | Author::Other)
    }

    /// The common author of several; unknown if they differ, none if there are none.
    fn common(attributions: impl IntoIterator<Item = Self>) -> Option<Self> {
        attributions.into_iter().reduce(|mut common, attribution| {
            common.names.extend(attribution.names);
            common.is_inferred |= attribution.is_inferred;
            common.is_kubectl_or_hub &= attribution.is_kubectl_or_hub;
            if common.author != attribution.author {
                common.author = Author::Unknown(SEVERAL);
            }
            common
        })
    }
}

impl<'e> Authors<'e> {
    /// Reads the configured names, and infers those that are missing.
    pub(crate) fn of(evidence: &'e Evidence, role: Role) -> Self {
        let writers = writers_of_role(evidence, role);
        Self {
            evidence,
            kind: role.objects(),
            names: ImplementationNames::of(evidence, role, &writers),
            writers,
            log: RequestIndex::of(evidence, role.objects()),
        }
    }

    /// Why authors may be unknown, with the flags that are missing and their values.
    pub(crate) fn advice(&self) -> Reason {
        self.names.not_configured.clone()
    }

    /// The reason if none of the configured names wrote an object, but another client did.
    pub(crate) fn why_misspelt(&self) -> Option<Reason> {
        self.names.why_misspelt()
    }

    pub(crate) fn of_request(&self, request: &'e Request) -> Attribution<'e> {
        self.names.of_writer(WriterName::of(request))
    }

    /// The client with a field manager's name.
    pub(crate) fn of_field_manager<'n>(&'n self, name: &'n str) -> Attribution<'n> {
        let names: &ImplementationNames<'n> = &self.names;
        names.of_writer(WriterName::field_manager(name))
    }

    /// The author of the change of a field: the first source that knows it. Over a gap, only the owner of the field counts.
    pub(crate) fn of_change<T: Tracked>(
        &self,
        change: &ObservedChange<'e, T>,
        field: &str,
    ) -> Attribution<'e> {
        let (before, after) = match (change.before, change.after) {
            (Some(before), Some(after)) => (&before.object, &after.object),
            (None, _) => return self.of_creation(change.history),
            (_, None) => return self.of_deletion(change.history, change.at),
        };
        if self.has_no_records(after) {
            return Attribution::unknown(NOTHING_RECORDED);
        }
        let is_removed = is_partly_removed(before, after, field);
        let by_owner = self.of_field_managers(owners(after, field));
        let by_owner = by_owner.filter(|_| !is_removed);
        if change.is_over_gap {
            return by_owner.unwrap_or_else(|| Attribution::unknown(GAP));
        }
        let (old, new) = (before.metadata(), after.metadata());
        if new.deletion_timestamp.is_some() && old.deletion_timestamp.is_none() {
            return self.of_deletion(change.history, change.at);
        }
        self.first_known([
            self.of_version(new),
            self.of_field_managers(moved_entries(before, after)),
            self.sender_during(new, change.at),
            by_owner,
        ])
    }

    /// The only owner of a field in a first list or a dump.
    pub(crate) fn owner_in_list<T: Tracked>(&self, object: &'e T, field: &str) -> Attribution<'e> {
        let is_recorded = !self.has_no_records(object);
        let reason = if is_recorded { NO_OWNER } else { NOTHING_RECORDED };
        let owner = self.of_field_managers(owners(object, field));
        owner.unwrap_or_else(|| Attribution::unknown(reason))
    }

    /// The author of an object's creation.
    pub(crate) fn of_creation<T: Tracked>(&self, history: &'e History<T>) -> Attribution<'e> {
        let object = history.first().metadata();
        let creation = time_of(object.creation_timestamp.as_deref());
        let requests = creation.map(|at| self.requests(object, second_of(at, LOG_TOLERANCE), creates));
        let by_time = requests.and_then(|requests| self.of_requests(requests));
        if history.origin != Origin::Created {
            return self.first_known([by_time]);
        }
        let by_owners = self.of_field_managers(field_managers(entries(history.first())));
        self.first_known([self.of_version(object), by_time, by_owners])
    }

    /// The author of an object's creation. The owner of a field counts for an object that was there from the beginning.
    pub(crate) fn creator<T: Tracked>(&self, history: &'e History<T>, field: &str) -> Attribution<'e> {
        match history.origin {
            Origin::Created => self.of_creation(history),
            Origin::Listed | Origin::Relisted => self.owner_in_list(history.first(), field),
        }
    }

    /// The author of an object's deletion, which only an audit log shows. `deletion` is when the watch reported it.
    pub(crate) fn of_deletion<T: Tracked>(&self, history: &'e History<T>, deletion: Edge) -> Attribution<'e> {
        let mut objects = history.versions.iter().map(|version| version.object.metadata());
        let terminating = objects.find(|object| object.deletion_timestamp.is_some());
        let object = terminating.unwrap_or(history.last().metadata());
        let span = match time_of(object.deletion_timestamp.as_deref()) {
            Some(at) => second_of(at, LOG_TOLERANCE),
            None => self.hub_span(deletion, LOG_TOLERANCE),
        };
        let mut requests = self.requests(object, span, deletes);
        // The name may have been deleted and created again just before.
        let creation = self.created_at(history).unwrap_or(Micros::MIN);
        requests.retain(|request| creation <= request.at.as_microsecond());
        // A collection may have a selector, unless its namespace is deleted.
        let is_certain = |request: &Request| &*request.verb == "delete" || WriterName::of(request).is_hub();
        let is_certain = requests.iter().any(|request| is_certain(request));
        let by_time = self.of_requests(requests);
        let by_time = by_time.filter(|by| is_certain || by.author != Author::Other);
        self.first_known([terminating.and_then(|object| self.of_version(object)), by_time])
    }

    /// When an object was deleted, by the requests in the log, on the runner's clock; none if the log has no such request.
    pub(crate) fn deleted_at<T: Tracked>(&self, history: &'e History<T>, deletion: Edge) -> Option<Edge> {
        let skew = known_skew(self.evidence)?;
        let span = self.hub_span(deletion, LOG_TOLERANCE);
        let requests = self.requests(history.last().metadata(), span, deletes);
        let times = requests.iter().map(|request| request.at.as_microsecond() - skew);
        let (first, last) = (times.clone().min()?, times.max()?);
        Some(Edge::between(first - SECOND, last + SECOND))
    }

    /// The sender of the request with this resourceVersion in its response.
    fn of_version(&self, object: &'e Metadata) -> Option<Attribution<'e>> {
        self.of_requests(self.log.as_ref()?.with_version(object))
    }

    fn of_requests(&self, requests: Vec<&'e Request>) -> Option<Attribution<'e>> {
        Attribution::common(requests.into_iter().map(|request| self.of_request(request)))
    }

    fn of_field_managers(&self, managers: BTreeSet<&'e str>) -> Option<Attribution<'e>> {
        let names = managers.into_iter().map(WriterName::field_manager);
        Attribution::common(names.map(|name| self.names.of_writer(name)))
    }

    /// The common sender of all requests that may have made a version.
    fn sender_during(&self, object: &'e Metadata, at: Edge) -> Option<Attribution<'e>> {
        let log = self.log.as_ref()?;
        let is_complete = log.covers(self.hub_span(at, 0))
            && !is_log_broken(self.evidence, at.earliest, at.latest)
            && (log.has_suite_requests
                || !is_touched(self.evidence, self.kind, (&object.namespace, &object.name)));
        if !is_complete {
            return Some(Attribution::unknown(NOT_IN_LOG));
        }
        let mut requests = self.requests(object, self.hub_span(at, LOG_TOLERANCE), updates);
        requests.retain(|request| {
            let version = request.resource_version.as_deref();
            version.is_none_or(|version| version == object.resource_version)
        });
        self.of_requests(requests)
    }

    /// When an object was created: by the request in the log, or to the second by its metadata.
    fn created_at<T: Tracked>(&self, history: &'e History<T>) -> Option<Micros> {
        let object = history.first().metadata();
        let second = time_of(object.creation_timestamp.as_deref())?;
        Some(match self.requests(object, second_of(second, 0), creates)[..] {
            // A deletion at the same time freed its place.
            [creation] => creation.at.as_microsecond() + 1,
            _ => second,
        })
    }

    /// The requests of one sort on an object in a span by the hub's clock; none without a log.
    fn requests(&self, object: &Metadata, span: Edge, is_of_sort: fn(&Request) -> bool) -> Vec<&'e Request> {
        let log = self.log.as_ref();
        log.map_or_else(Vec::new, |log| log.during(object, span, is_of_sort))
    }

    /// The first answer that is known, or else the first one.
    fn first_known<const N: usize>(&self, answers: [Option<Attribution<'e>>; N]) -> Attribution<'e> {
        let mut answers: Vec<_> = answers.into_iter().flatten().collect();
        answers.sort_by_key(|answer| matches!(answer.author, Author::Unknown(_)));
        let reason = if self.log.is_some() { NOT_IN_LOG } else { NO_LOG };
        let mut answers = answers.into_iter();
        answers.next().unwrap_or_else(|| Attribution::unknown(reason))
    }

    fn has_no_records<T: Tracked>(&self, object: &T) -> bool {
        object.metadata().writers.is_none() && self.log.is_none()
    }

    /// A time of the runner's clock on the hub's clock, with a tolerance on both sides.
    fn hub_span(&self, at: Edge, tolerance: Micros) -> Edge {
        let (skew, error) = known_skew(self.evidence).map_or((0, CLOCKS_APART), |skew| (skew, 0));
        let error = error + tolerance;
        Edge {
            earliest: at.earliest.saturating_add(skew).saturating_sub(error),
            latest: at.latest.saturating_add(skew).saturating_add(error),
        }
    }
}

/// Who made the change of a field with which a moment began; none if no object that matters to the rule changed.
pub(in crate::engine) fn author_of_moment<'e, T: Judged>(
    hub: &Hub<'e>,
    timeline: &Timeline<'e, T>,
    place: usize,
    field: &str,
    is_member: &dyn Fn(&Version<T>) -> bool,
) -> Option<Attribution<'e>> {
    let authors = T::authors(hub);
    let mut now = timeline.objects(place)?.to_vec();
    now.retain(|version| is_member(version));
    let Some(earlier) = place.checked_sub(1).and_then(|before| timeline.objects(before)) else {
        return author_in_list(authors, &now, field);
    };
    let is_old = |version: &Version<T>| earlier.iter().any(|old| ptr::eq(*old, version));
    let version = now.into_iter().find(|version| !is_old(version))?;
    Some(authors.of_change(&timeline.change_to(place, version)?, field))
}

/// Who gave the objects of a list a field: the owner in the newest object, if the owners in all others wrote before it was
/// created.
fn author_in_list<'e, T: Judged>(
    authors: &Authors<'e>,
    objects: &[&'e Version<T>],
    field: &str,
) -> Option<Attribution<'e>> {
    let newest = objects.iter().max_by_key(|version| created_at(&version.object))?;
    let is_older = |version: &&'e Version<T>| {
        let entries = owning_entries(&version.object, field);
        let stamp = entries.filter_map(|entry| time_of(entry.time.as_deref())).max();
        ptr::eq(*version, *newest) || stamp.is_some_and(|at| Some(at) < created_at(&newest.object))
    };
    if objects.iter().all(is_older) {
        return Some(authors.owner_in_list(&newest.object, field));
    }
    let owners = objects.iter();
    Attribution::common(owners.map(|version| authors.owner_in_list(&version.object, field)))
}

fn created_at<T: Tracked>(object: &T) -> Option<Micros> {
    time_of(object.metadata().creation_timestamp.as_deref())
}

/// The moments in which something holds that no other client began. Its first author counts for as long as it holds.
pub(in crate::engine) fn not_begun_by_other_clients(
    moments: usize,
    holds: impl Fn(usize) -> bool,
    began_with_other_client: impl Fn(usize) -> bool,
) -> Vec<bool> {
    let mut is_by_other_client = None;
    let counts = |place: usize| {
        if !holds(place) {
            is_by_other_client = None;
            return false;
        }
        !*is_by_other_client.get_or_insert_with(|| began_with_other_client(place))
    };
    (0..moments).map(counts).collect()
}

fn time_of(timestamp: Option<&str>) -> Option<Micros> {
    Some(parse_time(timestamp?)?.as_microsecond())
}

/// The second that begins with a timestamp, with a tolerance on both sides.
fn second_of(at: Micros, tolerance: Micros) -> Edge {
    let end = at.saturating_add(SECOND + tolerance);
    Edge::between(at.saturating_sub(tolerance), end)
}

/// Whether a request deletes one object, or all objects of a namespace.
fn deletes(request: &Request) -> bool {
    request.subresource.is_empty() && matches!(&*request.verb, "delete" | "deletecollection")
}

/// Whether a request changes an object that exists.
fn updates(request: &Request) -> bool {
    !creates(request) && !deletes(request)
}
