//! The flags that say which hub to judge, and which of its objects.

use std::{
    path::{Path, PathBuf},
    str::FromStr,
    time::Duration,
};

use clap::{Args, ValueEnum};
use collect::connect::KubeconfigOptions;
use evidence::{
    Claim, Scope,
    api::{Feature, ObjectKind, Role, UnknownName, syntax::is_dns_label},
};
use judge::rules;
use lab::{
    consumer,
    crd::CustomResourceDefinition,
    hub::{Hub, HubError},
    manager::{self, Fault, Manager},
    scheduler,
};

use super::plan::duration;
use crate::command::{Failure, bail_usage};

/// The hub, and the implementation on it.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Hub")]
pub struct TargetFlags {
    /// The kubeconfig file [default: as kubectl]
    ///
    /// By default $KUBECONFIG, then ~/.kube/config, then the pod's service account.
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// The context of the kubeconfig [default: the current one]
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
    /// Timeout for a complete response [default: 30s, doctor 10s]
    ///
    /// 0s means no limit. A list may take as long as the run watches, if that is longer.
    #[arg(long, value_name = "DURATION", value_parser = request_timeout)]
    request_timeout: Option<Duration>,
    /// Judge on a test hub; add --manager reference
    #[arg(long, value_enum, conflicts_with_all = ["kubeconfig", "context", "request_timeout"])]
    hub: Option<TestHub>,
    /// Judge the reference implementation, optionally with faults
    ///
    /// `reference`, or `reference=FAULT,…` to break rules. A fault has the id of the rule that it breaks.
    /// --role chooses the reference manager, scheduler or consumer.
    #[arg(long, value_name = "reference[=FAULT,…]", conflicts_with_all = ["kubeconfig", "context", "request_timeout"])]
    manager: Option<ReferenceImplementations>,
}

/// A hub that the suite starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum TestHub {
    /// In this process; `run` simulates 30 minutes in seconds
    #[default]
    Lab,
    /// A real kube-apiserver on this machine, from envtest binaries
    Envtest,
    /// A real Kubernetes in a container (in builds with the feature k3s)
    K3s,
}

/// The reference implementation of each role that is judged. Without faults, it conforms.
#[derive(Clone, Debug, Default)]
pub struct ReferenceImplementations {
    /// Its faults, of all roles.
    pub faults: Vec<Fault>,
}

/// The hub to judge, and the implementation on it.
#[derive(Debug)]
pub enum Target {
    /// The user's hub, with the user's implementation.
    Kubeconfig(KubeconfigOptions),
    /// A test hub, with the reference implementation.
    Test(TestHub, ReferenceImplementations),
}

impl TargetFlags {
    pub fn resolve(self, claim: &Claim) -> Result<Target, Failure> {
        match (self.hub, self.manager) {
            // Before a report is replaced.
            (Some(TestHub::K3s), _) if !Hub::HAS_K3S => Err(HubError::WithoutK3s.into()),
            (Some(hub), Some(reference)) => {
                reference.check(claim)?;
                Ok(Target::Test(hub, reference))
            }
            (Some(_), None) => bail_usage!("a test hub has no manager: add --manager reference"),
            (None, Some(_)) => {
                bail_usage!("--manager needs a test hub: add --hub lab, --hub envtest or --hub k3s")
            }
            (None, None) => Ok(Target::Kubeconfig(KubeconfigOptions {
                path: self.kubeconfig,
                context: self.context,
                request_timeout: self.request_timeout,
            })),
        }
    }
}

fn request_timeout(text: &str) -> Result<Duration, String> {
    duration(text, "no limit")
}

impl Target {
    /// The hub's name, for reports of a failed run.
    pub fn name(&self) -> String {
        match self {
            Target::Kubeconfig(options) => match &options.context {
                Some(context) => format!("context {context}"),
                None => "kubeconfig".to_owned(),
            },
            Target::Test(hub, _) => hub
                .to_possible_value()
                .map_or_else(String::new, |value| value.get_name().to_owned()),
        }
    }

    /// Whether the hub is in this process, with simulated time.
    pub fn is_lab(&self) -> bool {
        matches!(self, Target::Test(TestHub::Lab, _))
    }

    /// The reference implementation, if it is judged.
    pub fn reference(&self) -> Option<&ReferenceImplementations> {
        match self {
            Target::Kubeconfig(_) => None,
            Target::Test(_, reference) => Some(reference),
        }
    }

    /// Adds the claims of the reference implementation, unless the user overrides them: its users and field managers, and
    /// the consumers that the manager gives credentials to.
    pub fn claim(&self, claim: &mut Claim) {
        if self.reference().is_none() {
            return;
        }
        let default = |list: &mut Vec<String>, name: &str| {
            if list.is_empty() {
                list.push(name.to_owned());
            }
        };
        for kind in ObjectKind::ALL {
            if claim.edition_of(kind.publisher()).is_some() {
                let name = lab::reference(kind.publisher()).name;
                let identity = claim.identity_mut(kind);
                default(&mut identity.users, name);
                default(&mut identity.field_managers, name);
            }
        }
        if claim.edition_of(Role::Manager).is_some() && !claim.no_features.contains(&Feature::ConsumerSecrets)
        {
            claim.features.insert(Feature::ConsumerSecrets);
            if claim.consumers.is_empty() {
                claim.consumers = Manager::CONSUMERS.map(str::to_owned).into();
            }
        }
    }

