//! The shape of an example's world, and its evidence.

use std::collections::{BTreeMap, BTreeSet};

use evidence::{
    Asked, Claim, Evidence, FORMAT, Header, History, Hub, Kind, Namespace, Secret, ServedVersion, Window,
    api::{ClusterProfile, Edition, Feature, ObjectKind, PlacementDecision, Role, names},
    runs::of_other_runs,
};
use jiff::SignedDuration;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use super::{
    conforming,
    consumer::{PublishedObjects, TestbedText, mentions},
    driver::DriverText,
    error::{Flaw, strictly},
    records,
    testbed::{Step, Testbed},
    time::moment,
};

/// An example's world, as differences from a conforming one.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct World {
    /// Merge patches onto a conforming profile; when absent, one such profile.
    profiles: Option<Vec<Value>>,
    /// Merge patches onto a conforming slice; when absent in an edition of placements, one such slice. The profiles that
    /// they refer to exist, unless `profiles` lists others.
    slices: Option<Vec<Value>>,
    /// The users and field managers that are named with `--cluster-manager-user` and the like.
    cluster_manager: Option<Value>,
    scheduler: Option<Value>,
    namespaces: Vec<Value>,
    secrets: Vec<Value>,
    /// Secrets without the label, as the runner keeps them.
    unlabelled_secrets: Option<Vec<Value>>,
    consumers: Vec<String>,
    expected_profiles: Option<usize>,
    node_tolerance: u64,
    /// ClusterSets that are declared with `--clusterset`, by namespace.
    clustersets: BTreeMap<String, String>,
    steps: Option<Vec<Step>>,
    observe: Option<SignedDuration>,
    /// How long the run looks on after that.
    settle: Option<SignedDuration>,
    requests: Option<Vec<Value>>,
    /// Requests on slices, where profiles are judged by the others.
    slice_requests: Option<Vec<Value>>,
    members: Option<Vec<Value>>,
    endpoint_calls: Option<Vec<Value>>,
    logins: Option<Vec<Value>>,
    driver: Option<DriverText>,
    probes: Option<Vec<Value>>,
    /// The testbed of a consumer: a conforming one in an edition of consumers.
    testbed: Option<TestbedText>,
    member_calls: Option<Vec<Value>>,
    plugin_calls: Option<Vec<Value>>,
    /// What was found in events, objects and, unless that is false, the log of the consumer: nothing by default.
    mentions: Option<Value>,
    served: Option<Vec<Value>>,
    gaps: Option<Vec<Value>>,
    claims: BTreeSet<Feature>,
    scope: Option<Value>,
    /// How far the hub's clock is ahead of the runner's; `none` if that is unknown. By default, they agree.
    clock_skew: Option<Value>,
    writers: Option<Absent>,
    window: Option<Absent>,
}

/// The only value for something that exists by default: its absence.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Absent {
    None,
}

/// Default time of observation for an example with steps or requests.
const DEFAULT_OBSERVE: SignedDuration = SignedDuration::from_mins(10);

impl World {
    /// Reads a world: a list of profiles (of slices, in an edition of placements), or a mapping.
    pub(super) fn parse(value: &Value, edition: Edition) -> Result<Self, Flaw> {
        let mapping = match (value, edition.role().objects()) {
            (Value::Array(slices), ObjectKind::PlacementDecision) => json!({"slices": slices}),
            (Value::Array(profiles), ObjectKind::ClusterProfile) => json!({"profiles": profiles}),
            (other, _) => other.clone(),
        };
        Ok(serde_json::from_value(mapping)?)
    }

