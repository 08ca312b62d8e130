//! The flags that drive the implementation.

use std::{
    convert::Infallible,
    env,
    path::{Path, PathBuf},
    str::FromStr,
    sync::Arc,
};

use anyhow::{Context as _, anyhow};
use clap::{Args, ValueHint};
use collect::{
    Plan,
    clock::Clock,
    connect::{Connection, HubAccess},
    driver::{Commands, DriverFile, DriverPlan, Head, Journal, Offer, new_run_id},
    testbed::{Calls, Recorder, TestbedPlan, log_files},
};
use evidence::{Claim, DriverAction, api::Role};
use lab::{
    driver::{ReferenceHooks, Remote, StandIns},
    testbed::OnPorts,
};

use super::target::Target;
use crate::command::terminal::exit::{Failure, bail_usage};

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

/// The driver, as far as it is known without a hub.
#[derive(Debug)]
pub enum Driving {
    File {
        file: Box<DriverFile>,
        mutations: bool,
        /// The folder of the write-ahead logs.
        journals: PathBuf,
    },
    /// The reference manager, or the reference scheduler.
    Reference { mutations: bool },
}

impl DriverFlags {
    /// Resolves the flags for a target that is watched as planned.
    pub fn resolve(&self, target: &Target, plan: &Plan) -> Result<Option<Driving>, Failure> {
        let usage = |message: &str| Err(Failure::usage(anyhow!("{message}")));
        let mutations = self.allow_mutations;
        let choice = match &self.driver {
            Some(choice) => choice,
            None if is_driven_by_default(target, plan) => {
                return Ok(Some(Driving::Reference { mutations: true }));
            }
            None if mutations => return usage("--allow-mutations needs a driver; add --driver FILE"),
            None => return Ok(None),
        };
        match (choice, target) {
            (Choice::Nothing, _) if mutations => {
                usage("--driver none drives nothing that may write: leave out --allow-mutations")
            }
            (Choice::Nothing, _) => Ok(None),
            _ if plan.observe.is_zero() => {
                usage("--observe 0s cannot see the driver's effects: leave out --observe or --driver")
            }
            (Choice::File(path), Target::Kubeconfig(_)) => {
                let file = DriverFile::read(path).map_err(Failure::usage)?;
                check(&file, mutations, &plan.claim)?;
                Ok(Some(Driving::File {
                    file: Box::new(file),
                    mutations,
                    journals: journals()?,
                }))
            }
            (Choice::Reference, Target::Test(..)) => Ok(Some(Driving::Reference { mutations })),
            (Choice::File(_), Target::Test(..)) => {
                usage("commands cannot drive the reference manager: use --driver reference")
            }
            (Choice::Reference, Target::Kubeconfig(_)) => usage(
                "--driver reference drives the reference manager: add --hub lab --manager reference, or name a driver \
                 file",
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

impl FromStr for Choice {
    type Err = Infallible;

    fn from_str(given: &str) -> Result<Self, Infallible> {
        Ok(match given {
            "reference" => Choice::Reference,
            "none" => Choice::Nothing,
            path => Choice::File(path.into()),
        })
    }
}

/// Returns the folder of the write-ahead logs of changes to undo (XDG Base Directory Specification).
pub fn journals() -> Result<PathBuf, Failure> {
    let absolute = |path: &PathBuf| path.is_absolute();
    let state = env::var_os("XDG_STATE_HOME").map(PathBuf::from).filter(absolute);
    let home = || {
        env::home_dir()
            .filter(absolute)
            .map(|home| home.join(".local/state"))
    };
    let state = state.or_else(home).ok_or_else(|| {
        Failure::usage(anyhow!(
            "there is no folder for the log of changes to undo: set XDG_STATE_HOME to a folder that outlives the run"
        ))
    })?;
    Ok(state.join("clusterprofile-conformance").join("runs"))
}

impl Driving {
    pub fn mutations(&self) -> bool {
        match self {
            Driving::File { mutations, .. } | Driving::Reference { mutations } => *mutations,
        }
    }

    /// Plans a driver file's scenarios on a user's hub.
    pub fn by_file(&self, hub: &Connection, clock: Clock) -> Result<Option<DriverPlan>, Failure> {
        let (
            Driving::File {
                file,
                mutations,
                journals,
            },
            Some(access),
        ) = (self, hub.access())
        else {
            return Ok(None);
        };
        let run = new_run_id();
        let hooks = hooks(file, access, &run)?;
        let journal = journal(file, journals, hub, access, &run, clock)?;
        let offer = file.has_fake_members().then(|| StandIns::new(clock));
        Ok(Some(DriverPlan {
            run,
            hooks: Arc::new(hooks),
            offer: offer.map(|offer| Arc::new(offer) as Arc<dyn Offer>),
            file: (**file).clone(),
            mutations: *mutations,
            journal: Arc::new(journal),
        }))
    }

    /// Plans the testbed for the consumer of a driver file, with members on ports of this machine.
    pub async fn testbed_by_file(
        &self,
        hub: &Connection,
        clock: Clock,
    ) -> Result<Option<TestbedPlan>, Failure> {
        let (Driving::File { file, journals, .. }, Some(access)) = (self, hub.access()) else {
            return Ok(None);
        };
        let Some(consumer) = &file.consumer else {
            return Ok(None);
        };
        if let Some(log) = consumer.logs.iter().find(|log| !log.is_file()) {
            bail_usage!(
                "consumer.logs: there is no file {}: start the consumer first, or correct the path",
                log.display()
            );
        }
        let run = new_run_id();
        let calls = Arc::new(Calls::new(clock));
        let recorder = Recorder::listen(&consumer.recorder, Arc::clone(&calls)).await;
        let recorder = recorder
            .with_context(|| {
                format!(
                    "failed to write {}, where the consumer's plugin looks for the run",
                    consumer.recorder.display()
                )
            })
            .map_err(Failure::could_not_run)?;
        Ok(Some(TestbedPlan {
            claims: consumer.claims(),
            unselected: consumer.unselected.clone(),
            outputs: consumer.outputs.clone(),
            members: Arc::new(OnPorts::new(Arc::clone(&calls))),
            calls,
            log: log_files(consumer.logs.clone()),
            hooks: Some(Arc::new(hooks(file, access, &run)?)),
            recorder: Some(Arc::new(recorder)),
            patience: file.patience(),
            journal: Arc::new(journal(file, journals, hub, access, &run, clock)?),
            run,
        }))
    }

    /// Adds the consumer's programs that the driver file names, unless a flag names them.
    pub fn name_consumer(&self, claim: &mut Claim) {
        if let Driving::File { file, .. } = self
            && let Some(consumer) = &file.consumer
            && claim.consumer_agents.is_empty()
        {
            claim.consumer_agents.clone_from(&consumer.agents);
        }
    }

    /// Plans the scenarios for the reference implementations. Their hub ends with the run, so there is nothing to undo. A
    /// scheduler alone has an inventory of its own.
    pub fn by_remotes(&self, remotes: Vec<(Role, Remote)>, clock: Clock) -> Option<DriverPlan> {
        let Driving::Reference { mutations } = self else {
            return None;
        };
        let has_manager = remotes.first()?.0 == Role::Manager;
        let hooks = Arc::new(ReferenceHooks::new(remotes, clock));
        Some(DriverPlan {
            run: new_run_id(),
            offer: has_manager.then(|| Arc::<ReferenceHooks>::clone(&hooks) as Arc<dyn Offer>),
            hooks,
            file: DriverFile::default(),
            mutations: *mutations,
            journal: Arc::default(),
        })
    }
}

/// Checks that a driver file can do anything for the role that is judged.
fn check(file: &DriverFile, mutations: bool, claim: &Claim) -> Result<(), Failure> {
    let of_placements = [DriverAction::Place, DriverAction::Restart];
    let is_useful = of_placements.iter().any(|action| file.hooks.contains_key(action));
    let path = file.path.display();
    let problem = match claim.edition.role() {
        Role::Consumer if file.consumer.is_none() => format!(
            "the driver file {path} has no consumer; add `consumer` with its `namespaces`, `providers` and `recorder`"
        ),
        Role::Consumer if !mutations => {
            "to judge a consumer, the run publishes profiles in its namespace; add --allow-mutations"
                .to_owned()
        }
        Role::Consumer => return Ok(()),
        _ if file.hooks.is_empty() => format!(
            "the driver file {path} has no hook; add `join` and `leave`, or judge its consumer with --role consumer"
        ),
        Role::Scheduler if !is_useful => format!(
            "the driver file {path} has no hook that --role scheduler uses; add `place` and `unplace`, or `restart`"
        ),
        _ => return Ok(()),
    };
    Err(Failure::usage(anyhow!("{problem}")))
}

fn hooks(file: &DriverFile, access: &HubAccess, run: &str) -> Result<Commands, Failure> {
    Commands::new(file.clone(), access, run)
        .context("failed to prepare the hooks")
        .map_err(Failure::could_not_run)
}

fn journal(
    file: &DriverFile,
    folder: &Path,
    hub: &Connection,
    access: &HubAccess,
    run: &str,
    clock: Clock,
) -> Result<Journal, Failure> {
    let head = Head {
        run: run.to_owned(),
        began: clock.now(),
        server: access.server.clone(),
        hub: hub.source.clone(),
        driver_file: file.path.clone(),
    };
    Journal::begin(folder, head)
        .with_context(|| {
            format!(
                "failed to write the log of changes to undo in {}; set XDG_STATE_HOME to a writable folder",
                folder.display()
            )
        })
        .map_err(Failure::could_not_run)
}
