//! Who is judged.

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

use super::{Edition, ObjectKind};

/// Who is judged: a role with rules, editions and objects of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// A cluster manager: it describes its members in ClusterProfiles (KEP-4322).
    #[default]
    Manager,
    /// A scheduler: it publishes in PlacementDecisions (KEP-5313) which members it selected.
    Scheduler,
    /// A consumer: it reads profiles, and reaches their members.
    Consumer,
}

impl Role {
    /// All roles, in the order of reports.
    pub const ALL: [Role; 3] = [Role::Manager, Role::Scheduler, Role::Consumer];

    /// The name on the command line and in files, and that of the folder of its suites.
    pub fn name(self) -> &'static str {
        match self {
            Role::Manager => "manager",
            Role::Scheduler => "scheduler",
            Role::Consumer => "consumer",
        }
    }

    /// What people call such an implementation.
    pub fn noun(self) -> &'static str {
        match self {
            Role::Manager => "cluster manager",
            Role::Scheduler => "scheduler",
            Role::Consumer => "consumer",
        }
    }

    /// What its objects are: those that it writes, or those that it reads.
    pub fn objects(self) -> ObjectKind {
        match self {
            Role::Manager | Role::Consumer => ObjectKind::ClusterProfile,
            Role::Scheduler => ObjectKind::PlacementDecision,
        }
    }

    /// The role that a rule is about, by its id. It need not be the id of a rule.
    pub fn of_rule(id: &str) -> Role {
        if id.starts_with("placement-") {
            Role::Scheduler
        } else if id.starts_with("consumer-") {
            Role::Consumer
        } else {
            Role::Manager
        }
    }

    /// The edition to judge by if the user names none.
    pub fn default_edition(self) -> Edition {
        match self {
            Role::Manager => Edition::Standard,
            Role::Scheduler => Edition::Placement2025M09,
            Role::Consumer => Edition::Consumer2026M07,
        }
    }

    /// Its editions, oldest first.
    pub fn editions(self) -> impl Iterator<Item = Edition> {
        Edition::ALL
            .into_iter()
            .filter(move |edition| edition.role() == self)
    }

    /// Names several, as `--role` takes them.
    pub fn names(roles: impl IntoIterator<Item = Role>) -> String {
        let names: Vec<&str> = roles.into_iter().map(Role::name).collect();
        names.join(",")
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
