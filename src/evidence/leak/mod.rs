//! Credentials where none belong: tells them from other text.
//!
//! Profiles are for everybody who may look at the hub, so no credential may stand in one. The rule that says so and
//! the redaction of what is shown to people ([`super::redact`]) share what is known here, and ask for different
//! certainty: a rule must not raise a false alarm, and a redaction may well take out too much. So each find has a
//! [`Grade`].
//!
//! Text is taken as what it is: JSON, YAML and base64 are looked into, up to a depth.

mod finds;
mod grade;
mod keys;
mod patterns;
mod scan;
mod userinfo;

pub(super) use finds::finds;
pub use grade::{Grade, Leak, LeakKind};
pub use scan::{leaks_in_text, leaks_in_value, leaks_under};
pub use userinfo::has_userinfo;

#[cfg(test)]
mod tests;
