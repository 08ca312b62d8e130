//! Finds the author of a write: the judged implementation, a conformance run, or another client.
//!
//! Authors are attributed by name. The user configures the names of the implementation, or the only writer of its objects
//! is inferred to be the implementation. No source other than the audit log and managedFields counts.

mod names;
mod sources;
#[cfg(test)]
mod tests;
mod writers;

use std::{collections::BTreeSet, sync::OnceLock};

use evidence::{
    Evidence, History, Kind, Origin, Reason, ReasonId, Request, Tracked, Version,
    api::{Metadata, ObjectKind, Role},
    parse_time,
};

pub(crate) use self::writers::{Candidate, WriterName};
use self::{
    names::ImplementationNames,
    sources::{HubSpan, RequestIndex, moved_entries, owners, recorded_managers},
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
    writers: Vec<Candidate<'e>>,
    log: OnceLock<Option<RequestIndex<'e>>>,
}

/// The sources of an author, in the order in which they are asked.
const SOURCES: [Source; 4] = [
    Source::ResponseVersion,
    Source::MovedEntry,
    Source::FieldOwner,
    Source::RequestTime,
];

#[derive(Clone, Copy)]
enum Source {
    /// The request with the resourceVersion of the new version in its response.
    ResponseVersion,
    /// The managedFields entry that is new, has a new timestamp, or gained a field.
    MovedEntry,
    /// The owner of the changed field.
    FieldOwner,
    /// The requests at the time of the change.
    RequestTime,
}

impl<'e> Attribution<'e> {
    fn unknown(reason: Reason) -> Self {
        Self {
            author: Author::Unknown(reason),
            names: BTreeSet::new(),
            is_inferred: false,
        }
    }

    fn is_known(&self) -> bool {
        !matches!(self.author, Author::Unknown(_))
    }

