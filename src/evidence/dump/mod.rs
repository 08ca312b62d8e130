//! Reads kubectl dumps: what `kubectl get clusterprofiles,namespaces -A -o yaml --show-managed-fields` prints.
//!
//! A dump is a file of YAML documents or of JSON values, one or several, each an object, a `List` of objects (also a
//! `ClusterProfileList`, `NamespaceList` or `SecretList`) or an array of them; or a directory of such files. It may hold
//! ClusterProfiles of any version, Namespaces, Secrets (those with the label `x-k8s.io/cluster-profile` are digested,
//! others ignored) and the CRD of ClusterProfile; objects of other kinds are ignored and counted.
//!
//! A dump does not tell when it was taken: the header has no window, and every version is dated to the Unix epoch.
//! An object that does not fit the shape of its kind, or that is in the dump in two versions, becomes an
//! [`Unreadable`](super::Unreadable), and the others are judged. So does an object that cannot be parsed, where it can
//! be told from the others: by the brackets of JSON, by the indentation of YAML as kubectl writes it, by the marks
//! between documents. What cannot even be told apart becomes one of unknown kind. Only where nothing is left that could
//! be judged, it is an error.

mod error;
mod gather;
mod item;
mod json;
mod lines;
mod read;
#[cfg(test)]
mod tests;
mod text;
mod yaml;

pub use error::DumpError;
pub use read::{read_directory, read_from};
