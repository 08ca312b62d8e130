//! The names of the judged implementation, configured or inferred.

use std::collections::BTreeSet;

use evidence::{Evidence, Reason, ReasonId, Request, api::Role};

use super::{
    Attribution, Author,
    writers::{Candidate, WriterName, has_hub_agent},
};
use crate::text::redacted;

/// The largest number of writers in a reason.
const LISTED_WRITERS: usize = 4;

/// The names of the judged implementation. Configured names are exhaustive; inferred names are not.
pub(super) struct ImplementationNames<'e> {
    role: Role,
    users: Vec<&'e str>,
    agents: Vec<&'e str>,
    field_managers: Vec<&'e str>,
    inferred_client: Option<WriterName<'e>>,
    inferred_field_manager: Option<WriterName<'e>>,
    /// The writers that may be the implementation, by what they wrote.
    candidates: BTreeSet<WriterName<'e>>,
    /// True if the implementation is known, and does not use kubectl.
    excludes_kubectl: bool,
    /// The reason if a name belongs to an unknown author.
    not_configured: Reason,
}

impl<'e> ImplementationNames<'e> {
    pub(super) fn of(evidence: &'e Evidence, role: Role, writers: &[Candidate<'e>]) -> Self {
        let mut names = Self::configured(evidence, role);
        let candidates = writers.iter().filter(|writer| writer.may_be_implementation());
        names.candidates = candidates.map(|writer| writer.name).collect();
        let mut others = names
            .candidates
            .iter()
            .filter(|name| !names.is_configured(**name));
        let has_other_client = others.clone().any(|name| name.is_client());
        let has_other_manager = others.any(|name| !name.is_client());
        // With another writer among the names of one kind, a name of the other kind may be that writer's.
        let infers_client = !names.has_clients() && !(names.has_field_managers() && has_other_manager);
        let infers_manager = !names.has_field_managers() && !(names.has_clients() && has_other_client);
        names.inferred_client = names.only_candidate(true).filter(|_| infers_client);
        names.inferred_field_manager = names.only_candidate(false).filter(|_| infers_manager);
        names.excludes_kubectl = names.is_known_without_kubectl();
        names.not_configured = names
            .advice(writers)
            .unwrap_or_else(|| names.reason(String::new()));
        names
    }

    fn configured(evidence: &'e Evidence, role: Role) -> Self {
        let claim = &evidence.header.claim;
        let strings = |list: &'e [String]| list.iter().map(String::as_str).collect();
        let identity = match role {
            Role::Manager => Some(&claim.cluster_manager),
            Role::Scheduler => Some(&claim.scheduler),
            Role::Consumer => None,
        };
        let mut users: Vec<&str> =
            strings(identity.map_or(&claim.consumer_users, |identity| &identity.users));
        if role == Role::Consumer {
            let testbed_user = evidence.stage.iter().map(|testbed| &*testbed.consumer.user);
            users.extend(testbed_user.filter(|user| !user.is_empty()));
        }
        Self {
            role,
            users,
            agents: identity.map_or(Vec::new(), |identity| strings(&identity.agents)),
            field_managers: identity.map_or(Vec::new(), |identity| strings(&identity.field_managers)),
            inferred_client: None,
            inferred_field_manager: None,
            candidates: BTreeSet::new(),
            excludes_kubectl: false,
            not_configured: Reason::default(),
        }
    }

    /// The sender of a request.
    pub(super) fn of_request(&self, request: &'e Request) -> Attribution<'e> {
        let name = WriterName::of_request(request);
        let mut attribution = self.of_writer(name);
        if has_hub_agent(request) && !name.is_suite() {
            attribution.author = Author::Other;
        }
        attribution
    }

    /// The author with a name.
    pub(super) fn of_writer(&self, name: WriterName<'e>) -> Attribution<'e> {
        let is_inferred = [self.inferred_client, self.inferred_field_manager].contains(&Some(name));
        let are_names_configured = match name {
            WriterName::Client { .. } => self.has_clients(),
            WriterName::FieldManager(_) => self.has_field_managers(),
        };
        let author = if name.is_suite() {
            Author::Run
        } else if self.is_configured(name) || is_inferred {
            Author::Implementation
        } else if are_names_configured
            || name.is_hub_controller()
            || (name.is_kube_system_account() && !self.candidates.contains(&name))
            || (name.is_kubectl() && self.excludes_kubectl)
        {
            Author::Other
        } else {
            Author::Unknown(self.not_configured.clone())
        };
        let (WriterName::Client { user: text, .. } | WriterName::FieldManager(text)) = name;
        Attribution {
            author,
            names: BTreeSet::from([text]),
            is_inferred,
        }
    }

    /// The flags that are missing, with their values.
    pub(super) fn advice(&self, writers: &[Candidate<'e>]) -> Option<Reason> {
        let mut flags = Vec::new();
        for is_client in [true, false] {
            let has_names = if is_client {
                self.has_clients()
            } else {
                self.has_field_managers()
            };
            if !has_names {
                let candidates = candidates(writers, is_client).into_iter();
                flags.extend(candidates.map(|candidate| self.flags(candidate.name, writers)));
            }
        }
        let more = flags.len().saturating_sub(LISTED_WRITERS);
        flags.truncate(LISTED_WRITERS);
        if more > 0 {
            flags.push(format!("{more} more"));
        }
        (!flags.is_empty())
            .then(|| self.reason(format!("; pass those that belong to it: {}", flags.join(", "))))
    }

    /// The flags that name a writer. A user needs an agent only if another program uses it too.
    pub(super) fn flags(&self, name: WriterName<'_>, writers: &[Candidate<'_>]) -> String {
        let role = match self.role {
            Role::Manager => "cluster-manager",
            Role::Scheduler => "scheduler",
            Role::Consumer => "consumer",
        };
        match name {
            WriterName::FieldManager(name) => format!("--{role}-field-manager {}", shell_word(name)),
            WriterName::Client { user, program } => {
                let shares_user = |other: &&Candidate| matches!(other.name, WriterName::Client { user: its, .. } if its == user);
                let user = format!("--{role}-user {}", shell_word(user));
                if program.is_empty() || writers.iter().filter(shares_user).count() < 2 {
                    user
                } else {
                    format!("{user} --{role}-agent {}", shell_word(program))
                }
            }
        }
    }

    fn reason(&self, details: String) -> Reason {
        let id = match self.role {
            Role::Manager => ReasonId::ManagerNotNamed,
            Role::Scheduler => ReasonId::SchedulerNotNamed,
            Role::Consumer => ReasonId::NoConsumerUsers,
        };
        Reason::of(
            id,
            format!(
                "the names of the {} are not configured{details}",
                self.role.noun()
            ),
        )
    }

    fn has_clients(&self) -> bool {
        !self.users.is_empty() || !self.agents.is_empty()
    }

    fn has_field_managers(&self) -> bool {
        !self.field_managers.is_empty()
    }

    /// Whether a name is configured. An agent narrows a user to one program.
    fn is_configured(&self, name: WriterName<'_>) -> bool {
        let allows = |names: &[&str], name: &str| names.is_empty() || names.contains(&name);
        match name {
            WriterName::Client { user, program } => {
                self.has_clients() && allows(&self.users, user) && allows(&self.agents, program)
            }
            WriterName::FieldManager(name) => self.field_managers.contains(&name),
        }
    }

    /// The only writer of a kind that may be the implementation.
    fn only_candidate(&self, is_client: bool) -> Option<WriterName<'e>> {
        let mut of_kind = self
            .candidates
            .iter()
            .filter(|name| name.is_client() == is_client);
        let only = of_kind.next()?;
        of_kind.next().is_none().then_some(*only)
    }

    fn is_known_without_kubectl(&self) -> bool {
        let programs = self.agents.iter().chain(&self.field_managers);
        let mut names = programs.map(|name| WriterName::FieldManager(name)).peekable();
        let has_inferred = self.inferred_client.is_some() || self.inferred_field_manager.is_some();
        (names.peek().is_some() || has_inferred) && !names.any(WriterName::is_kubectl)
    }
}

/// The writers that may be the implementation, or else those that use kubectl.
fn candidates<'w, 'e>(writers: &'w [Candidate<'e>], is_client: bool) -> Vec<&'w Candidate<'e>> {
    let of_kind = writers
        .iter()
        .filter(|writer| writer.name.is_client() == is_client);
    let publishing: Vec<_> = of_kind
        .filter(|writer| writer.publishes && !writer.is_hub_controller && !writer.name.is_suite())
        .collect();
    let programs: Vec<_> = publishing
        .iter()
        .copied()
        .filter(|writer| !writer.name.is_kubectl())
        .collect();
    if programs.is_empty() { publishing } else { programs }
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
