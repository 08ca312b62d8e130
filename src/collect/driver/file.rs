//! The driver file: commands that make the implementation act, and facts about a consumer.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    fmt, io,
    path::{Path, PathBuf, absolute},
    str::FromStr as _,
    time::Duration,
};

use evidence::{DriverAction, LARGEST_TEXT, ObjectKey, read_text, user_file::UserFileError};
use jiff::SignedDuration;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{
    Deserialize, Deserializer,
    de::{
        Error, IntoDeserializer as _, MapAccess, SeqAccess, Visitor,
        value::{MapAccessDeserializer, SeqAccessDeserializer},
    },
};
use serde_json::{Map, Value};

use super::{
    command::PREFIX,
    consumer_file::ConsumerFile,
    hooks::{UNDONE_BY, profile_key},
    plan::{MOST_MEMBERS, OwnMember, Patience, Scale},
};
use crate::{
    plugins::{NoProgram, find_program},
    testbed::OutputPlace,
};

/// How long a hook may take, unless the file says otherwise.
const TIMEOUT: Duration = Duration::from_secs(120);
/// A driver file.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct DriverFile {
    /// Its absolute path.
    #[serde(skip)]
    pub path: PathBuf,
    /// The commands, by what they make the implementation do.
    #[schemars(schema_with = "hooks_schema")]
    pub hooks: BTreeMap<DriverAction, Hook>,
    /// How long a hook may take, unless it says otherwise.
    timeout: Option<Span>,
    /// Additional environment variables of every hook.
    env: BTreeMap<String, String>,
    /// How long the implementation may take to react.
    pub patience: Patience,
    /// Whether the run offers fake members; `false` if `join` makes the members.
    stand_ins: Option<bool>,
    /// The implementer's own members.
    pub members: Vec<OwnMember>,
    /// The version that the hook `upgrade` brings.
    pub upgrade_to: Option<String>,
    /// A namespace that the run creates, and deletes with a member's profile in it. It must not exist before.
    pub own_namespace: Option<String>,
    /// The scale scenario. By default, many fake members join, and none of other members.
    scale: FileScale,
    /// The consumer that `--role consumer` judges.
    pub consumer: Option<ConsumerFile>,
}

/// The scale scenario, as the file describes it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct FileScale {
    /// The number of members.
    members: Option<usize>,
    /// How many of them join, or leave, at the same time.
    at_once: Option<usize>,
}

/// A command: its words alone, or with more.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(remote = "Self", deny_unknown_fields)]
#[schemars(transform = or_words)]
pub struct Hook {
    /// The program and its arguments.
    command: Vec<String>,
    /// How long it may take.
    timeout: Option<Span>,
    /// Additional environment variables.
    #[serde(default)]
    env: BTreeMap<String, String>,
}

/// A duration as people write it, and not zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Span(Duration);

/// Why a driver file cannot be used: what is wrong, where, and what to do. Quotes no value that may be a secret.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct DriverFileError(String);

impl DriverFile {
    /// Reads a file.
    ///
    /// # Errors
    /// When it cannot be read, or is not valid.
    pub fn read(path: &Path) -> Result<Self, DriverFileError> {
        let shown = path.display();
        let unread =
            |error: io::Error| DriverFileError(format!("failed to read the driver file {shown}: {error}"));
        let text = read_text(path, LARGEST_TEXT).map_err(unread)?;
        let path = absolute(path).map_err(unread)?;
        let shown = path.display().to_string();
        Self::parse(&text, path)
            .map_err(|reason| DriverFileError(format!("the driver file {shown} cannot be used: {reason}")))
    }

    /// The JSON Schema of such a file.
    pub fn schema() -> Schema {
        evidence::json_schema::read::<Self>()
    }

    /// Whether the run offers fake members.
    pub fn has_fake_members(&self) -> bool {
        self.stand_ins.unwrap_or(self.members.is_empty())
    }

    /// The scale scenario, if there is one.
    pub fn scale(&self) -> Option<Scale> {
        let usual = Scale::default();
        let members = self
            .scale
            .members
            .unwrap_or(if self.has_fake_members() { usual.members } else { 0 });
        (members > 0).then_some(Scale {
            members,
            at_once: self.scale.at_once.unwrap_or(usual.at_once),
        })
    }

    /// Finds the programs of the hooks, without running any. Returns those that are missing, or may not be run.
    pub fn missing_programs(&self) -> BTreeMap<DriverAction, NoProgram> {
        let missing = |(action, hook): (&DriverAction, &Hook)| {
            let error = find_program(&self.program(hook), self.folder()).err()?;
            Some((*action, error))
        };
        self.hooks.iter().filter_map(missing).collect()
    }

