//! Plays an example's profiles or slices with its steps, and records every version as a watch would.

use evidence::{History, Origin, Version, api::Edition};
use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    conforming,
    conforming::Staged,
    error::{Flaw, strictly},
    time::{STEP_TIME, STEP_TURN, moment, stamp},
};

/// One step of an example's timeline: a time, and one event.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Step {
    at: SignedDuration,
    /// How often it happens, and the interval.
    times: Option<i32>,
    every: Option<SignedDuration>,
    /// A merge patch; its kind and metadata select the object, by default a profile or, in a world of placements, a slice. In its strings, `${n}` is the number of earlier repetitions,
    /// and a whole `${at}` is the time of the step.
    change: Option<Value>,
    /// A merge patch onto a conforming object that the watch sees created.
    create: Option<Value>,
    /// The same, but the object first appears in a list after the watch was lost.
    relist: Option<Value>,
    /// An object's name, or namespace and name; its kind and a space may stand before it.
    delete: Option<String>,
}

impl Step {
    /// The kind that it names.
    pub(super) fn kind(&self) -> Option<&str> {
        let overlay = self
            .change
            .as_ref()
            .or(self.create.as_ref())
            .or(self.relist.as_ref());
        let deleted = self.delete.as_deref().and_then(|path| path.split_once(' '));
        let deleted = deleted.map(|(kind, _)| kind);
        overlay
            .and_then(|overlay| conforming::text(overlay, &["kind"]))
            .or(deleted)
    }

    /// The overlay that may bring references to profiles: of an object that appears, or of a change that has decisions.
    pub(super) fn slice_overlay(&self) -> Option<&Value> {
        let change = self.change.as_ref();
        let change = change.filter(|change| change.get("decisions").is_some());
        self.create.as_ref().or(self.relist.as_ref()).or(change)
    }

    /// The step at repetition `turn`, counted from 0.
    fn in_turn(&self, turn: i32) -> Self {
        let passed = self.every.unwrap_or_default().saturating_mul(turn);
        let at = self.at.saturating_add(passed);
        let mut step = Self { at, ..self.clone() };
        if let Some(change) = &mut step.change {
            fill_in_turn(change, turn, at);
        }
        step
    }
}

fn fill_in_turn(value: &mut Value, turn: i32, at: SignedDuration) {
    match value {
        Value::String(text) if text == STEP_TIME => *text = stamp(at),
        Value::String(text) => *text = text.replace(STEP_TURN, &turn.to_string()),
        Value::Array(items) => items.iter_mut().for_each(|item| fill_in_turn(item, turn, at)),
        Value::Object(fields) => fields
            .values_mut()
            .for_each(|field| fill_in_turn(field, turn, at)),
        _ => {}
    }
}

/// The objects of one kind on the testbed, in order of appearance.
pub(super) struct Testbed<T> {
    edition: Edition,
    writers: bool,
    tracks: Vec<Track<T>>,
    resource_version: u64,
    latest: SignedDuration,
}

struct Track<T> {
    key: (String, String),
    json: Value,
    history: History<T>,
}

/// The age of the listed objects at the base time.
const AGE: SignedDuration = SignedDuration::from_hours(-1);

impl<T: Staged> Testbed<T> {
    pub(super) fn new(edition: Edition, writers: bool) -> Self {
        Self {
            edition,
            writers,
            tracks: Vec::new(),
            resource_version: 100,
            latest: SignedDuration::ZERO,
        }
    }

    /// Adds an object that existed before the run.
    pub(super) fn list(&mut self, overlay: &Value) -> Result<(), Flaw> {
        self.enter(overlay, AGE, SignedDuration::ZERO, Origin::Listed)
    }

    /// The first object, as text.
    pub(super) fn first(&self) -> Option<&Value> {
        self.tracks.first().map(|track| &track.json)
    }

    /// Plays one step with its repetitions, in an example that lasts for `length`.
    pub(super) fn play(&mut self, step: &Step, length: SignedDuration) -> Result<(), Flaw> {
        if step.times.is_some() != step.every.is_some() {
            return Err(Flaw::Step(format!(
                "the step at {:#} needs both `every` and `times`",
                step.at
            )));
        }
        (0..step.times.unwrap_or(1)).try_for_each(|turn| self.play_once(&step.in_turn(turn), length))
    }

