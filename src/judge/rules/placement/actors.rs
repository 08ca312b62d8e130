//! Who writes slices: a scheduler, or another program; the control plane's own controllers; or a person.

use std::collections::BTreeSet;

use evidence::{
    Request,
    api::{PlacementDecision, Writer, names},
};

use crate::rules::authors::is_actor;

/// What kind of writer sent a request or owns a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::rules) enum Actor {
    /// The hub's control plane: it collects garbage, empties namespaces and migrates storage for everybody.
    ControlPlane,
    /// A person with a tool, or the administrator's restore of a backup.
    Hand,
    /// Any other program.
    Program,
}

/// Controllers of the control plane that write objects of any kind, by the names of their service accounts.
const CONTROLLERS: [&str; 4] = [
    "generic-garbage-collector",
    "namespace-controller",
    "storage-version-garbage-collector",
    "storage-version-migrator-controller",
];

/// The user names of the control plane's own programs.
const CONTROL_PLANE: [&str; 2] = ["system:apiserver", "system:kube-controller-manager"];

/// Programs by which people act, as their user agents and field managers begin.
const TOOLS: [&str; 10] = [
    "Mozilla",
    "OpenLens",
    "curl",
    "headlamp-server",
    "helm",
    "k9s",
    "kubectl",
    "node-fetch",
    "oc",
    "velero-server",
];

/// The users of administrators.
const ADMINISTRATORS: [&str; 5] = [
    "admin",
    "kube:admin",
    "kubernetes-admin",
    "kubernetes-super-admin",
    "system:admin",
];

/// Who sent a request.
pub(in crate::rules) fn sender(request: &Request) -> Actor {
    let (user, agent) = (&*request.user, &*request.user_agent);
    let account = user.strip_prefix("system:serviceaccount:");
    let controller = account.and_then(|account| account.strip_prefix("kube-system:"));
    if CONTROL_PLANE.contains(&user)
        || controller.is_some_and(|name| CONTROLLERS.contains(&name))
        || account.is_some_and(|account| account.contains("storage-version-migrator"))
    {
        Actor::ControlPlane
    } else if is_tool(agent) || ADMINISTRATORS.contains(&user) || is_address(user) {
        Actor::Hand
    } else {
        Actor::Program
    }
}

/// Whether a user is a person by an identity provider's name, such as an e-mail address.
fn is_address(user: &str) -> bool {
    user.contains(['@', '#']) && !user.ends_with(".gserviceaccount.com")
}

/// Who a field manager is.
pub(in crate::rules) fn owner(writer: &Writer) -> Actor {
    match &*writer.manager {
        "kube-apiserver" | "kube-controller-manager" | "storage-version-migrator-controller" => {
            Actor::ControlPlane
        }
        manager if is_tool(manager) => Actor::Hand,
        _ => Actor::Program,
    }
}

/// Whether a part is one by which a scheduler publishes its decision.
pub(in crate::rules) fn is_published(part: &str) -> bool {
    part == "decisions"
        || part.starts_with("decisions.")
        || part == "schedulerName"
        || part
            .strip_prefix("metadata.labels[")
            .is_some_and(|key| key.starts_with(names::GROUP))
}

/// Whether a request may write what a scheduler publishes: one whose body the log does not have may.
pub(in crate::rules) fn may_publish(request: &Request) -> bool {
    let body = request.body.as_ref();
    body.is_none_or(|body| body.parts.iter().any(|part| is_published(part)))
}

/// Whether a field manager is a program that owns a part by which a scheduler publishes its decision. Tools that label all
/// slices, such as those of backups, own none.
pub(in crate::rules) fn publishes(writer: &Writer) -> bool {
    is_actor(&writer.manager)
        && owner(writer) == Actor::Program
        && writer.owns.iter().any(|part| is_published(part))
}

/// The field managers that publish a slice; none if managedFields do not tell.
pub(in crate::rules) fn publishers_of(slice: &PlacementDecision) -> BTreeSet<&str> {
    let writers = slice.metadata.writers.as_deref().unwrap_or_default();
    let publishers = writers.iter().filter(|writer| publishes(writer));
    publishers.map(|writer| &*writer.manager).collect()
}

/// Whether a user agent or field manager is a person's tool. kubectl has one for each of its subcommands and plugins.
fn is_tool(program: &str) -> bool {
    let name = program.split(['/', ' ']).next().unwrap_or_default();
    let name = name.strip_suffix(".exe").unwrap_or(name);
    TOOLS.contains(&name) || name.starts_with("kubectl-") || name.starts_with("kubectl_")
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json};

    use super::*;

    fn of(user: &str, agent: &str) -> Actor {
        let request = json!({
            "at": "2026-01-01T00:00:00Z", "verb": "patch", "user": user, "userAgent": agent,
            "namespace": "n", "name": "a", "subresource": "", "code": 200, "dryRun": false,
        });
        sender(&from_value(request).expect("a request"))
    }

    #[test]
    fn people_and_the_control_plane_are_told_from_programs() {
        let account = |name: &str| format!("system:serviceaccount:{name}");
        for (user, agent, expected) in [
            (
                account("kube-system:generic-garbage-collector"),
                "kube-controller-manager/v1.34.0",
                Actor::ControlPlane,
            ),
            (account("kube-system:placement"), "placement/v1", Actor::Program),
            (
                account("generic-garbage-collector:namespace-controller"),
                "x",
                Actor::Program,
            ),
            (account("argocd:controller"), "argocd/v3", Actor::Program),
            (
                account("ops:ci"),
                "kubectl/v1.34.0 (linux/amd64) kubernetes/1",
                Actor::Hand,
            ),
            (account("ops:ci"), "kubectlish/v1", Actor::Program),
            ("ann@example.com".to_owned(), "Go-http-client/2.0", Actor::Hand),
            ("kubernetes-admin".to_owned(), "script", Actor::Hand),
            (
                "placement@fleet.iam.gserviceaccount.com".to_owned(),
                "placement/v1",
                Actor::Program,
            ),
            (
                "https://issuer.example.com#ann".to_owned(),
                "Go-http-client/2.0",
                Actor::Hand,
            ),
            ("placement".to_owned(), "placement/v1", Actor::Program),
            (
                "system:kube-controller-manager".to_owned(),
                "kube-controller-manager/v1",
                Actor::ControlPlane,
            ),
        ] {
            assert_eq!(of(&user, agent), expected, "{user} with {agent}");
        }
    }
}