    /// The evidence that a run would collect in this world.
    pub(super) fn evidence(&self, edition: Edition) -> Result<Evidence, Flaw> {
        let role = edition.role();
        let is_staged = role == Role::Consumer;
        let moves = self.steps.is_some() || self.driver.is_some() || is_staged;
        let observed = self.observe.or(moves.then_some(DEFAULT_OBSERVE));
        let of_requests = self.requests.as_ref().map(|_| DEFAULT_OBSERVE);
        let observe = observed.or(of_requests).unwrap_or_default();
        let length = observe.saturating_add(self.settle.unwrap_or_default());
        let window = Window {
            from: moment(SignedDuration::ZERO),
            until: moment(length),
        };

        let mut testbed = Testbed::<ClusterProfile>::new(edition, self.writers.is_none());
        let mut slices = Testbed::<PlacementDecision>::new(edition, self.writers.is_none());
        let default_slice = (role == Role::Scheduler).then(|| json!({}));
        let listed = self.slices.as_deref().unwrap_or(default_slice.as_slice());
        for overlay in &self.profiles(role, listed) {
            testbed.list(overlay)?;
        }
        for overlay in listed {
            slices.list(overlay)?;
        }
        let first = testbed.first().cloned();
        for step in self.steps.iter().flatten() {
            match step.kind().unwrap_or(role.objects().name()) {
                names::KIND => testbed.play(step, length)?,
                names::PLACEMENT_KIND => slices.play(step, length)?,
                other => return Err(Flaw::Step(format!("there are no objects of kind {other}"))),
            }
        }
        let (mut profiles, mut slices) = (testbed.histories(), slices.histories());
        if self.window.is_some() {
            without_times(&mut profiles)?;
            without_times(&mut slices)?;
        }

        let secrets = self.secrets.iter();
        let secrets = secrets.map(|overlay| records::secret(overlay, first.as_ref()));
        let secrets: Vec<Secret> = secrets.collect::<Result<_, _>>()?;
        let of_slices = slices.iter().map(|history| &history.last().metadata.namespace);
        let of_profiles = profiles.iter().map(|history| &history.last().metadata.namespace);
        let of_objects = of_slices.chain(of_profiles);
        let mut held: BTreeMap<&str, bool> = of_objects.map(|namespace| (&**namespace, false)).collect();
        held.extend(secrets.iter().map(|secret| (&*secret.namespace, true)));
        let namespaces = self.namespaces(held)?;
        let log = |texts: &Option<Vec<Value>>, role| {
            let requests = texts.as_ref().map(|texts| records::requests(texts, window, role));
            requests.transpose()
        };
        let (requests, slice_requests) = match role.objects() {
            ObjectKind::ClusterProfile => (
                log(&self.requests, role)?,
                log(&self.slice_requests, Role::Scheduler)?,
            ),
            ObjectKind::PlacementDecision => (None, log(&self.requests, role)?),
        };
        let driver = self.driver.as_ref().map(DriverText::driver);
        let run = driver.as_ref().map(|driver| driver.run.as_str());
        let mut evidence = Evidence {
            header: Header {
                other_runs: of_other_runs(&profiles, run),
                ..self.header(edition, window, observed.is_some())?
            },
            namespaces,
            unlabelled_secrets: read(&self.unlabelled_secrets, |secret| {
                strictly("unlabelledSecret", secret)
            })?,
            probes: read(&self.probes, records::probe)?,
            requests,
            slice_requests,
            members: read(&self.members, records::member)?,
            endpoint_calls: read(&self.endpoint_calls, records::endpoint_call)?,
            logins: read(&self.logins, records::login)?,
            driver,
            gaps: read(&self.gaps, records::gap)?.into(),
            ..Evidence::default()
        };
        if is_staged {
            let published = PublishedObjects {
                profiles: &profiles,
                slices: &slices,
                window,
            };
            let testbed = self.testbed.clone().unwrap_or_default();
            evidence.testbed = Some(published.testbed(&testbed)?);
            evidence.member_calls = Some(published.member_calls(self.member_calls.as_deref())?);
            evidence.plugin_calls = Some(published.plugin_calls(self.plugin_calls.as_deref())?);
            evidence.mentions = Some(mentions(self.mentions.as_ref())?);
        }
        evidence.secrets = secrets;
        evidence.profiles = profiles;
        evidence.slices = slices;
        if self.settle.is_some() {
            evidence.settled_after(moment(observe));
        }
        Ok(evidence)
    }

    /// The overlays of the profiles: those that the world lists, or those that its slices refer to.
    fn profiles(&self, role: Role, slices: &[Value]) -> Vec<Value> {
        match (&self.profiles, role.objects()) {
            (Some(profiles), _) => profiles.clone(),
            (None, ObjectKind::ClusterProfile) => vec![json!({})],
            (None, ObjectKind::PlacementDecision) => {
                let steps = self.steps.iter().flatten();
                let moved = steps.filter(|step| step.kind() != Some(names::KIND));
                let moved = moved.filter_map(Step::slice_overlay);
                let mut profiles: Vec<Value> = slices
                    .iter()
                    .chain(moved)
                    .flat_map(conforming::profiles_of)
                    .collect();
                let mut known = BTreeSet::new();
                profiles.retain(|profile| known.insert(profile.to_string()));
                profiles
            }
        }
    }

