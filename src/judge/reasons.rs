//! Reasons for no verdict that the user can change. Callers may add how.

/// The user declared that the implementation lacks a rule's feature. The feature's name follows.
pub const DECLARED_ABSENT: &str = "declared absent: feature ";
/// The edition asks for a feature only where it is claimed. The feature's name follows.
pub const NOT_CLAIMED: &str = "requires this only of implementations that claim the feature ";
/// The rule compares namespaces, and the run observed a share of them. The share follows.
pub const PART_OF_FLEET: &str = "the rule compares all namespaces of the fleet, and this is share ";
/// No namespace with profiles falls to the run's share. The share follows.
pub const EMPTY_SHARE: &str = "no profile falls to share ";
/// No member was asked.
pub const NO_MEMBER_ASKED: &str = "no member was asked: no kubeconfig of a profile's member was given";
/// No member was asked with a consumer's credential.
pub const NO_SECRET_TRIED: &str = "no member was asked with the kubeconfig of a consumer's Secret";
/// No namespace stands for a ClusterSet.
pub const NO_CLUSTERSET: &str = "no namespace represents a ClusterSet by a profile, a label or a declaration";
/// No profile is in the namespace of a ClusterSet.
pub const NO_PROFILE_IN_CLUSTERSET: &str =
    "no profile is in a namespace that represents a ClusterSet by its label or a declaration";
/// By which names the cluster manager is known was not said. At the end of a remark.
pub const MANAGER_NOT_NAMED: &str = "the cluster manager's users or field managers were not named";
/// By which names the scheduler is known was not said. At the end of a remark.
pub const SCHEDULER_NOT_NAMED: &str = "the scheduler's users or field managers were not named";
/// No consumer was declared to need credentials.
pub const NO_CONSUMER: &str = "no consumer was declared";
