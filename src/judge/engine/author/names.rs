//! The names of the judged implementation, configured or inferred.

use std::collections::BTreeSet;

use evidence::{Evidence, Identity, Reason, ReasonId, api::Role};

use super::{
    Attribution, Author,
    writers::{WriterName, Writers, Written, is_kubectl},
};
use crate::text::redacted;

/// The largest number of writers in a reason.
const LISTED_WRITERS: usize = 4;

/// The names of the judged implementation. Configured names are exhaustive; inferred names are not.
pub(super) struct ImplementationNames<'e> {
    role: Role,
    configured: Identity,
    /// The writers that may be the implementation, by what they wrote.
    candidates: BTreeSet<WriterName<'e>>,
    /// The inferred names: at most one client and one field manager.
    inferred: Vec<WriterName<'e>>,
    /// The other writers that publish, if none has a configured name of their sort: that name may be misspelt.
    doubtful: BTreeSet<WriterName<'e>>,
    /// True if the implementation is known, and does not use kubectl.
    excludes_kubectl: bool,
    /// The reason for an unknown author.
    pub(super) not_configured: Reason,
}

impl<'e> ImplementationNames<'e> {
    pub(super) fn of(evidence: &'e Evidence, role: Role, writers: &Writers<'e>) -> Self {
        let publishers = writers.iter().filter(|(_, written)| written.publishes);
        let publishers = publishers.map(|(name, _)| *name);
        let mut names = Self {
            role,
            configured: configured(evidence, role),
            candidates: publishers
                .filter(|name| !name.is_hub() && !name.is_suite() && !name.is_kubectl())
                .collect(),
            inferred: Vec::new(),
            doubtful: BTreeSet::new(),
            excludes_kubectl: false,
            not_configured: Reason::default(),
        };
        names.inferred = [true, false]
            .into_iter()
            .filter_map(|is_client| names.infer(is_client))
            .collect();
        names.doubtful = names.doubtful(writers);
        names.excludes_kubectl = names.excludes_kubectl(writers);
        let generic = || names.reason(names.not_configured_in_words());
        names.not_configured = names.advice(writers).unwrap_or_else(generic);
        names
    }

