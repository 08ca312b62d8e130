//! The reference consumer: it reads profiles, and reaches their members.

/// The reference consumer.
#[derive(Debug)]
pub struct Consumer;

impl Consumer {
    /// Its user on the hub.
    pub const NAME: &str = "reference-consumer";
    /// The namespace of the profiles that are staged for it.
    pub const NAMESPACE: &str = "stage";
}
