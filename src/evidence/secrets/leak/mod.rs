//! Finds leaked credentials in text.
//!
//! Anyone with read access to the hub may see profiles, so none may hold a credential. One rule and the redaction
//! ([`super::redact`]) share this scanner and need different certainty: the rule must not raise false alarms, and the
//! redaction may remove too much. So each find has a [`Grade`].
//!
//! The scanner looks into JSON, YAML and base64, up to a depth.

mod finds;
mod grade;
mod issued;
mod keys;
mod patterns;
mod scan;
mod values;

pub(super) use finds::finds;
pub use grade::{Grade, Leak, LeakKind};
pub use issued::OWN_CREDENTIAL;
pub(super) use keys::{named, named_number};
pub use scan::{leaks_in_text, leaks_under};
pub(super) use scan::{options, variable};

#[cfg(test)]
mod tests;
