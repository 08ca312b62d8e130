//! The driver file as the user writes it.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    fmt,
    path::PathBuf,
    str::FromStr,
    time::Duration,
};

use evidence::{DriverAction, ObjectKey, Reads};
use jiff::SignedDuration;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{
    Deserialize, Deserializer,
    de::{
        Error, IntoDeserializer as _, MapAccess, SeqAccess, Visitor,
        value::{MapAccessDeserializer, SeqAccessDeserializer},
    },
};

use super::outputs::Output;
use crate::driver::named::profile_key;

/// The whole file.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(super) struct Text {
    /// The commands, by what they have the implementation do.
    pub hooks: Hooks,
    /// How long a hook may take, where it does not say.
    pub timeout: Option<Span>,
    /// What every hook's environment has besides.
    pub env: BTreeMap<String, String>,
    /// How long the implementation may take to answer.
    pub patience: Patience,
    /// Whether the run offers members itself; `false` where `join` makes them.
    pub stand_ins: Option<bool>,
    /// The implementer's own members.
    pub members: Vec<Member>,
    /// The version that the hook `upgrade` brings.
    pub upgrade_to: Option<String>,
    /// A namespace that the run creates, and deletes with a member's profile in it. It must not exist before.
    pub own_namespace: Option<String>,
    /// How many members join at the same time.
    pub scale: Scale,
    /// What a consumer's author says of it: with `--role consumer`.
    pub consumer: Option<Consumer>,
}

/// A consumer.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Consumer {
    /// Its own user, as the hub names it. Without one, its writes are not judged.
    pub user: Option<String>,
    /// Its programs, where other programs use that user, too: the part of a user agent before the first `/`.
    #[serde(default)]
    pub agents: Vec<String>,
    /// The namespaces whose profiles it reads. The run publishes its profiles there, so they should be for this alone.
    pub namespaces: BTreeSet<String>,
    /// A namespace whose profiles it does not read. The run publishes some there, too.
    pub unselected: Option<String>,
    /// Labels by which it selects profiles.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// By what it knows on which profiles to act: `placements` if it acts on those that a PlacementDecision names, and `profiles`
    /// as well if it acts on others, too. Profiles alone if it is not said.
    #[serde(default)]
    pub reads: BTreeSet<Reads>,
    /// The `decision-key` of the one decision that it reads. The run publishes that. Without it, it reads all decisions of
    /// its namespaces.
    pub decision: Option<String>,
    /// The access providers that it has a plugin for: `clusterprofile-conformance plugin`.
    pub providers: BTreeSet<String>,
    /// Where that plugin looks for the run: its `--recorder`.
    pub recorder: PathBuf,
    /// The `apiVersion` with which its own file has that plugin run.
    pub exec_api_version: Option<String>,
    /// The files of its log, if it tells there what it does not do, and why.
    #[serde(default)]
    pub logs: Vec<PathBuf>,
    /// Another way by which it reaches members whose profile has none of these providers.
    pub fallback: Option<String>,
    /// Whether it hands a profile's additional arguments to the plugin.
    #[serde(default)]
    pub profile_args: bool,
    /// Whether it hands a profile's additional variables to the plugin.
    #[serde(default)]
    pub profile_envs: bool,
    /// Whether each piece of its work is a process of its own, which keeps no connection.
    #[serde(default)]
    pub one_shot: bool,
    /// Whether it acts on one profile of each member alone, as doing the same to a member twice would conflict.
    #[serde(default)]
    pub actions_conflict: bool,
    /// Whether it leaves members alone that are not healthy.
    #[serde(default)]
    pub gates_on_health: bool,
    /// Whether it rolls out: it acts on some members of a decision first, and on the others when it is done there.
    #[serde(default)]
    pub rolls_out: bool,
    /// Where it makes something of profiles.
    #[serde(default)]
    pub outputs: Vec<Output>,
}

#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Hooks {
    pub join: Option<Hook>,
    pub leave: Option<Hook>,
    #[serde(rename = "break")]
    pub break_down: Option<Hook>,
    pub heal: Option<Hook>,
    pub upgrade: Option<Hook>,
    pub restart: Option<Hook>,
    pub disconnect: Option<Hook>,
    pub reconnect: Option<Hook>,
    pub place: Option<Hook>,
    pub reschedule: Option<Hook>,
    pub unplace: Option<Hook>,
    pub work: Option<Hook>,
    pub stop: Option<Hook>,
    pub start: Option<Hook>,
    pub uninstall: Option<Hook>,
}

/// A command: its words alone, or with more.
#[derive(Clone, Debug)]
pub(super) struct Hook {
    pub command: Vec<String>,
    pub timeout: Option<Span>,
    pub env: BTreeMap<String, String>,
}

#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Member {
    pub name: String,
    pub kubeconfig: Option<PathBuf>,
    pub profile: Option<Profile>,
}

#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(super) struct Scale {
    pub members: Option<usize>,
    pub at_once: Option<usize>,
}

