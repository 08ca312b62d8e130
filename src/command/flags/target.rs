//! The flags that say which hub to judge.

use std::{path::PathBuf, str::FromStr, time::Duration};

use anyhow::anyhow;
use clap::{Args, ValueEnum};
use collect::connect::KubeconfigOptions;
use evidence::{
    Claim, Scope,
    api::{Edition, Feature, ObjectKind, Role, UnknownName},
};
use judge::{
    Judgement, RuleVerdict, Verdict,
    rules::{self, Level},
};
use lab::{
    consumer,
    crd::CustomResourceDefinition,
    hub::{Hub, HubError},
    manager::{self, Fault, Manager},
    scheduler,
};

use super::duration::{self, DurationError};
use crate::command::terminal::exit::Failure;

/// The hub, and the implementation on it.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Target")]
pub struct TargetFlags {
    /// The kubeconfig file [default: $KUBECONFIG, ~/.kube/config, then the pod's service account]
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// The context of the kubeconfig [default: the current one]
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
    /// Timeout for a complete response of the hub, such as 2m; 0s means no limit. A list may take as long as the window, if
    /// that is longer [default: 30s, 10s for doctor]
    #[arg(long, value_name = "DURATION", value_parser = request_timeout)]
    request_timeout: Option<Duration>,
    /// Which hub to judge on [default: kubeconfig]
    #[arg(long, value_enum)]
    hub: Option<HubKind>,
    /// Use the reference manager as the implementation (or the reference scheduler or consumer, by --role): reference, or
    /// reference=FAULT,… to break rules. A fault has the id of the rule that it breaks; the run says
    /// which faults only warn
    #[arg(long, value_name = "MANAGER", conflicts_with_all = ["kubeconfig", "context", "request_timeout"])]
    manager: Option<Reference>,
}

/// Which hub to judge on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum HubKind {
    /// Your hub, by kubeconfig or from within a pod
    Kubeconfig,
    /// A hub in this process, which simulates 30 minutes in seconds
    Lab,
    /// A real kube-apiserver on this machine, from envtest binaries
    Envtest,
    /// A real Kubernetes in a container (in builds with the feature k3s)
    K3s,
}

/// The reference manager or, where placements are judged, the reference scheduler, with its faults. Without any, it
/// conforms.
#[derive(Clone, Debug)]
pub struct Reference {
    /// The manager's faults.
    pub faults: Vec<Fault>,
    /// The scheduler's faults.
    pub scheduler_faults: Vec<scheduler::Fault>,
    /// The consumer's faults.
    pub consumer_faults: Vec<consumer::Fault>,
}

/// The hub to judge, and the implementation on it.
#[derive(Debug)]
pub enum Target {
    /// The user's hub, with the user's manager.
    Kubeconfig(KubeconfigOptions),
    /// The lab, with the reference manager.
    Lab(Reference),
    /// A real API server, with the reference manager.
    Envtest(Reference),
    /// A real Kubernetes in a container, with the reference manager.
    K3s(Reference),
}

impl TargetFlags {
    /// Resolves the flags.
    ///
    /// # Errors
    /// When they contradict each other, or a fault breaks a rule that the edition does not have.
    pub fn resolve(self, claim: &Claim) -> Result<Target, Failure> {
        if let Some(reference) = &self.manager {
            reference.check(claim)?;
        }
        let ours = |make: fn(Reference) -> Target, name: &str, flags: Self| {
            if flags.kubeconfig.is_some() || flags.context.is_some() {
                return Err(Failure::usage(anyhow!(
                    "--hub {name} needs no kubeconfig: leave out --kubeconfig and --context"
                )));
            }
            flags.manager.map(make).ok_or_else(|| {
                Failure::usage(anyhow!("--hub {name} has no manager: add --manager reference"))
            })
        };
        match self.hub {
            Some(HubKind::Lab) => ours(Target::Lab, "lab", self),
            Some(HubKind::Envtest) => ours(Target::Envtest, "envtest", self),
            Some(HubKind::K3s) if !Hub::HAS_K3S => Err(Failure::no_hub(HubError::WithoutK3s)),
            Some(HubKind::K3s) => ours(Target::K3s, "k3s", self),
            Some(HubKind::Kubeconfig) | None if self.manager.is_some() => Err(Failure::usage(anyhow!(
                "--manager needs a test hub: add --hub lab, --hub envtest or --hub k3s"
            ))),
            Some(HubKind::Kubeconfig) | None => Ok(Target::Kubeconfig(KubeconfigOptions {
                path: self.kubeconfig,
                context: self.context,
                request_timeout: self.request_timeout,
            })),
        }
    }
}

