//! `plugin`: the credential plugin of a consumer that is judged.

use std::{env, path::PathBuf};

use anyhow::{Context as _, anyhow};
use clap::{Args, ValueHint};
use collect::testbed::{PluginReply, PluginRun, is_profile_variable, report_plugin_run};
use tokio::runtime::Builder;

use crate::command::{Exit, Failure, print};

/// The variable with which a caller describes the cluster (KEP-541).
const EXEC_INFO: &str = "KUBERNETES_EXEC_INFO";

/// Be the credential plugin of a consumer that a run judges
///
/// The consumer's own configuration names it for an access provider, with `provideClusterInfo: true`. It reports each
/// call, and prints the credential that the run gives it.
#[derive(Debug, Args)]
pub struct ConsumerPlugin {
    /// The access provider that the consumer runs it for
    #[arg(long, value_name = "NAME")]
    provider: String,
    /// Where the run waits: `consumer.recorder` of its driver file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    recorder: PathBuf,
    /// What a profile adds
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    args: Vec<String>,
}

impl ConsumerPlugin {
    pub fn execute(self) -> Result<Exit, Failure> {
        let variables = env::vars_os().filter_map(|(name, value)| {
            let variable = format!("{}={}", name.to_str()?, value.to_str()?);
            is_profile_variable(&variable).then_some(variable)
        });
        let run = PluginRun {
            provider: self.provider,
            args: self.args,
            env: variables.collect(),
            exec_info: env::var(EXEC_INFO).ok(),
        };
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.context("failed to start the runtime")?;
        let reply = runtime
            .block_on(report_plugin_run(&self.recorder, run))
            .map_err(Failure::could_not_run)?;
        match reply {
            PluginReply::Print(text) => print(&format!("{text}\n")),
            PluginReply::Hang(duration) => {
                runtime.block_on(tokio::time::sleep(duration));
                Err(Failure::could_not_run(anyhow!(
                    "the plugin hung, as the scenario says"
                )))
            }
            PluginReply::Fail(reason) => Err(Failure::could_not_run(anyhow!("{reason}"))),
        }
    }
}
