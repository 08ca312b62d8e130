//! Finds the author of a write: the judged implementation, a conformance run, or another client.
//!
//! Authors are attributed by name. The user configures the names of the implementation, or the only writer of its objects
//! is inferred to be the implementation. No source other than the audit log and managedFields counts.

mod listing;
mod names;
mod owned;
mod sources;
#[cfg(test)]
mod tests;
mod writer_names;
mod writers;

use std::{collections::BTreeSet, sync::OnceLock};

use evidence::{
    Evidence, History, Origin, Reason, ReasonId, Request, Tracked, Version,
    api::{Metadata, ObjectKind, Role},
    parse_time,
};
use jiff::Timestamp;

pub(crate) use self::owned::{OwnedFields, ProgramEntry};
pub use self::{
    listing::{WriterList, writers},
    writer_names::WriterNames,
};
use self::{
    names::ImplementationNames,
    sources::{
        HubSpan, RequestIndex, deletes, entries, field_managers, is_partly_removed, moved_entries, owners,
        owning_entries, updates,
    },
    writers::{WriterName, Writers},
};
pub(in crate::engine) use self::{
    sources::{creates, is_touched, requests},
    writers::is_kubectl,
};
use crate::time::{CLOCKS_APART, Edge, Micros, SECOND, is_log_broken, known_skew};

/// The largest difference between the time of a request in the audit log and the change that it made.
const LOG_TOLERANCE: Micros = 2 * SECOND;

/// The reason without managedFields and without an audit log. `State`, `Stable`, and `Group` then assume the implementation.
pub(crate) const NOTHING_RECORDED: Reason = Reason::known(
    ReasonId::NoAuditLog,
    "the object has no managedFields, and there is no audit log",
);
const NO_OWNER: Reason = Reason::known(ReasonId::Unknown, "managedFields list no owner of the field");
const NO_LOG: Reason = Reason::known(
    ReasonId::NoAuditLog,
    "only an audit log shows which client did this",
);
const NOT_IN_LOG: Reason = Reason::known(ReasonId::Unknown, "the audit log does not contain the request");
const SEVERAL: Reason = Reason::known(ReasonId::Unknown, "several clients wrote the object at that time");
const GAP: Reason = Reason::known(
    ReasonId::Unknown,
    "the watch missed changes, so the author is unknown",
);

/// The author of a write.
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

/// A change of one field between two versions of an object, or its creation.
pub(crate) struct AuthoredChange<'e, 'c, T> {
    /// The version before; none for a creation.
    pub(crate) before: Option<&'e Version<T>>,
    /// The version after.
    pub(crate) after: &'e Version<T>,
    /// When the change took place, by the runner's clock.
    pub(crate) at: Edge,
    /// True if the watch may have missed versions in between.
    pub(crate) is_over_gap: bool,
    /// Path of the field, for example `metadata.labels[x-k8s.io/cluster-manager]` or `status.conditions`.
    pub(crate) field: &'c str,
}

/// Attributes writes of one role's objects.
pub(crate) struct Authors<'e> {
    evidence: &'e Evidence,
    kind: ObjectKind,
    names: ImplementationNames<'e>,
    writers: Writers<'e>,
    log: OnceLock<Option<RequestIndex<'e>>>,
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

    /// The common author of several; unknown if they differ, none if there are none.
    pub(in crate::engine) fn common(attributions: impl IntoIterator<Item = Self>) -> Option<Self> {
        let mut attributions = attributions.into_iter();
        let mut common = attributions.next()?;
        for attribution in attributions {
            common.names.extend(attribution.names);
            common.is_inferred |= attribution.is_inferred;
            common.is_kubectl_or_hub &= attribution.is_kubectl_or_hub;
            if common.author != attribution.author {
                common.author = Author::Unknown(SEVERAL);
            }
        }
        Some(common)
    }
}

impl<'e> Authors<'e> {
    /// Reads the configured names, and infers those that are missing.
    pub(crate) fn of(evidence: &'e Evidence, role: Role) -> Self {
        let writers = writers::all(evidence, role);
        Self {
            evidence,
            kind: role.objects(),
            names: ImplementationNames::of(evidence, role, &writers),
            writers,
            log: OnceLock::new(),
        }
    }

