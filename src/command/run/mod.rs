//! `run` and `replay`: judge a hub, or a file with its state, and write reports.

mod conclude;
mod progress;
mod recording;

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use clap::Args;
use collect::{
    Plan,
    clock::Clock,
    collect,
    connect::{Connection, KubeconfigOptions},
    driver::{CleanError, clean as clean_up},
    requests::merge_into,
};
use evidence::{Claim, Evidence, Input, Limits};
use lab::hub::{AuditLevel, Hub};
use report::escape;
use tokio_util::sync::CancellationToken;

pub use self::progress::in_words;
use self::{
    conclude::{ReadFrom, conclude, conclude_without_evidence},
    progress::RunProgress,
    recording::{Keeper, RecordPart},
};
use crate::command::{
    ClaimFlags, Exit, Failure, InputFlags, JudgeFlags, OutputFlags, ReferenceImplementations, RunFlags,
    RunPlan, Target, bail_usage,
    flags::{driver::journals, files},
    hub::{set_up, start},
    print, runtime,
    terminal::signals,
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
pub struct RunCommand {
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
    pub judge: JudgeFlags,
    #[command(flatten)]
    outputs: OutputFlags,
    #[command(flatten)]
    input: InputFlags,
}

impl RunCommand {
    pub fn execute(self) -> Result<Exit, Failure> {
        if self.clean {
            return clean(&self.flags);
        }
        let Some(path) = &self.from else {
            return self.on_hub();
        };
        let logs = files::audit_logs(&self.flags.plan.audit_logs, None)?;
        files::check_audit_logs(&logs)?;
        judge_file(path, &logs, &self.flags.judge, &self.outputs, self.input.limits())
    }

    fn on_hub(&self) -> Result<Exit, Failure> {
        let run = self.flags.resolve()?;
        self.outputs.check(&run.plan.claim)?;
        let mut outputs = self.outputs.files.prepare(&run.inputs)?;
        let record = RecordPart::begin(&mut outputs, &run.target, run.plan.observe);
        match observe(&run, record.clone()) {
            Ok(evidence) => {
                let (selection, waivers) = (&run.selection, run.waivers.as_ref());
                conclude(&evidence, selection, waivers, outputs, None, &self.outputs)
            }
            Err(failure) => {
                if let Some(record) = record {
                    record.note_leftover();
                }
                let source = run.target.name();
                Err(conclude_without_evidence(
                    failure,
                    run.plan.claim,
                    &source,
                    outputs,
                ))
            }
        }
    }
}

impl Replay {
    pub fn execute(self) -> Result<Exit, Failure> {
        judge_file(
            &self.evidence,
            &[],
            &self.judge,
            &self.outputs,
            self.input.limits(),
        )
    }
}

fn judge_file(
    path: &Path,
    audit_logs: &[PathBuf],
    flags: &JudgeFlags,
    outputs: &OutputFlags,
    limits: Limits,
) -> Result<Exit, Failure> {
    let waivers = files::read_waivers(flags.claim.waivers.as_deref())?;
    let files = [Some(path), flags.claim.waivers.as_deref(), flags.config.file()];
    let mut inputs: Vec<PathBuf> = files.into_iter().flatten().map(Path::to_owned).collect();
    inputs.extend_from_slice(audit_logs);
    let prepared = outputs.files.prepare(&inputs)?;
    let (input, recorded) = match read(path, audit_logs, &flags.claim, &limits) {
        Ok(read) => read,
        Err(failure) => {
            let mut claimed = Claim::default();
            flags.claim.apply(&mut claimed)?;
            let source = format!("file {}", path.display());
            return Err(conclude_without_evidence(failure, claimed, &source, prepared));
        }
    };
    for note in &input.notes {
        anstream::eprintln!("note: {}", escape::line(note));
    }
    let mut evidence = input.evidence;
    flags.config.note_unused(&evidence.header.claim);
    let scope = evidence.header.scope.clone();
    flags.scope.apply(&mut evidence.header.scope);
    outputs.check(&evidence.header.claim)?;
    let selection = flags.selection.clone().resolve(&evidence.header.claim)?;
    let from = ReadFrom {
        path,
        alone: audit_logs.is_empty(),
        as_claimed: scope == evidence.header.scope && recorded == evidence.header.claim,
        limits,
    };
    conclude(
        &evidence,
        &selection,
        waivers.as_ref(),
        prepared,
        Some(from),
        outputs,
    )
}

/// Reads the evidence, and its own claim with the judged edition.
fn read(
    path: &Path,
    audit_logs: &[PathBuf],
    claim: &ClaimFlags,
    limits: &Limits,
) -> Result<(Input, Claim), Failure> {
    let mut input = files::read_evidence(path, limits).map_err(Failure::usage)?;
    let mut recorded = input.evidence.header.claim.clone();
    // Before the audit log: the claim decides which of its requests count.
    claim.apply(&mut input.evidence.header.claim)?;
    recorded.edition = input.evidence.header.claim.edition;
    files::add_audit_logs(&mut input.evidence, audit_logs).map_err(Failure::usage)?;
    Ok((input, recorded))
}

/// Undoes what killed runs have left behind, and reports what was undone and what remains.
fn clean(flags: &RunFlags) -> Result<Exit, Failure> {
    let mut claim = Claim::default();
    flags.judge.claim.apply(&mut claim)?;
    let target = flags.target.clone().resolve(&claim)?;
    let Target::Kubeconfig(options) = &target else {
        bail_usage!("a test hub ends with its run and needs no cleaning: leave out --hub or --clean");
    };
    let journals = journals()?;
    let cleaned = runtime(false)?.block_on(async {
        let hub = Connection::from_kubeconfig(options).await?;
        let (version, driver) = (flags.plan.api_version.as_deref(), flags.driver.file());
        let cleaned = clean_up(&hub, &claim, version, Clock::system(), &journals, driver);
        cleaned.await.map_err(|error| match error {
            CleanError::Hub(error) => Failure::no_evidence(error, &hub),
            error => Failure::could_not_run(error),
        })
    })?;
    for message in &cleaned.messages {
        print(&format!("{}\n", escape::line(message)))?;
    }
    match cleaned.leftovers.as_slice() {
        [] => Ok(Exit::Success),
        remains => Err(Failure::could_not_run(anyhow!(
            "failed to undo everything; fix these causes and clean again, with --driver FILE if the driver file was moved\n{}",
            remains.join("\n")
        ))),
    }
}

/// Collects evidence from the target for as long as the plan says, or until a signal. `record` survives a run that is
/// killed.
pub fn observe(run: &RunPlan, record: Option<RecordPart>) -> Result<Evidence, Failure> {
    runtime(run.target.is_lab())?.block_on(async {
        match &run.target {
            Target::Kubeconfig(options) => observe_kubeconfig(options, run, record).await,
            Target::Test(hub, reference) => {
                let definitions = reference.hub_definitions(&run.plan.claim);
                let stop = signals::stop();
                // A signal must not leave a container behind.
                let hub = tokio::select! {
                    hub = start(*hub, &definitions, Vec::new(), Clock::system()) => hub?,
                    () = stop.cancelled() => return Err(Failure::stopped()),
                };
                let observed = observe_test_hub(&hub, reference, run, record, stop).await;
                let stopped = hub.stop().await;
                let evidence = observed?;
                stopped?;
                Ok(evidence)
            }
        }
    })
}

async fn observe_kubeconfig(
    options: &KubeconfigOptions,
    run: &RunPlan,
    record: Option<RecordPart>,
) -> Result<Evidence, Failure> {
    let (clock, mut plan) = (Clock::system(), run.plan.clone());
    let hub = Connection::from_kubeconfig(options).await?;
    if let Some(driving) = &run.driving {
        driving.add_file(&mut plan, &hub, clock).await?;
    }
    watch_testbed_namespaces(&mut plan);
    let stop = signals::stop();
    let progress = progress(run, record, true);
    let collected = collect(&hub, &plan, clock, &progress, stop).await;
    drop(progress);
    let mut evidence = collected.map_err(|error| Failure::no_evidence(error, &hub))?;
    files::add_audit_logs_or_gap(&mut evidence, &plan.audit_logs);
    Ok(evidence)
}

/// Collects evidence from the reference implementations on a test hub. They end only when they fail.
async fn observe_test_hub(
    hub: &Hub,
    reference: &ReferenceImplementations,
    run: &RunPlan,
    record: Option<RecordPart>,
    stop: CancellationToken,
) -> Result<Evidence, Failure> {
    if let Some(lab) = hub.as_lab() {
        // The same as envtest's policy.
        lab.set_audit_level(AuditLevel::RequestResponse);
    }
    let (clock, mut plan) = (Clock::system(), run.plan.clone());
    let running = set_up(
        hub,
        reference,
        &mut plan,
        run.own_members,
        run.driving.as_ref(),
        clock,
    )
    .await?;
    watch_testbed_namespaces(&mut plan);
    // The lab's time is simulated.
    let progress = progress(run, record, hub.as_lab().is_none());
    let collected = tokio::select! {
        collected = collect(&hub.connection, &plan, clock, &progress, stop) => collected,
        failure = running => return Err(failure),
    };
    drop(progress);
    let mut evidence = collected.map_err(|error| Failure::no_evidence(error, &hub.connection))?;
    if run.own_audit_log {
        let log = hub.audit_log().await.map_err(Failure::could_not_run)?;
        merge_into(&mut evidence, log);
    }
    Ok(evidence)
}

fn progress(run: &RunPlan, record: Option<RecordPart>, waits: bool) -> RunProgress {
    let keeper = record.map(Keeper::new);
    RunProgress::new(&run.selection, run.waivers.as_ref(), keeper, waits)
}

/// Restricts a run with a testbed to the namespaces of the testbed.
fn watch_testbed_namespaces(plan: &mut Plan) {
    if let Some(testbed) = &plan.testbed {
        plan.scope.namespaces = testbed.namespaces();
        // The run creates the objects that the scope names.
        plan.wait = true;
    }
}
