//! Reads kubectl dumps: the output of `kubectl get clusterprofiles,namespaces -A -o yaml --show-managed-fields`.
//!
//! A dump is a file of YAML documents or JSON values, or a directory of such files. Each holds an object, an array of
//! objects or a `List` (also a `ClusterProfileList`, `NamespaceList` or `SecretList`). A dump may hold ClusterProfiles
//! of any version, Namespaces, Secrets and the CRD of ClusterProfile. Secrets with the label `x-k8s.io/cluster-profile`
//! are digested. Other objects are ignored and counted.
//!
//! A dump has no window and no times. A file that is neither YAML nor JSON is refused, and so is a list that ends in
//! the middle. An object of another shape, or in two versions, becomes an [`Unreadable`](super::Unreadable). A list
//! with a `continue` token leaves a [`Gap`](super::Gap). Objects of JSON are read one at a time, and parsed while the next
//! ones are read; a document of YAML is read as a whole.

mod document;
mod gather;
mod parser;
mod source;
#[cfg(test)]
mod tests;
mod transcode;
mod types;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::{Path, PathBuf},
};

use self::gather::Gatherer;
use crate::{
    Digester, Input, InputError, Kind, LimitError, Limits, Reason, ReasonId, Requested, api::names,
    read::files::open,
};

/// Why a dump has no evidence of [`Kind::Requests`](super::Kind::Requests).
pub const NO_AUDIT_LOG: Reason = Reason::new(ReasonId::NoAuditLog, "no audit log was given");

/// Reads an unpacked dump. `name` is for messages and the header: a path, or a description of the reader, which bounds
/// the whole and the ratio.
///
/// # Errors
/// When it cannot be read, exceeds a limit, or holds no readable ClusterProfile.
pub fn read_from(
    reader: impl io::Read,
    name: &str,
    digester: &Digester,
    limits: &Limits,
) -> Result<Input, InputError> {
    let mut gatherer = Gatherer::new(digester, *limits);
    let (_, is_blank) = document::read_file(reader, name, &mut gatherer)?;
    if is_blank {
        return Err(InputError::Content(format!(
            "{name} is empty: did the kubectl command that wrote it fail?"
        )));
    }
    gatherer.finish(name)
}

/// Reads the `*.yaml`, `*.yml` and `*.json` of a directory as one dump, in the order of their names. Ignores
/// subdirectories and empty files.
///
/// # Errors
/// When a file cannot be read, they exceed a limit together, or none holds a readable ClusterProfile.
pub fn read_directory(path: &Path, digester: &Digester, limits: &Limits) -> Result<Input, InputError> {
    let directory = path.display().to_string();
    let unread = |file: &Path, cause| InputError::Read {
        path: file.display().to_string(),
        cause,
    };
    let files = files(path).map_err(|cause| unread(path, cause))?;
    if files.is_empty() {
        return Err(InputError::Content(format!(
            "{directory} holds no *.yaml, *.yml or *.json file (subdirectories are not searched)"
        )));
    }
    let mut gatherer = Gatherer::new(digester, *limits);
    let mut remaining = *limits;
    for file in files {
        let name = file.display().to_string();
        let reader = open(&file, &remaining).map_err(|cause| unread(&file, cause))?;
        let (size, _) = document::read_file(reader, &name, &mut gatherer).map_err(|mut error| {
            // The files before this one have used a part of the limit.
            if let InputError::TooLarge {
                limit: LimitError::Whole(whole),
                ..
            } = &mut error
            {
                *whole = limits.whole;
            }
            error
        })?;
        remaining.whole = remaining.whole.saturating_sub(size);
    }
    gatherer.finish(&directory)
}

fn files(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        let extension = path.extension().and_then(|extension| extension.to_str());
        if matches!(extension, Some("yaml" | "yml" | "json")) && path.is_file() {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

const NO_TIMELINE: &str = "a dump has no timeline: observe a hub, or judge an evidence file";

/// Why a dump may lack a kind of evidence.
const LACKING: [(Kind, &str); 11] = [
    (
        Kind::Inventory,
        "the dump holds no ClusterProfiles: add `kubectl get clusterprofiles -A -o yaml`",
    ),
    (
        Kind::PlacementDecisions,
        "the dump holds no PlacementDecisions: add `kubectl get placementdecisions -A -o yaml`",
    ),
    (
        Kind::Namespaces,
        "the dump holds no Namespaces: add `kubectl get namespaces -o yaml`",
    ),
    (
        Kind::Secrets,
        "the dump holds no Secrets: add `kubectl get secrets -A -l x-k8s.io/cluster-profile -o yaml`",
    ),
    (
        Kind::UnlabelledSecrets,
        "the dump holds no Secret without the label x-k8s.io/cluster-profile",
    ),
    (
        Kind::Writers,
        "the dump was made without managedFields: add --show-managed-fields",
    ),
    (Kind::Timeline, NO_TIMELINE),
    (Kind::PlacementTimeline, NO_TIMELINE),
    (Kind::Probe, "a dump cannot answer dry runs: run against the hub"),
    (
        Kind::Members,
        "a dump has no answers of members: run against the hub",
    ),
    (Kind::Driver, "a dump cannot run a driver: run against the hub"),
];

/// Which kinds of evidence a dump with these contents has, and what to add for the others.
fn requested(contents: &BTreeSet<Kind>) -> BTreeMap<Kind, Requested> {
    let kinds = LACKING.map(|(kind, reason)| {
        if contents.contains(&kind) {
            (kind, Requested::Yes)
        } else {
            (kind, Requested::No(reason.into()))
        }
    });
    let requests = (Kind::Requests, Requested::No(NO_AUDIT_LOG));
    kinds.into_iter().chain([requests]).collect()
}

/// A note on the versions of the API that the suite does not know, if there are any.
fn unknown_versions(versions: &BTreeSet<String>, kind: &str) -> Option<String> {
    const SHOWN: usize = 3;
    const LONGEST: usize = 63;
    let unknown = versions
        .iter()
        .filter(|version| !names::VERSIONS.contains(&version.as_str()));
    let examples: Vec<String> = unknown
        .take(SHOWN)
        .map(|version| version.chars().take(LONGEST).collect())
        .collect();
    (!examples.is_empty()).then(|| {
        format!(
            "{kind}s are read as {}: this suite does not know their version {}",
            names::VERSIONS[0],
            examples.join(", ")
        )
    })
}
