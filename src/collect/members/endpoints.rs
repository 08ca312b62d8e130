//! Calls the endpoints of profiles without credentials: any answer will do.

use std::time::Duration;

use evidence::{
    EndpointCall, ObjectKey, ObjectRef,
    api::{
        ClusterProfile,
        endpoints::{Endpoints, Place, fault},
        names::PROPERTY_ENDPOINTS,
    },
};
use futures::{
    StreamExt as _,
    future::{join_all, ready},
    stream,
};
use http::{HeaderValue, Method, header};
use kube::Config;
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use super::{
    Dial, Members,
    credentials::config_of,
    sample::{Asker, Clean},
};
use crate::{
    clock::Clock,
    connect::{answer, request},
};

/// How many profiles' endpoints are called, and how many of each.
const PROFILES: usize = 2000;
const EACH: usize = 10;
const AT_ONCE: usize = 64;
/// How often a profile is called of which no endpoint answers, and how long lies between.
const ATTEMPTS: usize = 2;
const BETWEEN: Duration = Duration::from_secs(5);
const ALL: Duration = Duration::from_secs(180);

/// An endpoint as the profile names it, and where to call it.
struct ProfileEndpoint {
    text: String,
    urls: Vec<String>,
    /// The CA and the name of that server's certificate by an access provider, in the format of a kubeconfig.
    trust: Option<Value>,
}

/// Calls the endpoints of the profiles. What was not called when the time was over is not reported.
pub(crate) async fn call<'a>(
    profiles: impl Iterator<Item = &'a ClusterProfile>,
    members: &Members,
    clock: Clock,
) -> Vec<EndpointCall> {
    let dial = &*members.dial;
    let is_called = |profile: &&ClusterProfile| {
        profile.property(PROPERTY_ENDPOINTS).is_some() && members.hold(&ObjectKey::of(*profile))
    };
    let called: Vec<&ClusterProfile> = profiles.filter(is_called).take(PROFILES).collect();
    let mut calls = Vec::new();
    let calling = stream::iter(called).map(|profile| call_all_of(profile, dial, clock));
    let calling = calling.buffered(AT_ONCE).for_each(|answered| {
        calls.extend(answered);
        ready(())
    });
    // Those that were called by then are what there is.
    let _ = timeout(ALL, calling).await;
    calls
}

/// Calls the endpoints of a profile side by side; again where none of them answers.
async fn call_all_of(profile: &ClusterProfile, dial: &dyn Dial, clock: Clock) -> Vec<EndpointCall> {
    let endpoints = ProfileEndpoint::all_of(profile);
    let profile = ObjectRef::from(profile);
    let mut calls = Vec::new();
    for attempt in 0..ATTEMPTS {
        if attempt > 0 {
            sleep(BETWEEN).await;
        }
        let calling = endpoints.iter().map(async |endpoint| {
            let at = clock.now();
            let outcome = endpoint.call(dial).await;
            EndpointCall {
                at,
                profile: profile.clone(),
                endpoint: endpoint.text.clone(),
                code: outcome.as_ref().ok().copied(),
                reason: outcome.err().unwrap_or_default(),
            }
        });
        calls = join_all(calling).await;
        if calls.is_empty() || calls.iter().any(|call| call.code.is_some()) {
            break;
        }
    }
    calls
}

impl ProfileEndpoint {
    /// The usable endpoints of a profile.
    fn all_of(profile: &ClusterProfile) -> Vec<Self> {
        let property = profile.property(PROPERTY_ENDPOINTS);
        let endpoints = property.map(|property| Endpoints::read(&property.value));
        let endpoints = endpoints.iter().flat_map(Endpoints::entries);
        let usable = endpoints.filter(|endpoint| fault(endpoint).is_none());
        usable
            .take(EACH)
            .map(|endpoint| Self::of(endpoint, profile))
            .collect()
    }

    fn of(endpoint: &str, profile: &ClusterProfile) -> Self {
        let place = Place::read(endpoint);
        let is_there = |server: &str| match (Place::read(server), &place) {
            (Some(server), Some(place)) => server.is_same_server(place),
            _ => false,
        };
        let trust = profile.access().find_map(|provider| {
            let cluster = &provider.cluster;
            let ca = cluster.certificate_authority_data.as_deref()?;
            let is_there = cluster.server.as_deref().is_some_and(is_there);
            let name = cluster.tls_server_name.as_deref();
            is_there.then(|| json!({"certificate-authority-data": ca, "tls-server-name": name}))
        });
        Self {
            text: endpoint.to_owned(),
            urls: Place::urls(endpoint).unwrap_or_default(),
            trust,
        }
    }

    /// The status with which it answers, or why it does not, in words without secrets.
    async fn call(&self, dial: &dyn Dial) -> Result<u16, String> {
        let mut failed = None;
        for url in &self.urls {
            match self.call_url(url, dial).await {
                Ok(code) => return Ok(code),
                Err(error) => _ = failed.get_or_insert(error),
            }
        }
        Err(failed.unwrap_or_else(|| "it is not to be called over TLS".to_owned()))
    }

    async fn call_url(&self, url: &str, dial: &dyn Dial) -> Result<u16, String> {
        let client = dial
            .connect(self.config(url)?)
            .map_err(|error| error.to_string())?;
        let asker = Asker::new(client, Clean::default());
        let mut request = request(Method::GET, "/version").map_err(|failure| failure.to_string())?;
        let close = HeaderValue::from_static("close");
        request.headers_mut().insert(header::CONNECTION, close);
        match answer(&asker.client, request).await {
            Ok(response) => Ok(response.status().as_u16()),
            Err(failure) => Err(asker.describe(&failure, "").to_string()),
        }
    }

    /// Without a CA of the profile's own any certificate will do: no secret is sent.
    fn config(&self, url: &str) -> Result<Config, &'static str> {
        if let Some(trust) = &self.trust {
            let mut cluster = trust.clone();
            cluster["server"] = url.into();
            if let Ok(config) = config_of(&cluster, None) {
                return Ok(config);
            }
        }
        let cluster = json!({"server": url, "insecure-skip-tls-verify": true});
        let mut config = config_of(&cluster, None)?;
        // Otherwise the system's would be read for each call.
        config.root_cert = Some(Vec::new());
        Ok(config)
    }
}
