//! The world of an example, and its evidence.

use std::collections::{BTreeMap, BTreeSet};

use evidence::{
    Evidence, FORMAT, History, Kind, Log, ProfileHistory, Requested, SliceHistory, Window,
    api::{Edition, ObjectKind, Role, names},
    runs::of_other_runs,
    strict,
};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::{
    BoxedError,
    consumer::PublishedObjects,
    objects::{self, ExampleObjects, ExampleStep},
    records::{self, Fields, ReadRecord, each_record, entries, mapping, patched},
    times::{BASE, moment, take},
};

/// Default time of observation for an example with steps or requests.
const DEFAULT_OBSERVE: SignedDuration = SignedDuration::from_mins(10);

/// The keys of a world that belong to a part of the header.
const HEADER: [&str; 3] = ["scope", "window", "clockSkewMs"];
const CLAIM: [&str; 7] = [
    "features",
    "consumers",
    "clusterManager",
    "scheduler",
    "expectedProfiles",
    "nodeTolerance",
    "clustersets",
];

/// An example's world, as differences from a conforming one: a list of profiles (of slices, in an edition of placements), or a
/// mapping with these keys.
///
/// - `profiles`, `slices`: merge patches onto a conforming object. By default, there is one profile or, in an edition of
///   placements, one slice and the profiles that the slices refer to.
/// - `steps`: what happens to the objects.
/// - `observe`, `settle`: how long the run observes, and how long it waits for open violations after that.
/// - `writers: none`: the field ownership was not read. `window: null`: the evidence is a dump.
/// - Those of `HEADER` and `CLAIM`, and `served`.
/// - All others are keys of the evidence.
pub(super) struct ExampleWorld {
    edition: Edition,
    fields: Fields,
    keys: BTreeSet<String>,
}

impl ExampleWorld {
    pub(super) fn read(world: &Value, edition: Edition) -> Result<Self, BoxedError> {
        let fields = mapping(&as_mapping(world, edition))?;
        Ok(Self {
            edition,
            keys: fields.keys().cloned().collect(),
            fields,
        })
    }

    fn has(&self, key: &str) -> bool {
        self.keys.contains(key)
    }

    /// The evidence that a run would collect in this world.
    pub(super) fn evidence(mut self) -> Result<Evidence, BoxedError> {
        let role = self.edition.role();
        let has_testbed = role == Role::Consumer;
        let is_watched = ["observe", "steps", "driver"].iter().any(|key| self.has(key)) || has_testbed;
        let default = (is_watched || self.has("requests")).then_some(DEFAULT_OBSERVE);
        let observe: Option<SignedDuration> = take(&mut self.fields, "observe")?;
        let observe = observe.or(default).unwrap_or_default();
        let settle: Option<SignedDuration> = take(&mut self.fields, "settle")?;
        let length = observe.saturating_add(settle.unwrap_or_default());
        let window = Window {
            from: BASE,
            until: moment(length),
        };
        let requested = self.requested(is_watched);

        let [profiles, slices] = self.objects(length)?;
        let mut profiles = strict::profiles(&profiles)?;
        let mut slices = strict::slices(&slices)?;
        if self.fields.get("window").is_some_and(Value::is_null) {
            remove_times(&mut profiles)?;
            remove_times(&mut slices)?;
        }
        let secrets = self.secrets(&profiles);
        let namespaces = self.namespaces(&profiles, &slices, &secrets)?;
        let header = self.header(window)?;
        if has_testbed {
            let objects = PublishedObjects {
                profiles: &profiles,
                slices: &slices,
                window,
            };
            self.replace("testbed", |testbed| objects.testbed(testbed.clone()))?;
            self.replace("memberCalls", |calls| objects.member_calls(entries(calls)))?;
            self.replace("pluginCalls", |calls| objects.plugin_calls(entries(calls)))?;
            self.replace("mentions", |mentions| {
                let mentions = mentions.clone().unwrap_or_else(|| json!({}));
                Ok(patched(json!({"log": true}), mentions))
            })?;
        }
        self.records(window)?;
        let whole = json!({"header": header, "namespaces": namespaces, "secrets": secrets});
        let mut evidence = strict::evidence(&patched(whole, self.fields))?;

        let run = evidence.driver.as_ref().map(|driver| driver.run.as_str());
        evidence.header.other_runs = of_other_runs(&profiles, run);
        evidence.header.requested = requested;
        evidence.profiles = profiles;
        evidence.slices = slices;
        sort(&mut evidence.requests, window, |request| request.at)?;
        sort(&mut evidence.slice_requests, window, |request| request.at)?;
        sort(&mut evidence.member_calls, window, |call| call.at)?;
        sort(&mut evidence.plugin_calls, window, |call| call.at)?;
        if settle.is_some() {
            evidence.settled_after(moment(observe));
        }
        Ok(evidence)
    }
    /// The histories of profiles and slices, as JSON.
    fn objects(&mut self, length: SignedDuration) -> Result<[Value; 2], BoxedError> {
        let role = self.edition.role();
        let has_writers = self.fields.remove("writers").is_none();
        let steps = self.fields.remove("steps");
        let steps: Vec<ExampleStep> = entries(&steps)
            .iter()
            .map(ExampleStep::read)
            .collect::<Result<_, _>>()?;
        let default_slices = (role == Role::Scheduler).then(|| json!([{}]));
        let slices = self.fields.remove("slices").or(default_slices);
        let profiles = match (self.fields.remove("profiles"), role.objects()) {
            (Some(profiles), _) => profiles,
            (None, ObjectKind::ClusterProfile) => json!([{}]),
            (None, ObjectKind::PlacementDecision) => profiles_of_slices(entries(&slices), &steps),
        };
        let of_kind = |kind: ObjectKind, overlays: &[Value]| -> Result<Value, BoxedError> {
            let mut objects = ExampleObjects::new(kind, self.edition, has_writers);
            overlays.iter().try_for_each(|overlay| objects.list(overlay))?;
            for step in &steps {
                match step.kind().unwrap_or(role.objects().name()) {
                    name if name == kind.name() => objects.play(step, length)?,
                    names::KIND | names::PLACEMENT_KIND => {}
                    name => return Err(format!("there are no objects of kind {name}").into()),
                }
            }
            Ok(objects.histories())
        };
        let profiles = of_kind(ObjectKind::ClusterProfile, entries(&Some(profiles)))?;
        let slices = of_kind(ObjectKind::PlacementDecision, entries(&slices))?;
        Ok([profiles, slices])
    }