    pub(super) fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("/"))
    }

    /// The program of a hook: absolute, or a bare name that is looked up in `PATH`.
    pub(super) fn program(&self, hook: &Hook) -> PathBuf {
        match hook.command.first() {
            Some(program) if program.contains('/') => self.folder().join(program),
            program => program.map(PathBuf::from).unwrap_or_default(),
        }
    }

    pub(super) fn arguments<'h>(&self, hook: &'h Hook) -> &'h [String] {
        hook.command.get(1..).unwrap_or_default()
    }

    pub(super) fn env(&self, hook: &Hook) -> BTreeMap<String, String> {
        let mut env = self.env.clone();
        env.extend(hook.env.clone());
        env
    }

    /// How long a hook may take.
    pub(super) fn timeout(&self, hook: &Hook) -> Duration {
        hook.timeout.or(self.timeout).map_or(TIMEOUT, |span| span.0)
    }

    fn parse(text: &str, path: PathBuf) -> Result<Self, String> {
        let options = serde_saphyr::options! { strict_booleans: true };
        let file = serde_saphyr::from_str_with_options(text, options);
        let mut file: Self = file.map_err(|error| UserFileError::new(&error, "action").to_string())?;
        file.path = path;
        file.resolve_paths();
        file.check_hooks()?;
        file.check_members()?;
        if let Some(consumer) = &file.consumer {
            consumer.check().map_err(|reason| format!("consumer.{reason}"))?;
        }
        Ok(file)
    }

    fn resolve_paths(&mut self) {
        let folder = self.folder().to_owned();
        let kubeconfigs = self.members.iter_mut().filter_map(|own| own.kubeconfig.as_mut());
        let mut paths: Vec<&mut PathBuf> = kubeconfigs.collect();
        if let Some(consumer) = &mut self.consumer {
            paths.push(&mut consumer.recorder);
            paths.extend(&mut consumer.logs);
            for output in &mut consumer.outputs {
                if let OutputPlace::Kubeconfig { path } = output {
                    paths.push(path);
                }
            }
        }
        for path in paths {
            *path = folder.join(&*path);
        }
    }

    fn check_hooks(&self) -> Result<(), String> {
        let has = |action| self.hooks.contains_key(&action);
        if let Some((one, undo)) = UNDONE_BY.iter().find(|(one, undo)| has(*one) != has(*undo)) {
            return Err(format!(
                "give both of the hooks `{one}` and `{undo}`, or neither: the run undoes one with the other"
            ));
        }
        let is_on_members =
            has(DriverAction::Break) || has(DriverAction::Upgrade) || self.upgrade_to.is_some();
        check(&[
            (
                self.hooks.is_empty() && self.consumer.is_none(),
                "there is no hook: add at least `join` and `leave`, `place` and `unplace`, or `restart`; add `consumer` to \
                 judge a consumer",
            ),
            (
                has(DriverAction::Reschedule) && !has(DriverAction::Place),
                "the hook `reschedule` needs `place` and `unplace`",
            ),
            (
                self.stand_ins == Some(true) && !self.members.is_empty(),
                "`standIns` makes the run offer fake members, and `members` are your own: remove one of the two",
            ),
            (
                self.has_fake_members() && is_on_members,
                "the run breaks, heals and upgrades fake members itself: remove the hooks `break`, `heal` and `upgrade` and \
                 `upgradeTo`, or add `members` of your own, or set `standIns: false`",
            ),
            (
                has(DriverAction::Upgrade) != self.upgrade_to.is_some(),
                "give both the hook `upgrade` and `upgradeTo`, the version that it brings, or neither",
            ),
        ])?;
        for (action, hook) in &self.hooks {
            let checked = self.check_hook(*action, hook);
            checked.map_err(|reason| format!("hooks.{action}: {reason}"))?;
        }
        Ok(())
    }

    fn check_hook(&self, action: DriverAction, hook: &Hook) -> Result<(), String> {
        if action.is_mutation() {
            return Err("the run does this itself: remove the hook".to_owned());
        }
        let Some(program) = hook.command.first() else {
            return Err("its command has no words: name a program".to_owned());
        };
        let is_reserved =
            |name: &&String| name.is_empty() || name.starts_with(PREFIX) || name.contains(['=', '\0']);
        if let Some(name) = self.env(hook).keys().find(is_reserved) {
            return Err(format!(
                "`{name}` cannot be in its environment: names that begin with {PREFIX} are for the run"
            ));
        }
        let path = self.program(hook);
        if program.contains('/') && !path.is_file() {
            return Err(format!("there is no program {}", path.display()));
        }
        Ok(())
    }

    fn check_members(&self) -> Result<(), String> {
        let mut names = BTreeSet::new();
        for OwnMember { name, kubeconfig, .. } in &self.members {
            if name.is_empty() || name.contains('\0') || !names.insert(name) {
                return Err(format!("members: `{name}` is not a valid name, or is repeated"));
            }
            if let Some(path) = kubeconfig.as_ref().filter(|path| !path.is_file()) {
                let path = path.display();
                return Err(format!("members: {name}: there is no kubeconfig {path}"));
            }
        }
        if self.scale.at_once == Some(0) {
            return Err("scale.atOnce is 0: no member could ever join".to_owned());
        }
        let members = self.scale.members.unwrap_or_default();
        let own = self.members.len();
        if own > 0 && members > own {
            return Err(format!("scale.members is {members}, and there are {own} members"));
        }
        if members > MOST_MEMBERS {
            return Err(format!(
                "scale.members is {members}, and a run tries at most {MOST_MEMBERS}"
            ));
        }
        Ok(())
    }
}

