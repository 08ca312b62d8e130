//! What the consumer is called, and what it reads.

/// The consumer's name: its user and its field manager.
pub(super) const CONSUMER: &str = "reference-consumer";
/// The namespace whose profiles it reads.
pub(super) const NAMESPACE: &str = "lab-consumer";
/// The provider that it has a plugin for.
pub(super) const PROVIDER: &str = "recorder";