    fn secrets(&mut self, profiles: &[ProfileHistory]) -> Vec<Value> {
        let overlays = self.fields.remove("secrets");
        let first = profiles.first().map(History::first);
        let secrets = entries(&overlays).iter();
        secrets.map(|overlay| records::secret(overlay, first)).collect()
    }

    /// The namespaces of objects and Secrets, and those that the example names.
    fn namespaces(
        &mut self,
        profiles: &[ProfileHistory],
        slices: &[SliceHistory],
        secrets: &[Value],
    ) -> Result<Vec<Value>, BoxedError> {
        let overlays = self.fields.remove("namespaces");
        let of_profiles = profiles.iter().map(|history| &*history.last().metadata.namespace);
        let of_slices = slices.iter().map(|history| &*history.last().metadata.namespace);
        let names = of_profiles.chain(of_slices);
        let namespaces = names.map(|name| (name, objects::namespace(name, false)));
        let mut all: BTreeMap<&str, Value> = namespaces.collect();
        let of_secrets = secrets.iter().filter_map(|secret| secret["namespace"].as_str());
        all.extend(of_secrets.map(|name| (name, objects::namespace(name, true))));
        for overlay in entries(&overlays) {
            let name = objects::text(overlay, &["name"]).ok_or("a namespace has no name")?;
            let namespace = all.entry(name).or_insert_with(|| objects::namespace(name, false));
            json_patch::merge(namespace, overlay);
        }
        Ok(all.into_values().collect())
    }

    fn header(&mut self, window: Window) -> Result<Value, BoxedError> {
        let version = objects::api_version(self.edition);
        let versions = json!([{"name": version, "immutableManager": true, "statusSubresource": true}]);
        let versions = self.fields.remove("served").unwrap_or(versions);
        let mut take = |keys: &[&str]| -> Fields {
            let fields = keys.iter().filter_map(|key| self.fields.remove_entry(*key));
            fields.collect()
        };
        let (claim, header) = (take(&CLAIM), take(&HEADER));
        let whole = json!({
            "format": FORMAT,
            "suiteVersion": env!("CARGO_PKG_VERSION"),
            "claim": patched(json!({"edition": self.edition}), claim),
            "hub": {"source": "example", "apiVersion": version, "served": versions},
            "window": window,
            "clockSkewMs": 0,
        });
        Ok(patched(whole, header))
    }

