//! The objects of an example: what it says is merged onto an object that keeps every rule, and its steps are recorded as a watch
//! would record them.

use evidence::{
    ObjectKey, ObjectRef,
    api::{Edition, ObjectKind, names},
};
use jiff::SignedDuration;
use serde_json::{Value, json};

use super::{
    BoxedError,
    records::mapping,
    times::{STEP_TIME, STEP_TURN, Times, ca_data, moment, stamp},
};

/// The manager of profiles that do not name one.
pub(super) const MANAGER: &str = "m";

/// The scheduler of slices that do not name one.
pub(super) const SCHEDULER: &str = "s";

/// The age of the listed objects at the base time.
const AGE: SignedDuration = SignedDuration::from_hours(-1);

pub(super) fn text<'a>(value: &'a Value, path: &[&str]) -> Option<&'a str> {
    path.iter().try_fold(value, |value, key| value.get(key))?.as_str()
}

/// A name, or a namespace and a name.
pub(super) fn path_key(path: &str) -> ObjectKey {
    let (namespace, name) = path.split_once('/').unwrap_or(("default", path));
    ObjectKey::new(namespace, name)
}

/// The name and namespace that an overlay gives to an object, or their defaults.
pub(super) fn key_of(kind: ObjectKind, overlay: &Value) -> ObjectKey {
    let default = match kind {
        ObjectKind::ClusterProfile => "a",
        ObjectKind::PlacementDecision => "web-0",
    };
    let name = text(overlay, &["metadata", "name"]).unwrap_or(default);
    let namespace = text(overlay, &["metadata", "namespace"]).unwrap_or("default");
    ObjectKey::new(namespace, name)
}

pub(super) fn reference(kind: &str, path: &str) -> ObjectRef {
    let ObjectKey { namespace, name } = path_key(path);
    ObjectRef::new(kind, &namespace, &name, &format!("uid-{namespace}-{name}"), "")
}

pub(super) fn api_version(edition: Edition) -> &'static str {
    match edition {
        Edition::Y2026M09 | Edition::Placement2026M09 | Edition::Consumer2026M09 => "v1alpha2",
        _ => "v1alpha1",
    }
}

/// Reads a file of the folder `conforming`, with values for its placeholders like `<name>`.
pub(super) fn conforming(template: &str, values: &[(&str, &str)]) -> Value {
    let mut content = template.to_owned();
    for (placeholder, value) in values {
        let literal = Value::from(*value).to_string();
        content = content.replace(&format!("<{placeholder}>"), &literal[1..literal.len() - 1]);
    }
    // The files are compiled in.
    serde_json::from_str(&content).expect("JSON")
}

/// The object onto which an overlay is merged. It has the overlay's name, namespace, and manager or scheduler.
fn conforming_object(kind: ObjectKind, overlay: &Value, edition: Edition, created: SignedDuration) -> Value {
    let ObjectKey { namespace, name } = key_of(kind, overlay);
    let created = stamp(created);
    let mut values: Vec<(&str, &str)> = vec![
        ("version", api_version(edition)),
        ("name", name.as_str()),
        ("namespace", namespace.as_str()),
        ("created", created.as_str()),
    ];
    match kind {
        ObjectKind::ClusterProfile => {
            let manager = text(overlay, &["spec", "clusterManager", "name"]).unwrap_or(MANAGER);
            let host = format!("{name}.{namespace}.example:6443");
            let ca = ca_data("current").unwrap_or_default();
            values.extend([("manager", manager), ("host", host.as_str()), ("ca", ca.as_str())]);
            let mut profile = conforming(include_str!("conforming/profile.json"), &values);
            // A name of one letter begins with no prefix: only advice on names minds.
            let prefix = &name[..name.char_indices().next_back().map_or(0, |(last, _)| last)];
            let prefix = Some(prefix).filter(|prefix| !prefix.is_empty() && !name.starts_with(manager));
            profile["metadata"]["generateName"] = prefix.into();
            profile
        }
        ObjectKind::PlacementDecision => {
            let scheduler = text(overlay, &["schedulerName"]).unwrap_or(SCHEDULER);
            // The number at the end of the name is the index in the decision.
            let parts = name.rsplit_once('-');
            let parts = parts.filter(|(_, index)| index.parse::<u32>().is_ok());
            let (decision, index) = parts.unwrap_or((name.as_str(), "0"));
            values.extend([("decision", decision), ("index", index), ("scheduler", scheduler)]);
            conforming(include_str!("conforming/slice.json"), &values)
        }
    }
}