    fn header(&self, edition: Edition, window: Window, watched: bool) -> Result<Header, Flaw> {
        let is_placement = edition.role() == Role::Scheduler;
        let is_staged = edition.role() == Role::Consumer;
        let has_slices = is_placement || self.slices.is_some();
        let has_requests = self.requests.is_some() || self.slice_requests.is_some();
        let has_logins = self.endpoint_calls.is_some() || self.logins.is_some();
        let has_plugins = self.logins.iter().flatten().any(records::is_with_plugin);
        let has_outputs = self.testbed.as_ref().is_some_and(TestbedText::has_outputs);
        let given = [
            (Kind::Inventory, true),
            (Kind::Namespaces, true),
            (Kind::Secrets, true),
            (Kind::UnlabelledSecrets, true),
            (Kind::Writers, self.writers.is_none()),
            (Kind::Timeline, watched),
            (Kind::Requests, has_requests),
            (Kind::Probe, self.probes.is_some()),
            (Kind::Members, self.members.is_some() || has_logins),
            (Kind::Plugins, has_plugins),
            (Kind::Driver, self.driver.is_some()),
            (Kind::PlacementDecisions, has_slices),
            (Kind::PlacementTimeline, has_slices && watched),
            (Kind::Testbed, is_staged),
            (Kind::MemberCalls, is_staged),
            (Kind::PluginCalls, is_staged),
            (Kind::Mentions, is_staged),
            (Kind::Outputs, has_outputs),
        ];
        let asked = given.map(|(kind, is_given)| {
            let absent = || Asked::No(format!("the example has no {kind}").into());
            (kind, if is_given { Asked::Yes } else { absent() })
        });
        Ok(Header {
            format: FORMAT.to_owned(),
            suite_version: env!("CARGO_PKG_VERSION").to_owned(),
            claim: Claim {
                edition,
                features: self.claims.clone(),
                consumers: self.consumers.clone(),
                cluster_manager: part("clusterManager", &self.cluster_manager)?,
                scheduler: part("scheduler", &self.scheduler)?,
                expected_profiles: self.expected_profiles,
                node_tolerance: self.node_tolerance,
                clustersets: self.clustersets.clone(),
                ..Claim::default()
            },
            hub: Hub {
                source: "example".to_owned(),
                api_version: Some(conforming::api_version(edition).to_owned()),
                served: self.served(edition)?,
                ..Hub::default()
            },
            scope: part("scope", &self.scope)?,
            window: self.window.is_none().then_some(window),
            clock_skew_ms: match &self.clock_skew {
                None => Some(0),
                Some(Value::String(none)) if none == "none" => None,
                Some(skew) => {
                    let skew: SignedDuration = serde_json::from_value(skew.clone())?;
                    Some(i64::try_from(skew.as_millis()).unwrap_or(i64::MAX))
                }
            },
            asked: asked.into(),
            ..Header::default()
        })
    }

    fn served(&self, edition: Edition) -> Result<Vec<ServedVersion>, Flaw> {
        if self.served.is_some() {
            return read(&self.served, |version| strictly("served", version));
        }
        Ok(vec![ServedVersion {
            name: conforming::api_version(edition).to_owned(),
            immutable_manager: true,
            status_subresource: true,
        }])
    }

    /// The `held` namespaces (with Secrets if true), and those that the example names.
    fn namespaces<'a>(&'a self, mut held: BTreeMap<&'a str, bool>) -> Result<Vec<Namespace>, Flaw> {
        let mut overlays: BTreeMap<&str, &Value> = BTreeMap::new();
        for overlay in &self.namespaces {
            let name = conforming::text(overlay, &["name"]).ok_or("a namespace has no name")?;
            held.entry(name).or_default();
            overlays.insert(name, overlay);
        }
        held.into_iter()
            .map(|(name, holds_secrets)| {
                let mut namespace = conforming::namespace(name, holds_secrets);
                if let Some(overlay) = overlays.get(name) {
                    json_patch::merge(&mut namespace, overlay);
                }
                strictly("namespace", &namespace)
            })
            .collect()
    }
}

/// Reads an optional part of the header.
fn part<T: Default + Serialize + DeserializeOwned>(
    name: &'static str,
    value: &Option<Value>,
) -> Result<T, Flaw> {
    let part = value.as_ref().map(|value| strictly(name, value));
    Ok(part.transpose()?.unwrap_or_default())
}

/// Makes histories those of a dump.
fn without_times<T>(histories: &mut [History<T>]) -> Result<(), Flaw> {
    for history in histories {
        let [version] = &mut history.versions[..] else {
            return Err(Flaw::Step("a dump, without a window, has no steps".to_owned()));
        };
        version.at = None;
    }
    Ok(())
}

/// Reads every entry of an optional list.
fn read<T>(texts: &Option<Vec<Value>>, one: fn(&Value) -> Result<T, Flaw>) -> Result<Vec<T>, Flaw> {
    texts.iter().flatten().map(one).collect()
}