    /// The only candidate among the clients or the field managers, if no such name is configured. It may be another writer
    /// if the configured names of the other sort do not include all of its candidates.
    fn infer(&self, is_client: bool) -> Option<WriterName<'e>> {
        let is_other = |name: &&WriterName<'e>| name.is_client() != is_client && !self.is_configured(**name);
        let has_other = self.has_names(!is_client) && self.candidates.iter().any(|name| is_other(&name));
        let mut of_sort = self
            .candidates
            .iter()
            .filter(|name| name.is_client() == is_client);
        let only = of_sort.next()?;
        let is_only = of_sort.next().is_none() && !self.has_names(is_client) && !has_other;
        is_only.then_some(*only)
    }

    fn doubtful(&self, writers: &Writers<'e>) -> BTreeSet<WriterName<'e>> {
        let has_writer = |are_clients: bool| {
            let mut of_sort = writers.keys().filter(|name| name.is_client() == are_clients);
            of_sort.any(|name| self.is_configured(*name))
        };
        let sorts = [true, false].into_iter();
        let unused = sorts.filter(|are_clients| self.has_names(*are_clients) && !has_writer(*are_clients));
        unused
            .flat_map(|are_clients| self.publishers(are_clients, writers))
            .collect()
    }

    /// The clients or the field managers that publish. kubectl may be the implementation only if no other one publishes.
    fn publishers(&self, are_clients: bool, writers: &Writers<'e>) -> Vec<WriterName<'e>> {
        let is_of_sort = |name: &WriterName| name.is_client() == are_clients;
        let has_candidate = self.candidates.iter().any(is_of_sort);
        let publishers = writers.iter().filter(|(_, written)| written.publishes);
        let mut names: Vec<WriterName> = publishers.map(|(name, _)| *name).filter(is_of_sort).collect();
        names.retain(|name| !name.is_hub() && !name.is_suite());
        if has_candidate {
            names.retain(|name| !name.is_kubectl());
        }
        names
    }

    /// The author with a name.
    pub(super) fn of_writer(&self, name: WriterName<'e>) -> Attribution<'e> {
        let is_inferred = self.inferred.contains(&name);
        let author = if name.is_suite() {
            Author::Run
        } else if self.is_configured(name) || is_inferred {
            Author::Implementation
        } else if self.doubtful.contains(&name) {
            Author::Unknown(self.reason(self.misspelt_in_words(name)))
        } else if self.is_other(name) {
            Author::Other
        } else {
            Author::Unknown(self.not_configured.clone())
        };
        Attribution {
            author,
            names: BTreeSet::from([name.text()]),
            is_inferred,
            is_kubectl_or_hub: name.is_kubectl() || name.is_hub(),
        }
    }

    /// Whether a name that is not the implementation's is known to be another client's.
    fn is_other(&self, name: WriterName<'e>) -> bool {
        self.has_names(name.is_client())
            || name.is_hub()
            || (name.is_kube_system_account() && !self.candidates.contains(&name))
            || (name.is_kubectl() && self.excludes_kubectl)
    }

    fn excludes_kubectl(&self, writers: &Writers<'e>) -> bool {
        let mut programs = self
            .configured
            .agents
            .iter()
            .chain(&self.configured.field_managers)
            .peekable();
        if programs.peek().is_some() {
            return !programs.any(|program| is_kubectl(program));
        }
        // A script that creates the objects with kubectl may be the implementation.
        let has_client = self.inferred.iter().any(|name| name.is_client());
        let creates = |(name, written): (&WriterName, &Written)| {
            name.is_client() && name.is_kubectl() && written.counts.contains_key("create")
        };
        has_client || (!self.inferred.is_empty() && !writers.iter().any(creates))
    }

    /// Whether clients or field managers are configured.
    fn has_names(&self, are_clients: bool) -> bool {
        if are_clients {
            !self.configured.users.is_empty() || !self.configured.agents.is_empty()
        } else {
            !self.configured.field_managers.is_empty()
        }
    }

    /// Whether a name is configured. An agent narrows a user to one program.
    fn is_configured(&self, name: WriterName<'e>) -> bool {
        let Identity { users, agents, .. } = &self.configured;
        match name {
            WriterName::Client { user, program } => {
                self.has_names(true)
                    && (users.is_empty() || self.configured.has_user(user))
                    && (agents.is_empty() || agents.iter().any(|agent| agent == program))
            }
            WriterName::FieldManager(name) => self.configured.has_field_manager(name),
        }
    }

    /// The flags that are missing, with their values.
    fn advice(&self, writers: &Writers<'e>) -> Option<Reason> {
        let missing = [true, false]
            .into_iter()
            .filter(|are_clients| !self.has_names(*are_clients));
        let publishers = missing.flat_map(|are_clients| self.publishers(are_clients, writers));
        let mut flags: Vec<String> = publishers.map(|name| self.flags(name, writers)).collect();
        let more = flags.len().saturating_sub(LISTED_WRITERS);
        flags.truncate(LISTED_WRITERS);
        if more > 0 {
            flags.push(format!("{more} more"));
        }
        (!flags.is_empty()).then(|| {
            let words = self.not_configured_in_words();
            self.reason(format!(
                "{words}; pass those that belong to it: {}",
                flags.join(", ")
            ))
        })
    }

    /// The flags that name a writer. A user needs an agent only if another program uses it too.
    pub(super) fn flags(&self, name: WriterName<'e>, writers: &Writers<'e>) -> String {
        let role = self.role.noun().replace(' ', "-");
        let text = shell_word(name.text());
        match name {
            WriterName::FieldManager(_) => format!("--{role}-field-manager {text}"),
            WriterName::Client { user, program } => {
                let shares_user = |other: &&WriterName| other.is_client() && other.text() == user;
                let is_shared = writers.keys().filter(shares_user).count() > 1 && !program.is_empty();
                let agent = is_shared.then(|| format!(" --{role}-agent {}", shell_word(program)));
                format!("--{role}-user {text}{}", agent.unwrap_or_default())
            }
        }
    }

    /// Says that a writer publishes, and that none with a configured name does.
    fn misspelt_in_words(&self, writer: WriterName) -> String {
        let Identity { users, agents, .. } = &self.configured;
        let sorts: &[&str] = match writer {
            WriterName::FieldManager(_) => &["field-manager"],
            WriterName::Client { .. } if agents.is_empty() => &["user"],
            WriterName::Client { .. } if users.is_empty() => &["agent"],
            WriterName::Client { .. } => &["user", "agent"],
        };
        let (role, name) = (self.role.noun(), redacted(writer.text()));
        let flags = sorts
            .iter()
            .map(|sort| format!("--{}-{sort}", role.replace(' ', "-")));
        format!(
            "none of the configured {}s of the {role} wrote an object, but {name} did: check {}",
            sorts[0].replace('-', " "),
            flags.collect::<Vec<_>>().join(" and "),
        )
    }

    fn not_configured_in_words(&self) -> String {
        format!("the names of the {} are not configured", self.role.noun())
    }

    fn reason(&self, words: String) -> Reason {
        let id = match self.role {
            Role::Manager => ReasonId::ManagerNotNamed,
            Role::Scheduler => ReasonId::SchedulerNotNamed,
            Role::Consumer => ReasonId::NoConsumerUsers,
        };
        Reason::of(id, words)
    }
}

/// The configured names of a role.
fn configured(evidence: &Evidence, role: Role) -> Identity {
    let claim = &evidence.header.claim;
    match role {
        Role::Manager => claim.cluster_manager.clone(),
        Role::Scheduler => claim.scheduler.clone(),
        Role::Consumer => {
            let users = evidence.testbed.iter().map(|testbed| &testbed.consumer.user);
            Identity {
                users: users.filter(|user| !user.is_empty()).cloned().collect(),
                agents: claim.consumer_agents.clone(),
                ..Identity::default()
            }
        }
    }
}

/// Quotes a value for a shell, if it needs quotes.
fn shell_word(value: &str) -> String {
    let value = redacted(value);
    let is_plain = |c: char| c.is_ascii_alphanumeric() || ":._@/-".contains(c);
    if !value.is_empty() && value.chars().all(is_plain) {
        value
    } else {
        format!("'{}'", value.replace('\'', "'\\''"))
    }
}
