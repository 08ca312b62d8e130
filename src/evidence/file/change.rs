//! The difference between two versions of an object.

use std::sync::Arc;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use super::LineError;
use crate::{
    Tracked,
    api::{
        AccessProvider, ClusterDecision, ClusterProfile, Condition, Metadata, OwnerReference,
        PlacementDecision, ProfileLabels, Property, SliceMetadata, Spec, Status, Version, Writer,
    },
};

/// A part of an object or look; `None` if it is unchanged.
pub(super) type Part<T> = Option<T>;

/// An object whose later versions are written as differences.
pub(super) trait Changing: Tracked {
    /// The change from this version to the next.
    fn change(&self, next: &Self, at: Timestamp) -> Change;

    /// The next version by a change. Shares the unchanged parts.
    ///
    /// # Errors
    /// When the change is of another kind of object, or refers to a writer that this version does not have.
    fn changed(&self, change: Change) -> Result<Self, LineError>;
}

/// A later version of an object, as its difference from the version before. Each kind of object has its own parts.
#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Change {
    #[schemars(with = "crate::json_schema::Time")]
    pub at: Timestamp,
    #[serde(default, deserialize_with = "part", skip_serializing_if = "Option::is_none")]
    api_version: Part<Arc<str>>,
    #[serde(default, skip_serializing_if = "is_default")]
    metadata: MetadataChange,
    #[serde(default, deserialize_with = "part", skip_serializing_if = "Option::is_none")]
    spec: Part<Arc<Spec>>,
    #[serde(default, skip_serializing_if = "is_default")]
    status: StatusChange,
    #[serde(default, deserialize_with = "part", skip_serializing_if = "Option::is_none")]
    scheduler_name: Part<Option<Arc<str>>>,
    #[serde(default, deserialize_with = "part", skip_serializing_if = "Option::is_none")]
    decisions: Part<Option<Arc<[ClusterDecision]>>>,
}

#[derive(Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
struct MetadataChange {
    #[serde(deserialize_with = "part", skip_serializing_if = "Option::is_none")]
    name: Part<Arc<str>>,
    #[serde(deserialize_with = "part", skip_serializing_if = "Option::is_none")]
    namespace: Part<Arc<str>>,
    #[serde(deserialize_with = "part", skip_serializing_if = "Option::is_none")]
    uid: Part<Arc<str>>,
    #[serde(deserialize_with = "part", skip_serializing_if = "Option::is_none")]
    resource_version: Part<String>,
    #[serde(deserialize_with = "part", skip_serializing_if = "Option::is_none")]
    generation: Part<Option<i64>>,
    #[serde(deserialize_with = "part", skip_serializing_if = "Option::is_none")]
    generate_name: Part<Option<Arc<str>>>,
    #[serde(deserialize_with = "part", skip_serializing_if = "Option::is_none")]
    creation_timestamp: Part<Option<Arc<str>>>,
    #[serde(deserialize_with = "part", skip_serializing_if = "Option::is_none")]
    deletion_timestamp: Part<Option<Arc<str>>>,
    #[serde(deserialize_with = "part", skip_serializing_if = "Option::is_none")]
    labels: Part<Arc<ProfileLabels>>,
    #[serde(deserialize_with = "part", skip_serializing_if = "Option::is_none")]
    annotations: Part<Arc<ProfileLabels>>,
    #[serde(deserialize_with = "part", skip_serializing_if = "Option::is_none")]
    writers: Part<Option<Vec<WriterChange>>>,
    #[serde(deserialize_with = "part", skip_serializing_if = "Option::is_none")]
    owner_references: Part<Vec<OwnerReference>>,
    #[serde(deserialize_with = "part", skip_serializing_if = "Option::is_none")]
    finalizers: Part<Vec<String>>,
}