    /// The sender of a request.
    pub(crate) fn of_request(&self, request: &'e Request) -> Attribution<'e> {
        self.names.of_writer(WriterName::sent(request))
    }

    /// The field managers that own a field of an object.
    pub(crate) fn owners<'o, T: Tracked>(&self, object: &'o T, field: &str) -> BTreeSet<&'o str> {
        owners(object, field)
    }

    /// The client with a field manager's name.
    pub(crate) fn of_field_manager<'n>(&'n self, name: &'n str) -> Attribution<'n> {
        let names: &ImplementationNames<'n> = &self.names;
        names.of_writer(WriterName::FieldManager(name))
    }

    /// The author of a change: the first source that knows it. Over a gap, only the owner of the field counts.
    pub(crate) fn of_change<T: Tracked>(&self, change: &AuthoredChange<'e, '_, T>) -> Attribution<'e> {
        let before = change.before.map(|before| &before.object);
        let after = &change.after.object;
        if self.is_nothing_recorded(after) {
            return Attribution::unknown(NOTHING_RECORDED);
        }
        let is_removal = before.is_some_and(|before| is_partly_removed(before, after, change.field));
        let owners = if is_removal {
            BTreeSet::new()
        } else {
            owners(after, change.field)
        };
        let by_owner = self.of_field_managers(owners);
        if change.is_over_gap {
            return by_owner.unwrap_or_else(|| Attribution::unknown(GAP));
        }
        self.first_known([
            self.of_version(after.metadata()),
            self.of_field_managers(moved_entries(before, after)),
            self.written_during(before.map(T::metadata), after.metadata(), change.at),
            by_owner,
        ])
    }

    /// The only owner of a field in a first list or a dump.
    pub(crate) fn of_listed<T: Tracked>(&self, version: &'e T, field: &str) -> Attribution<'e> {
        let missing = if self.is_nothing_recorded(version) {
            NOTHING_RECORDED
        } else {
            NO_OWNER
        };
        let owner = self.of_field_managers(owners(version, field));
        owner.unwrap_or_else(|| Attribution::unknown(missing))
    }

    /// When the owners of a field last wrote to the object; none without an owner.
    pub(crate) fn last_write_of<T: Tracked>(&self, object: &T, field: &str) -> Option<Timestamp> {
        let times = owning_entries(object, field).map(|entry| entry.time.as_deref().and_then(parse_time));
        times.max().flatten()
    }

    /// The author of an object's creation.
    pub(crate) fn of_creation<T: Tracked>(&self, life: &'e History<T>) -> Attribution<'e> {
        let metadata = life.first().metadata();
        let created = metadata.creation_timestamp.as_deref().and_then(parse_time);
        let by_time = self.log().zip(created).and_then(|(log, created)| {
            let span = HubSpan::second(created.as_microsecond(), LOG_TOLERANCE);
            self.of_requests(log.during(metadata, span, creates))
        });
        if life.origin != Origin::Created {
            return self.first_known([by_time]);
        }
        let managers = field_managers(entries(life.first()).iter());
        self.first_known([
            self.of_version(metadata),
            by_time,
            self.of_field_managers(managers),
        ])
    }

    /// The author of an object's deletion, which only an audit log shows. `gone` is when the watch reported it.
    pub(crate) fn of_deletion<T: Tracked>(&self, life: &'e History<T>, gone: Edge) -> Attribution<'e> {
        let mut objects = life.versions.iter().map(|version| version.object.metadata());
        let terminating = objects.find(|object| object.deletion_timestamp.is_some());
        let object = terminating.unwrap_or(life.last().metadata());
        let requested = object.deletion_timestamp.as_deref().and_then(parse_time);
        let span = match requested {
            Some(at) => HubSpan::second(at.as_microsecond(), LOG_TOLERANCE),
            None => self.hub_span(gone, LOG_TOLERANCE),
        };
        let by_version = terminating.and_then(|object| self.of_version(object));
        self.first_known([
            by_version,
            self.deleted_during(object, span, self.created_at(life)),
        ])
    }

    /// When an object was deleted, by the requests in the log, on the runner's clock; none if the log has no such request.
    pub(crate) fn deleted_at<T: Tracked>(&self, life: &'e History<T>, gone: Edge) -> Option<Edge> {
        let skew = known_skew(self.evidence)?;
        let span = self.hub_span(gone, LOG_TOLERANCE);
        let requests = self.log()?.during(life.last().metadata(), span, deletes);
        let times = requests
            .iter()
            .map(|request| request.at.as_microsecond().saturating_sub(skew));
        let (first, last) = (times.clone().min()?, times.max()?);
        Some(Edge::between(first - SECOND, last + SECOND))
    }

    /// Why an author is unknown, with the flags that are missing and their values.
    pub(crate) fn advice(&self) -> Reason {
        self.names.not_configured.clone()
    }

    /// The sender of the request with this resourceVersion in its response.
    fn of_version(&self, object: &'e Metadata) -> Option<Attribution<'e>> {
        self.of_requests(self.log()?.with_version(object))
    }

    fn of_requests(&self, requests: Vec<&'e Request>) -> Option<Attribution<'e>> {
        Attribution::common(requests.into_iter().map(|request| self.of_request(request)))
    }

    fn of_field_managers(&self, managers: BTreeSet<&'e str>) -> Option<Attribution<'e>> {
        let names = managers.into_iter().map(WriterName::FieldManager);
        Attribution::common(names.map(|name| self.names.of_writer(name)))
    }

    /// The common sender of all requests that may have made a version.
    fn written_during(
        &self,
        before: Option<&Metadata>,
        object: &'e Metadata,
        at: Edge,
    ) -> Option<Attribution<'e>> {
        let log = self.log()?;
        let span = self.hub_span(at, LOG_TOLERANCE);
        let was_terminating = before.is_some_and(|before| before.deletion_timestamp.is_some());
        if object.deletion_timestamp.is_some() && !was_terminating {
            return self.deleted_during(object, span, created_by_metadata(object));
        }
        let is_complete = log.covers(self.hub_span(at, 0))
            && !is_log_broken(self.evidence, at.earliest, at.latest)
            && self.has_suite_requests(object);
        if !is_complete {
            return Some(Attribution::unknown(NOT_IN_LOG));
        }
        let mut requests = log.during(object, span, updates);
        requests.retain(|request| {
            let version = request.resource_version.as_deref();
            version.is_none_or(|version| version == object.resource_version)
        });
        self.of_requests(requests)
    }

    /// The common sender of all requests that may have deleted an object.
    fn deleted_during(
        &self,
        object: &'e Metadata,
        span: HubSpan,
        created: Option<Timestamp>,
    ) -> Option<Attribution<'e>> {
        let mut requests = self.log()?.during(object, span, deletes);
        // The name may have been deleted and created again just before.
        requests.retain(|request| created.is_none_or(|created| created <= request.at));
        // A collection may have a selector, unless its namespace is deleted.
        let is_certain =
            |request: &&Request| &*request.verb == "delete" || WriterName::sent(request).is_hub();
        let is_certain = requests.iter().any(is_certain);
        let attribution = self.of_requests(requests)?;
        let is_doubtful = attribution.author == Author::Other && !is_certain;
        Some(if is_doubtful {
            Attribution::unknown(NOT_IN_LOG)
        } else {
            attribution
        })
    }

    /// When an object was created: by the request in the log, or to the second by its metadata.
    fn created_at<T: Tracked>(&self, life: &'e History<T>) -> Option<Timestamp> {
        let object = life.first().metadata();
        let second = created_by_metadata(object)?;
        let span = HubSpan::second(second.as_microsecond(), 0);
        let logged = self.log().map(|log| log.during(object, span, creates));
        match logged.as_deref() {
            // A deletion at the same time made room for it.
            Some([creation]) => Timestamp::from_microsecond(creation.at.as_microsecond() + 1).ok(),
            _ => Some(second),
        }
    }

    fn first_known(&self, answers: impl IntoIterator<Item = Option<Attribution<'e>>>) -> Attribution<'e> {
        let mut unknown = None;
        for answer in answers.into_iter().flatten() {
            if !matches!(answer.author, Author::Unknown(_)) {
                return answer;
            }
            unknown.get_or_insert(answer);
        }
        let missing = if self.log().is_some() { NOT_IN_LOG } else { NO_LOG };
        unknown.unwrap_or_else(|| Attribution::unknown(missing))
    }

    fn is_nothing_recorded<T: Tracked>(&self, object: &T) -> bool {
        object.metadata().writers.is_none() && self.log().is_none()
    }

    fn log(&self) -> Option<&RequestIndex<'e>> {
        self.log
            .get_or_init(|| RequestIndex::of(self.evidence, self.kind))
            .as_ref()
    }

    /// Whether the log has all that the suite wrote to an object.
    fn has_suite_requests(&self, object: &Metadata) -> bool {
        let has_requests = self.log().is_some_and(|log| log.has_suite_requests);
        has_requests || !is_touched(self.evidence, self.kind, (&object.namespace, &object.name))
    }

    /// A time of the runner's clock on the hub's clock, with a tolerance on both sides.
    fn hub_span(&self, at: Edge, tolerance: Micros) -> HubSpan {
        let (skew, error) = known_skew(self.evidence).map_or((0, CLOCKS_APART), |skew| (skew, 0));
        let error = error.saturating_add(tolerance);
        HubSpan {
            from: at.earliest.saturating_add(skew).saturating_sub(error),
            until: at.latest.saturating_add(skew).saturating_add(error),
        }
    }
}

fn created_by_metadata(object: &Metadata) -> Option<Timestamp> {
    object.creation_timestamp.as_deref().and_then(parse_time)
}
