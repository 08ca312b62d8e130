//! The flags that drive the implementation.

use std::{
    env,
    ffi::OsString,
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::Context as _;
use clap::{Args, ValueHint};
use collect::{
    Plan,
    clock::Clock,
    connect::{Connection, HubAccess},
    driver::{Commands, DriverFile, DriverPlan, Journal, JournalHead, Offer, new_run_id},
    testbed::{Calls, Recorder, TestbedPlan, log_files},
};
use evidence::{Claim, DriverAction, api::Role};
use lab::{
    driver::{ReferenceHooks, Remote, StandIns},
    testbed::OnPorts,
};

use crate::command::{Failure, Target, bail_usage};

/// Whether and how to drive the implementation.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Driver")]
pub struct DriverFlags {
    /// Drive the implementation and judge its reactions
    ///
    /// FILE is a driver file with commands (join, leave, place, …); `reference` goes with --manager reference; `none` drives
    /// nothing. The default is none; with --hub lab, reference with --allow-mutations.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub driver: Option<Choice>,
    /// Let the driver write to the hub; it undoes its writes
    ///
    /// It writes to the profiles of members that it joined and to the slices of its placements, and creates one of its own.
    #[arg(long)]
    pub allow_mutations: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    File(PathBuf),
    /// The run itself, which has the reference manager or the reference scheduler at hand.
    Reference,
    Nothing,
}

/// The driver of a run.
#[derive(Debug)]
pub struct Driving {
    /// Its commands; none drive the reference manager and the reference scheduler.
    pub file: Option<DriverFile>,
    /// Whether it may write to the hub.
    pub mutations: bool,
}

impl DriverFlags {
    /// Resolves the flags for a target that is watched as planned.
    pub fn resolve(&self, target: &Target, plan: &Plan) -> Result<Option<Driving>, Failure> {
        let mutations = self.allow_mutations;
        let reference = |mutations| Driving {
            file: None,
            mutations,
        };
        let choice = match &self.driver {
            Some(choice) => choice,
            None if is_driven_by_default(target, plan) => return Ok(Some(reference(true))),
            None if mutations => bail_usage!("--allow-mutations needs a driver; add --driver FILE"),
            None => return Ok(None),
        };
        match (choice, target) {
            (Choice::Nothing, _) if mutations => {
                bail_usage!("--driver none drives nothing that may write: leave out --allow-mutations")
            }
            (Choice::Nothing, _) => Ok(None),
            _ if plan.observe.is_zero() => {
                bail_usage!("--observe 0s cannot see the driver's effects: leave out --observe or --driver")
            }
            (Choice::File(path), Target::Kubeconfig(_)) => {
                let file = DriverFile::read(path).map_err(Failure::usage)?;
                check(&file, mutations, &plan.claim)?;
                journals()?;
                Ok(Some(Driving {
                    file: Some(file),
                    mutations,
                }))
            }
            (Choice::Reference, Target::Test(..)) => Ok(Some(reference(mutations))),
            (Choice::File(_), Target::Test(..)) => {
                bail_usage!("commands cannot drive the reference manager: use --driver reference")
            }
            (Choice::Reference, Target::Kubeconfig(_)) => bail_usage!(
                "--driver reference drives the reference manager: add --hub lab --manager reference, or name a driver \
                 file"
            ),
        }
    }

    pub fn file(&self) -> Option<&Path> {
        match &self.driver {
            Some(Choice::File(path)) => Some(path),
            Some(Choice::Reference | Choice::Nothing) | None => None,
        }
    }
}

/// Whether the driver is part of the run without being named: in the lab it takes no time, and writes to nothing of the
/// user's. A single snapshot cannot see what it does, nor can a run that does not look where it does it.
fn is_driven_by_default(target: &Target, plan: &Plan) -> bool {
    let mut roles = plan.claim.roles();
    target.is_lab()
        && !plan.observe.is_zero()
        && roles.all(|role| {
            // A consumer is not driven, but shown a testbed.
            role != Role::Consumer && plan.scope.holds_namespace(lab::reference(role).namespace)
        })
}

impl From<OsString> for Choice {
    fn from(value: OsString) -> Self {
        match value.to_str() {
            Some("reference") => Choice::Reference,
            Some("none") => Choice::Nothing,
            _ => Choice::File(value.into()),
        }
    }
}

/// Returns the folder of the write-ahead logs of changes to undo (XDG Base Directory Specification).
pub fn journals() -> Result<PathBuf, Failure> {
    let absolute = |path: &PathBuf| path.is_absolute();
    let state = env::var_os("XDG_STATE_HOME").map(PathBuf::from).filter(absolute);
    let home = env::home_dir().filter(absolute);
    let Some(state) = state.or_else(|| Some(home?.join(".local/state"))) else {
        bail_usage!(
            "there is no folder for the log of changes to undo: set XDG_STATE_HOME to a folder that outlives the run"
        );
    };
    Ok(state.join("clusterprofile-conformance").join("runs"))
}

impl Driving {
    /// Adds to the plan what a driver file does on a user's hub: its scenarios; for a consumer, a testbed with members on
    /// ports of this machine.
    pub async fn add_file(&self, plan: &mut Plan, hub: &Connection, clock: Clock) -> Result<(), Failure> {
        let (Some(file), Some(access)) = (&self.file, hub.access()) else {
            return Ok(());
        };
        let run = new_run_id();
        let hooks = Commands::new(file.clone(), access, &run).context("failed to prepare the hooks")?;
        if let Some(consumer) = file.consumer.as_ref()
            && plan.claim.edition_of(Role::Consumer).is_some()
        {
            let calls = Arc::new(Calls::new(clock));
            let path = &consumer.recorder;
            let recorder = Recorder::listen(path, Arc::clone(&calls)).await;
            let recorder = recorder.with_context(|| {
                let path = path.display();
                format!("failed to write {path}, where the consumer's plugin looks for the run")
            })?;
            if plan.claim.consumer_agents.is_empty() {
                plan.claim.consumer_agents.clone_from(&consumer.agents);
            }
            plan.testbed = Some(TestbedPlan {
                claims: consumer.claims(),
                unselected: consumer.unselected.clone(),
                outputs: consumer.outputs.clone(),
                members: Arc::new(OnPorts::new(Arc::clone(&calls))),
                calls,
                log: log_files(consumer.logs.clone()),
                hooks: Arc::new(hooks),
                recorder: Some(Arc::new(recorder)),
                patience: file.patience(),
                journal: Arc::new(journal(file, hub, access, &run, clock)?),
                run,
            });
        } else {
            let offer = file.has_fake_members().then(|| StandIns::new(clock));
            plan.driver = Some(DriverPlan {
                journal: Arc::new(journal(file, hub, access, &run, clock)?),
                run,
                hooks: Arc::new(hooks),
                offer: offer.map(|offer| Arc::new(offer) as Arc<dyn Offer>),
                file: file.clone(),
                mutations: self.mutations,
            });
        }
        Ok(())
    }

    /// Plans the scenarios for the reference implementations. Their hub ends with the run, so there is nothing to undo. A
    /// scheduler alone has an inventory of its own.
    pub fn by_remotes(&self, remotes: Vec<(Role, Remote)>, clock: Clock) -> Option<DriverPlan> {
        if self.file.is_some() {
            return None;
        }
        let has_manager = remotes.first()?.0 == Role::Manager;
        let hooks = Arc::new(ReferenceHooks::new(remotes, clock));
        Some(DriverPlan {
            run: new_run_id(),
            offer: has_manager.then(|| Arc::<ReferenceHooks>::clone(&hooks) as Arc<dyn Offer>),
            hooks,
            file: DriverFile::default(),
            mutations: self.mutations,
            journal: Arc::default(),
        })
    }
}

/// Checks that a driver file can do anything for the role that is judged.
fn check(file: &DriverFile, mutations: bool, claim: &Claim) -> Result<(), Failure> {
    let of_placements = [DriverAction::Place, DriverAction::Restart];
    let is_useful = of_placements.iter().any(|action| file.hooks.contains_key(action));
    let path = file.path.display();
    match (claim.edition.role(), &file.consumer) {
        (Role::Consumer, None) => bail_usage!(
            "the driver file {path} has no consumer; add `consumer` with its `namespaces`, `providers` and `recorder`"
        ),
        (Role::Consumer, _) if !mutations => bail_usage!(
            "to judge a consumer, the run publishes profiles in its namespace; add --allow-mutations"
        ),
        (Role::Consumer, Some(consumer)) => {
            if let Some(log) = consumer.logs.iter().find(|log| !log.is_file()) {
                bail_usage!(
                    "consumer.logs: there is no file {}: start the consumer first, or correct the path",
                    log.display()
                );
            }
        }
        _ if file.hooks.is_empty() => bail_usage!(
            "the driver file {path} has no hook; add `join` and `leave`, or judge its consumer with --role consumer"
        ),
        (Role::Scheduler, _) if !is_useful => bail_usage!(
            "the driver file {path} has no hook that --role scheduler uses; add `place` and `unplace`, or `restart`"
        ),
        _ => {}
    }
    Ok(())
}

fn journal(
    file: &DriverFile,
    hub: &Connection,
    access: &HubAccess,
    run: &str,
    clock: Clock,
) -> Result<Journal, Failure> {
    let folder = journals()?;
    let head = JournalHead {
        run: run.to_owned(),
        began: clock.now(),
        server: access.server.clone(),
        hub: hub.source.clone(),
        driver_file: file.path.clone(),
    };
    let journal = Journal::begin(&folder, head).with_context(|| {
        format!(
            "failed to write the log of changes to undo in {}; set XDG_STATE_HOME to a writable folder",
            folder.display()
        )
    })?;
    Ok(journal)
}