#[derive(Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
struct StatusChange {
    #[serde(deserialize_with = "part", skip_serializing_if = "Option::is_none")]
    version: Part<Version>,
    #[serde(deserialize_with = "part", skip_serializing_if = "Option::is_none")]
    properties: Part<Arc<[Property]>>,
    #[serde(deserialize_with = "part", skip_serializing_if = "Option::is_none")]
    conditions: Part<Arc<[Condition]>>,
    #[serde(deserialize_with = "part", skip_serializing_if = "Option::is_none")]
    access_providers: Part<Arc<[AccessProvider]>>,
    #[serde(deserialize_with = "part", skip_serializing_if = "Option::is_none")]
    credential_providers: Part<Arc<[AccessProvider]>>,
}

/// One writer. Most writes only change the time of one.
#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
enum WriterChange {
    /// That entry of the version before.
    Same(usize),
    /// That entry with another time.
    Retimed { same: usize, time: Option<Arc<str>> },
    /// A new entry.
    Whole(Writer),
}

impl Changing for ClusterProfile {
    fn change(&self, next: &Self, at: Timestamp) -> Change {
        // Destructured without `..`, so that a new field cannot be forgotten here.
        let ClusterProfile {
            api_version,
            metadata,
            spec,
            status,
        } = next;
        Change {
            at,
            api_version: differing(&self.api_version, api_version),
            metadata: MetadataChange::between(&self.metadata, metadata),
            spec: differing(&self.spec, spec),
            status: StatusChange::between(&self.status, status),
            scheduler_name: None,
            decisions: None,
        }
    }

    fn changed(&self, change: Change) -> Result<Self, LineError> {
        if change.scheduler_name.is_some() || change.decisions.is_some() || change.metadata.is_of_slice() {
            return Err(LineError::OtherKind);
        }
        let mut next = self.clone();
        replace(&mut next.api_version, change.api_version);
        change.metadata.apply(&mut next.metadata)?;
        replace(&mut next.spec, change.spec);
        change.status.apply(&mut next.status);
        Ok(next)
    }
}

impl Changing for PlacementDecision {
    fn change(&self, next: &Self, at: Timestamp) -> Change {
        let PlacementDecision {
            api_version,
            metadata:
                SliceMetadata {
                    common,
                    owner_references,
                    finalizers,
                },
            scheduler_name,
            decisions,
        } = next;
        Change {
            at,
            api_version: differing(&self.api_version, api_version),
            metadata: MetadataChange {
                owner_references: differing(&self.metadata.owner_references, owner_references),
                finalizers: differing(&self.metadata.finalizers, finalizers),
                ..MetadataChange::between(&self.metadata.common, common)
            },
            spec: None,
            status: StatusChange::default(),
            scheduler_name: differing(&self.scheduler_name, scheduler_name),
            decisions: differing(&self.decisions, decisions),
        }
    }

    fn changed(&self, mut change: Change) -> Result<Self, LineError> {
        if change.spec.is_some() || change.status != StatusChange::default() {
            return Err(LineError::OtherKind);
        }
        let mut next = self.clone();
        replace(&mut next.api_version, change.api_version);
        replace(
            &mut next.metadata.owner_references,
            change.metadata.owner_references.take(),
        );
        replace(&mut next.metadata.finalizers, change.metadata.finalizers.take());
        change.metadata.apply(&mut next.metadata.common)?;
        replace(&mut next.scheduler_name, change.scheduler_name);
        replace(&mut next.decisions, change.decisions);
        next.share_with(self);
        Ok(next)
    }
}

impl MetadataChange {
    fn between(previous: &Metadata, next: &Metadata) -> Self {
        let Metadata {
            name,
            namespace,
            uid,
            resource_version,
            generation,
            generate_name,
            creation_timestamp,
            deletion_timestamp,
            labels,
            annotations,
            writers,
        } = next;
        let before = previous.writers.as_deref().unwrap_or_default();
        Self {
            name: differing(&previous.name, name),
            namespace: differing(&previous.namespace, namespace),
            uid: differing(&previous.uid, uid),
            resource_version: differing(&previous.resource_version, resource_version),
            generation: differing(&previous.generation, generation),
            generate_name: differing(&previous.generate_name, generate_name),
            creation_timestamp: differing(&previous.creation_timestamp, creation_timestamp),
            deletion_timestamp: differing(&previous.deletion_timestamp, deletion_timestamp),
            labels: differing(&previous.labels, labels),
            annotations: differing(&previous.annotations, annotations),
            writers: (previous.writers != *writers).then(|| {
                let writers = writers.as_deref()?;
                Some(writers.iter().map(|w| WriterChange::of(w, before)).collect())
            }),
            owner_references: None,
            finalizers: None,
        }
    }

