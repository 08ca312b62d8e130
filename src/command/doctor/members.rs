//! Whether members can be asked: their kubeconfigs and credential plugins.

use std::collections::BTreeSet;

use collect::{Plan, Reached};
use evidence::{Kind, ReasonId};
use report::count;

use super::{
    check::Check,
    kinds::{Gains, Words, what},
};

/// How many members with a flaw are told one by one.
const MEMBERS: usize = 20;

/// Checks the members, which were asked if they could be.
pub fn of_members(gains: &mut Gains<'_>, plan: &Plan, reached: &[Reached]) -> Vec<Check> {
    let mut flaws: Vec<Check> = reached.iter().filter_map(member).collect();
    let sound = reached.len() - flaws.len();
    let mut given = Vec::new();
    if !reached.is_empty() {
        given.push(format!(
            "{sound} of {} answer with all that rules need",
            count(reached.len(), "member")
        ));
    }
    if plan.members.from_secrets {
        given.push("a run tries the kubeconfigs of the consumers' Secrets".to_owned());
    }
    let mut checks: Vec<Check> = Vec::new();
    checks.extend(gains.check(
        "evidence/members",
        &[Kind::Members],
        "--members FILE",
        Words {
            subject: "the answers of members",
            given: &given.join("; "),
            absent: "no member is asked",
            remedy: "list their kubeconfigs in a file for --members, or try --members from-secrets",
        },
    ));
    let more = flaws.len().saturating_sub(MEMBERS);
    flaws.truncate(MEMBERS);
    checks.extend(flaws);
    if more > 0 {
        let fact = format!(
            "{} more that do not answer, or not with all",
            count(more, "member")
        );
        checks.push(Check::warn(
            "evidence/members",
            &fact,
            "see to the first ones, then check again",
        ));
    }
    checks
}

/// What is wrong with one member.
fn member(reached: &Reached) -> Option<Check> {
    let missing = &reached.look.missing;
    let first = missing.values().next()?;
    let name = format!(
        "{}/{} ({})",
        reached.profile.namespace, reached.profile.name, reached.way
    );
    let reasons: BTreeSet<String> = missing.values().map(|reason| what(reason)).collect();
    let reasons: Vec<String> = reasons.into_iter().collect();
    let fact = format!("{name}: {}", reasons.join("; "));
    let remedy = if missing
        .values()
        .any(|reason| reason.id == Some(ReasonId::MemberForbidden))
    {
        "grant it: `clusterprofile-conformance rbac --members` prints the role for a member"
    } else if first.contains("401") {
        "renew the credential in its kubeconfig"
    } else {
        "check its kubeconfig with `kubectl --kubeconfig FILE --context NAME get --raw /readyz`"
    };
    Some(Check::warn("evidence/members", &fact, remedy))
}

/// Checks the credential plugins, which are not run.
pub fn of_plugins(gains: &mut Gains<'_>, plan: &Plan) -> Option<Check> {
    let providers = plan
        .members
        .plugins
        .as_ref()
        .map(|plugins| plugins.providers.as_slice());
    let names: Vec<&str> = providers
        .unwrap_or_default()
        .iter()
        .map(|provider| &*provider.name)
        .collect();
    let given = format!(
        "the plugins of {} are installed: {}",
        count(names.len(), "access provider"),
        names.join(", ")
    );
    gains.check(
        "evidence/plugins",
        &[Kind::Members, Kind::Plugins],
        "--provider-file FILE",
        Words {
            subject: "credential plugins",
            given: &given,
            absent: "no credential plugin is run",
            remedy: "list the plugins of access providers in a file for --provider-file",
        },
    )
}
