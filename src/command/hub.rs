//! Test hubs, and the reference implementations on them; `hub`: serve a test hub for kubectl and for managers.

use std::{
    fs,
    path::{Path, PathBuf, absolute},
    time::Duration,
};

use anyhow::{Context, anyhow};
use clap::{Args, ValueHint};
use collect::{Members, Plan, clock::Clock, driver::replace_private_file};
use evidence::api::Role;
use futures::future::{FutureExt as _, LocalBoxFuture, select_all};
use kube::Client;
use lab::{
    consumer::Consumer,
    crd::CustomResourceDefinition,
    hub::{ApiServer, AuditLevel, Hub, HubError, Loopback, assets, envtest_options},
    manager::{Manager, ManagerError, hub_definitions},
    member::{FakeMember, MemberProperty, MemberState, Served},
    scheduler::Scheduler,
};
use tokio::runtime::{Builder, Runtime};

use crate::command::{
    Driving, Exit, Failure, ReferenceImplementations, TestHub, bail_usage, print, terminal::signals,
};

const ADMIN: &str = "admin";

const EXAMPLES: &str = "\
Examples:
  A hub in this process, with the reference manager on it:
    clusterprofile-conformance hub --manager reference &
    kubectl --kubeconfig hub.kubeconfig get clusterprofiles -A
  A real API server for a manager with CRDs of its own:
    clusterprofile-conformance hub --hub envtest --no-crds --audit-log-out audit.log
  A whole cluster in a container, for a manager to be installed on:
    clusterprofile-conformance hub --hub k3s";

/// Serve a test hub until Ctrl-C, for kubectl and for managers
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct ServeHub {
    /// Which hub to serve
    #[arg(long, value_enum, default_value_t)]
    hub: TestHub,
    /// Run the reference manager on it: reference, or reference=FAULT,… to break rules
    #[arg(long, value_name = "MANAGER")]
    manager: Option<ReferenceImplementations>,
    /// Do not install the suite's CRDs
    #[arg(long, conflicts_with = "manager")]
    no_crds: bool,
    /// Write the administrator's kubeconfig there once the hub is ready
    #[arg(long, value_name = "FILE", default_value = "hub.kubeconfig", value_hint = ValueHint::FilePath)]
    kubeconfig_out: PathBuf,
    /// Write the API server's audit log there
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    audit_log_out: Option<PathBuf>,
    /// Also serve fake members with these names, for managers to manage
    #[arg(long, value_name = "NAME", value_delimiter = ',', num_args = 1..)]
    members: Vec<String>,
    /// Write a kubeconfig NAME.kubeconfig for each member there
    #[arg(long, value_name = "FOLDER", default_value = "members", value_hint = ValueHint::DirPath)]
    members_out: PathBuf,
    /// The port to listen on, at 127.0.0.1 (lab only) [default: a free one]
    #[arg(long)]
    port: Option<u16>,
}

impl ServeHub {
    pub fn execute(self) -> Result<Exit, Failure> {
        match self.hub {
            TestHub::K3s if !Hub::HAS_K3S => return Err(HubError::WithoutK3s.into()),
            TestHub::K3s if self.audit_log_out.is_some() => {
                bail_usage!("--audit-log-out is for --hub lab or envtest")
            }
            TestHub::Envtest | TestHub::K3s if self.port.is_some() => {
                bail_usage!("--port is for --hub lab")
            }
            _ => {}
        }
        runtime(false)?.block_on(async {
            tokio::select! {
                ended = self.serve() => ended,
                () = signals::once() => Ok(Exit::Success),
            }
        })
    }