/// The message of the first problem that exists.
pub(super) fn check(problems: &[(bool, &str)]) -> Result<(), String> {
    let problem = problems.iter().find(|(exists, _)| *exists);
    problem.map_or(Ok(()), |(_, message)| Err((*message).to_owned()))
}

impl<'de> Deserialize<'de> for Hook {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct WordsOrMore;
        impl<'de> Visitor<'de> for WordsOrMore {
            type Value = Hook;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a command as a list of words, or `command`, `timeout` and `env`")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, words: A) -> Result<Hook, A::Error> {
                Ok(Hook {
                    command: Vec::deserialize(SeqAccessDeserializer::new(words))?,
                    ..Hook::default()
                })
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Hook, A::Error> {
                Hook::deserialize(MapAccessDeserializer::new(map))
            }
        }
        deserializer.deserialize_any(WordsOrMore)
    }
}

impl<'de> Deserialize<'de> for Patience {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OneOrMore;
        impl<'de> Visitor<'de> for OneOrMore {
            type Value = Patience;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a duration such as 2m, or one for each of some actions")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Patience, E> {
                Ok(Patience {
                    usual: parse_duration(text).map_err(E::custom)?,
                    ..Patience::default()
                })
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Patience, A::Error> {
                let mut patience = Patience::default();
                while let Some(PatienceKey(action)) = map.next_key()? {
                    let Span(duration) = map.next_value()?;
                    match action {
                        Some(action) => _ = patience.to.insert(action, duration),
                        None => patience.usual = duration,
                    }
                }
                Ok(patience)
            }
        }
        deserializer.deserialize_any(OneOrMore)
    }
}

/// An action, or `default`.
struct PatienceKey(Option<DriverAction>);

impl<'de> Deserialize<'de> for PatienceKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        if name == "default" {
            return Ok(PatienceKey(None));
        }
        let action = DriverAction::deserialize(name.as_str().into_deserializer());
        action.map(|action| PatienceKey(Some(action)))
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        parse_duration(&text).map(Span).map_err(D::Error::custom)
    }
}

fn parse_duration(text: &str) -> Result<Duration, &'static str> {
    let span = SignedDuration::from_str(text).ok();
    let duration = span.and_then(|span| Duration::try_from(span).ok());
    duration
        .filter(|duration| !duration.is_zero())
        .ok_or("give a duration with its unit, such as 30s, 2m or 1h30m")
}

/// Reads a profile as NAMESPACE/NAME.
pub(super) fn profile_key_text<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<ObjectKey>, D::Error> {
    let text = String::deserialize(deserializer)?;
    let key = profile_key(&text).ok_or("name a profile as NAMESPACE/NAME");
    key.map(Some).map_err(D::Error::custom)
}

impl JsonSchema for Span {
    fn schema_name() -> Cow<'static, str> {
        "Duration".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "description": "A duration with its unit, such as 30s, 2m or 1h30m"})
    }
}

impl JsonSchema for Patience {
    fn schema_name() -> Cow<'static, str> {
        "Patience".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let span = generator.subschema_for::<Span>();
        let names = DriverAction::ALL.map(DriverAction::name);
        let names: Vec<&str> = names.into_iter().chain(["default"]).collect();
        let each = json_schema!({
            "type": "object", "propertyNames": {"enum": names}, "additionalProperties": span,
        });
        json_schema!({
            "description": "One duration for all, or one for each of some actions and `default`",
            "anyOf": [span, each],
        })
    }
}

/// The schema of the hooks: one property for each action that is not the run's own.
fn hooks_schema(generator: &mut SchemaGenerator) -> Schema {
    let hook = generator.subschema_for::<Hook>().to_value();
    let actions = DriverAction::ALL.into_iter();
    let hooks = actions.filter(|action| !action.is_mutation());
    let properties: Map<String, Value> = hooks
        .map(|action| (action.name().to_owned(), hook.clone()))
        .collect();
    json_schema!({"type": "object", "properties": properties, "additionalProperties": false})
}

/// Also allows a hook that is a list of words.
fn or_words(schema: &mut Schema) {
    let words = json_schema!({"type": "array", "items": {"type": "string"}, "minItems": 1});
    *schema = json_schema!({"anyOf": [words, schema]});
}

#[cfg(test)]
mod tests;