/// An overlay without its kind, and with its decisions written out: each may be a profile's name, or its namespace and name; a
/// number of decisions means `c0`, `c1` and so on.
pub(super) fn expand(overlay: &Value) -> Value {
    let mut overlay = overlay.clone();
    let Some(fields) = overlay.as_object_mut() else {
        return overlay;
    };
    fields.remove("kind");
    let decisions = match fields.get("decisions") {
        Some(Value::Number(count)) => {
            let names = (0..count.as_u64().unwrap_or_default()).map(|number| format!("c{number}"));
            names.map(|name| decision(&name)).collect()
        }
        Some(Value::Array(list)) => {
            let expand_entry = |entry: &Value| entry.as_str().map_or_else(|| entry.clone(), decision);
            list.iter().map(expand_entry).collect()
        }
        _ => return overlay,
    };
    fields.insert("decisions".to_owned(), Value::Array(decisions));
    overlay
}

/// The decisions of a slice that lists none.
pub(super) fn default_decisions() -> Value {
    json!([decision("a")])
}

fn decision(path: &str) -> Value {
    let reference = match path.split_once('/') {
        Some((namespace, name)) => json!({"name": name, "namespace": namespace}),
        None => json!({"name": path}),
    };
    json!({"clusterProfileRef": reference})
}

/// The overlays of the profiles that a slice refers to.
pub(super) fn profiles_of(overlay: &Value) -> Vec<Value> {
    let slice_namespace = key_of(ObjectKind::PlacementDecision, overlay).namespace;
    let whole = expand(overlay);
    let default = default_decisions();
    let decisions = whole.get("decisions").unwrap_or(&default);
    let references = decisions.as_array().into_iter().flatten();
    let references = references.filter_map(|decision| {
        let reference = &decision["clusterProfileRef"];
        let name = reference["name"].as_str().filter(|name| !name.is_empty())?;
        let namespace = reference["namespace"].as_str().filter(|name| !name.is_empty());
        Some(json!({"metadata": {"name": name, "namespace": namespace.unwrap_or(&slice_namespace)}}))
    });
    references.collect()
}

/// A namespace. One with consumers' Secrets belongs to the consumer of the same name.
pub(super) fn namespace(name: &str, has_secrets: bool) -> Value {
    let mut labels = json!({});
    if has_secrets {
        labels[names::LABEL_CONSUMER] = name.into();
    }
    json!({"name": name, "uid": format!("uid-{name}"), "resourceVersion": "1", "labels": labels})
}

/// One step of an example's timeline: its times, and one event.
#[derive(Clone, Debug)]
pub(super) struct ExampleStep {
    times: Times,
    /// - `change`: a merge patch. In its strings, `${n}` is the number of earlier repetitions, and a whole `${at}` is the time.
    /// - `create`: a merge patch onto a conforming object that the watch sees created.
    /// - `relist`: the same, but the object first appears in a list after the watch was lost.
    /// - `delete`: an object's name, or namespace and name; its kind and a space may be before it.
    event: String,
    /// Its kind and its metadata select the object; by default, that is a profile or, in an edition of placements, a slice.
    overlay: Value,
}

impl ExampleStep {
    pub(super) fn read(step: &Value) -> Result<Self, BoxedError> {
        let mut fields = mapping(step)?;
        let times = Times::take(&mut fields)?;
        let mut events = fields.into_iter();
        let (Some((event, overlay)), None) = (events.next(), events.next()) else {
            return Err("a step has exactly one of `change`, `create`, `relist`, and `delete`".into());
        };
        Ok(Self {
            times,
            event,
            overlay,
        })
    }

    pub(super) fn kind(&self) -> Option<&str> {
        match self.overlay.as_str() {
            Some(path) => path.split_once(' ').map(|(kind, _)| kind),
            None => text(&self.overlay, &["kind"]),
        }
    }

    /// The overlay that may bring references to profiles: of an object that appears, or of a change that has decisions.
    pub(super) fn slice_overlay(&self) -> Option<&Value> {
        let appears = matches!(&*self.event, "create" | "relist");
        let has_decisions = self.overlay.get("decisions").is_some();
        (appears || has_decisions).then_some(&self.overlay)
    }
}

fn fill_in_turn(value: &mut Value, turn: i32, at: SignedDuration) {
    match value {
        Value::String(text) if text == STEP_TIME => *text = stamp(at),
        Value::String(text) => *text = text.replace(STEP_TURN, &turn.to_string()),
        Value::Array(items) => items.iter_mut().for_each(|item| fill_in_turn(item, turn, at)),
        Value::Object(fields) => fields.values_mut().for_each(|item| fill_in_turn(item, turn, at)),
        _ => {}
    }
}

/// The objects of one kind, in order of appearance.
pub(super) struct ExampleObjects {
    kind: ObjectKind,
    edition: Edition,
    /// Whether the field ownership was read.
    has_writers: bool,
    tracks: Vec<Track>,
    resource_version: u64,
    latest: SignedDuration,
}