    /// Serves until an error.
    async fn serve(self) -> Result<Exit, Failure> {
        let reference = self.manager.clone().unwrap_or_default();
        if reference.faults_of(Role::Manager).len() < reference.faults.len() {
            bail_usage!("this hub runs the reference manager only: leave out the faults of other roles");
        }
        let definitions = if self.no_crds {
            Vec::new()
        } else {
            hub_definitions(&reference.faults)
        };
        let _members = self.serve_members().await?;
        let mut flags = Vec::new();
        if let Some(path) = &self.audit_log_out {
            let path = absolute(path).context("failed to find the audit log's folder")?;
            flags.push(format!("--audit-log-path={}", path.display()));
        }
        let clock = Clock::system();
        let hub = start(self.hub, &definitions, flags, clock).await?;
        if let Some(server) = hub.as_lab() {
            let loopback = Loopback::bind("lab", self.port.unwrap_or_default())
                .await
                .context("failed to listen: choose another --port")?;
            self.log_requests(server)?;
            self.print_kubeconfig(
                &loopback.endpoint().kubeconfig_as(ADMIN),
                &loopback.endpoint().server(),
            )?;
            tokio::select! {
                () = loopback.serve(server.clone()) => Ok(Exit::Success),
                failure = self.manage(&hub) => Err(failure),
            }
        } else {
            // Other hubs listen by themselves.
            if let Some(access) = hub.handout_as(ADMIN)? {
                self.print_kubeconfig(&access.kubeconfig, &access.server)?;
            }
            Err(self.manage(&hub).await)
        }
    }

    /// Runs the reference manager, if it is requested; returns only when it fails.
    async fn manage(&self, hub: &Hub) -> Failure {
        let Some(reference) = &self.manager else {
            return std::future::pending().await;
        };
        let mut plan = Plan::watching(Duration::ZERO);
        match set_up(hub, reference, &mut plan, false, None, Clock::system()).await {
            Ok(running) => running.await,
            Err(failure) => failure,
        }
    }

    /// Makes the lab write its audit log, where one is requested.
    fn log_requests(&self, server: &ApiServer) -> Result<(), Failure> {
        if let Some(path) = &self.audit_log_out {
            let file = fs::File::create(path)
                .with_context(|| format!("failed to write --audit-log-out {}", path.display()))?;
            server.send_audit_log(Some(file));
        }
        // The same as envtest's policy.
        server.set_audit_level(AuditLevel::RequestResponse);
        Ok(())
    }

    /// Serves the fake members until the returned value is dropped.
    async fn serve_members(&self) -> Result<Vec<Served>, Failure> {
        let mut served = Vec::new();
        for (number, name) in (0..).zip(&self.members) {
            let failed = || format!("failed to serve the member {name}, or to write its kubeconfig");
            let fake_member = FakeMember::new(name, Clock::system(), one_of_several(number, name));
            let member = fake_member.serve().await;
            let member = member.with_context(failed)?;
            let path = self.members_out.join(format!("{name}.kubeconfig"));
            fs::create_dir_all(&self.members_out)
                .and_then(|()| replace_private_file(&path, &member.kubeconfig()))
                .with_context(failed)?;
            served.push(member);
        }
        Ok(served)
    }

    fn print_kubeconfig(&self, kubeconfig: &str, server: &str) -> Result<Exit, Failure> {
        let path = self.kubeconfig_out.display();
        replace_private_file(&self.kubeconfig_out, kubeconfig)
            .with_context(|| format!("failed to write --kubeconfig-out {path}"))?;
        print(&format!(
            "serving {server} until Ctrl-C; its kubeconfig is {path}\n"
        ))
    }
}

/// A member that differs from its neighbours.
fn one_of_several(number: u32, name: &str) -> MemberState {
    MemberState {
        version: format!("v1.34.{}", number % 10),
        nodes: 1 + number % 5,
        cluster_properties: vec![
            MemberProperty::labelled("cluster.clusterset.k8s.io", name),
            MemberProperty::unlabelled(
                "notes.clusterprofile-conformance.example",
                "for the members' own use",
            ),
        ],
        ..MemberState::default()
    }
}