    /// The common author of several; unknown if they differ, none if there are none.
    fn common(attributions: impl IntoIterator<Item = Self>) -> Option<Self> {
        let mut attributions = attributions.into_iter();
        let mut common = attributions.next()?;
        for attribution in attributions {
            common.names.extend(attribution.names);
            common.is_inferred |= attribution.is_inferred;
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
        let mut writers = writers::all(evidence, role);
        let names = ImplementationNames::of(evidence, role, &writers);
        for writer in &mut writers {
            writer.author = names.of_writer(writer.name).author;
        }
        Self {
            evidence,
            kind: role.objects(),
            names,
            writers,
            log: OnceLock::new(),
        }
    }

    /// The sender of a request.
    pub(crate) fn of_request(&self, request: &'e Request) -> Attribution<'e> {
        self.names.of_request(request)
    }

    /// The author of a change: the first source that knows it.
    pub(crate) fn of_change<T: Tracked>(&self, change: &AuthoredChange<'e, '_, T>) -> Attribution<'e> {
        if change.is_over_gap {
            let owner = self.ask(Source::FieldOwner, change);
            return owner.unwrap_or_else(|| Attribution::unknown(GAP));
        }
        let answers = SOURCES.into_iter().filter_map(|source| self.ask(source, change));
        self.first_known(answers)
    }

    /// The only owner of a field in a first list or a dump.
    pub(crate) fn of_listed<T: Tracked>(&self, version: &'e T, field: &str) -> Attribution<'e> {
        let has_entries = version.metadata().writers.is_some();
        self.of_field_managers(owners(version, field)).unwrap_or_else(|| {
            Attribution::unknown(match self.log() {
                None if !has_entries => NOTHING_RECORDED,
                _ => NO_OWNER,
            })
        })
    }

    /// The author of an object's creation.
    pub(crate) fn of_creation<T: Tracked>(&self, life: &'e History<T>) -> Attribution<'e> {
        let metadata = life.first().metadata();
        let is_first_version = life.origin == Origin::Created;
        let by_version = is_first_version.then(|| self.of_version(metadata)).flatten();
        let created = metadata.creation_timestamp.as_deref().and_then(parse_time);
        let requests = self.log().into_iter().zip(created).flat_map(|(log, created)| {
            log.creations(metadata, HubSpan::second(created.as_microsecond(), LOG_TOLERANCE))
        });
        let by_time = Attribution::common(requests.map(|request| self.of_request(request)));
        let by_entries = is_first_version.then(|| self.of_field_managers(recorded_managers(life.first())));
        self.first_known([by_version, by_time, by_entries.flatten()].into_iter().flatten())
    }

    /// The author of an object's deletion, which only an audit log shows. `gone` is when the watch reported it.
    pub(crate) fn of_deletion<T: Tracked>(&self, life: &'e History<T>, gone: Edge) -> Attribution<'e> {
        let objects = life.versions.iter().map(|version| version.object.metadata());
        let terminating = objects
            .into_iter()
            .find(|object| object.deletion_timestamp.is_some());
        let by_version = terminating.and_then(|object| self.of_version(object));
        let metadata = terminating.unwrap_or(life.last().metadata());
        let requested = metadata.deletion_timestamp.as_deref().and_then(parse_time);
        let span = match requested {
            Some(at) => HubSpan::second(at.as_microsecond(), LOG_TOLERANCE),
            None => self.hub_span(gone, LOG_TOLERANCE),
        };
        let requests = self
            .complete_log(metadata, None)
            .map(|log| log.deletions(metadata, span));
        let by_time = requests.map_or_else(
            |reason| Some(Attribution::unknown(reason)),
            |requests| Attribution::common(requests.into_iter().map(|request| self.of_request(request))),
        );
        self.first_known([by_version, by_time].into_iter().flatten())
    }

    /// All writers of the judged objects, for `doctor`.
    pub(crate) fn candidates(&self) -> &[Candidate<'e>] {
        &self.writers
    }

    /// The flags that are missing, with their values; none if each kind of name is configured.
    pub(crate) fn advice(&self) -> Option<Reason> {
        self.names.advice(&self.writers)
    }

    fn ask<T: Tracked>(&self, source: Source, change: &AuthoredChange<'e, '_, T>) -> Option<Attribution<'e>> {
        let after = &change.after.object;
        match source {
            Source::ResponseVersion => self.of_version(after.metadata()),
            Source::MovedEntry => {
                let before = change.before.map(|before| &before.object);
                self.of_field_managers(moved_entries(before, after))
            }
            Source::FieldOwner => self.of_field_managers(owners(after, change.field)),
            Source::RequestTime => Some(self.of_time(change)),
        }
    }

    /// The sender of the request with this resourceVersion in its response.
    fn of_version(&self, metadata: &'e Metadata) -> Option<Attribution<'e>> {
        let requests = self.log()?.with_version(metadata);
        Attribution::common(requests.into_iter().map(|request| self.of_request(request)))
    }

    /// The common author of these managedFields entries.
    fn of_field_managers(&self, managers: BTreeSet<&'e str>) -> Option<Attribution<'e>> {
        let managers = managers.into_iter();
        Attribution::common(managers.map(|name| self.names.of_writer(WriterName::FieldManager(name))))
    }

    /// The common sender of all writes that the log has at the time of a change.
    fn of_time<T: Tracked>(&self, change: &AuthoredChange<'e, '_, T>) -> Attribution<'e> {
        let metadata = change.after.object.metadata();
        let was_terminating = change
            .before
            .is_some_and(|before| before.object.metadata().deletion_timestamp.is_some());
        let starts_deletion = metadata.deletion_timestamp.is_some() && !was_terminating;
        let log = match self.complete_log(metadata, Some(change.at)) {
            Ok(log) => log,
            Err(reason) => return Attribution::unknown(reason),
        };
        let span = self.hub_span(change.at, LOG_TOLERANCE);
        let requests = match starts_deletion {
            true => log.deletions(metadata, span),
            false => log.writes(metadata, span),
        };
        Attribution::common(requests.into_iter().map(|request| self.of_request(request)))
            .unwrap_or_else(|| Attribution::unknown(NOT_IN_LOG))
    }

    fn first_known(&self, answers: impl IntoIterator<Item = Attribution<'e>>) -> Attribution<'e> {
        let mut unknown = None;
        for answer in answers {
            if answer.is_known() {
                return answer;
            }
            unknown.get_or_insert(answer);
        }
        let missing = if self.log().is_some() { NOT_IN_LOG } else { NO_LOG };
        unknown.unwrap_or_else(|| Attribution::unknown(missing))
    }

    fn log(&self) -> Option<&RequestIndex<'e>> {
        self.log
            .get_or_init(|| RequestIndex::of(self.evidence, self.kind))
            .as_ref()
    }

    /// The log, if it has every request on an object: those of the suite too, and those at the time of a change.
    fn complete_log(&self, object: &Metadata, at: Option<Edge>) -> Result<&RequestIndex<'e>, Reason> {
        let log = self.log().ok_or(NO_LOG)?;
        let is_touched = || match self.kind {
            ObjectKind::ClusterProfile => self.evidence.is_touched(&object.namespace, &object.name),
            ObjectKind::PlacementDecision => self
                .evidence
                .is_slice_touched((&object.namespace, &object.name), []),
        };
        let is_covered = at.is_none_or(|at| {
            log.covers(self.hub_span(at, 0)) && !is_log_broken(self.evidence, at.earliest, at.latest)
        });
        if is_covered && (log.has_suite_requests || !is_touched()) {
            Ok(log)
        } else {
            Err(NOT_IN_LOG)
        }
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
