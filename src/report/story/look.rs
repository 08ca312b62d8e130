//! What is compared of a member's answers.

use std::collections::BTreeMap;

use evidence::Look;
use serde_json::{Value, json};

/// A member's answers without what differs each time: when they came, and how old a lease is.
pub(super) fn lasting(look: &Look) -> Value {
    let mut value = serde_json::to_value(look).unwrap_or_default();
    if let Some(fields) = value.as_object_mut() {
        fields.remove("from");
        fields.remove("until");
        if let Some(leases) = &look.leases {
            let held: BTreeMap<&str, &str> = leases
                .iter()
                .map(|lease| {
                    let is_held = lease.age_seconds <= lease.duration_seconds;
                    (&*lease.name, if is_held { "held" } else { "expired" })
                })
                .collect();
            fields.insert("leases".to_owned(), json!(held));
        }
    }
    value
}
