//! Why evidence is missing, or a rule has no verdict.

use std::{borrow::Cow, fmt, ops::Deref};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Why evidence is missing, or a rule has no verdict: in words, and by an id where the user can do something about it.
/// The words never say how to get what is missing: the printer of a reason adds that by the id.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(from = "Written", into = "Written")]
#[schemars(with = "Written")]
pub struct Reason {
    /// Its sort, for programs that act on it; none for most.
    pub id: Option<ReasonId>,
    words: Cow<'static, str>,
}

/// A sort of reason. The ids are part of the JSON report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReasonId {
    /// The hub was listed once.
    SingleSnapshot,
    /// No audit log was given.
    NoAuditLog,
    /// No request was sent to a member.
    NoMembers,
    /// No credential plugin was run.
    NoPlugins,
    /// No driver was given.
    NoDriver,
    /// A driver was given, but nothing watched what came of its steps.
    NoWatch,
    /// The run may not write to the hub.
    NoMutations,
    /// The consumer's user was not named.
    NoConsumerUsers,
    /// The implementation does not claim that it pushes Secrets.
    NoClaim,
    /// The runner lacks a permission to read on the hub.
    ReadForbidden,
    /// The runner lacks a permission to change profiles.
    ProfileWritesForbidden,
    /// The runner lacks a permission to change placement decisions.
    PlacementDecisionWritesForbidden,
    /// The runner lacks a permission on a member.
    MemberForbidden,
    /// The user did not select the rule.
    Deselected,
    /// No evidence can judge the rule yet.
    NotYetJudged,
    /// The user declared that the implementation lacks the rule's feature.
    FeatureAbsent,
    /// The edition asks for the rule's feature only where it is claimed.
    FeatureNotClaimed,
    /// The evidence that the rule needs was not requested.
    NotRequested,
    /// The hub has no object of the kind that the rule is about.
    NoObject,
    /// The rule applies to nothing on the hub.
    NotApplicable,
    /// Nothing happened during the run that the rule judges.
    NothingHappened,
    /// Evidence was requested, but could not be collected or is inconclusive.
    Unknown,
    /// Every violation is waived.
    Waived,
    /// The hub was restored from a backup: its resourceVersions went back.
    HubRestored,
    /// No kubeconfig of a profile's member was given.
    NoMemberKubeconfig,
    /// No kubeconfig of a consumer's Secret was tried.
    NoSecretTried,
    /// No namespace represents a ClusterSet.
    NoClusterset,
    /// No consumer was declared to need credentials.
    NoConsumer,
    /// By which names the cluster manager is known was not said.
    ManagerNotNamed,
    /// By which names the scheduler is known was not said.
    SchedulerNotNamed,
}

impl Reason {
    /// A reason of that sort.
    pub const fn new(id: ReasonId, words: &'static str) -> Self {
        Self {
            id: Some(id),
            words: Cow::Borrowed(words),
        }
    }

    /// Why the evidence does not decide.
    pub const fn unknown(words: &'static str) -> Self {
        Self::new(ReasonId::Unknown, words)
    }

    /// A reason of that sort, in words that hold what was seen.
    pub fn of(id: ReasonId, words: impl Into<Cow<'static, str>>) -> Self {
        Self {
            id: Some(id),
            words: words.into(),
        }
    }

    /// Puts what it explains before the words.
    #[must_use]
    pub fn after(&self, what: impl fmt::Display) -> Self {
        Self {
            id: self.id,
            words: format!("{what}: {}", self.words).into(),
        }
    }

    /// Replaces the words and keeps the id.
    #[must_use]
    pub fn in_words(&self, words: String) -> Self {
        Self {
            id: self.id,
            words: words.into(),
        }
    }
}

impl Deref for Reason {
    type Target = str;

    fn deref(&self) -> &str {
        &self.words
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.words)
    }
}

impl<W: Into<Cow<'static, str>>> From<W> for Reason {
    fn from(words: W) -> Self {
        Self {
            id: None,
            words: words.into(),
        }
    }
}

impl PartialEq<str> for Reason {
    fn eq(&self, words: &str) -> bool {
        self.words == words
    }
}

impl PartialEq<&str> for Reason {
    fn eq(&self, words: &&str) -> bool {
        self.words == *words
    }
}

/// A reason in a file. Older suites wrote the words alone.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
enum Written {
    Words(String),
    Known { id: ReasonId, words: String },
}

impl From<Written> for Reason {
    fn from(text: Written) -> Self {
        match text {
            Written::Words(words) => words.into(),
            Written::Known { id, words } => Self::of(id, words),
        }
    }
}

impl From<Reason> for Written {
    fn from(reason: Reason) -> Self {
        let words = reason.words.into_owned();
        match reason.id {
            None => Written::Words(words),
            Some(id) => Written::Known { id, words },
        }
    }
}