/// One duration for all, or one for each of some actions and `default`.
#[derive(Clone, Debug, Default)]
pub(super) struct Patience {
    pub usual: Option<Span>,
    pub to: BTreeMap<DriverAction, Span>,
}

/// A duration as people write it, and not zero.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span(pub Duration);

/// A profile as `namespace/name`.
#[derive(Clone, Debug)]
pub(super) struct Profile(pub ObjectKey);

impl<'de> Deserialize<'de> for Hook {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename = "Hook", deny_unknown_fields)]
        struct Whole {
            command: Vec<String>,
            timeout: Option<Span>,
            #[serde(default)]
            env: BTreeMap<String, String>,
        }
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = Hook;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a command as a list of words, or `command`, `timeout` and `env`")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, words: A) -> Result<Hook, A::Error> {
                Ok(Hook {
                    command: Vec::deserialize(SeqAccessDeserializer::new(words))?,
                    timeout: None,
                    env: BTreeMap::new(),
                })
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Hook, A::Error> {
                let whole = Whole::deserialize(MapAccessDeserializer::new(map))?;
                Ok(Hook {
                    command: whole.command,
                    timeout: whole.timeout,
                    env: whole.env,
                })
            }
        }
        deserializer.deserialize_any(Either)
    }
}

impl<'de> Deserialize<'de> for Patience {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = Patience;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a duration such as 2m, or one for each of some actions")
            }
            fn visit_str<E: Error>(self, given: &str) -> Result<Patience, E> {
                Ok(Patience {
                    usual: Some(given.parse().map_err(E::custom)?),
                    to: BTreeMap::new(),
                })
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Patience, A::Error> {
                let mut patience = Patience::default();
                while let Some(To(action)) = map.next_key()? {
                    let span = map.next_value()?;
                    match action {
                        Some(action) => _ = patience.to.insert(action, span),
                        None => patience.usual = Some(span),
                    }
                }
                Ok(patience)
            }
        }
        deserializer.deserialize_any(Either)
    }
}

/// The name of [`DriverAction::PutForeignProfile`] in a driver file.
const PUT_FOREIGN_PROFILE: &str = "put-foreigner";

/// The name of an action in a driver file.
fn name_in_file(action: DriverAction) -> &'static str {
    match action {
        DriverAction::PutForeignProfile => PUT_FOREIGN_PROFILE,
        action => action.name(),
    }
}

/// What the implementation answers to; none: all the rest.
struct To(Option<DriverAction>);

impl<'de> Deserialize<'de> for To {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        match name.as_str() {
            "default" => Ok(To(None)),
            PUT_FOREIGN_PROFILE => Ok(To(Some(DriverAction::PutForeignProfile))),
            name => DriverAction::deserialize(name.into_deserializer()).map(|action| To(Some(action))),
        }
    }
}

impl JsonSchema for Hook {
    fn schema_name() -> Cow<'static, str> {
        "Hook".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let words = json_schema!({"type": "array", "items": {"type": "string"}, "minItems": 1});
        json_schema!({
            "description": "A command: its words alone, or with more",
            "anyOf": [words, {
                "type": "object",
                "properties": {
                    "command": words,
                    "timeout": generator.subschema_for::<Span>(),
                    "env": generator.subschema_for::<BTreeMap<String, String>>(),
                },
                "required": ["command"],
                "additionalProperties": false,
            }],
        })
    }
}

impl JsonSchema for Patience {
    fn schema_name() -> Cow<'static, str> {
        "Patience".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let span = generator.subschema_for::<Span>();
        let mut names: Vec<&str> = DriverAction::ALL.map(name_in_file).into();
        names.push("default");
        json_schema!({
            "description": "One duration for all, or one for each of some actions and `default`",
            "anyOf": [span, {
                "type": "object",
                "propertyNames": {"enum": names},
                "additionalProperties": span,
            }],
        })
    }
}

impl JsonSchema for Span {
    fn schema_name() -> Cow<'static, str> {
        "Duration".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "description": "A duration with its unit, such as 30s, 2m or 1h30m"})
    }
}

impl JsonSchema for Profile {
    fn schema_name() -> Cow<'static, str> {
        "Profile".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "pattern": "^[^/]+/[^/]+$", "description": "A profile as NAMESPACE/NAME"})
    }
}

impl FromStr for Span {
    type Err = &'static str;

    fn from_str(given: &str) -> Result<Self, &'static str> {
        let span = SignedDuration::from_str(given)
            .ok()
            .and_then(|span| Duration::try_from(span).ok());
        span.filter(|span| !span.is_zero())
            .map(Span)
            .ok_or("give a duration with its unit, such as 30s, 2m or 1h30m")
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(D::Error::custom)
    }
}

impl<'de> Deserialize<'de> for Profile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let given = String::deserialize(deserializer)?;
        let key = profile_key(&given).ok_or("name a profile as NAMESPACE/NAME");
        key.map(Profile).map_err(D::Error::custom)
    }
}