/// Reads how long a request may take.
fn request_timeout(given: &str) -> Result<Duration, DurationError> {
    duration::parse(given, "no limit")
}

impl Target {
    /// The hub's name, for reports of a failed run.
    pub fn name(&self) -> String {
        match self {
            Target::Kubeconfig(options) => match &options.context {
                Some(context) => format!("context {context}"),
                None => "kubeconfig".to_owned(),
            },
            Target::Lab(_) => "lab".to_owned(),
            Target::Envtest(_) => "envtest".to_owned(),
            Target::K3s(_) => "k3s".to_owned(),
        }
    }

    /// The reference manager that plays the implementation, if it does.
    pub fn reference(&self) -> Option<&Reference> {
        match self {
            Target::Kubeconfig(_) => None,
            Target::Lab(reference) | Target::Envtest(reference) | Target::K3s(reference) => Some(reference),
        }
    }

    /// Adds the claims of our own implementation, unless the user overrides them: its users and field managers, and the
    /// consumers that the manager gives credentials to or that read the scheduler's decisions.
    pub fn claim(&self, claim: &mut Claim) {
        if matches!(self, Target::Kubeconfig(_)) {
            return;
        }
        let or_named = |list: &mut Vec<String>, name: &str| {
            if list.is_empty() {
                list.push(name.to_owned());
            }
        };
        for kind in ObjectKind::ALL {
            if claim.edition_of(kind.publisher()).is_none() {
                continue;
            }
            let name = lab::reference(kind.publisher()).name;
            let identity = claim.identity_mut(kind);
            or_named(&mut identity.users, name);
            or_named(&mut identity.field_managers, name);
        }
        if claim.edition_of(Role::Manager).is_some() && !claim.no_features.contains(&Feature::ConsumerSecrets)
        {
            claim.features.insert(Feature::ConsumerSecrets);
            if claim.consumers.is_empty() {
                claim.consumers = Manager::CONSUMERS.map(str::to_owned).into();
            }
        }
    }

    /// Limits the scope to the reference manager's profiles, unless the user names another manager, where the reference
    /// scheduler is beside it: that one selects from an inventory of its own, which is only as good as it needs.
    pub fn scope(&self, claim: &Claim, scope: &mut Scope) {
        if self.reference().is_some() && claim.also.is_some() {
            scope.manager_by_default = scope.cluster_manager.is_none();
            let manager = &mut scope.cluster_manager;
            manager.get_or_insert_with(|| Manager::NAME.to_owned());
        }
    }

    /// The default duration of the watch. The lab simulates its 30 minutes.
    pub fn default_observe(&self) -> Duration {
        match self {
            Target::Lab(_) => Duration::from_secs(30 * 60),
            Target::Kubeconfig(_) | Target::Envtest(_) | Target::K3s(_) => Duration::from_secs(5 * 60),
        }
    }
}

impl Reference {
    /// Returns the faults that the verdicts do not show, though their rules were judged: another fault undid them, or the
    /// run ended before them.
    pub fn hidden(&self, judgement: &Judgement) -> Vec<&'static str> {
        let shows = |id: &str| {
            verdict_on(judgement, id).is_none_or(|verdict| {
                !matches!(verdict.verdict, Verdict::Pass | Verdict::NotApplicable)
                    || !verdict.notes.is_empty()
            })
        };
        let ids = self.faults().map(|(id, _)| id);
        ids.filter(|id| !shows(id)).collect()
    }

    /// Returns the faults whose rules the user has not selected, or the edition does not have.
    pub fn not_judged(&self, judgement: &Judgement) -> Vec<&'static str> {
        let is_judged = |id: &str| verdict_on(judgement, id).is_some_and(|verdict| !verdict.is_deselected());
        let ids = self.faults().map(|(id, _)| id);
        ids.filter(|id| !is_judged(id)).collect()
    }

    /// Returns the faults that only warn, each with the reason.
    pub fn only_warn(&self, judgement: &Judgement) -> Vec<(&'static str, &'static str)> {
        let why = |id: &str| {
            let verdict = verdict_on(judgement, id)?;
            let is_violated = verdict.findings.iter().any(|finding| !finding.advisory);
            match (verdict.verdict, is_violated, verdict.level()) {
                (Verdict::Warn, false, _) => Some("it gives a hint, which proves nothing"),
                (Verdict::Warn, true, Level::Should) => {
                    Some("its rule is a SHOULD, which fails with --strict only")
                }
                (Verdict::Warn, true, _) => Some("its rule is a MAY, which never fails"),
                _ => None,
            }
        };
        let ids = self.faults().map(|(id, _)| id);
        ids.filter_map(|id| Some((id, why(id)?))).collect()
    }

    /// The id of each fault, and the first edition that has its rule.
    pub fn faults(&self) -> impl Iterator<Item = (&'static str, Edition)> {
        let of_manager = self.faults.iter().map(named);
        let of_scheduler = self.scheduler_faults.iter().map(named);
        let of_consumer = self.consumer_faults.iter().map(named);
        of_manager.chain(of_scheduler).chain(of_consumer)
    }

    /// The objects that its hub has to serve, for the roles of that claim.
    pub fn hub_definitions(&self, claim: &Claim) -> Vec<CustomResourceDefinition> {
        if claim.edition_of(Role::Consumer).is_some() {
            return consumer::hub_definitions();
        }
        if claim.edition_of(Role::Scheduler).is_none() {
            return manager::hub_definitions(&self.faults);
        }
        let mut definitions = scheduler::hub_definitions(&self.scheduler_faults);
        manager::adapt_definitions(&mut definitions, &self.faults);
        definitions
    }

    /// Refuses faults that no rule of the edition would find.
    fn check(&self, claim: &Claim) -> Result<(), Failure> {
        for (id, edition) in self.faults() {
            let rule = rules::find(id.split(':').next().unwrap_or(id));
            if rule.is_some_and(|rule| rule.facts.in_claim(claim).is_none()) {
                return Err(Failure::usage(anyhow!(
                    "edition {} does not have the rule that the fault `{id}` breaks: add --edition {}",
                    claim.edition,
                    edition
                )));
            }
        }
        Ok(())
    }
}