    /// Limits the scope to the reference manager's profiles if the reference scheduler is judged too: its own inventory is
    /// only as good as it needs.
    pub fn scope(&self, claim: &Claim, scope: &mut Scope) {
        if self.reference().is_some() && claim.also.is_some() {
            scope.manager_by_default = scope.cluster_manager.is_none();
            let manager = &mut scope.cluster_manager;
            manager.get_or_insert_with(|| Manager::NAME.to_owned());
        }
    }

    /// The default duration of the watch.
    pub fn default_observe(&self) -> Duration {
        Duration::from_secs(if self.is_lab() { 30 * 60 } else { 5 * 60 })
    }

    /// The kubeconfig file that the user named.
    pub fn kubeconfig(&self) -> Option<&Path> {
        match self {
            Target::Kubeconfig(options) => options.path.as_deref(),
            Target::Test(..) => None,
        }
    }
}

impl ReferenceImplementations {
    /// The faults of a role's implementation.
    pub fn faults_of(&self, role: Role) -> Vec<Fault> {
        let faults = self.faults.iter();
        faults
            .filter(|fault| Role::of_rule(fault.info().id) == role)
            .cloned()
            .collect()
    }

    /// The definitions that its hub has to serve, for the roles of that claim.
    pub fn hub_definitions(&self, claim: &Claim) -> Vec<CustomResourceDefinition> {
        if claim.edition_of(Role::Consumer).is_some() {
            consumer::hub_definitions()
        } else if claim.edition_of(Role::Scheduler).is_some() {
            scheduler::hub_definitions(&self.faults)
        } else {
            manager::hub_definitions(&self.faults)
        }
    }

    /// Refuses faults that no rule of the edition finds.
    fn check(&self, claim: &Claim) -> Result<(), Failure> {
        for fault in self.faults.iter().map(Fault::info) {
            if rules::find(fault.rule()).is_some_and(|rule| rule.facts.in_claim(claim).is_none()) {
                bail_usage!(
                    "edition {} does not have the rule that the fault `{}` breaks: add --edition {}",
                    claim.edition,
                    fault.id,
                    fault.edition
                );
            }
        }
        Ok(())
    }
}

impl FromStr for ReferenceImplementations {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, faults) = text.split_once('=').unwrap_or((text, ""));
        if name != "reference" {
            let unknown = UnknownName::among("manager", name, ["reference"]);
            return Err(format!(
                "{unknown}; the suite brings only `reference`, optionally with faults: to judge your own, name its hub \
                 with --context or --kubeconfig"
            ));
        }
        if text.ends_with('=') {
            return Err("`reference=` names no fault: leave out `=`, or name the rule to break".to_owned());
        }
        let faults = faults.split(',').filter(|fault| !fault.is_empty());
        let faults = faults.map(|fault| Fault::parse(fault).map_err(unknown_fault));
        Ok(Self {
            faults: faults.collect::<Result<_, _>>()?,
        })
    }
}

fn unknown_fault(unknown: UnknownName) -> String {
    match unknown.nearest {
        Some(_) => unknown.to_string(),
        None => format!("{unknown}; a fault has the id of the rule that it breaks: `list` prints them"),
    }
}

/// Which profiles to judge.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Scope")]
pub struct ScopeFlags {
    /// Judge only the profiles of this namespace (repeatable)
    #[arg(short = 'n', long = "namespace", value_name = "NS", value_parser = namespace)]
    pub namespaces: Vec<String>,
    /// Judge only the profiles of this cluster manager
    #[arg(long, value_name = "NAME", value_parser = manager)]
    pub cluster_manager: Option<String>,
    /// Judge only the placement decisions of this scheduler
    #[arg(long, value_name = "NAME")]
    pub scheduler: Option<String>,
}

pub fn namespace(text: &str) -> Result<String, &'static str> {
    if is_dns_label(text) {
        Ok(text.to_owned())
    } else {
        Err("a namespace has at most 63 small letters, digits and -, with a letter or digit at both ends")
    }
}

/// Reads the name of a cluster manager. Older editions take nearly any.
fn manager(text: &str) -> Result<String, &'static str> {
    let breaks_line = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
    if text.trim().is_empty() {
        Err("a cluster manager's name is not empty")
    } else if text.contains(breaks_line) {
        Err("a cluster manager's name has no line breaks or other control characters")
    } else {
        Ok(text.to_owned())
    }
}

impl ScopeFlags {
    pub fn apply(&self, scope: &mut Scope) {
        if !self.namespaces.is_empty() {
            scope.namespaces.clone_from(&self.namespaces);
        }
        if self.cluster_manager.is_some() {
            scope.cluster_manager.clone_from(&self.cluster_manager);
            scope.manager_by_default = false;
        }
        if self.scheduler.is_some() {
            scope.scheduler.clone_from(&self.scheduler);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_has_known_faults() {
        let faults = |text: &str| {
            text.parse::<ReferenceImplementations>()
                .map(|reference| reference.faults.len())
        };
        assert!(matches!(faults("reference"), Ok(0)));
        let two = "reference=identity/manager-label-present,identity/manager-label-matches";
        assert!(matches!(faults(two), Ok(2)));
        let typo = "reference=identity/manager-label-presnt";
        for (text, message) in [
            (typo, "did you mean `identity/manager-label-present`?"),
            (
                "referense",
                "unknown manager `referense`: did you mean `reference`?",
            ),
            ("ocm", "the suite brings only `reference`"),
            (
                "reference=foo",
                "unknown fault `foo`; a fault has the id of the rule",
            ),
            ("reference=", "names no fault"),
        ] {
            let error = faults(text).expect_err(text);
            assert!(error.contains(message), "{error}");
        }
    }
}
