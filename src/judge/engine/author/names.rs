//! The names of the judged implementation, configured or inferred.

use evidence::Identity;

use super::sources::Writers;
use crate::engine::prelude::*;

/// The largest number of writers in a reason.
const LISTED_WRITERS: usize = 4;

/// The program and the field manager of a run.
const SUITE: &str = "clusterprofile-conformance";

/// The program and the field manager of the hub's own controllers.
const CONTROLLER_MANAGER: &str = "kube-controller-manager";

/// Users, programs, and field managers of the hub itself.
const HUB: [&str; 6] = [
    "kube-apiserver",
    CONTROLLER_MANAGER,
    "system:apiserver",
    "system:kube-controller-manager",
    "system:serviceaccount:kube-system:generic-garbage-collector",
    "system:serviceaccount:kube-system:namespace-controller",
];

/// The ends of user agents of the hub's own controllers. In a test environment they share one user with all clients.
const HUB_AGENTS: [&str; 2] = ["/generic-garbage-collector", "/namespace-controller"];

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct WriterName<'e> {
    /// The user in the audit log; none for a field manager.
    pub(super) user: Option<&'e str>,
    /// The user agent up to the first `/`, or the field manager.
    pub(super) program: &'e str,
}

impl<'e> WriterName<'e> {
    pub(super) fn of(request: &'e Request) -> Self {
        let is_hub_agent = HUB_AGENTS.iter().any(|end| request.user_agent.ends_with(end));
        let program = request.user_agent.split('/').next().unwrap_or_default();
        Self {
            user: Some(&request.user),
            program: if is_hub_agent { CONTROLLER_MANAGER } else { program },
        }
    }

    pub(super) fn field_manager(program: &'e str) -> Self {
        Self { user: None, program }
    }

    pub(super) fn is_client(self) -> bool {
        self.user.is_some()
    }

    /// The user or the field manager.
    fn text(self) -> &'e str {
        self.user.unwrap_or(self.program)
    }

    fn is_suite(self) -> bool {
        self.program == SUITE
    }

    fn is_kubectl(self) -> bool {
        is_kubectl(self.program)
    }

    pub(super) fn is_hub(self) -> bool {
        HUB.contains(&self.text()) || HUB.contains(&self.program)
    }
}

/// Whether a program or a field manager is kubectl, which has a field manager for each subcommand.
pub(in crate::engine) fn is_kubectl(program: &str) -> bool {
    let rest = program.strip_prefix("kubectl");
    rest.is_some_and(|rest| matches!(rest, "" | ".exe") || rest.starts_with(['-', '_']))
}

/// The names of the judged implementation. Configured names are exhaustive; inferred names are not.
pub(super) struct ImplementationNames<'e> {
    role: Role,
    configured: Identity,
    /// The writers that publish, without the hub and the suite.
    publishers: BTreeSet<WriterName<'e>>,
    /// The inferred names: at most one client and one field manager.
    inferred: Vec<WriterName<'e>>,
    /// The publishers if no writer has a configured name of their sort: that name may be misspelt.
    doubtful: Vec<WriterName<'e>>,
    /// True if the implementation is known, and does not use kubectl.
    excludes_kubectl: bool,
    /// The reason for an unknown author.
    pub(super) not_configured: Reason,
}

impl<'e> ImplementationNames<'e> {
    pub(super) fn of(evidence: &'e Evidence, role: Role, writers: &Writers<'e>) -> Self {
        let publishers = writers.iter().filter(|(_, writes)| writes.publishes);
        let publishers = publishers.map(|(name, _)| *name);
        let publishers = publishers.filter(|name| !name.is_hub() && !name.is_suite());
        let mut names = Self {
            role,
            configured: configured(evidence, role),
            publishers: publishers.collect(),
            inferred: Vec::new(),
            doubtful: Vec::new(),
            excludes_kubectl: false,
            not_configured: Reason::default(),
        };
        for are_clients in [true, false] {
            names.inferred.extend(names.infer(are_clients));
            let is_used = |name: &WriterName| name.is_client() == are_clients && names.is_configured(*name);
            if names.has_names(are_clients) && !writers.keys().any(is_used) {
                names.doubtful.extend(names.candidates(are_clients));
            }
        }
        names.excludes_kubectl = names.excludes_kubectl(writers);
        names.not_configured = names.advice(writers);
        names
    }

