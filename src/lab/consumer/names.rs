//! The names of the consumer, and of what it reads.

/// The consumer's name: its user and its field manager.
pub(super) const CONSUMER: &str = "reference-consumer";
/// The namespaces whose profiles it reads.
pub(super) const NAMESPACES: [&str; 2] = ["lab-consumer", "lab-consumer-b"];
/// A namespace whose profiles it does not read.
pub(super) const UNSELECTED: &str = "lab-elsewhere";
/// The key of the decision that it reads, if it reads any.
pub(super) const DECISION: &str = "web";
/// The provider for which it has a plugin.
pub(super) const PROVIDER: &str = "recorder";
/// The namespace of its outputs.
pub(super) const OUTPUTS: &str = "lab-argocd";