struct Track {
    key: ObjectKey,
    /// The newest version.
    object: Value,
    /// JSON of a [`History`](evidence::History).
    history: Value,
}

impl ExampleObjects {
    pub(super) fn new(kind: ObjectKind, edition: Edition, has_writers: bool) -> Self {
        Self {
            kind,
            edition,
            has_writers,
            tracks: Vec::new(),
            resource_version: 100,
            latest: SignedDuration::ZERO,
        }
    }

    /// Adds an object that existed before the run.
    pub(super) fn list(&mut self, overlay: &Value) -> Result<(), BoxedError> {
        self.enter(overlay, [AGE, SignedDuration::ZERO], "listed")
    }

    /// Plays one step with its repetitions, in an example that lasts for `length`.
    pub(super) fn play(&mut self, step: &ExampleStep, length: SignedDuration) -> Result<(), BoxedError> {
        for (turn, at) in step.times.each() {
            if at < self.latest || at > length {
                let message = format!("the step at {at:#} is out of order or after the end ({length:#})");
                return Err(message.into());
            }
            self.latest = at;
            match (&*step.event, &step.overlay) {
                ("change", patch) => {
                    let mut patch = patch.clone();
                    fill_in_turn(&mut patch, turn, at);
                    self.change(&patch, at)?;
                }
                ("create", overlay) => self.enter(overlay, [at, at], "created")?,
                ("relist", overlay) => self.enter(overlay, [at, at], "relisted")?,
                ("delete", Value::String(path)) => self.delete(path, at)?,
                (event, _) => return Err(format!("`{event}` is not an event of a step").into()),
            }
        }
        Ok(())
    }

    /// The observed histories, as JSON.
    pub(super) fn histories(self) -> Value {
        self.tracks.into_iter().map(|track| track.history).collect()
    }

    /// Adds an object that was created and that the run saw at these times.
    fn enter(&mut self, overlay: &Value, times: [SignedDuration; 2], origin: &str) -> Result<(), BoxedError> {
        let [created, at] = times;
        let key = key_of(self.kind, overlay);
        if self.index_of(&key).is_ok() {
            let message = format!("there already is a {} {}/{}", self.kind, key.namespace, key.name);
            return Err(message.into());
        }
        let mut object = conforming_object(self.kind, overlay, self.edition, created);
        let earlier = self.tracks.iter().filter(|track| track.key == key).count();
        if earlier > 0 {
            // A name may be reused, but never a uid.
            object["metadata"]["uid"] = format!("uid-{}-{}-{}", key.namespace, key.name, earlier + 1).into();
        }
        json_patch::merge(&mut object, &expand(overlay));
        let version = self.version(&mut object, at);
        let history = json!({"origin": origin, "versions": [version]});
        self.tracks.push(Track { key, object, history });
        Ok(())
    }

    fn change(&mut self, patch: &Value, at: SignedDuration) -> Result<(), BoxedError> {
        let index = self.index_of(&key_of(self.kind, patch))?;
        let mut object = self.tracks[index].object.clone();
        let (spec, generation) = (object["spec"].clone(), object["metadata"]["generation"].as_i64());
        json_patch::merge(&mut object, &expand(patch));
        if object["spec"] != spec && object["metadata"]["generation"].as_i64() == generation {
            object["metadata"]["generation"] = generation.map(|generation| generation + 1).into();
        }
        let version = self.version(&mut object, at);
        let track = &mut self.tracks[index];
        track.object = object;
        if let Some(versions) = track.history["versions"].as_array_mut() {
            versions.push(version);
        }
        Ok(())
    }

    fn delete(&mut self, path: &str, at: SignedDuration) -> Result<(), BoxedError> {
        let path = path.split_once(' ').map_or(path, |(_, path)| path);
        let index = self.index_of(&path_key(path))?;
        self.tracks[index].history["deleted"] = json!(moment(at));
        Ok(())
    }

    /// The index of the object of that name that was not deleted.
    fn index_of(&self, key: &ObjectKey) -> Result<usize, BoxedError> {
        let mut tracks = self.tracks.iter();
        let index = tracks.position(|track| track.key == *key && track.history.get("deleted").is_none());
        index.ok_or_else(|| format!("there is no {} {}/{}", self.kind, key.namespace, key.name).into())
    }

    /// A new version as a watch delivers it.
    fn version(&mut self, object: &mut Value, at: SignedDuration) -> Value {
        self.resource_version += 1;
        object["metadata"]["resourceVersion"] = self.resource_version.to_string().into();
        let mut version = json!({"at": moment(at), "object": object});
        if !self.has_writers {
            version["object"]["metadata"]["writers"] = Value::Null;
        }
        version
    }
}
