//! The API servers that benchmarks run against.

use std::path::Path;

use anyhow::Context;
use clap::ValueEnum;
use collect::clock::Clock;
use envtest::EnvtestOptions;
use lab::hub::{Hub, assets, envtest_options};

use super::lab::serve;

/// An API server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Server {
    /// A real one, started from envtest binaries (KUBEBUILDER_ASSETS)
    Envtest,
    /// The lab's, in this process, over a socket without TLS
    Lab,
}

impl Server {
    /// Starts it.
    ///
    /// # Errors
    /// When there are no binaries, or the server does not start.
    pub async fn start(self) -> anyhow::Result<Hub> {
        if self == Server::Lab {
            return Ok(Hub::lab(Clock::system()).await?);
        }
        // The audit log would tell of every profile that is published, and the disk would set the pace.
        let repository = Path::new(env!("CARGO_MANIFEST_DIR"));
        let options = EnvtestOptions {
            api_server_flags: vec!["--audit-log-path=".to_owned(), "--audit-policy-file=".to_owned()],
            ..envtest_options()
        };
        Ok(Hub::envtest(&assets(repository)?, options).await?)
    }

    /// What figures call it.
    pub fn name(self) -> &'static str {
        match self {
            Server::Envtest => "kube-apiserver",
            Server::Lab => "the lab",
        }
    }
}

/// The kubeconfig of the user who runs the suite, by which programs of their own reach the hub.
///
/// # Errors
/// When the hub is another one, or there is no free port.
pub async fn kubeconfig(hub: &Hub) -> anyhow::Result<String> {
    match hub.as_envtest() {
        Some(envtest) => Ok(envtest.kubeconfig("conformance")),
        None => serve(hub).await.context("failed to serve the lab"),
    }
}
