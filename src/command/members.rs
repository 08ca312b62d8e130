//! Which members are asked: those that the user names, and those of a lab's fleet.

use std::{collections::BTreeMap, path::PathBuf, str::FromStr, sync::Arc};

use anyhow::anyhow;
use clusterprofile_conformance::{
    collect::{Dial, MemberWay, Members, read_members},
    evidence::ProfileKey,
    hub::USER_AGENT,
    lab::{manager::Manager, member::StandIn},
};
use kube::{Client, Config};

use super::{Failure, target::Target};

/// Where ways to members come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MembersFrom {
    /// The Secrets of consumers.
    Secrets,
    /// A file.
    File(PathBuf),
}

impl FromStr for MembersFrom {
    type Err = std::convert::Infallible;

    fn from_str(given: &str) -> Result<Self, Self::Err> {
        Ok(match given {
            "from-secrets" => MembersFrom::Secrets,
            path => MembersFrom::File(path.into()),
        })
    }
}

/// What the flags mean for that target; also the files that were read.
///
/// # Errors
/// When a file cannot be used, or the target brings members of its own.
pub fn resolve(given: &[MembersFrom], target: &Target) -> Result<(Members, Vec<PathBuf>), Failure> {
    if !given.is_empty() && !matches!(target, Target::Kubeconfig(_)) {
        return Err(Failure::usage(anyhow!(
            "a hub of the suite's own has members of its own, which are asked without a flag: leave out --members"
        )));
    }
    let (mut members, mut files) = (Members::default(), Vec::new());
    for from in given {
        match from {
            MembersFrom::Secrets => members.from_secrets = true,
            MembersFrom::File(path) => {
                let (ways, read) = read_members(path).map_err(Failure::usage)?;
                members.ways.extend(ways);
                files.push(path.clone());
                files.extend(read);
            }
        }
    }
    Ok((members, files))
}

/// The members of the reference manager's fleet that can be asked, and its consumers' Secrets.
pub fn of_the_lab(manager: &Manager) -> Members {
    let mut ways = Vec::new();
    for member in manager.members() {
        let key = ProfileKey {
            namespace: member.namespace,
            name: member.profile,
        };
        let client = member.stand_in.client_as(StandIn::ASKER, USER_AGENT);
        ways.push(MemberWay::by_client(
            key,
            format!("stand-in {}", member.stand_in.name()),
            client,
        ));
    }
    Members {
        ways,
        from_secrets: true,
        dial: Arc::new(Fleet(manager.hosts())),
    }
}

/// The stand-ins, by host and port. Nobody else is called from a lab.
struct Fleet(BTreeMap<String, StandIn>);

impl Dial for Fleet {
    fn connect(&self, config: Config) -> Result<Option<Client>, String> {
        let host = config
            .cluster_url
            .authority()
            .map_or("", |authority| authority.as_str());
        let Some(member) = self.0.get(host) else {
            return Ok(None);
        };
        let user = serde_json::to_value(&config.auth_info).unwrap_or_default();
        let token = user["token"].as_str().unwrap_or_default();
        Ok(Some(member.client_with_token(token, USER_AGENT)))
    }
}
