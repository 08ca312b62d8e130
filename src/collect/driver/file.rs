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
    de::{Error as _, SeqAccess, Visitor, value::SeqAccessDeserializer},
};

use super::{
    ConsumerFile, HookMember, MOST_MEMBERS, PATIENCE, Scale,
    hooks::{PREFIX, UNDONE_BY},
};
use crate::{
    hub::profile_key,
    plugins::{NoProgram, find_program},
    testbed::OutputPlace,
};

/// A driver file.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct DriverFile {
    /// Its absolute path.
    #[serde(skip)]
    pub path: PathBuf,
    /// The commands, by what they make the implementation do: a program and its arguments.
    #[serde(deserialize_with = "read_hooks")]
    #[schemars(schema_with = "hooks_schema")]
    pub hooks: BTreeMap<DriverAction, Vec<String>>,
    /// How long a hook may take.
    timeout: NonZeroDuration,
    /// Additional environment variables of every hook.
    pub(super) env: BTreeMap<String, String>,
    /// How long the implementation may take to react.
    #[serde(deserialize_with = "read_patience")]
    patience: NonZeroDuration,
    /// How long it may take to react to some actions.
    #[schemars(schema_with = "patience_schema")]
    patience_for: BTreeMap<DriverAction, NonZeroDuration>,
    /// Whether the run offers fake members; `false` if `join` makes the members.
    stand_ins: Option<bool>,
    /// The implementer's own members.
    pub members: Vec<HookMember>,
    /// The version that the hook `upgrade` brings.
    pub upgrade_to: Option<String>,
    /// A namespace that the run creates, and deletes with a member's profile in it. It must not exist before.
    pub own_namespace: Option<String>,
    /// The scale scenario.
    pub scale: Scale,
    /// The consumer that `--role consumer` judges.
    pub consumer: Option<ConsumerFile>,
}

/// A duration as people write it, and not zero. Two minutes by default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct NonZeroDuration(Duration);

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
        let file = path.display();
        let unread =
            |error: io::Error| DriverFileError(format!("failed to read the driver file {file}: {error}"));
        let text = read_text(path, LARGEST_TEXT).map_err(unread)?;
        let path = absolute(path).map_err(unread)?;
        let file = path.display().to_string();
        Self::parse(&text, path)
            .map_err(|reason| DriverFileError(format!("the driver file {file} cannot be used: {reason}")))
    }

    /// The JSON Schema of such a file.
    pub fn schema() -> Schema {
        evidence::json_schema::of_input::<Self>()
    }

    /// Whether the run offers fake members.
    pub fn has_fake_members(&self) -> bool {
        self.stand_ins.unwrap_or(self.members.is_empty())
    }

    /// How long the implementation may take to react, unless the file says otherwise for an action.
    pub fn patience(&self) -> Duration {
        self.patience.0
    }

    pub(super) fn patience_with(&self, action: DriverAction) -> Duration {
        self.patience_for.get(&action).unwrap_or(&self.patience).0
    }

    /// Finds the programs of the hooks, without running any. Returns those that are missing, or may not be run.
    pub fn missing_programs(&self) -> BTreeMap<DriverAction, NoProgram> {
        let find_missing = |(action, hook): (&DriverAction, &Vec<String>)| {
            let error = find_program(&self.program(hook), self.folder()).err()?;
            Some((*action, error))
        };
        self.hooks.iter().filter_map(find_missing).collect()
    }

    pub(super) fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("/"))
    }

    /// The program of a hook: absolute, or a bare name that is looked up in `PATH`.
    pub(super) fn program(&self, hook: &[String]) -> PathBuf {
        match hook.first() {
            Some(program) if program.contains('/') => self.folder().join(program),
            program => program.map(PathBuf::from).unwrap_or_default(),
        }
    }

    pub(super) fn timeout(&self) -> Duration {
        self.timeout.0
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
        let kubeconfigs = self.members.iter_mut().filter_map(|one| one.kubeconfig.as_mut());
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
        let is_reserved =
            |name: &&String| name.is_empty() || name.starts_with(PREFIX) || name.contains(['=', '\0']);
        if let Some(name) = self.env.keys().find(is_reserved) {
            return Err(format!(
                "env: `{name}` cannot be in the environment of hooks: names that begin with {PREFIX} are for the run"
            ));
        }
        for (action, hook) in &self.hooks {
            let checked = self.check_hook(*action, hook);
            checked.map_err(|reason| format!("hooks.{action}: {reason}"))?;
        }
        Ok(())
    }

    fn check_hook(&self, action: DriverAction, hook: &[String]) -> Result<(), String> {
        if action.is_mutation() {
            return Err("the run does this itself: remove the hook".to_owned());
        }
        let Some(program) = hook.first() else {
            return Err("its command has no words: name a program".to_owned());
        };
        let path = self.program(hook);
        if program.contains('/') && !path.is_file() {
            return Err(format!("there is no program {}", path.display()));
        }
        Ok(())
    }

    fn check_members(&self) -> Result<(), String> {
        let mut names = BTreeSet::new();
        for HookMember { name, kubeconfig, .. } in &self.members {
            if name.is_empty() || name.contains('\0') || !names.insert(name) {
                return Err(format!("members: `{name}` is not a valid name, or is repeated"));
            }
            if let Some(path) = kubeconfig.as_ref().filter(|path| !path.is_file()) {
                let path = path.display();
                return Err(format!("members: {name}: there is no kubeconfig {path}"));
            }
        }
        if self.scale.at_once == 0 {
            return Err("scale.atOnce is 0: no member could ever join".to_owned());
        }
        let members = self.scale.members.unwrap_or_default();
        let all = self.members.len();
        if all > 0 && members > all {
            return Err(format!("scale.members is {members}, and there are {all} members"));
        }
        if members > MOST_MEMBERS {
            return Err(format!(
                "scale.members is {members}, and a run tries at most {MOST_MEMBERS}"
            ));
        }
        Ok(())
    }
}

