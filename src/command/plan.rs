//! The flags that say which evidence to collect.

use std::{path::PathBuf, str::FromStr, time::Duration};

use anyhow::anyhow;
use clap::{Args, ValueHint};
use collect::{Members, Plan, Wish};
use evidence::{Claim, Scope, api::Feature};
use jiff::SignedDuration;

use super::{Failure, members::MembersFrom};

/// Which evidence to collect.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Evidence")]
pub struct PlanFlags {
    /// Read the profiles in this API version [default: the one that the edition is about, where the hub serves it]
    #[arg(long, value_name = "VERSION")]
    pub api_version: Option<String>,
    /// How long to watch the profiles, such as 30s, 5m or 1h30m; 0s looks once [default: 5m, 6m with --members
    /// or --provider-file, 30m in the lab]
    #[arg(long, value_name = "DURATION", value_parser = observe)]
    pub observe: Option<Duration>,
    /// Ask the members themselves. FILE tells for each profile a kubeconfig (as seen from FILE) and one of its contexts:
    /// `fleet/lisbon: {kubeconfig: fleet.kubeconfig, context: lisbon}`. `from-secrets` uses the consumers' Secrets, and
    /// tries whether each opens its member (repeatable)
    #[arg(long, value_name = "FILE|from-secrets", value_hint = ValueHint::FilePath)]
    pub members: Vec<MembersFrom>,
    /// Run the credential plugins that FILE names for access providers, in the form of the inventory's consumers:
    /// `providers: [{name, execConfig: {apiVersion, command, args, env, provideClusterInfo}}]`. Each runs on this
    /// machine for every profile with its provider; what it yields is tried on the member, and is a way to ask it
    #[arg(long, value_name = "FILE")]
    pub provider_file: Option<PathBuf>,
    /// The audit log of the hub's API server, read after the hub was observed: a file, whose rotated siblings
    /// (audit-2026-….log, packed or not) are read too, or a folder (repeatable: of each API server, where there are
    /// several)
    #[arg(long = "audit-log", value_name = "PATH")]
    pub audit_logs: Vec<PathBuf>,
    /// Insist on the dry-run probe: where it cannot be had, its rules are inconclusive
    #[arg(long, conflicts_with = "no_probe")]
    pub probe: bool,
    /// Send no dry-run writes at all
    #[arg(long)]
    pub no_probe: bool,
}

/// What differs from its member for less than a grace is not held against anybody: the longest grace is 5 minutes.
const LONGER_THAN_A_GRACE: Duration = Duration::from_secs(6 * 60);

impl PlanFlags {
    /// What to collect. `observe` is for how long to watch where the user does not say.
    ///
    /// # Errors
    /// When the flags contradict each other.
    pub fn plan(
        &self,
        claim: Claim,
        scope: Scope,
        observe: Duration,
        members: Members,
    ) -> Result<Plan, Failure> {
        let secrets = if claim.features.contains(&Feature::ConsumerSecrets) || !claim.consumers.is_empty() {
            Wish::Asked
        } else if claim.no_features.contains(&Feature::ConsumerSecrets) {
            Wish::No("left out with --no-feature consumer-secrets".to_owned())
        } else {
            Wish::IfAllowed
        };
        if members.from_secrets && claim.no_features.contains(&Feature::ConsumerSecrets) {
            return Err(Failure::usage(anyhow!(
                "--members from-secrets contradicts --no-feature consumer-secrets: give one of them"
            )));
        }
        let probe = match (self.probe, self.no_probe) {
            (true, _) => Wish::Asked,
            (_, true) => Wish::No("left out with --no-probe".to_owned()),
            _ => Wish::IfAllowed,
        };
        let observe = if members.are_asked() {
            observe.max(LONGER_THAN_A_GRACE)
        } else {
            observe
        };
        Ok(Plan {
            claim,
            scope,
            api_version: self.api_version.clone(),
            observe: self.observe.unwrap_or(observe),
            secrets,
            probe,
            audit_logs: self.audit_logs.clone(),
            members,
            driver: None,
        })
    }
}

/// Reads a duration as people write it.
fn observe(given: &str) -> Result<Duration, String> {
    let example = "give a number with its unit, such as 30s, 5m or 1h30m, or 0s to look once";
    let duration = SignedDuration::from_str(given).map_err(|_| example.to_owned())?;
    Duration::try_from(duration).map_err(|_| format!("it is negative: {example}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_people_write_them() {
        assert_eq!(observe("0s"), Ok(Duration::ZERO));
        assert_eq!(observe("1h30m"), Ok(Duration::from_secs(5400)));
        for refused in ["", "5", "-5m", "soon", "5 parsecs"] {
            assert!(
                observe(refused).is_err_and(|error| error.contains("1h30m")),
                "{refused}"
            );
        }
    }
}