    /// The clients or the field managers that may be the implementation: kubectl only if no other one publishes.
    fn candidates(&self, are_clients: bool) -> Vec<WriterName<'e>> {
        let mut names: Vec<WriterName> = self.publishers.iter().copied().collect();
        names.retain(|name| name.is_client() == are_clients);
        if names.iter().any(|name| !name.is_kubectl()) {
            names.retain(|name| !name.is_kubectl());
        }
        names
    }

    /// The only candidate among the clients or the field managers, if no such name is configured. It may be another writer
    /// if the configured names of the other sort do not include all of its candidates.
    fn infer(&self, are_clients: bool) -> Option<WriterName<'e>> {
        let is_other = |name: &WriterName| !name.is_kubectl() && !self.is_configured(*name);
        let has_other = self.has_names(!are_clients) && self.candidates(!are_clients).iter().any(is_other);
        match self.candidates(are_clients)[..] {
            [only] if !only.is_kubectl() && !self.has_names(are_clients) && !has_other => Some(only),
            _ => None,
        }
    }

    pub(super) fn of_writer(&self, name: WriterName<'e>) -> Attribution<'e> {
        let is_inferred = self.inferred.contains(&name);
        let author = if name.is_suite() {
            Author::Run
        } else if self.is_configured(name) || is_inferred {
            Author::Implementation
        } else if self.doubtful.contains(&name) {
            Author::Unknown(self.misspelt(name))
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

    /// Whether a name that is not the implementation's is known to be another client's. A service account of kube-system may
    /// be the hub's or an implementation's.
    fn is_other(&self, name: WriterName<'e>) -> bool {
        let is_system = name.is_client() && name.text().starts_with("system:serviceaccount:kube-system:");
        self.has_names(name.is_client())
            || name.is_hub()
            || (is_system && !self.publishers.contains(&name))
            || (name.is_kubectl() && self.excludes_kubectl)
    }

    fn excludes_kubectl(&self, writers: &Writers<'e>) -> bool {
        let programs = [&self.configured.agents[..], &self.configured.field_managers].concat();
        if !programs.is_empty() {
            return !programs.iter().any(|program| is_kubectl(program));
        }
        // A script that creates the objects with kubectl may be the implementation.
        let has_client = self.inferred.iter().any(|name| name.is_client());
        let mut clients = writers
            .iter()
            .filter(|(name, _)| name.is_client() && name.is_kubectl());
        let creates = clients.any(|(_, writes)| writes.counts.contains_key("create"));
        has_client || (!self.inferred.is_empty() && !creates)
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
        let Some(user) = name.user else {
            return self.configured.has_field_manager(name.program);
        };
        self.has_names(true)
            && (users.is_empty() || self.configured.has_user(user))
            && (agents.is_empty() || agents.iter().any(|agent| agent == name.program))
    }

    /// Why authors are unknown, with the flags that are missing and their values.
    fn advice(&self, writers: &Writers<'e>) -> Reason {
        let words = format!("the names of the {} are not configured", self.role.noun());
        let sorts = [true, false].into_iter();
        let sorts_without_names = sorts.filter(|are_clients| !self.has_names(*are_clients));
        let candidates = sorts_without_names.flat_map(|are_clients| self.candidates(are_clients));
        let mut flags: Vec<String> = candidates.map(|name| self.flags(name, writers)).collect();
        if flags.is_empty() {
            return self.reason(words);
        }
        if let Some(more @ 1..) = flags.len().checked_sub(LISTED_WRITERS) {
            flags.truncate(LISTED_WRITERS);
            flags.push(format!("{more} more"));
        }
        let flags = flags.join(", ");
        self.reason(format!("{words}; pass those that belong to it: {flags}"))
    }

    /// The flags that name a writer. A user needs an agent only if another program uses it too.
    pub(super) fn flags(&self, name: WriterName<'e>, writers: &Writers<'e>) -> String {
        let sort = if name.is_client() { "user" } else { "field-manager" };
        let mut flags = format!("{} {}", self.flag(sort), shell_word(name.text()));
        let shares_user = |other: &&WriterName| name.is_client() && other.user == name.user;
        if writers.keys().filter(shares_user).count() > 1 && !name.program.is_empty() {
            flags.push_str(&format!(" {} {}", self.flag("agent"), shell_word(name.program)));
        }
        flags
    }

    fn flag(&self, sort: &str) -> String {
        format!("--{}-{sort}", self.role.noun().replace(' ', "-"))
    }

    /// The reason if a client publishes, and no writer has a configured name.
    pub(super) fn why_misspelt(&self) -> Option<Reason> {
        self.doubtful.first().map(|name| self.misspelt(*name))
    }

    fn misspelt(&self, writer: WriterName) -> Reason {
        let Identity { users, agents, .. } = &self.configured;
        let sorts: &[&str] = match (writer.user, users.is_empty(), agents.is_empty()) {
            (None, ..) => &["field-manager"],
            (Some(_), _, true) => &["user"],
            (Some(_), true, false) => &["agent"],
            (Some(_), false, false) => &["user", "agent"],
        };
        let flags: Vec<String> = sorts.iter().map(|sort| self.flag(sort)).collect();
        let (sort, role, flags) = (sorts[0].replace('-', " "), self.role.noun(), flags.join(" and "));
        let writer = redacted(writer.text());
        self.reason(format!(
            "none of the configured {sort}s of the {role} wrote an object, but {writer} did: check {flags}"
        ))
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

fn configured(evidence: &Evidence, role: Role) -> Identity {
    let claim = &evidence.header.claim;
    match role {
        Role::Manager => claim.cluster_manager.clone(),
        Role::Scheduler => claim.scheduler.clone(),
        // A consumer publishes no objects.
        Role::Consumer => Identity::default(),
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
