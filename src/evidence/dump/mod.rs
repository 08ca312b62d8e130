//! Reads kubectl dumps: the output of `kubectl get clusterprofiles,namespaces -A -o yaml --show-managed-fields`.
//!
//! A dump is a file of YAML documents or JSON values, or a directory of such files. Each holds an object, an array of
//! objects or a `List` (also a `ClusterProfileList`, `NamespaceList` or `SecretList`). A dump may hold ClusterProfiles
//! of any version, Namespaces, Secrets and the CRD of ClusterProfile. Secrets with the label `x-k8s.io/cluster-profile`
//! are digested. Other objects are ignored and counted.
//!
//! A dump does not say when it was taken: the header has no window, and no version has a time.
//! What is not YAML or JSON is refused, and so is a list that ends in the middle. An object of another shape, or in two
//! versions, becomes an [`Unreadable`](super::Unreadable), and the others are judged. It is an error only if nothing
//! remains to judge. A list with a `continue` token is only a part: it leaves a [`Gap`](super::Gap).
//!
//! A dump is never whole in memory: it is cut into the items of its lists while it is read, by brackets or by
//! indentation, and each item is parsed by itself. So the items of a YAML list cannot share anchors. [`Limits`] bound
//! what is read.
//!
//! [`Limits`]: super::Limits

mod cut;
mod documents;
mod error;
mod gather;
mod item;
mod json;
mod lines;
mod place;
mod read;
mod take;
#[cfg(test)]
mod tests;
mod text;
mod typed;
mod yaml;

pub use error::{At, DumpError};
pub(crate) use read::read_bounded;
pub use read::{read_directory, read_from};

use crate::{Reason, ReasonId};

/// Why a dump has no evidence of [`Kind::Requests`](super::Kind::Requests).
pub const NO_AUDIT_LOG: Reason = Reason::known(ReasonId::NoAuditLog, "no audit log was given");
