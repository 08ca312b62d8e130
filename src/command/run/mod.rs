//! `run` and `replay`: judge a hub, or a file with its state, and write reports.

mod conclude;
mod observe;
mod progress;
mod recording;

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use clap::Args;
use collect::{
    clock::Clock,
    connect::Connection,
    driver::{CleanError, clean as clean_up},
};
use evidence::{Claim, Input, Limits};
use report::escape;

use self::{
    conclude::{ReadFrom, conclude, conclude_without_evidence},
    observe::{Sources, observe},
    recording::{RecordPart, Watching},
};
use crate::command::{
    config::ConfigFlags,
    flags::{
        RunFlags,
        claim::ClaimFlags,
        driver::journals,
        input::{InputFlags, add_audit_logs, audit_logs, read_evidence, read_waivers},
        output::OutputFlags,
        selection::SelectionFlags,
        target::{ScopeFlags, Target},
    },
    hub::runtime,
    terminal::{
        exit::{Exit, Failure, bail_usage},
        print,
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
    pub flags: RunFlags,
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
    /// Undo what killed runs left on the hub, without judging
    #[arg(
        long,
        help_heading = "Driver",
        conflicts_with_all = ["manager", "observe", "settle", "wait", "probe", "no_probe", "audit_logs", "allow_mutations"],
    )]
    clean: bool,
    #[command(flatten)]
    outputs: OutputFlags,
    #[command(flatten)]
    input: InputFlags,
}

/// Judge an evidence file again; the same as `run --from`
#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 0 conformant, or no violation found, 1 not conformant, 2 bad usage or a file that cannot be used, \
                  3 inconclusive, or (--complete) not all MUST rules judged, 4 could not write a report."
)]
pub struct Replay {
    /// The evidence file, or a kubectl dump
    evidence: PathBuf,
    #[command(flatten)]
    selection: SelectionFlags,
    #[command(flatten)]
    pub config: ConfigFlags,
    #[command(flatten)]
    scope: ScopeFlags,
    #[command(flatten)]
    pub claim: ClaimFlags,
    #[command(flatten)]
    outputs: OutputFlags,
    #[command(flatten)]
    input: InputFlags,
}

impl Run {
    pub fn execute(self) -> Result<Exit, Failure> {
        if self.clean {
            return clean(self.flags);
        }
        match &self.from {
            Some(path) => File {
                path,
                audit_logs: &audit_logs(&self.flags.plan.audit_logs, None)?,
                selection: &self.flags.selection,
                config: &self.flags.config,
                scope: &self.flags.scope,
                claim: &self.flags.claim,
                outputs: &self.outputs,
                limits: self.input.limits(),
            }
            .judge(),
            None => self.on_hub(),
        }
    }

    fn on_hub(self) -> Result<Exit, Failure> {
        let run = self.flags.resolve()?;
        self.outputs.check(&run.plan.claim)?;
        let mut outputs = self.outputs.files.prepare(&run.inputs)?;
        let (claim, source) = (run.plan.claim.clone(), run.target.name());
        let watching = Watching {
            selection: &run.selection,
            waivers: run.waivers.as_ref(),
            record: RecordPart::begin(&mut outputs, &run.target, run.plan.observe),
        };
        let sources = Sources {
            driving: run.driving.as_ref(),
            own: self.flags.plan.own(),
        };
        match observe(&run.target, run.plan, sources, &watching) {
            Ok(evidence) => {
                let (selection, waivers) = (&run.selection, run.waivers.as_ref());
                conclude(&evidence, selection, waivers, outputs, None, &self.outputs)
            }
            Err(failure) => {
                if let Some(record) = &watching.record {
                    record.note_leftover();
                }
                Err(conclude_without_evidence(failure, claim, &source, outputs))
            }
        }
    }
}

impl Replay {
    pub fn execute(self) -> Result<Exit, Failure> {
        File {
            path: &self.evidence,
            audit_logs: &[],
            selection: &self.selection,
            config: &self.config,
            scope: &self.scope,
            claim: &self.claim,
            outputs: &self.outputs,
            limits: self.input.limits(),
        }
        .judge()
    }
}

