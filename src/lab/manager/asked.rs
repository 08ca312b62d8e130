//! What a run asks of the fleet: some of its members, the kubeconfigs of the consumers' Secrets, and the plugin of the
//! access provider. Nothing is dialed or executed: all of it is in this process.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
    time::Duration,
};

use collect::{
    Dial, MemberAccess, Members,
    connect::{ClientError, USER_AGENT},
    plugins::{PluginCommand, Plugins, Provider, Ran, Runner},
};
use evidence::ObjectKey;
use futures::future::{BoxFuture, FutureExt as _};
use kube::{Client, Config};
use serde_json::{Value, json};

use super::{
    Manager,
    members::{ASKABLE, MEMBERS, PROVIDER, endpoints},
};
use crate::member::{FakeMember, MemberState};

impl Manager {
    /// The members that a run of that length asks. Those that join later are not among them.
    pub fn asked_members(&self, run: Duration) -> Members {
        let joining = self.world.joining();
        let mut members = Members {
            from_secrets: true,
            is_exclusive: true,
            ..Members::default()
        };
        let (mut tokens, mut hosts) = (HashMap::new(), BTreeMap::new());
        let is_askable = |name: &str| ASKABLE.contains(&name);
        for member in self.world.fleet.iter().filter(|member| is_askable(&member.name)) {
            let number = MEMBERS.iter().position(|spec| spec.name == member.name);
            let (Some(number), Some(fake)) = (number, self.world.fake_members.get(&member.name)) else {
                continue;
            };
            hosts.extend(endpoints(&member.name, number).map(|host| (host, fake.clone())));
            if joining
                .get(&member.name)
                .is_some_and(|joins| !joins.is_zero() && *joins >= run)
            {
                continue;
            }
            let key = ObjectKey {
                namespace: member.namespace.clone(),
                name: member.profile.clone(),
            };
            let client = fake.client_as(FakeMember::ASKER, USER_AGENT);
            let label = format!("stand-in {}", fake.name());
            members.access.push(MemberAccess::by_client(key, label, client));
            tokens.insert(fake.name().to_owned(), fake.issue());
        }
        for host in &self.world.deserted {
            let state = MemberState {
                unreachable: true,
                ..MemberState::default()
            };
            hosts.insert(host.clone(), FakeMember::new(host, self.clock, state));
        }
        members.plugins = Some(Plugins {
            providers: vec![Provider::named(PROVIDER)],
            runner: Arc::new(TokenPlugin(tokens)),
        });
        members.dial = Arc::new(Fleet(hosts));
        members
    }
}

/// The fake members by the hosts and ports in profiles and Secrets.
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

/// The plugin of the access provider: it knows a token for each fake member, by its cluster name.
struct TokenPlugin(HashMap<String, String>);

impl Runner for TokenPlugin {
    fn run<'a>(&'a self, call: &'a PluginCommand) -> BoxFuture<'a, Ran> {
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
