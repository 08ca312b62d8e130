//! Which programs are what they say they are: producers, people's tools, or the hub itself.

use evidence::Request;

/// The field manager of all that a run writes.
pub(super) const SUITE: &str = "clusterprofile-conformance";

/// Whether a field manager is a writer: the API server invents two names for fields without a recorded one.
pub(crate) fn is_actor(field_manager: &str) -> bool {
    !matches!(field_manager, "before-first-apply" | "ancient-changes")
}

/// Whether a user agent or field manager is kubectl, which says so itself: it has one for each of its subcommands and plugins.
pub(crate) fn is_kubectl(program: &str) -> bool {
    let name = name_of(program);
    name == "kubectl" || name.starts_with("kubectl-") || name.starts_with("kubectl_")
}

/// The program of a field manager: kubectl uses one for each of its subcommands.
pub(crate) fn program_of(field_manager: &str) -> &str {
    if field_manager.starts_with("kubectl-") {
        "kubectl"
    } else {
        field_manager
    }
}

/// Programs that write for people, whatever the object is: they restore backups and apply what is in a repository.
const TOOLS: [&str; 9] = [
    "argocd-application-controller",
    "argocd-controller",
    "argocd-server",
    "helm",
    "helm-controller",
    "kustomize-controller",
    "terraform",
    "velero",
    "velero-server",
];

/// Whether a user agent or field manager is a program that writes for people. That it once wrote a spec makes it no
/// producer.
fn is_tool(program: &str) -> bool {
    let name = name_of(program);
    TOOLS.iter().any(|tool| name.eq_ignore_ascii_case(tool))
}

/// Whether a user agent or field manager is kubectl or another program that writes for people.
pub(super) fn is_for_people(program: &str) -> bool {
    is_kubectl(program) || is_tool(program)
}

/// The name of a program in its user agent or field manager.
pub(super) fn name_of(program: &str) -> &str {
    let name = program.split(['/', ' ']).next().unwrap_or_default();
    name.strip_suffix(".exe").unwrap_or(name)
}

/// Kubernetes' own controllers that write objects of any kind: they collect garbage, empty namespaces and migrate storage.
/// Their user names are reserved.
const HUB_CONTROLLERS: [&str; 6] = [
    "system:apiserver",
    "system:kube-controller-manager",
    "system:serviceaccount:kube-system:generic-garbage-collector",
    "system:serviceaccount:kube-system:namespace-controller",
    "system:serviceaccount:kube-system:storage-version-garbage-collector",
    "system:serviceaccount:kube-system:storage-version-migrator-controller",
];

/// Whether a field manager is a program of its own: neither a person with kubectl, nor the hub itself.
pub(crate) fn is_program(field_manager: &str) -> bool {
    const OF_HUB: [&str; 3] = [
        "kube-apiserver",
        "kube-controller-manager",
        "storage-version-migrator-controller",
    ];
    is_actor(field_manager) && !is_kubectl(field_manager) && !OF_HUB.contains(&field_manager)
}

/// Whether a field manager may be a cluster manager's or a scheduler's: it is neither people's, nor the hub's, nor the suite's.
pub(crate) fn may_be_a_producer_s(field_manager: &str) -> bool {
    is_program(field_manager) && !is_for_people(field_manager) && field_manager != SUITE
}

/// Whether a program of its own sent a request: neither a person with kubectl, nor the hub itself, nor the suite.
pub(crate) fn is_by_program(request: &Request) -> bool {
    !is_kubectl(&request.user_agent) && !is_by_hub(request) && !request.is_the_suites()
}

/// Whether the hub itself sent a request, by its user or, where all its controllers share one, by its agent.
pub(super) fn is_by_hub(request: &Request) -> bool {
    let controller = request.user_agent.rsplit('/').next().unwrap_or_default();
    is_hub(&request.user)
        || HUB_CONTROLLERS.contains(&controller)
        || matches!(controller, "generic-garbage-collector" | "namespace-controller")
}

/// Whether a user is the hub itself. Distributions run the storage version migrator in a namespace of its own.
pub(super) fn is_hub(user: &str) -> bool {
    let account = user.strip_prefix("system:serviceaccount:");
    HUB_CONTROLLERS.contains(&user)
        || account.is_some_and(|account| account.contains("storage-version-migrator"))
}

/// Field managers that do not identify a program: default names and tools.
const NAMELESS: [&str; 9] = [
    "",
    "controller",
    "controller-manager",
    "Go-http-client",
    "main",
    "manager",
    "operator",
    "rest.test",
    "unknown",
];

/// Whether a field manager identifies a program: many are built with a default name.
pub(crate) fn tells_who(field_manager: &str) -> bool {
    is_actor(field_manager) && !NAMELESS.contains(&field_manager) && !field_manager.starts_with("kubectl")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_s_programs_and_the_hub_are_no_producers() {
        for name in [
            "kubectl-client-side-apply",
            "kubectl.exe/v1.34.0",
            "Helm/3.18",
            "velero-server",
            "argocd-controller",
        ] {
            assert!(is_for_people(name), "{name}");
        }
        for name in ["m", "kubectlish", "helmsman", "velero-fleet"] {
            assert!(!is_for_people(name) && is_program(name), "{name}");
        }
        assert!(!is_program("kube-apiserver") && !is_program("before-first-apply"));
    }
}