/// Starts a test hub with these definitions; envtest with more flags of its API server.
pub async fn start(
    hub: TestHub,
    definitions: &[CustomResourceDefinition],
    flags: Vec<String>,
    clock: Clock,
) -> Result<Hub, Failure> {
    let started = match hub {
        TestHub::Lab => Hub::lab_with(clock, definitions).await,
        TestHub::Envtest => {
            let assets = assets(Path::new(""))?;
            let mut options = envtest_options();
            // Of a flag that is given twice, the last one counts.
            options.api_server_flags.extend(flags);
            Hub::envtest_with(&assets, options, definitions).await
        }
        TestHub::K3s => {
            anstream::eprintln!("note: starting K3s in a container; the first start pulls its image");
            Hub::k3s_with(definitions).await
        }
    };
    Ok(started?)
}

/// Builds a runtime. A lab is in this process, so its time is simulated if a run waits for it.
pub fn runtime(is_simulated: bool) -> Result<Runtime, Failure> {
    let mut builder = if is_simulated {
        Builder::new_current_thread()
    } else {
        Builder::new_multi_thread()
    };
    let runtime = builder.enable_all().start_paused(is_simulated).build();
    Ok(runtime.context("failed to start the runtime")?)
}

/// Sets up the reference implementation of each role that is judged, and adds to the plan how to drive it, the testbed, and
/// with `own_members` its members. The returned future runs the implementations, and ends only when one fails.
pub async fn set_up(
    hub: &Hub,
    reference: &ReferenceImplementations,
    plan: &mut Plan,
    own_members: bool,
    driving: Option<&Driving>,
    clock: Clock,
) -> Result<LocalBoxFuture<'static, Failure>, Failure> {
    let judges = |role| plan.claim.edition_of(role).is_some();
    let [manager, scheduler, consumer] = [Role::Manager, Role::Scheduler, Role::Consumer].map(judges);
    let (mut running, mut remotes) = (Vec::new(), Vec::new());
    if own_members {
        plan.members = Members::default();
    }
    if manager {
        let client = client(hub, Role::Manager)?;
        let mut manager = Manager::new(reference.faults_of(Role::Manager), clock);
        manager.set_up(&client).await.map_err(failed(Role::Manager))?;
        if own_members {
            plan.members = manager.asked_members(plan.observe);
        }
        remotes.push((Role::Manager, manager.remote()));
        running.push(run(Role::Manager, async move { manager.run(client).await }));
    }
    if scheduler {
        let client = client(hub, Role::Scheduler)?;
        let mut scheduler = Scheduler::new(reference.faults_of(Role::Scheduler), clock);
        scheduler.set_up(&client).await.map_err(failed(Role::Scheduler))?;
        remotes.push((Role::Scheduler, scheduler.remote()));
        running.push(run(Role::Scheduler, async move { scheduler.run(client).await }));
    }
    if consumer {
        let client = client(hub, Role::Consumer)?;
        let consumer = Consumer::new(reference.faults_of(Role::Consumer), clock);
        let admin = hub.admin(Consumer::NAME)?;
        consumer.set_up(&admin).await.map_err(failed(Role::Consumer))?;
        plan.testbed = Some(consumer.testbed());
        running.push(run(Role::Consumer, async move { consumer.run(client).await }));
    }
    plan.driver = driving.and_then(|driving| driving.by_remotes(remotes, clock));
    Ok(select_all(running).map(|(failure, ..)| failure).boxed_local())
}

fn client(hub: &Hub, role: Role) -> Result<Client, Failure> {
    let name = lab::reference(role).name;
    Ok(hub.client_as(name, name)?)
}

/// Runs the role's reference implementation; returns why it ended, which it never does by itself.
fn run(
    role: Role,
    running: impl Future<Output = Result<(), ManagerError>> + 'static,
) -> LocalBoxFuture<'static, Failure> {
    let ended = running.map(move |ended| match ended {
        Err(error) => failed(role)(error),
        Ok(()) => anyhow!("the reference {role} ended").into(),
    });
    ended.boxed_local()
}

fn failed(role: Role) -> impl Fn(ManagerError) -> Failure {
    move |error| {
        let error = anyhow::Error::new(error);
        error.context(format!("the reference {role} failed")).into()
    }
}
