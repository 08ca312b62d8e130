//! The flags that say which evidence to collect, and durations and sizes on the command line.

use std::{path::PathBuf, str::FromStr, time::Duration};

use clap::{Args, ValueHint};
use collect::{EvidenceRequest, Members, Plan};
use evidence::{
    Claim, Scope,
    api::{Feature, Role},
};
use jiff::SignedDuration;

use super::{files, members::MembersFrom};
use crate::command::{Failure, Target, bail_usage};

/// Which evidence to collect.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Evidence")]
pub struct PlanFlags {
    /// Read profiles in this API version [default: the edition's]
    #[arg(long, value_name = "VERSION")]
    pub api_version: Option<String>,
    /// How long to watch the profiles [default: 5m]
    ///
    /// For example 30s, 5m or 1h30m; 0s takes a single snapshot. The default is 6m with --members or --provider-file, and 30m
    /// (simulated) in the lab.
    #[arg(long, value_name = "DURATION", value_parser = observe)]
    pub observe: Option<Duration>,
    /// How long to wait for recent violations to settle [default: 130s]
    ///
    /// At most: the run ends once each violation is gone, or older than its grace period. 0s does not wait.
    #[arg(long, value_name = "DURATION", value_parser = settle)]
    pub settle: Option<Duration>,
    /// Wait for objects if there are none yet
    #[arg(long)]
    pub wait: bool,
    /// Query the members to verify their profiles (repeatable)
    ///
    /// FILE lists a kubeconfig (relative to FILE) and a context for each profile: `fleet/lisbon: {kubeconfig: fleet.kubeconfig,
    /// context: lisbon}`. `from-secrets` uses the consumer Secrets as kubeconfigs and tests each. `none` queries none. The
    /// default is none; on a test hub, its own members.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub members: Vec<MembersFrom>,
    /// Run the credential plugins that FILE lists
    ///
    /// In the format of inventory consumers: `providers: [{name, execConfig: {apiVersion, command, args, env,
    /// provideClusterInfo}}]`. A plugin runs on this machine for each profile with its provider; its credential is tested on the
    /// member and used to query it.
    #[arg(long, value_name = "FILE")]
    pub provider_file: Option<PathBuf>,
    /// Read the audit log of the hub's API server (repeatable)
    ///
    /// After the run: a file, or a folder with all its files, compressed with gzip or not. `none` reads none. The default is none;
    /// on a test hub, its own log.
    #[arg(long = "audit-log", value_name = "PATH")]
    pub audit_logs: Vec<PathBuf>,
    /// Require the dry-run writes: without them, their rules are inconclusive
    #[arg(long, conflicts_with = "no_probe")]
    pub probe: bool,
    /// Send no dry-run writes
    #[arg(long)]
    pub no_probe: bool,
}

/// Why a run that judges no manager reads no Secrets and sends no dry runs.
const NO_MANAGER: &str = "only rules on cluster managers need it";
/// The longest grace period of a state, and the greatest delay of a watch.
const LONGEST_SETTLE: Duration = Duration::from_secs(130);

/// The least duration of a watch with a testbed, which otherwise takes as long as its scenarios.
const OF_TESTBED: Duration = Duration::from_secs(10);

/// A profile may differ from its member for a grace period, of 5 minutes at most.
const LONGER_THAN_A_GRACE: Duration = Duration::from_secs(6 * 60);

