//! The hub's users: the administrator impersonates the other users.

use collect::connect::{HubAccess, alone, config};
use kube::{
    Config,
    config::{AuthInfo, Kubeconfig},
};

use super::K3sError;
use crate::hub::{ADMIN, CONSUMER, MANAGER, RUNNER, SCHEDULER, VIEWER};

/// The context in kubeconfigs of this hub.
const CONTEXT: &str = "k3s";
const MASTERS: &str = "system:masters";
/// A name in the API server's certificate. Its address may not be.
const CERTIFIED: &str = "localhost";

/// The kubeconfig of the hub's administrator.
pub(super) struct Users(Kubeconfig);

impl Users {
    /// Reads the kubeconfig that K3s writes, with `server` as its address.
    pub fn read(text: &str, server: &str) -> Result<Self, K3sError> {
        // The parser's own message would quote the text.
        let whole = Kubeconfig::from_yaml(text)
            .map_err(|_| K3sError::Kubeconfig("not a valid kubeconfig".to_owned()))?;
        let current = whole.current_context.clone().unwrap_or_default();
        let mut one = alone(&whole, &current);
        let (Some(context), Some(cluster), Some(user)) = (
            one.contexts.first_mut(),
            one.clusters.first_mut(),
            one.auth_infos.first_mut(),
        ) else {
            return Err(K3sError::Kubeconfig(
                "its current context names no cluster and user".to_owned(),
            ));
        };
        CONTEXT.clone_into(&mut context.name);
        if let Some(cluster) = &mut cluster.cluster {
            cluster.server = Some(server.to_owned());
            cluster.tls_server_name = Some(CERTIFIED.to_owned());
        }
        if user.auth_info.is_none() {
            return Err(K3sError::Kubeconfig("its user has no credentials".to_owned()));
        }
        one.current_context = Some(CONTEXT.to_owned());
        Ok(Self(one))
    }

    /// The kubeconfig by which the administrator impersonates `user`.
    ///
    /// # Panics
    /// When there is no such user: the names are fixed, so this is a bug in the caller.
    fn acting_as(&self, user: &str) -> Kubeconfig {
        let mut kubeconfig = self.0.clone();
        for entry in &mut kubeconfig.auth_infos {
            if let Some(credentials) = &mut entry.auth_info {
                act_as(credentials, user);
            }
        }
        kubeconfig
    }

    /// The client configuration of `user`.
    pub fn config(&self, user: &str) -> Result<Config, K3sError> {
        let (config, _) = self.access(user)?;
        Ok(config)
    }

    /// The kubeconfig of `user` for other programs.
    pub fn handout(&self, user: &str) -> Result<HubAccess, K3sError> {
        let (config, kubeconfig) = self.access(user)?;
        Ok(HubAccess::of_context(&kubeconfig, CONTEXT, &config))
    }

    fn access(&self, user: &str) -> Result<(Config, Kubeconfig), K3sError> {
        let kubeconfig = self.acting_as(user);
        let config = config(&kubeconfig, "its kubeconfig", Some(CONTEXT));
        let (config, _) = config.map_err(|error| K3sError::Kubeconfig(error.to_string()))?;
        Ok((config, kubeconfig))
    }
}

/// Impersonates one of the hub's users.
fn act_as(credentials: &mut AuthInfo, user: &str) {
    let groups: Option<Vec<String>> = match user {
        ADMIN => return,
        RUNNER | MANAGER | SCHEDULER | CONSUMER => Some(vec![MASTERS.to_owned()]),
        VIEWER => None,
        other => panic!("no user {other:?} on the K3s hub"),
    };
    credentials.impersonate = Some(user.to_owned());
    credentials.impersonate_groups = groups;
}

#[cfg(test)]
mod tests {
    use super::*;

    const WRITTEN: &str = r"
apiVersion: v1
kind: Config
clusters: [{name: default, cluster: {server: 'https://127.0.0.1:6443'}}]
contexts: [{name: default, context: {cluster: default, user: default}}]
current-context: default
users: [{name: default, user: {token: CANARY}}]
";

    #[test]
    fn the_administrator_impersonates_each_user() {
        let users = Users::read(WRITTEN, "https://192.0.2.7:40123").expect("a kubeconfig");
        for (user, acts_as, groups) in [
            ("admin", None, None),
            ("reference-manager", Some("reference-manager"), Some(1)),
            ("reference-scheduler", Some("reference-scheduler"), Some(1)),
            ("conformance", Some("conformance"), Some(1)),
            ("viewer", Some("viewer"), None),
        ] {
            let config = users.config(user).expect("a way");
            assert_eq!(config.cluster_url.to_string(), "https://192.0.2.7:40123/");
            assert_eq!(config.tls_server_name.as_deref(), Some("localhost"));
            assert_eq!(config.auth_info.impersonate.as_deref(), acts_as);
            let given = config.auth_info.impersonate_groups.as_ref().map(Vec::len);
            assert_eq!(given, groups, "{user}");
        }
        let handout = users.handout("admin").expect("a way");
        assert_eq!(handout.server, "https://192.0.2.7:40123");
        assert!(handout.kubeconfig.contains("CANARY"));
        assert!(!format!("{handout:?}").contains("CANARY"));
    }

    #[test]
    fn an_unusable_kubeconfig_is_not_quoted() {
        for text in ["", "users: CANARY", &WRITTEN.replace("current-context", "CANARY")] {
            let error = Users::read(text, "https://192.0.2.7:1").err().expect("none");
            let reason = error.to_string();
            assert!(!reason.contains("CANARY"), "{reason}");
        }
    }
}
