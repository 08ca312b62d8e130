//! Lists the clients and field managers that write the objects of a role.

use std::collections::{BTreeMap, BTreeSet};

use evidence::{
    Evidence, History, Request, Scope, Tracked,
    api::{ObjectKind, Role, Writer},
};

use super::sources::{creates, entries, field_managers, is_touched, requests};
use crate::{engine::judged::key, hash::HashMap};

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

/// A name by which the hub records a writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum WriterName<'e> {
    /// From the audit log: the user, and the user agent up to the first `/`.
    Client { user: &'e str, program: &'e str },
    /// From managedFields.
    FieldManager(&'e str),
}

/// What a writer wrote of the role's objects.
#[derive(Clone, Debug, Default)]
pub(crate) struct Written<'e> {
    /// How many requests of each verb, or objects of each section.
    pub(crate) counts: BTreeMap<&'e str, usize>,
    /// True for a field that only an implementation publishes.
    pub(crate) publishes: bool,
}

/// The writers of a role's objects.
pub(super) type Writers<'e> = BTreeMap<WriterName<'e>, Written<'e>>;

impl<'e> WriterName<'e> {
    /// The sender of a request.
    pub(super) fn sent(request: &'e Request) -> Self {
        let is_hub_agent = HUB_AGENTS.iter().any(|end| request.user_agent.ends_with(end));
        let program = request.user_agent.split('/').next().unwrap_or_default();
        Self::Client {
            user: &request.user,
            program: if is_hub_agent { CONTROLLER_MANAGER } else { program },
        }
    }

    pub(super) fn is_client(self) -> bool {
        matches!(self, Self::Client { .. })
    }

    /// The user or the field manager.
    pub(super) fn text(self) -> &'e str {
        match self {
            Self::Client { user, .. } => user,
            Self::FieldManager(name) => name,
        }
    }

    fn program(self) -> &'e str {
        match self {
            Self::Client { program, .. } => program,
            Self::FieldManager(name) => name,
        }
    }

    /// Whether it is a run of this suite.
    pub(super) fn is_suite(self) -> bool {
        self.program() == SUITE
    }

    /// Whether it is kubectl, which has a field manager for each subcommand.
    pub(super) fn is_kubectl(self) -> bool {
        is_kubectl(self.program())
    }

    /// Whether it is the hub itself.
    pub(super) fn is_hub(self) -> bool {
        HUB.contains(&self.text()) || HUB.contains(&self.program())
    }

    /// Whether it is a service account of kube-system, which may be the hub's or an implementation's.
    pub(super) fn is_kube_system_account(self) -> bool {
        self.is_client() && self.text().starts_with("system:serviceaccount:kube-system:")
    }
}

/// Whether a program or a field manager is kubectl.
pub(in crate::engine) fn is_kubectl(program: &str) -> bool {
    matches!(program, "kubectl" | "kubectl.exe")
        || program.starts_with("kubectl-")
        || program.starts_with("kubectl_")
}

/// All writers of the judged objects that a role publishes.
pub(super) fn all(evidence: &Evidence, role: Role) -> Writers<'_> {
    match role {
        Role::Manager => of_histories(evidence, role, &evidence.profiles, Scope::holds),
        Role::Scheduler => of_histories(evidence, role, &evidence.slices, Scope::holds_slice),
        // A consumer publishes no objects.
        Role::Consumer => Writers::new(),
    }
}

fn of_histories<'e, T: Tracked>(
    evidence: &'e Evidence,
    role: Role,
    histories: &'e [History<T>],
    holds: fn(&Scope, &T) -> bool,
) -> Writers<'e> {
    let scope = &evidence.header.scope;
    let mut writers = Writers::new();
    let is_in_scope = |history: &&History<T>| {
        history
            .versions
            .iter()
            .any(|version| holds(scope, &version.object))
    };
    let in_scope: Vec<&History<T>> = histories.iter().filter(is_in_scope).collect();
    let mut judged = in_scope.clone();
    judged.retain(|history| !is_touched(evidence, role.objects(), key(history)));
    let counted = if judged.is_empty() { in_scope } else { judged };
    let mut is_counted: HashMap<(&str, &str), bool> = HashMap::default();
    is_counted.extend(histories.iter().map(|history| (key(history), false)));
    for history in counted {
        is_counted.insert(key(history), true);
        add_field_managers(role, history, &mut writers);
    }
    let (log, own_requests) = requests(evidence, role.objects());
    for request in log.iter().flat_map(|log| &log.events).chain(own_requests) {
        let name = request.namespace_and_name();
        // An object that only the log knows may be another publisher's.
        let may_be_in_scope = scope.publisher(role).is_none() && scope.holds_namespace(name.0);
        if request.is_write() && is_counted.get(&name).copied().unwrap_or(may_be_in_scope) {
            let written = writers.entry(WriterName::sent(request)).or_default();
            let verb = if request.is_status_write() {
                "status"
            } else {
                &*request.verb
            };
            *written.counts.entry(verb).or_default() += 1;
            written.publishes |= creates(request) || request.is_status_write();
        }
    }
    writers
}

fn add_field_managers<'e, T: Tracked>(role: Role, history: &'e History<T>, writers: &mut Writers<'e>) {
    let mut sections: BTreeSet<(&str, &str)> = BTreeSet::new();
    let mut previous: &[Writer] = &[];
    for version in &history.versions {
        // Successive versions share what did not change.
        let current = entries(&version.object);
        for entry in current.iter().filter(|_| !std::ptr::eq(current, previous)) {
            let publishes = entry.owns.iter().any(|path| is_published(role, path));
            for manager in field_managers([entry].into_iter()) {
                writers
                    .entry(WriterName::FieldManager(manager))
                    .or_default()
                    .publishes |= publishes;
                sections.extend(entry.owns.iter().map(|path| (manager, section(path))));
            }
        }
        previous = current;
    }
    for (manager, section) in sections {
        let written = writers.entry(WriterName::FieldManager(manager)).or_default();
        *written.counts.entry(section).or_default() += 1;
    }
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
