//! `run`: judge a hub, or a file with its state.

use std::path::{Path, PathBuf};

use clap::Args;
use evidence::{Claim, Input, Limits, Scope};
use report::escape;

use super::{
    clean::clean,
    conclude::{Judged, ReadFrom, conclude, conclude_without_evidence},
    observe::{Sources, observe},
    recording::{RecordPart, Watching},
};
use crate::command::{
    config::ConfigFlags,
    flags::{
        audit,
        claim::ClaimFlags,
        driver::DriverFlags,
        input::{InputFlags, read_evidence},
        members,
        output::OutputFlags,
        plan::PlanFlags,
        scope::ScopeFlags,
        selection::SelectionFlags,
        target::TargetFlags,
        waivers,
    },
    terminal::{
        exit::{Exit, Failure},
        print::print,
    },
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
      clusterprofile-conformance run --from -

Exit codes: 0 conformant, or no violation found, 1 not conformant, 2 bad usage or configuration, or nothing on the hub matches
--namespace, --cluster-manager or --scheduler, 3 inconclusive, or (--complete) not all MUST rules judged, 4 could not run.";

/// Judge a hub, or a file with its state
#[derive(Debug, Args)]
#[command(after_help = "--help shows all flags and examples.", after_long_help = EXAMPLES)]
pub struct Run {
    #[command(flatten)]
    selection: SelectionFlags,
    #[command(flatten)]
    pub config: ConfigFlags,
    /// Judge a kubectl dump or an evidence file, without a hub
    ///
    /// A file, a folder, or - for standard input.
    #[arg(
        long,
        value_name = "PATH",
        help_heading = "Hub",
        conflicts_with_all = [
            "kubeconfig", "context", "request_timeout", "hub", "manager", "api_version", "observe", "settle", "wait", "members",
            "provider_file", "probe", "no_probe", "driver", "allow_mutations", "clean",
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
    /// Undo what killed runs left on the hub, without judging
    #[arg(
        long,
        help_heading = "Driver",
        conflicts_with_all = ["manager", "observe", "settle", "wait", "probe", "no_probe", "audit_logs", "allow_mutations"],
    )]
    clean: bool,
    #[command(flatten)]
    pub claim: ClaimFlags,
    #[command(flatten)]
    outputs: OutputFlags,
    #[command(flatten)]
    input: InputFlags,
}

impl Run {
    /// Collects, judges and reports.
    ///
    /// # Errors
    /// When the flags conflict, the hub is unavailable, or a report cannot be written.
    pub fn execute(self) -> Result<Exit, Failure> {
        if let Some(shown) = &self.config.printed {
            return print(shown).map(|()| Exit::Success);
        }
        let Some(from) = &self.from else {
            return self.on_hub();
        };
        from_file(
            File {
                path: from,
                audit_logs: &audit::named(&self.plan.audit_logs, None)?,
                input: self.input,
            },
            self.selection,
            &self.scope,
            &self.claim,
            &self.outputs,
            &self.config,
        )
    }

    fn on_hub(self) -> Result<Exit, Failure> {
        let (mut claim, mut scope) = (Claim::default(), Scope::default());
        self.claim.apply(&mut claim)?;
        self.scope.apply(&mut scope);
        self.outputs.check(&claim)?;
        let selection = self.selection.resolve(&claim)?;
        let target = self.target.resolve(&claim)?;
        target.claim(&mut claim);
        target.scope(&claim, &mut scope);
        let waivers = waivers::read(self.claim.waivers.as_deref())?;
        let source = target.name();
        let (members, files) =
            members::resolve(&self.plan.members, self.plan.provider_file.as_deref(), &target)?;
        let mut plan = self.plan.plan(claim, scope, &target, members)?;
        // Its hooks may bring about what the scope names.
        plan.wait |= self.driver.file().is_some();
        audit::check(&plan.audit_logs)?;
        if self.clean {
            return clean(&target, &plan, self.driver.file());
        }
        let driving = self.driver.resolve(&target, &plan)?;
        if let Some(driving) = &driving {
            driving.check(&plan.claim)?;
        }
        let files = files.iter().chain(&plan.audit_logs);
        let inputs = target.inputs(&self.driver, &self.claim, &self.config, files);
        let mut outputs = self.outputs.prepare(inputs)?;
        let claim = plan.claim.clone();
        let watching = Watching {
            selection: &selection,
            waivers: waivers.as_ref(),
            record: RecordPart::begin(&mut outputs, &target, plan.observe),
        };
        let sources = Sources {
            driving: driving.as_ref(),
            own: self.plan.own(),
        };
        match observe(&target, plan, sources, &watching) {
            Ok(mut evidence) => {
                let judged = Judged::of(&mut evidence, &selection);
                if let Some(reference) = target.reference() {
                    reference.note_faults(&judged.judgement);
                }
                conclude(judged, waivers.as_ref(), outputs, None, &self.outputs)
            }
            Err(failure) => {
                if let Some(record) = &watching.record {
                    record.tell_what_is_left();
                }
                Err(conclude_without_evidence(failure, claim, &source, outputs))
            }
        }
    }
}

/// What a run without a hub reads.
#[derive(Clone, Copy, Debug)]
pub struct File<'a> {
    /// The evidence file, or the dump.
    pub path: &'a Path,
    /// The audit logs.
    pub audit_logs: &'a [PathBuf],
    /// What bounds the former.
    pub input: InputFlags,
}

/// Judges a file.
///
/// # Errors
/// When the flags conflict, the file cannot be used, or a report cannot be written.
pub fn from_file(
    file: File,
    selection: SelectionFlags,
    scope: &ScopeFlags,
    claim: &ClaimFlags,
    flags: &OutputFlags,
    config: &ConfigFlags,
) -> Result<Exit, Failure> {
    let File {
        path,
        audit_logs,
        input,
    } = file;
    let waivers = waivers::read(claim.waivers.as_deref())?;
    let inputs = audit_logs.iter().map(PathBuf::as_path).chain([path]);
    let outputs = flags.prepare(inputs.chain(claim.waivers.as_deref()).chain(config.file()))?;
    let limits = input.limits();
    let input = match read(path, audit_logs, &limits, claim) {
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
    config.note_unused(&evidence.header.claim);
    scope.apply(&mut evidence.header.scope);
    flags.check(&evidence.header.claim)?;
    let selection = selection.resolve(&evidence.header.claim)?;
    let from = ReadFrom {
        path,
        alone: audit_logs.is_empty(),
        limits,
    };
    conclude(
        Judged::of(&mut evidence, &selection),
        waivers.as_ref(),
        outputs,
        Some(from),
        flags,
    )
}

fn read(path: &Path, audit_logs: &[PathBuf], limits: &Limits, claim: &ClaimFlags) -> Result<Input, Failure> {
    let mut input = read_evidence(path, limits).map_err(Failure::usage)?;
    // Before the audit log: the claim tells which of its requests count.
    claim.apply(&mut input.evidence.header.claim)?;
    audit::add(&mut input.evidence, audit_logs).map_err(Failure::usage)?;
    Ok(input)
}