    /// Reads the records of the run, in place.
    fn records(&mut self, window: Window) -> Result<(), BoxedError> {
        let role = self.edition.role();
        let lists: [(&str, ReadRecord); 5] = [
            ("probes", records::probe),
            ("members", records::member),
            ("endpointCalls", records::endpoint_call),
            ("logins", records::login),
            ("gaps", records::gap),
        ];
        for (key, read) in lists {
            self.replace(key, |records| Ok(each_record(entries(records), read)?.into()))?;
        }
        if let Some(driver) = self.fields.remove("driver") {
            self.fields.insert("driver".to_owned(), records::driver(&driver)?);
        }
        let of_objects = match role.objects() {
            ObjectKind::ClusterProfile => "requests",
            ObjectKind::PlacementDecision => "sliceRequests",
        };
        let logs = [
            ("requests", of_objects, role),
            ("sliceRequests", "sliceRequests", Role::Scheduler),
        ];
        for (key, target, role) in logs {
            if self.has(key) {
                let requests = self.fields.remove(key);
                let requests = records::requests(entries(&requests), window, role)?;
                self.fields.insert(target.to_owned(), requests);
            }
        }
        Ok(())
    }

    fn replace(
        &mut self,
        key: &str,
        read: impl FnOnce(&Option<Value>) -> Result<Value, BoxedError>,
    ) -> Result<(), BoxedError> {
        let value = self.fields.remove(key);
        self.fields.insert(key.to_owned(), read(&value)?);
        Ok(())
    }

    /// The kinds of evidence that the example has.
    fn requested(&self, is_watched: bool) -> BTreeMap<Kind, Requested> {
        let has_testbed = self.edition.role() == Role::Consumer;
        let has_slices = self.edition.role() == Role::Scheduler || self.has("slices");
        let has_logins = self.has("endpointCalls") || self.has("logins");
        let kinds = [
            (Kind::Inventory, true),
            (Kind::Namespaces, true),
            (Kind::Secrets, true),
            (Kind::UnlabelledSecrets, true),
            (Kind::Writers, !self.has("writers")),
            (Kind::Timeline, is_watched),
            (Kind::Requests, self.has("requests") || self.has("sliceRequests")),
            (Kind::Probe, self.has("probes")),
            (Kind::Members, self.has("members") || has_logins),
            (Kind::Plugins, self.has_plugins()),
            (Kind::Driver, self.has("driver")),
            (Kind::PlacementDecisions, has_slices),
            (Kind::PlacementTimeline, has_slices && is_watched),
            (Kind::Testbed, has_testbed),
            (Kind::MemberCalls, has_testbed),
            (Kind::PluginCalls, has_testbed),
            (Kind::Mentions, has_testbed),
            (Kind::Outputs, self.has_outputs()),
        ];
        let requested = kinds.map(|(kind, is_present)| {
            let absent = || Requested::No(format!("the example has no {kind}").into());
            (kind, if is_present { Requested::Yes } else { absent() })
        });
        requested.into()
    }

    /// Whether a login uses a plugin.
    fn has_plugins(&self) -> bool {
        let logins = self.fields.get("logins").and_then(Value::as_array);
        let mut logins = logins.into_iter().flatten();
        logins.any(|login| login.pointer("/credential/plugin").is_some())
    }

    /// Whether the run read outputs of a consumer.
    fn has_outputs(&self) -> bool {
        let testbed = self.fields.get("testbed");
        testbed.is_some_and(|testbed| testbed.get("outputs").is_some())
    }
}

pub(super) fn as_mapping(world: &Value, edition: Edition) -> Value {
    match (world, edition.role().objects()) {
        (Value::Array(slices), ObjectKind::PlacementDecision) => json!({"slices": slices}),
        (Value::Array(profiles), ObjectKind::ClusterProfile) => json!({"profiles": profiles}),
        (world, _) => world.clone(),
    }
}

/// The overlays of the profiles that slices refer to, each once.
fn profiles_of_slices(slices: &[Value], steps: &[ExampleStep]) -> Value {
    let steps = steps.iter().filter(|step| step.kind() != Some(names::KIND));
    let of_steps = steps.filter_map(ExampleStep::slice_overlay);
    let overlays = slices.iter().chain(of_steps);
    let mut profiles: Vec<Value> = overlays.flat_map(objects::profiles_of).collect();
    let mut unique = BTreeSet::new();
    profiles.retain(|profile| unique.insert(profile.to_string()));
    profiles.into()
}

/// Makes histories those of a dump.
fn remove_times<T>(histories: &mut [History<T>]) -> Result<(), BoxedError> {
    for history in histories {
        let [version] = &mut history.versions[..] else {
            return Err("a dump, without a window, has no steps".into());
        };
        version.at = None;
    }
    Ok(())
}

fn sort<T>(log: &mut Option<Log<T>>, window: Window, at: fn(&T) -> Timestamp) -> Result<(), BoxedError> {
    let is_outside = |event: &T| at(event) < window.from || window.until < at(event);
    if log.iter().flat_map(|log| &log.events).any(is_outside) {
        return Err("a logged event is outside of the observed time".into());
    }
    if let Some(log) = log {
        log.events.sort_by_key(at);
    }
    Ok(())
}