    /// Whether it has parts that only slices have.
    fn is_of_slice(&self) -> bool {
        self.owner_references.is_some() || self.finalizers.is_some()
    }

    /// Applies it to what all kinds of objects have.
    fn apply(self, metadata: &mut Metadata) -> Result<(), LineError> {
        replace(&mut metadata.name, self.name);
        replace(&mut metadata.namespace, self.namespace);
        replace(&mut metadata.uid, self.uid);
        replace(&mut metadata.resource_version, self.resource_version);
        replace(&mut metadata.generation, self.generation);
        replace(&mut metadata.generate_name, self.generate_name);
        replace(&mut metadata.creation_timestamp, self.creation_timestamp);
        replace(&mut metadata.deletion_timestamp, self.deletion_timestamp);
        replace(&mut metadata.labels, self.labels);
        replace(&mut metadata.annotations, self.annotations);
        match self.writers {
            None => {}
            Some(None) => metadata.writers = None,
            Some(Some(changes)) => {
                let before = metadata.writers.as_deref().unwrap_or_default();
                let writers: Result<Vec<Writer>, LineError> =
                    changes.into_iter().map(|change| change.writer(before)).collect();
                metadata.writers = Some(writers?.into());
            }
        }
        Ok(())
    }
}

impl StatusChange {
    fn between(previous: &Status, next: &Status) -> Self {
        let Status {
            version,
            properties,
            conditions,
            access_providers,
            credential_providers,
        } = next;
        Self {
            version: differing(&previous.version, version),
            properties: differing(&previous.properties, properties),
            conditions: differing(&previous.conditions, conditions),
            access_providers: differing(&previous.access_providers, access_providers),
            credential_providers: differing(&previous.credential_providers, credential_providers),
        }
    }

    fn apply(self, status: &mut Status) {
        replace(&mut status.version, self.version);
        replace(&mut status.properties, self.properties);
        replace(&mut status.conditions, self.conditions);
        replace(&mut status.access_providers, self.access_providers);
        replace(&mut status.credential_providers, self.credential_providers);
    }
}

impl WriterChange {
    fn of(writer: &Writer, before: &[Writer]) -> Self {
        let retimed = |other: &Writer| {
            let other = Writer {
                time: writer.time.clone(),
                ..other.clone()
            };
            other == *writer
        };
        if let Some(same) = before.iter().position(|other| other == writer) {
            Self::Same(same)
        } else if let Some(same) = before.iter().position(retimed) {
            Self::Retimed {
                same,
                time: writer.time.clone(),
            }
        } else {
            Self::Whole(writer.clone())
        }
    }

    fn writer(self, before: &[Writer]) -> Result<Writer, LineError> {
        let entry = |index: usize| {
            before.get(index).cloned().ok_or(LineError::NoWriter {
                index,
                count: before.len(),
            })
        };
        match self {
            Self::Same(same) => entry(same),
            Self::Retimed { same, time } => Ok(Writer { time, ..entry(same)? }),
            Self::Whole(writer) => Ok(writer),
        }
    }
}

pub(super) fn differing<T: PartialEq + Clone>(previous: &T, next: &T) -> Part<T> {
    (previous != next).then(|| next.clone())
}

pub(super) fn replace<T>(own: &mut T, part: Part<T>) {
    if let Some(part) = part {
        *own = part;
    }
}

/// A part that is present, even as `null`: serde alone reads `null` as absent.
pub(super) fn part<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Part<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
