//! Roles, the editions of their documents, and the optional features that an implementation may claim.

use std::str::FromStr;

use super::names;
use crate::named::named_enum;

named_enum! {
    /// A role that is judged: with rules, editions and objects of its own.
    #[derive(Default)]
    pub enum Role {
        /// A cluster manager: it describes its members in ClusterProfiles (KEP-4322).
        #[default]
        Manager = "manager",
        /// A scheduler: it publishes in PlacementDecisions (KEP-5313) which members it selected.
        Scheduler = "scheduler",
        /// A consumer: it reads profiles, and reaches their members.
        Consumer = "consumer",
    }
}

named_enum! {
    /// A version of the documents to judge a role by. Those of one role are together, oldest first.
    #[derive(Default)]
    pub enum Edition {
        /// KEP-4322 with the standard property list, consumer Secrets, and the Overview with access providers.
        #[default]
        Standard = "standard",
        /// KEP-4322 as merged on 2026-07-22: ClusterProperty propagation, KEP-5339 merged in, no property list.
        Y2026M07 = "2026-07",
        /// Plus inventories defined as the profiles of one namespace, and API `v1alpha2`.
        Y2026M09 = "2026-09",
        /// KEP-5313 as written on 2025-09-14 and merged on 2025-11-25, with the API `v1alpha1`.
        Placement2025M09 = "placement-2025-09",
        /// KEP-5313 with the stricter API `v1alpha2`.
        Placement2026M09 = "placement-2026-09",
        /// What edition `2026-07` and the Overview ask of clients that read profiles.
        Consumer2026M07 = "consumer-2026-07",
        /// What edition `2026-09` asks of these clients.
        Consumer2026M09 = "consumer-2026-09",
    }
}

named_enum! {
    /// An optional part of the API that an implementation claims or disclaims.
    pub enum Feature {
        /// Credentials pushed to consumers as Secrets (KEP-4322 › Push Model via Credentials in Secret).
        ConsumerSecrets = "consumer-secrets",
    }
}

named_enum! {
    /// A kind of objects of the group [`GROUP`](names::GROUP), each with documents of its own.
    pub enum ObjectKind {
        /// A ClusterProfile (KEP-4322).
        ClusterProfile = "ClusterProfile",
        /// A PlacementDecision (KEP-5313): a slice of a decision.
        PlacementDecision = "PlacementDecision",
    }
}

/// An unknown name, with the nearest known one if there is one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown {what} `{input}`{}", .nearest.as_ref().map(|n| format!(": did you mean `{n}`?")).unwrap_or_default())]
pub struct UnknownName {
    /// What the name is of, for example `edition`.
    pub what: &'static str,
    /// The name as it was given.
    pub input: String,
    /// The nearest known name.
    pub nearest: Option<String>,
}

/// An unknown name of one of a few things, all of which it lists.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name} (the {}s: {all})", name.what)]
pub struct UnknownChoice {
    #[source]
    name: UnknownName,
    all: String,
}

impl UnknownName {
    /// Finds the nearest of `names`, to suggest it.
    pub fn among<'a>(what: &'static str, input: &str, names: impl IntoIterator<Item = &'a str>) -> Self {
        // 0.8 matches a typo or two in a rule id, but no unrelated word.
        let nearest = names
            .into_iter()
            .map(|name| (strsim::jaro_winkler(input, name), name))
            .filter(|(likeness, _)| *likeness > 0.8)
            .max_by(|(one, _), (other, _)| one.total_cmp(other))
            .map(|(_, name)| name.to_owned());
        Self {
            what,
            input: input.to_owned(),
            nearest,
        }
    }
}

impl Role {
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

impl Edition {
    /// The role that is judged by it.
    pub fn role(self) -> Role {
        match self {
            Edition::Standard | Edition::Y2026M07 | Edition::Y2026M09 => Role::Manager,
            Edition::Placement2025M09 | Edition::Placement2026M09 => Role::Scheduler,
            Edition::Consumer2026M07 | Edition::Consumer2026M09 => Role::Consumer,
        }
    }

    /// The edition whose documents it judges by: of consumers, they are those of managers.
    pub fn documents(self) -> Self {
        match self {
            Edition::Consumer2026M07 => Edition::Y2026M07,
            Edition::Consumer2026M09 => Edition::Y2026M09,
            other => other,
        }
    }
}

impl ObjectKind {
    /// What people call one.
    pub fn noun(self) -> &'static str {
        match self {
            ObjectKind::ClusterProfile => "profile",
            ObjectKind::PlacementDecision => "placement decision",
        }
    }

    /// Its plural, as in request paths.
    pub fn plural(self) -> &'static str {
        match self {
            ObjectKind::ClusterProfile => names::PLURAL,
            ObjectKind::PlacementDecision => names::PLACEMENT_PLURAL,
        }
    }

    /// The role that publishes such objects.
    pub fn publisher(self) -> Role {
        match self {
            ObjectKind::ClusterProfile => Role::Manager,
            ObjectKind::PlacementDecision => Role::Scheduler,
        }
    }
}

fn choose<T: Copy, const N: usize>(
    what: &'static str,
    input: &str,
    all: [T; N],
    name: fn(T) -> &'static str,
) -> Result<T, UnknownChoice> {
    all.into_iter()
        .find(|one| name(*one) == input)
        .ok_or_else(|| UnknownChoice {
            name: UnknownName::among(what, input, all.map(name)),
            all: all.map(name).join(", "),
        })
}

impl FromStr for Edition {
    type Err = UnknownChoice;

    fn from_str(name: &str) -> Result<Self, UnknownChoice> {
        choose("edition", name, Self::ALL, Self::name)
    }
}

impl FromStr for Feature {
    type Err = UnknownChoice;

    fn from_str(name: &str) -> Result<Self, UnknownChoice> {
        choose("feature", name, Self::ALL, Self::name)
    }
}
