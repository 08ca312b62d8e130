//! Lists the clients and field managers that write the objects of a role.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use evidence::{
    Evidence, History, Reason, Request, Tracked,
    api::{ObjectKind, Role, Writer},
};

use super::{
    Author,
    sources::{creates, entries},
};
use crate::hash::HashMap;

/// The field manager of everything that a run writes.
const SUITE: &str = "clusterprofile-conformance";

/// Users and field managers of the hub's own controllers, which write objects of every kind.
const HUB_CONTROLLERS: [&str; 6] = [
    "kube-apiserver",
    "kube-controller-manager",
    "system:apiserver",
    "system:kube-controller-manager",
    "system:serviceaccount:kube-system:generic-garbage-collector",
    "system:serviceaccount:kube-system:namespace-controller",
];

/// The ends of user agents of the hub's own controllers.
const HUB_CONTROLLER_AGENTS: [&str; 2] = ["/generic-garbage-collector", "/namespace-controller"];

/// A name by which the hub records a writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum WriterName<'e> {
    /// From the audit log.
    Client {
        /// The user.
        user: &'e str,
        /// The user agent up to the first `/`.
        program: &'e str,
    },
    /// From managedFields.
    FieldManager(&'e str),
}

/// A writer of the role's objects.
#[derive(Clone, Debug)]
pub(crate) struct Candidate<'e> {
    /// Its name.
    pub(crate) name: WriterName<'e>,
    /// Its author.
    pub(crate) author: Author,
    /// How many requests of each verb, or objects of each section, it wrote.
    pub(crate) wrote: BTreeMap<&'e str, usize>,
    /// True if it wrote what only an implementation publishes.
    pub(crate) publishes: bool,
    /// True if it is a controller of the hub.
    pub(crate) is_hub_controller: bool,
}

impl<'e> WriterName<'e> {
    pub(super) fn of_request(request: &'e Request) -> Self {
        Self::Client {
            user: &request.user,
            program: program(&request.user_agent),
        }
    }

    pub(super) fn is_client(self) -> bool {
        matches!(self, Self::Client { .. })
    }

    /// Whether it is a run of this suite.
    pub(super) fn is_suite(self) -> bool {
        match self {
            Self::Client { program, .. } => program == SUITE,
            Self::FieldManager(name) => name == SUITE,
        }
    }

    /// Whether it is kubectl, which has a field manager for each subcommand.
    pub(super) fn is_kubectl(self) -> bool {
        let (Self::Client { program: name, .. } | Self::FieldManager(name)) = self;
        matches!(name, "kubectl" | "kubectl.exe")
            || name.starts_with("kubectl-")
            || name.starts_with("kubectl_")
    }

    /// Whether it has the name of a controller of the hub.
    pub(super) fn is_hub_controller(self) -> bool {
        match self {
            Self::Client { user: name, .. } | Self::FieldManager(name) => HUB_CONTROLLERS.contains(&name),
        }
    }

    /// Whether it is a service account of kube-system, which may be the hub's or an implementation's.
    pub(super) fn is_kube_system_account(self) -> bool {
        matches!(self, Self::Client { user, .. } if user.starts_with("system:serviceaccount:kube-system:"))
    }
}

impl Candidate<'_> {
    /// Whether it may be an implementation: neither kubectl, nor the suite, nor a controller of the hub.
    pub(super) fn may_be_implementation(&self) -> bool {
        self.publishes && !self.is_hub_controller && !self.name.is_suite() && !self.name.is_kubectl()
    }
}

/// The program of a user agent.
pub(super) fn program(user_agent: &str) -> &str {
    user_agent.split('/').next().unwrap_or_default()
}

/// Whether a controller of the hub sent a request, by its user agent: in a test environment all clients share one user.
pub(super) fn has_hub_agent(request: &Request) -> bool {
    HUB_CONTROLLER_AGENTS
        .iter()
        .any(|end| request.user_agent.ends_with(end))
}

/// Whether a field manager is a client's. The API server invents the other two for fields without a recorded manager.
pub(super) fn is_recorded_manager(name: &str) -> bool {
    !matches!(name, "before-first-apply" | "ancient-changes")
}

/// All writers of the judged objects that a role publishes.
pub(super) fn all(evidence: &Evidence, role: Role) -> Vec<Candidate<'_>> {
    let mut writers = BTreeMap::new();
    match role {
        Role::Manager => {
            let judged: Vec<_> = evidence.histories().collect();
            add_clients(evidence, role, &evidence.profiles, &judged, &mut writers);
            add_field_managers(role, &judged, &mut writers);
        }
        Role::Scheduler => {
            let judged: Vec<_> = evidence.slice_histories().collect();
            add_clients(evidence, role, &evidence.slices, &judged, &mut writers);
            add_field_managers(role, &judged, &mut writers);
        }
        // A consumer publishes no objects.
        Role::Consumer => {}
    }
    writers.into_values().collect()
}

