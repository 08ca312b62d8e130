//! What rules are about, and what they report of it.

pub(crate) mod finding;
mod profiles;
pub(crate) mod sets;

pub use finding::{Conclusion, Finding, Findings};
pub(crate) use profiles::{ByName, Name, Profile, Profiles, by_name, has_status, name};