impl PlanFlags {
    /// Plans what to collect from a target, with the members that were named.
    pub fn plan(
        &self,
        claim: Claim,
        scope: Scope,
        target: &Target,
        members: Members,
    ) -> Result<Plan, Failure> {
        let judges_profiles = claim.edition_of(Role::Manager).is_some();
        let secrets = if !judges_profiles {
            EvidenceRequest::No(NO_MANAGER.into())
        } else if claim.features.contains(&Feature::ConsumerSecrets) || !claim.consumers.is_empty() {
            EvidenceRequest::Explicit
        } else if claim.no_features.contains(&Feature::ConsumerSecrets) {
            EvidenceRequest::No("disabled by --no-feature consumer-secrets".into())
        } else {
            EvidenceRequest::IfAllowed
        };
        if members.from_secrets && claim.no_features.contains(&Feature::ConsumerSecrets) {
            bail_usage!("--members from-secrets contradicts --no-feature consumer-secrets: give one of them");
        }
        let probe = match (self.probe, self.no_probe) {
            _ if !judges_profiles => EvidenceRequest::No(NO_MANAGER.into()),
            (true, _) => EvidenceRequest::Explicit,
            (_, true) => EvidenceRequest::No("disabled by --no-probe".into()),
            _ => EvidenceRequest::IfAllowed,
        };
        let observe = match target.default_observe() {
            _ if claim.edition_of(Role::Consumer).is_some() => OF_TESTBED,
            observe if members.are_asked() => observe.max(LONGER_THAN_A_GRACE),
            observe => observe,
        };
        Ok(Plan {
            claim,
            scope,
            api_version: self.api_version.clone(),
            observe: self.observe.unwrap_or(observe),
            settle: self.settle.unwrap_or(LONGEST_SETTLE),
            wait: self.wait,
            secrets,
            probe,
            audit_logs: files::audit_logs(&self.audit_logs, Some(target))?,
            members,
            driver: None,
            testbed: None,
        })
    }
}

fn settle(text: &str) -> Result<Duration, String> {
    let settle = duration(text, "no wait")?;
    if settle > LONGEST_SETTLE {
        return Err(
            "give at most 130s: by then each violation is older than its grace period of 2 min".to_owned(),
        );
    }
    Ok(settle)
}

fn observe(text: &str) -> Result<Duration, String> {
    duration(text, "a single snapshot")
}

/// Reads a duration as people write it. `zero` is the meaning of `0s`.
pub fn duration(text: &str, zero: &str) -> Result<Duration, String> {
    let duration = SignedDuration::from_str(text).ok();
    let duration = duration.and_then(|duration| Duration::try_from(duration).ok());
    duration
        .ok_or_else(|| format!("give a number with its unit, for example 30s, 5m or 1h30m, or 0s for {zero}"))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size(pub u64);

/// The binary units of Kubernetes' quantities.
const UNITS: [(&str, u64); 4] = [("Ti", 1 << 40), ("Gi", 1 << 30), ("Mi", 1 << 20), ("Ki", 1 << 10)];

impl FromStr for Size {
    type Err = &'static str;

    /// Reads a number with a unit. Without a unit it counts bytes.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let unit = UNITS
            .iter()
            .find_map(|(name, bytes)| Some((text.strip_suffix(name)?, *bytes)));
        let (digits, bytes) = unit.unwrap_or((text, 1));
        let is_whole = digits.bytes().all(|byte| byte.is_ascii_digit());
        let number = digits.parse::<u64>().ok().filter(|_| is_whole);
        let size = number.and_then(|number| number.checked_mul(bytes));
        size.map(Self)
            .ok_or("give a whole number with its unit, for example 500Mi or 4Gi")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_units() {
        let read = |text| duration(text, "nothing");
        assert_eq!(read("0s"), Ok(Duration::ZERO));
        assert_eq!(read("1h30m"), Ok(Duration::from_secs(5400)));
        for refused in ["", "5", "-5m", "soon", "5 parsecs"] {
            let error = read(refused).expect_err(refused);
            assert!(error.ends_with("or 0s for nothing"), "{error}");
        }
    }

    #[test]
    fn sizes_have_the_units_of_kubernetes() {
        for (text, bytes) in [("4Gi", 4 << 30), ("500Mi", 500 << 20), ("1025", 1025), ("0", 0)] {
            assert_eq!(text.parse(), Ok(Size(bytes)), "{text}");
        }
        for text in "|Gi|-1|1.5Gi|4 Gi|4gi|many|1e9|+4Gi|99999999999Ti".split('|') {
            assert!(text.parse::<Size>().is_err(), "{text}");
        }
    }
}