fn candidate<'w, 'e>(
    writers: &'w mut BTreeMap<(WriterName<'e>, bool), Candidate<'e>>,
    name: WriterName<'e>,
    is_hub_controller: bool,
) -> &'w mut Candidate<'e> {
    writers
        .entry((name, is_hub_controller))
        .or_insert_with(|| Candidate {
            name,
            author: Author::Unknown(Reason::default()),
            wrote: BTreeMap::new(),
            publishes: false,
            is_hub_controller,
        })
}

fn add_clients<'e, T: Tracked>(
    evidence: &'e Evidence,
    role: Role,
    seen: &'e [History<T>],
    judged: &[&'e History<T>],
    writers: &mut BTreeMap<(WriterName<'e>, bool), Candidate<'e>>,
) {
    let (log, own) = match role.objects() {
        ObjectKind::ClusterProfile => (&evidence.requests, &evidence.own_requests),
        ObjectKind::PlacementDecision => (&evidence.slice_requests, &evidence.own_slice_requests),
    };
    let mut is_judged: HashMap<(&str, &str), bool> = HashMap::default();
    is_judged.extend(seen.iter().map(|history| (key_of(history), false)));
    is_judged.extend(judged.iter().map(|history| (key_of(*history), true)));
    let publisher = evidence.header.scope.publisher(role);
    let events = log.iter().flat_map(|log| &log.events).chain(own);
    for request in events.filter(|request| request.is_write()) {
        let (namespace, name) = request.namespace_and_name();
        // An object that only the log knows may be another publisher's.
        let may_be_judged = evidence.header.scope.holds_namespace(namespace) && publisher.is_none();
        if !is_judged
            .get(&(namespace, name))
            .copied()
            .unwrap_or(may_be_judged)
        {
            continue;
        }
        let writer = WriterName::of_request(request);
        let is_hub_controller = writer.is_hub_controller() || has_hub_agent(request);
        let writer = candidate(writers, writer, is_hub_controller);
        let is_status = &*request.subresource == "status";
        let verb = if is_status { "status" } else { &*request.verb };
        *writer.wrote.entry(verb).or_default() += 1;
        writer.publishes |= match role.objects() {
            ObjectKind::ClusterProfile => creates(request) || request.is_status_write(),
            ObjectKind::PlacementDecision => creates(request) || matches!(&*request.verb, "update" | "patch"),
        };
    }
}

fn add_field_managers<'e, T: Tracked>(
    role: Role,
    judged: &[&'e History<T>],
    writers: &mut BTreeMap<(WriterName<'e>, bool), Candidate<'e>>,
) {
    for history in judged {
        let mut sections: BTreeSet<(&str, &str)> = BTreeSet::new();
        let mut previous: Option<&Arc<[Writer]>> = None;
        for version in &history.versions {
            let current = version.object.metadata().writers.as_ref();
            if current
                .zip(previous)
                .is_some_and(|(current, previous)| Arc::ptr_eq(current, previous))
            {
                continue;
            }
            previous = current;
            for entry in entries(&version.object)
                .iter()
                .filter(|entry| is_recorded_manager(&entry.manager))
            {
                let name = WriterName::FieldManager(&entry.manager);
                let publishes = entry.owns.iter().any(|path| is_published(role, path));
                candidate(writers, name, name.is_hub_controller()).publishes |= publishes;
                sections.extend(entry.owns.iter().map(|path| (&*entry.manager, section(path))));
            }
        }
        for (manager, section) in sections {
            let name = WriterName::FieldManager(manager);
            let writer = candidate(writers, name, name.is_hub_controller());
            *writer.wrote.entry(section).or_default() += 1;
        }
    }
}

fn key_of<T: Tracked>(history: &History<T>) -> (&str, &str) {
    let metadata = history.last().metadata();
    (&metadata.namespace, &metadata.name)
}

/// Whether only an implementation publishes a field.
fn is_published(role: Role, path: &str) -> bool {
    match role.objects() {
        ObjectKind::ClusterProfile => path.starts_with("spec.clusterManager") || path.starts_with("status."),
        ObjectKind::PlacementDecision => path == "schedulerName" || path.starts_with("decisions"),
    }
}

/// The section of a field: `labels`, `spec`, or `status`, for example.
fn section(path: &str) -> &str {
    let path = path.strip_prefix("metadata.").unwrap_or(path);
    path.split(['.', '[']).next().unwrap_or_default()
}
