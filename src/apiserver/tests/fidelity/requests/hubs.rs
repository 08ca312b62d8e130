//! The two hubs: a real API server, and ours.

use std::{
    fs,
    path::PathBuf,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use apiserver::{ApiServer, AuditLevel, Misbehaviour, ServerClock, User};
use envtest::{Assets, Envtest, EnvtestOptions, EnvtestUser};
use http::{Request, Response};
use http_body_util::BodyExt as _;
use kube::{Client, client::Body};
use serde_json::{Value, json};

use super::script::folder;
use crate::scripts;

const USERS: [&str; 4] = ["admin", "conformance", "reference-manager", "viewer"];
/// The namespace in which `viewer` may read ClusterProfiles.
const GRANTED: &str = "fidelity-granted";

pub struct Hub {
    client: Client,
    tokens: Vec<(&'static str, String)>,
    kind: Kind,
}

enum Kind {
    Real { audit_log: PathBuf },
    Ours(ApiServer),
}

/// A running kube-apiserver, and the runtime of its client.
pub struct Real {
    pub runtime: tokio::runtime::Runtime,
    pub hub: Hub,
    /// Taken when it stops.
    envtest: Mutex<Option<Envtest>>,
}

impl Real {
    pub fn stop(&self) {
        drop(self.envtest.lock().unwrap_or_else(PoisonError::into_inner).take());
    }

    /// Starts the API server, and installs CRDs and roles.
    pub fn start(assets: &Assets) -> Self {
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        let options = EnvtestOptions {
            users: vec![
                EnvtestUser::admin("conformance"),
                EnvtestUser::admin("reference-manager"),
                EnvtestUser::without_rights("viewer"),
            ],
            audit_policy: include_str!("audit-policy.yaml").to_owned(),
            // Compacts soon, for the scripts that expect 410.
            api_server_flags: vec!["--etcd-compaction-interval=6s".to_owned()],
            ..Default::default()
        };
        let (envtest, hub) = runtime.block_on(async {
            let envtest = Envtest::start(assets, options).await.expect("the API server");
            let mut config = envtest.config("admin");
            config.auth_info.token = None;
            let hub = Hub {
                client: Client::try_from(config).expect("a client"),
                tokens: USERS.map(|user| (user, token(&envtest, user))).into(),
                kind: Kind::Real {
                    audit_log: envtest.audit_log(),
                },
            };
            hub.install_definitions().await;
            hub.bind_roles().await;
            (envtest, hub)
        });
        Self {
            runtime,
            hub,
            envtest: Mutex::new(Some(envtest)),
        }
    }
}

fn token(envtest: &Envtest, user: &str) -> String {
    let auth_info = serde_json::to_value(&envtest.config(user).auth_info).expect("settings are data");
    auth_info["token"].as_str().expect("a token").to_owned()
}

impl Hub {
    /// Our server, with CRDs and roles. Needs a runtime.
    pub async fn ours() -> Self {
        let server = ApiServer::new(ServerClock::system());
        server.set_audit_level(AuditLevel::RequestResponse);
        server.add_user(User::master("conformance"));
        server.add_user(User::master("reference-manager"));
        server.add_user(User::with_rules("viewer", Vec::new()));
        let hub = Self {
            client: Client::new(server.clone(), "default"),
            tokens: USERS.map(|user| (user, ApiServer::token(user))).into(),
            kind: Kind::Ours(server.clone()),
        };
        hub.install_definitions().await;
        hub.bind_roles().await;
        hub
    }

    pub async fn send(&self, request: Request<Body>) -> Response<Body> {
        self.client.send(request).await.expect("an answer")
    }

    /// A user's bearer token, if any.
    pub fn token(&self, user: &str) -> Option<&str> {
        match user {
            "anonymous" => None,
            "stranger" => Some("an-unknown-token"),
            user => {
                let mut tokens = self.tokens.iter();
                let known = tokens.find(|(name, _)| *name == user);
                Some(&known.unwrap_or_else(|| panic!("there is no user {user}")).1)
            }
        }
    }

    pub fn audit_events(&self) -> Vec<Value> {
        match &self.kind {
            Kind::Real { audit_log } => {
                let text = fs::read_to_string(audit_log).expect("the audit log");
                let lines = text.lines();
                // The last line may be incomplete: another script's request is being logged.
                lines.filter_map(|line| serde_json::from_str(line).ok()).collect()
            }
            Kind::Ours(server) => server.audit_events(),
        }
    }

    pub fn forget_history(&self) {
        match &self.kind {
            Kind::Real { .. } => {}
            Kind::Ours(server) => server.misbehave(Misbehaviour::CompactHistory),
        }
    }

    pub async fn create_namespace(&self, name: &str) {
        let namespace = json!({"metadata": {"name": name}});
        self.create("/api/v1/namespaces", &namespace).await;
    }

    async fn install_definitions(&self) {
        let own = scripts::read_all(&folder().join("crds")).into_iter();
        for definition in own.map(|(_, _, own)| own).chain(scripts::definitions()) {
            let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
            self.create(path, &definition).await;
            let spec = &definition["spec"];
            for version in spec["versions"].as_array().expect("versions") {
                let text = |value: &Value| value.as_str().expect("a name").to_owned();
                let parts = [&spec["group"], &version["name"], &spec["names"]["plural"]];
                let path = format!("/apis/{}", parts.map(text).join("/"));
                self.wait_for("admin", &path).await;
            }
        }
    }

    /// Lets `viewer` read the ClusterProfiles of one namespace.
    async fn bind_roles(&self) {
        self.create_namespace(GRANTED).await;
        let rbac = format!("/apis/rbac.authorization.k8s.io/v1/namespaces/{GRANTED}");
        let role = json!({"metadata": {"name": "reader"}, "rules": [{
            "apiGroups": ["multicluster.x-k8s.io"], "resources": ["clusterprofiles"], "verbs": ["get", "list", "watch"],
        }]});
        self.create(&format!("{rbac}/roles"), &role).await;
        let binding = json!({"metadata": {"name": "reader"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "viewer"}],
        });
        self.create(&format!("{rbac}/rolebindings"), &binding).await;
        let granted = format!("/apis/multicluster.x-k8s.io/v1alpha1/namespaces/{GRANTED}/clusterprofiles");
        self.wait_for("viewer", &granted).await;
    }

    async fn create(&self, path: &str, body: &Value) {
        let (code, answer) = self.quick("admin", "POST", path, body.to_string()).await;
        assert!(code < 300, "POST {path}: {code} {answer}");
    }

    async fn wait_for(&self, user: &str, path: &str) {
        for _ in 0..600 {
            if self.quick(user, "GET", path, String::new()).await.0 == 200 {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("GET {path} by {user} is never answered with 200");
    }

    async fn quick(&self, user: &str, method: &str, path: &str, body: String) -> (u16, String) {
        let token = self.token(user).unwrap_or_default();
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(http::header::AUTHORIZATION, format!("Bearer {token}"))
            .header(http::header::CONTENT_TYPE, "application/json")
            .body(Body::from(body.into_bytes()))
            .expect("a request");
        let answer = self.send(request).await;
        let code = answer.status().as_u16();
        let body = answer
            .into_body()
            .collect()
            .await
            .expect("an answer's body")
            .to_bytes();
        (code, String::from_utf8_lossy(&body).into_owned())
    }
}
