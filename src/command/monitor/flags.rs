//! The flags of `monitor`, and what they lead to.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use anyhow::{Context as _, anyhow};
use clap::Args;
use collect::{Plan, Wish, clock::Clock};
use evidence::{Claim, Scope, api::Role};
use tokio::{net::TcpListener, runtime::Builder};
use tokio_util::sync::CancellationToken;

use super::{
    hosts::Hosts,
    observing::{Settings, Source},
    serve,
    status::Shared,
    verdicts::Verdicts,
};
use crate::command::{
    flags::{
        claim::ClaimFlags,
        config::ConfigFlags,
        duration,
        scope::ScopeFlags,
        selection::SelectionFlags,
        target::{Target, TargetFlags},
        waivers,
    },
    hub::{reference::play, start::start},
    terminal::{
        exit::{Exit, Failure},
        print::print,
        signals,
    },
};

const EXAMPLES: &str = "\
Examples:
  Monitor the hub of a kubeconfig's context:
    clusterprofile-conformance monitor --context hub &
    curl http://127.0.0.1:8080/metrics
  Try it without a cluster:
    clusterprofile-conformance monitor --hub lab --manager reference=identity/manager-label-matches
  In a Pod, for Prometheus:
    clusterprofile-conformance monitor --listen 0.0.0.0:8080";

/// How long the first lists may take in all.
const PATIENCE: Duration = Duration::from_secs(5 * 60);
/// The shortest window: rules on writes need a while.
const SHORTEST: Duration = Duration::from_secs(60);
/// The longest window: its changes are held in memory.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);
/// Why dry runs are not sent.
const NO_PROBE: &str = "a monitor sends no dry runs";
/// Why Secrets are not read.
const NO_SECRETS: &str = "a monitor reads no Secrets";

/// Watch a hub, judge what changes, and serve metrics and the report until Ctrl-C
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Monitor {
    #[command(flatten)]
    selection: SelectionFlags,
    #[command(flatten)]
    pub config: ConfigFlags,
    #[command(flatten)]
    target: TargetFlags,
    #[command(flatten)]
    scope: ScopeFlags,
    /// Read the profiles in this API version [default: the edition's version, if the hub serves it]
    #[arg(long, value_name = "VERSION", help_heading = "Evidence")]
    api_version: Option<String>,
    /// How far back the evidence reaches, from 1m to 24h: older changes are forgotten
    #[arg(long, value_name = "DURATION", default_value = "1h", value_parser = window, help_heading = "Evidence")]
    window: Duration,
    #[command(flatten)]
    pub claim: ClaimFlags,
    /// Serve /metrics, /healthz, /readyz and the report (/) at this address
    #[arg(
        long,
        value_name = "ADDR:PORT",
        default_value = "127.0.0.1:8080",
        help_heading = "Monitor"
    )]
    listen: SocketAddr,
    /// Serve under this host name too, such as that of an Ingress [default: localhost, addresses and, in a cluster, Services]
    #[arg(long = "allowed-host", value_name = "NAME", help_heading = "Monitor")]
    allowed_hosts: Vec<String>,
}

/// Why the value of `--window` is none.
#[derive(Debug, thiserror::Error)]
#[error("give a window from 1m to 24h, such as 30m or 1h30m")]
struct WindowError;

fn window(given: &str) -> Result<Duration, WindowError> {
    let window = duration::parse(given, "no window").ok();
    let window = window.filter(|window| (SHORTEST..=LONGEST).contains(window));
    window.ok_or(WindowError)
}

impl Monitor {
    /// Watches, judges and serves until a signal.
    ///
    /// # Errors
    /// When the flags conflict, the address is in use, or the hub refuses what the monitor needs.
    pub fn execute(self) -> Result<Exit, Failure> {
        if let Some(shown) = &self.config.shown {
            return print(shown).map(|()| Exit::Success);
        }
        let (mut claim, mut scope) = (Claim::default(), Scope::default());
        self.claim.apply(&mut claim)?;
        self.scope.apply(&mut scope);
        if claim.edition_of(Role::Consumer).is_some() {
            return Err(Failure::usage(anyhow!(
                "a monitor writes nothing, and a consumer is judged by what the run shows it: judge it with `run`"
            )));
        }
        let selection = self.selection.resolve(&claim)?;
        let target = self.target.resolve(&claim)?;
        target.scope(&claim, &mut scope);
        let reference = target.reference().cloned();
        let waivers = waivers::read(self.claim.waivers.as_deref())?;
        let settings = Settings {
            plan: plan(claim, scope, self.api_version),
            window: self.window,
            verdicts: Verdicts::new(selection, waivers),
        };
        let runtime = Builder::new_multi_thread().enable_all().build();
        let runtime = runtime
            .context("failed to start the runtime")
            .map_err(Failure::could_not_run)?;
        let outcome = runtime.block_on(async {
            let clock = Clock::system();
            let stop = CancellationToken::new();
            let stopping = stop.clone();
            tokio::spawn(async move {
                signals::once().await;
                stopping.cancel();
            });
            let listener = listen(self.listen).await?;
            let page = (listener, Hosts::of(self.listen, &self.allowed_hosts));
            let Some(reference) = reference else {
                let Target::Kubeconfig(options) = target else {
                    return Err(Failure::usage(anyhow!("this hub has no manager: add --manager")));
                };
                return serve_while(page, settings, Source::Kubeconfig(options), clock, stop).await;
            };
            let hub = start(&target, &settings.plan.claim, clock).await?;
            let claim = settings.plan.claim.clone();
            let manager = play(&hub, reference, &claim, clock);
            let source = Source::Own(&hub.connection);
            tokio::select! {
                outcome = serve_while(page, settings, source, clock, stop) => outcome,
                failure = manager => Err(failure),
            }
        });
        // A lost connection must not keep the process from ending.
        runtime.shutdown_timeout(Duration::from_secs(1));
        outcome.map(|()| Exit::Success)
    }
}

/// What to collect: what can be watched.
pub(super) fn plan(claim: Claim, scope: Scope, api_version: Option<String>) -> Plan {
    Plan {
        claim,
        scope,
        api_version,
        secrets: Wish::No(NO_SECRETS.into()),
        probe: Wish::No(NO_PROBE.into()),
        ..Plan::watching(PATIENCE)
    }
}

async fn listen(address: SocketAddr) -> Result<TcpListener, Failure> {
    TcpListener::bind(address)
        .await
        .with_context(|| format!("failed to listen at {address}: choose another address with --listen"))
        .map_err(Failure::could_not_run)
}

/// Serves while the hub is observed.
async fn serve_while(
    (listener, hosts): (TcpListener, Hosts),
    settings: Settings,
    source: Source<'_>,
    clock: Clock,
    stop: CancellationToken,
) -> Result<(), Failure> {
    let shared = Arc::new(Shared::new(clock, &settings.plan.claim));
    if let Ok(address) = listener.local_addr() {
        anstream::eprintln!("serving http://{address}/metrics until Ctrl-C");
    }
    let serving = serve::serve(listener, Arc::clone(&shared), hosts);
    tokio::select! {
        biased;
        outcome = super::observing::run(settings, source, &shared, clock, stop) => outcome,
        never = serving => match never {},
    }
}
