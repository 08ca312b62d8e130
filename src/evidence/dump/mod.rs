//! Reads kubectl dumps: what `kubectl get clusterprofiles,namespaces -A -o yaml --show-managed-fields` prints.
//!
//! A dump is a file of YAML documents or of JSON values, one or several, each an object, a `List` of objects (also a
//! `ClusterProfileList`, `NamespaceList` or `SecretList`) or an array of them; or a directory of such files. It may hold
//! ClusterProfiles of any version, Namespaces, Secrets (those with the label `x-k8s.io/cluster-profile` are digested,
//! others ignored) and the CRD of ClusterProfile; objects of other kinds are ignored and counted.
//!
//! A dump does not tell when it was taken: the header has no window, and every version is dated to the Unix epoch.
//! An object that does not fit the shape of its kind becomes an [`Unreadable`](super::Unreadable), and the others are
//! judged. A document that cannot be parsed is an error, as nobody can tell which objects are lost with it, unless
//! it is one of several and says who it is (that is so when it repeats a key).

mod error;
mod gather;
mod item;
mod json;
mod read;
#[cfg(test)]
mod tests;
mod text;
mod yaml;

pub use error::DumpError;
pub use read::{read_directory, read_from};