/// A fault's id, and the first edition that has its rule.
fn named(fault: &Fault) -> (&'static str, Edition) {
    (fault.info().id, fault.info().edition)
}

/// The verdict on the rule that a fault breaks.
fn verdict_on<'j>(judgement: &'j Judgement, fault: &str) -> Option<&'j RuleVerdict> {
    let rule = fault.split(':').next().unwrap_or(fault);
    let mut verdicts = judgement.verdicts.iter();
    verdicts.find(|verdict| verdict.rule.id == rule)
}

/// What `--manager` does not take.
#[derive(Debug, thiserror::Error)]
pub enum NoReference {
    /// Another manager.
    #[error(
        "{0}; the suite brings only `reference`, optionally with faults: to judge your own, name its hub with --context or --kubeconfig"
    )]
    Manager(UnknownName),
    /// An unknown fault.
    #[error("{0}{hint}", hint = if .0.nearest.is_none() { "; a fault has the id of the rule that it breaks: `list` prints them" } else { "" })]
    Fault(#[from] UnknownName),
    /// No fault follows the sign.
    #[error("`reference=` names no fault: leave out `=`, or name the rule to break")]
    NoFault,
}

impl FromStr for Reference {
    type Err = NoReference;

    fn from_str(given: &str) -> Result<Self, NoReference> {
        let (name, faults) = given.split_once('=').unwrap_or((given, ""));
        if name != "reference" {
            let unknown = UnknownName::among("manager", name, ["reference"]);
            return Err(NoReference::Manager(unknown));
        }
        if given.ends_with('=') {
            return Err(NoReference::NoFault);
        }
        let mut reference = Self {
            faults: Vec::new(),
            scheduler_faults: Vec::new(),
            consumer_faults: Vec::new(),
        };
        for fault in faults.split(',').filter(|fault| !fault.is_empty()) {
            match Role::of_rule(fault) {
                Role::Manager => reference.faults.push(Fault::parse(fault)?),
                Role::Scheduler => reference.scheduler_faults.push(scheduler::Fault::parse(fault)?),
                Role::Consumer => reference.consumer_faults.push(consumer::Fault::parse(fault)?),
            }
        }
        Ok(reference)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manager_is_named_with_its_faults() {
        assert!(
            "reference"
                .parse::<Reference>()
                .is_ok_and(|reference| reference.faults.is_empty())
        );
        let two = "reference=identity/manager-label-present,identity/manager-label-matches";
        assert!(
            two.parse::<Reference>()
                .is_ok_and(|reference| reference.faults.len() == 2)
        );
        let error = "reference=identity/manager-label-presnt"
            .parse::<Reference>()
            .expect_err("a slip")
            .to_string();
        assert!(
            error.contains("did you mean `identity/manager-label-present`?"),
            "{error}"
        );
        let error = |given: &str| given.parse::<Reference>().expect_err("a slip").to_string();
        assert!(error("referense").starts_with("unknown manager `referense`: did you mean `reference`?"));
        assert!(error("ocm").contains("the suite brings only `reference`"));
        assert!(error("reference=foo").contains("unknown fault `foo`; a fault has the id of the rule"));
        assert!(error("reference=").contains("names no fault"));
    }
}