pub(super) fn check(problems: &[(bool, &str)]) -> Result<(), String> {
    let problem = problems.iter().find(|(exists, _)| *exists);
    problem.map_or(Ok(()), |(_, message)| Err((*message).to_owned()))
}

impl Default for NonZeroDuration {
    fn default() -> Self {
        Self(PATIENCE)
    }
}

impl<'de> Deserialize<'de> for NonZeroDuration {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(&String::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

impl NonZeroDuration {
    fn parse(text: &str) -> Result<Self, &'static str> {
        let span = SignedDuration::from_str(text).ok();
        let duration = span.and_then(|span| Duration::try_from(span).ok());
        let duration = duration.filter(|duration| !duration.is_zero());
        let malformed = "give a duration with its unit, for example 30s, 2m or 1h30m";
        duration.map(NonZeroDuration).ok_or(malformed)
    }
}

/// Reads the `patience` of all actions. The error for a map of actions says where those belong.
fn read_patience<'de, D: Deserializer<'de>>(deserializer: D) -> Result<NonZeroDuration, D::Error> {
    #[derive(Deserialize)]
    #[serde(
        untagged,
        expecting = "expected a duration, for example 2m; for single actions use `patienceFor`"
    )]
    enum AllActions {
        Text(String),
    }
    let AllActions::Text(text) = AllActions::deserialize(deserializer)?;
    NonZeroDuration::parse(&text).map_err(D::Error::custom)
}

/// A program and its arguments. The error for another form says what a command is.
struct Words(Vec<String>);

impl<'de> Deserialize<'de> for Words {
    // Not an untagged enum: that would refuse words like 8080 and true without quotes.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct WordsVisitor;
        impl<'de> Visitor<'de> for WordsVisitor {
            type Value = Words;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a command as a list of words; `timeout` and `env` are keys of the file")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, words: A) -> Result<Words, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(words)).map(Words)
            }
        }
        deserializer.deserialize_any(WordsVisitor)
    }
}

fn read_hooks<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<DriverAction, Vec<String>>, D::Error> {
    let hooks = BTreeMap::<DriverAction, Words>::deserialize(deserializer)?.into_iter();
    Ok(hooks.map(|(action, words)| (action, words.0)).collect())
}

/// Reads a profile as NAMESPACE/NAME.
pub(super) fn profile_key_text<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<ObjectKey>, D::Error> {
    let text = String::deserialize(deserializer)?;
    let key = profile_key(&text).ok_or("name a profile as NAMESPACE/NAME");
    key.map(Some).map_err(D::Error::custom)
}

impl JsonSchema for NonZeroDuration {
    fn schema_name() -> Cow<'static, str> {
        "Duration".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "description": "A duration with its unit, for example 30s, 2m or 1h30m"})
    }
}

/// One command for each action that is not the run's own.
fn hooks_schema(_: &mut SchemaGenerator) -> Schema {
    let hook = json_schema!({"type": "array", "items": {"type": "string"}, "minItems": 1});
    by_action(|action| !action.is_mutation(), hook)
}

fn patience_schema(generator: &mut SchemaGenerator) -> Schema {
    by_action(|_| true, generator.subschema_for::<NonZeroDuration>())
}

fn by_action(is_listed: fn(DriverAction) -> bool, schema: Schema) -> Schema {
    let actions = DriverAction::ALL.into_iter().filter(|action| is_listed(*action));
    let names: Vec<&str> = actions.map(DriverAction::name).collect();
    json_schema!({"type": "object", "propertyNames": {"enum": names}, "additionalProperties": schema})
}

#[cfg(test)]
mod tests;