/// A file to judge, with the flags for that.
struct File<'a> {
    path: &'a Path,
    audit_logs: &'a [PathBuf],
    selection: &'a SelectionFlags,
    config: &'a ConfigFlags,
    scope: &'a ScopeFlags,
    claim: &'a ClaimFlags,
    outputs: &'a OutputFlags,
    limits: Limits,
}

impl File<'_> {
    fn judge(self) -> Result<Exit, Failure> {
        let waivers = read_waivers(self.claim.waivers.as_deref())?;
        let named = [Some(self.path), self.claim.waivers.as_deref(), self.config.file()];
        let mut inputs: Vec<PathBuf> = named.into_iter().flatten().map(Path::to_owned).collect();
        inputs.extend_from_slice(self.audit_logs);
        let outputs = self.outputs.files.prepare(&inputs)?;
        let (input, recorded) = match self.read() {
            Ok(read) => read,
            Err(failure) => {
                let mut claimed = Claim::default();
                self.claim.apply(&mut claimed)?;
                let source = format!("file {}", self.path.display());
                return Err(conclude_without_evidence(failure, claimed, &source, outputs));
            }
        };
        for note in &input.notes {
            anstream::eprintln!("note: {}", escape::line(note));
        }
        let mut evidence = input.evidence;
        self.config.note_unused(&evidence.header.claim);
        let scope = evidence.header.scope.clone();
        self.scope.apply(&mut evidence.header.scope);
        self.outputs.check(&evidence.header.claim)?;
        let selection = self.selection.clone().resolve(&evidence.header.claim)?;
        let from = Some(ReadFrom {
            path: self.path,
            alone: self.audit_logs.is_empty(),
            as_claimed: scope == evidence.header.scope && recorded == evidence.header.claim,
            limits: self.limits,
        });
        let waivers = waivers.as_ref();
        conclude(&evidence, &selection, waivers, outputs, from, self.outputs)
    }

    /// Reads the evidence, and its own claim with the judged edition.
    fn read(&self) -> Result<(Input, Claim), Failure> {
        let mut input = read_evidence(self.path, &self.limits).map_err(Failure::usage)?;
        let mut recorded = input.evidence.header.claim.clone();
        // Before the audit log: the claim decides which of its requests count.
        self.claim.apply(&mut input.evidence.header.claim)?;
        recorded.edition = input.evidence.header.claim.edition;
        add_audit_logs(&mut input.evidence, self.audit_logs).map_err(Failure::usage)?;
        Ok((input, recorded))
    }
}

/// Undoes what killed runs have left behind, and reports what was undone and what remains.
fn clean(flags: RunFlags) -> Result<Exit, Failure> {
    let mut claim = Claim::default();
    flags.claim.apply(&mut claim)?;
    let target = flags.target.resolve(&claim)?;
    let Target::Kubeconfig(options) = &target else {
        bail_usage!("a test hub ends with its run and needs no cleaning: leave out --hub or --clean");
    };
    let journals = journals()?;
    let cleaned = runtime(&target)?.block_on(async {
        let hub = Connection::from_kubeconfig(options)
            .await
            .map_err(Failure::no_connection)?;
        let cleaned = clean_up(
            &hub,
            &claim,
            flags.plan.api_version.as_deref(),
            Clock::system(),
            &journals,
            flags.driver.file(),
        );
        cleaned.await.map_err(|error| match error {
            CleanError::Hub(error) => Failure::no_evidence(error, &hub),
            error => Failure::could_not_run(error),
        })
    })?;
    let messages: String = cleaned
        .messages
        .iter()
        .map(|line| format!("{}\n", escape::line(line)))
        .collect();
    print(&messages)?;
    match cleaned.leftovers.as_slice() {
        [] => Ok(Exit::Success),
        remains => Err(Failure::could_not_run(anyhow!(
            "failed to undo everything; fix these causes and clean again, with --driver FILE if the driver file was moved\n{}",
            remains.join("\n")
        ))),
    }
}