    fn play_once(&mut self, step: &Step, length: SignedDuration) -> Result<(), Flaw> {
        let at = step.at;
        if at < self.latest || at > length {
            return Err(Flaw::Step(format!(
                "the step at {at:#} is out of order or after the end ({length:#})"
            )));
        }
        self.latest = at;
        match (&step.change, &step.create, &step.relist, &step.delete) {
            (Some(patch), None, None, None) => self.change(patch, moment(at)),
            (None, Some(overlay), None, None) => self.enter(overlay, at, at, Origin::Created),
            (None, None, Some(overlay), None) => self.enter(overlay, at, at, Origin::Relisted),
            (None, None, None, Some(path)) => self.delete(path, moment(at)),
            _ => Err(Flaw::Step(format!(
                "the step at {at:#} needs exactly one of `change`, `create`, `relist` and `delete`"
            ))),
        }
    }

    /// The observed histories.
    pub(super) fn histories(self) -> Vec<History<T>> {
        self.tracks.into_iter().map(|track| track.history).collect()
    }

    fn enter(
        &mut self,
        overlay: &Value,
        created: SignedDuration,
        at: SignedDuration,
        origin: Origin,
    ) -> Result<(), Flaw> {
        let key = T::key(overlay);
        if self.living(&key).is_some() {
            return Err(Flaw::Step(format!(
                "there already is a {} {}/{}",
                T::KIND,
                key.1,
                key.0
            )));
        }
        let mut json = T::conforming(overlay, self.edition, created);
        let lives = self.tracks.iter().filter(|track| track.key == key).count();
        if lives > 0 {
            // A name may be reused, but never a uid.
            json["metadata"]["uid"] = format!("uid-{}-{}-{}", key.1, key.0, lives + 1).into();
        }
        json_patch::merge(&mut json, &T::expand(overlay));
        let version = self.version(&mut json, moment(at), None)?;
        self.tracks.push(Track {
            key,
            json,
            history: History {
                origin,
                versions: vec![version],
                deleted: None,
                deleted_version: None,
            },
        });
        Ok(())
    }

    fn change(&mut self, patch: &Value, at: Timestamp) -> Result<(), Flaw> {
        let key = T::key(patch);
        let index = self
            .living(&key)
            .ok_or_else(|| Flaw::Step(format!("there is no {} {}/{} to change", T::KIND, key.1, key.0)))?;
        let mut json = self.tracks[index].json.clone();
        let (spec, generation) = (json["spec"].clone(), json["metadata"]["generation"].as_i64());
        json_patch::merge(&mut json, &T::expand(patch));
        if json["spec"] != spec && json["metadata"]["generation"].as_i64() == generation {
            json["metadata"]["generation"] = generation.map_or(Value::Null, |g| json!(g + 1));
        }
        let previous = self.tracks[index].history.last().clone();
        let version = self.version(&mut json, at, Some(&previous))?;
        self.tracks[index].json = json;
        self.tracks[index].history.versions.push(version);
        Ok(())
    }

    fn delete(&mut self, path: &str, at: Timestamp) -> Result<(), Flaw> {
        let path = path.split_once(' ').map_or(path, |(_, path)| path);
        let (namespace, name) = path.split_once('/').unwrap_or(("default", path));
        let index = self
            .living(&(name.to_owned(), namespace.to_owned()))
            .ok_or_else(|| Flaw::Step(format!("there is no {} {namespace}/{name} to delete", T::KIND)))?;
        self.tracks[index].history.deleted = Some(at);
        Ok(())
    }

    fn living(&self, key: &(String, String)) -> Option<usize> {
        self.tracks
            .iter()
            .position(|track| track.key == *key && track.history.deleted.is_none())
    }

    /// A new version as a watch delivers it.
    fn version(&mut self, json: &mut Value, at: Timestamp, previous: Option<&T>) -> Result<Version<T>, Flaw> {
        self.resource_version += 1;
        json["metadata"]["resourceVersion"] = self.resource_version.to_string().into();
        let mut object: T = strictly(T::KIND, json)?;
        if !self.writers {
            object.drop_writers();
        }
        if let Some(previous) = previous {
            object.share_with(previous);
        }
        Ok(Version { at: Some(at), object })
    }
}
