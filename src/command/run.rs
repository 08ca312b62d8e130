//! `run`: judge a hub, or a file with its state.

use std::path::{Path, PathBuf};

use clap::Args;
use collect::clock::Clock;
use evidence::{Claim, Evidence, Input, InputError, Scope, read_input};
use judge::{Selection, judge};
use report::escape;

use super::{
    Exit, Failure, advice, audit,
    claim::ClaimFlags,
    clean::clean,
    conclude::{ReadFrom, conclude, conclude_without_evidence},
    config::ConfigFlags,
    driver::DriverFlags,
    members, observe,
    output::OutputFlags,
    plan::PlanFlags,
    print::print,
    scope::ScopeFlags,
    selection::SelectionFlags,
    target::{Reference, TargetFlags},
    waivers,
};

const EXAMPLES: &str = "\
Examples:
  Try the suite without a cluster:
    clusterprofile-conformance run --hub lab --manager reference
  Judge the hub of a kubeconfig's context, and write a report:
    clusterprofile-conformance run --context hub --junit report.xml
  Drive the implementation with the commands of a driver file:
    clusterprofile-conformance run --context hub --driver driver.yaml --allow-mutations
  Judge the output of kubectl:
    kubectl get clusterprofiles,namespaces -A -o yaml --show-managed-fields |
      clusterprofile-conformance run --from -";

/// Judge a hub, or a file with its state
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Run {
    #[command(flatten)]
    selection: SelectionFlags,
    #[command(flatten)]
    pub config: ConfigFlags,
    /// Judge a kubectl dump (file, folder, or - for standard input) or an evidence file, without a hub
    #[arg(
        long,
        value_name = "PATH",
        help_heading = "Target",
        conflicts_with_all = [
            "kubeconfig", "context", "hub", "manager", "api_version", "observe", "members", "provider_file", "probe",
            "no_probe", "driver", "allow_mutations", "clean",
        ],
    )]
    from: Option<PathBuf>,
    #[command(flatten)]
    target: TargetFlags,
    #[command(flatten)]
    scope: ScopeFlags,
    #[command(flatten)]
    plan: PlanFlags,
    #[command(flatten)]
    driver: DriverFlags,
    #[command(flatten)]
    pub claim: ClaimFlags,
    #[command(flatten)]
    outputs: OutputFlags,
}

impl Run {
    /// Collects, judges and reports.
    ///
    /// # Errors
    /// When the flags conflict, the hub is unavailable, or a report cannot be written.
    pub fn execute(self) -> Result<Exit, Failure> {
        if let Some(shown) = &self.config.shown {
            return print(shown).map(|()| Exit::Success);
        }
        match &self.from {
            Some(path) => from_file(
                path,
                &self.plan.audit_logs,
                self.selection,
                &self.scope,
                &self.claim,
                &self.outputs,
                self.config.file(),
            ),
            None => self.on_hub(),
        }
    }

    fn on_hub(self) -> Result<Exit, Failure> {
        let (mut claim, mut scope) = (Claim::default(), Scope::default());
        self.claim.apply(&mut claim)?;
        self.scope.apply(&mut scope);
        let selection = self.selection.resolve(claim.edition)?;
        let target = self.target.resolve(claim.edition)?;
        target.claim(&mut claim);
        let waivers = waivers::read(self.claim.waivers.as_deref())?;
        audit::check(&self.plan.audit_logs)?;
        let source = target.name();
        let (members, files) =
            members::resolve(&self.plan.members, self.plan.provider_file.as_deref(), &target)?;
        let plan = self.plan.plan(claim, scope, target.default_observe(), members)?;
        if self.driver.clean {
            return clean(&target, &plan, self.driver.file());
        }
        let driving = self.driver.resolve(&target, plan.observe)?;
        let files = files.iter().chain(&plan.audit_logs).map(PathBuf::as_path);
        let inputs = target
            .kubeconfig()
            .into_iter()
            .chain(self.driver.file())
            .chain(self.claim.waivers.as_deref())
            .chain(self.config.file())
            .chain(files);
        let outputs = self.outputs.prepare(inputs)?;
        let claim = plan.claim.clone();
        let reference = target.reference().cloned();
        match observe::observe(target, plan, driving.as_ref(), &selection) {
            Ok(evidence) => {
                if let Some(reference) = reference.filter(|reference| reference.faults.len() > 1) {
                    warn_of_hidden(&reference, &evidence, &selection);
                }
                conclude(
                    &evidence,
                    &selection,
                    waivers.as_ref(),
                    outputs,
                    None,
                    self.outputs.format,
                )
            }
            Err(failure) => Err(conclude_without_evidence(failure, claim, &source, outputs)),
        }
    }
}

/// Faults may undo each other: one that does not show must not pass for one that the suite misses.
fn warn_of_hidden(reference: &Reference, evidence: &Evidence, selection: &Selection) {
    for fault in reference.hidden(&judge(evidence, selection)) {
        anstream::eprintln!(
            "warning: fault {fault} does not show: another fault hides it, or the run ended before it; try it alone"
        );
    }
}

/// Judges a file.
///
/// # Errors
/// When the flags conflict, the file cannot be used, or a report cannot be written.
pub fn from_file(
    path: &Path,
    audit_logs: &[PathBuf],
    selection: SelectionFlags,
    scope: &ScopeFlags,
    claim: &ClaimFlags,
    flags: &OutputFlags,
    config: Option<&Path>,
) -> Result<Exit, Failure> {
    let waivers = waivers::read(claim.waivers.as_deref())?;
    let inputs = audit_logs.iter().map(PathBuf::as_path).chain([path]);
    let outputs = flags.prepare(inputs.chain(claim.waivers.as_deref()).chain(config))?;
    let input = match read(path, audit_logs) {
        Ok(input) => input,
        Err(failure) => {
            let mut claimed = Claim::default();
            claim.apply(&mut claimed)?;
            let source = format!("file {}", path.display());
            return Err(conclude_without_evidence(failure, claimed, &source, outputs));
        }
    };
    for note in &input.notes {
        anstream::eprintln!("note: {}", escape::line(note));
    }
    let mut evidence = input.evidence;
    claim.apply(&mut evidence.header.claim)?;
    scope.apply(&mut evidence.header.scope);
    let selection = selection.resolve(evidence.header.claim.edition)?;
    let from = ReadFrom {
        path,
        alone: audit_logs.is_empty(),
    };
    conclude(
        &evidence,
        &selection,
        waivers.as_ref(),
        outputs,
        Some(from),
        flags.format,
    )
}

fn read(path: &Path, audit_logs: &[PathBuf]) -> Result<Input, Failure> {
    let mut input = read_evidence(path).map_err(Failure::usage)?;
    audit::add(&mut input.evidence, audit_logs).map_err(Failure::usage)?;
    Ok(input)
}

/// Reads an evidence file or a dump, and names the flags that bring what a dump lacks.
///
/// # Errors
/// When it cannot be read, or holds nothing to judge.
pub fn read_evidence(path: &Path) -> Result<Input, InputError> {
    let mut input = read_untimed(path)?;
    let header = &mut input.evidence.header;
    if header.window.is_none() {
        header.read_at.get_or_insert_with(|| Clock::system().now());
    }
    Ok(input)
}

/// Does the same, but does not take the time of a dump, which does not tell it, for now.
///
/// # Errors
/// When it cannot be read, or holds nothing to judge.
pub fn read_untimed(path: &Path) -> Result<Input, InputError> {
    let mut input = read_input(path, &collect::new_digester())?;
    advice::add_flag_to_dump(&mut input.evidence);
    Ok(input)
}
