//! The members to query: those that the user names, and those of a test hub.

use std::{
    collections::{BTreeMap, HashMap},
    ffi::OsString,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use collect::{
    Dial, MemberWay, Members,
    connect::{ClientError, USER_AGENT},
    plugins::{Call, Plugins, Provider, Ran, Runner},
    read_members,
};
use evidence::ObjectKey;
use futures::future::{BoxFuture, FutureExt as _};
use kube::{Client, Config};
use lab::{
    manager::{FleetMember, Manager},
    member::FakeMember,
};
use serde_json::{Value, json};

use crate::command::{Failure, Target, bail_usage};

/// Where kubeconfigs of members come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MembersFrom {
    Nowhere,
    Secrets,
    File(PathBuf),
}

impl From<OsString> for MembersFrom {
    fn from(given: OsString) -> Self {
        match given.to_str() {
            Some("none") => MembersFrom::Nowhere,
            Some("from-secrets") => MembersFrom::Secrets,
            _ => MembersFrom::File(given.into()),
        }
    }
}

/// Checks the flags against each other and against the target.
pub fn check(given: &[MembersFrom], providers: Option<&Path>, target: &Target) -> Result<(), Failure> {
    let number = given.len() + usize::from(providers.is_some());
    if given.contains(&MembersFrom::Nowhere) {
        if number > 1 {
            bail_usage!(
                "--members none queries no member: leave out the other --members and --provider-file, or name a file \
                 of that name as ./none"
            );
        }
    } else if number > 0 && target.reference().is_some() {
        bail_usage!(
            "a test hub brings its own members, which need no flag: leave out --members and --provider-file"
        );
    }
    Ok(())
}

/// Reads the members; also returns the files that were read.
pub fn from_files(given: &[MembersFrom]) -> Result<(Members, Vec<PathBuf>), Failure> {
    let (mut members, mut files) = (Members::default(), Vec::new());
    for from in given {
        match from {
            MembersFrom::Nowhere => {}
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

/// The access provider of the reference manager.
const PROVIDER: &str = "secretreader";

/// Returns the members that the reference manager has within that time, its consumer Secrets, and the plugin of its access
/// provider.
pub fn of_the_lab(manager: &Manager, within: Duration) -> Members {
    let mut tokens = HashMap::new();
    let mut ways = Vec::new();
    let is_there = |member: &FleetMember| member.joins.is_zero() || member.joins < within;
    for member in manager.members().into_iter().filter(is_there) {
        let key = ObjectKey {
            namespace: member.namespace,
            name: member.profile,
        };
        let client = member.fake_member.client_as(FakeMember::ASKER, USER_AGENT);
        ways.push(MemberWay::by_client(
            key,
            format!("stand-in {}", member.fake_member.name()),
            client,
        ));
        let token = member.fake_member.issue();
        tokens.insert(member.fake_member.name().to_owned(), token);
    }
    Members {
        ways,
        from_secrets: true,
        only_ways: true,
        plugins: Some(Plugins {
            providers: vec![Provider::named(PROVIDER)],
            runner: Arc::new(Reader(tokens)),
        }),
        dial: Arc::new(Fleet(manager.hosts())),
    }
}

/// The fake members, by host and port. A lab connects to nothing else.
struct Fleet(BTreeMap<String, FakeMember>);

impl Dial for Fleet {
    fn connect(&self, config: Config) -> Result<Client, ClientError> {
        let authority = config.cluster_url.authority();
        let host = authority.map_or("", |authority| authority.as_str());
        let Some(member) = self.0.get(host) else {
            return Err(ClientError::Refused("no server answers there".to_owned()));
        };
        let user = serde_json::to_value(&config.auth_info).unwrap_or_default();
        let token = user["token"].as_str().unwrap_or_default();
        Ok(member.client_with_token(token, USER_AGENT))
    }
}

/// The plugin of the reference manager's access provider, in this process: it knows a token for each fake member, by its
/// cluster name.
struct Reader(HashMap<String, String>);

impl Runner for Reader {
    fn run<'a>(&'a self, call: &'a Call) -> BoxFuture<'a, Ran> {
        let info = call.env.get("KUBERNETES_EXEC_INFO").map_or("", String::as_str);
        let info: Value = serde_json::from_str(info).unwrap_or_default();
        let name = &info["spec"]["cluster"]["config"]["clusterName"];
        let ran = match self.0.get(name.as_str().unwrap_or_default()) {
            Some(token) => {
                let answer = json!({
                    "apiVersion": info["apiVersion"], "kind": "ExecCredential", "status": {"token": token},
                });
                Ran::Answered(answer.to_string().into_bytes().into())
            }
            None => Ran::Failed(format!("knows no cluster {name}")),
        };
        std::future::ready(ran).boxed()
    }
}
