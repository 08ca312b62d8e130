//! The scripts under `fixtures/fidelity/`, one file per subject.

use std::{collections::BTreeMap, path::PathBuf};

use serde::Deserialize;
use serde_json::Value;

use crate::scripts;

pub fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures/fidelity")
}

/// The requests of one subject, in a namespace of their own.
#[derive(Debug)]
pub struct Script {
    /// The file's name without its extension.
    pub name: String,
    pub steps: Vec<Step>,
    /// The file's text. Values that occur in it were not made up by a server.
    pub text: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    steps: Vec<Step>,
}

/// One request. Texts may contain `${name}`: a value that an earlier step saved, or a variable of the player.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Step {
    pub name: String,
    /// Method and path: `GET ${profiles}/a`.
    pub request: String,
    /// The status code of the real API server, 0 for any. Guards against a script that does not ask what it
    /// means to.
    pub expect: u16,
    /// The user who sends it. `anonymous` sends no token, `stranger` an unknown one.
    #[serde(default = "admin")]
    pub user: String,
    /// A bearer token instead of the user's.
    pub token: Option<String>,
    /// Further headers, with their values.
    #[serde(default)]
    pub headers: BTreeMap<String, Vec<String>>,
    pub content_type: Option<String>,
    pub accept: Option<String>,
    /// Replaces the player's User-Agent, which names file and step.
    pub user_agent: Option<String>,
    /// The body, sent as JSON.
    pub body: Option<Value>,
    /// The body, sent verbatim.
    pub text: Option<String>,
    /// The items to compare in lists of the answer: those that both hubs have.
    #[serde(default)]
    pub among: Vec<Among>,
    /// JSON pointers to the compared parts of the answer. Empty compares all of it.
    #[serde(default)]
    pub only: Vec<String>,
    /// Compares the causes of a refusal in their order. Without it, any order will do, as the real API server looks at
    /// an object's fields in a random one.
    #[serde(default)]
    pub ordered: bool,
    /// Saves values of the answer for later steps, by JSON pointer.
    #[serde(default)]
    pub save: BTreeMap<String, String>,
    /// Repeats the request until the answer has the expected code and these values, by JSON pointer. For a server's
    /// background work.
    pub until: Option<BTreeMap<String, Value>>,
    /// Compacts our server's history before this request. A real server compacts on a schedule: use `until`.
    #[serde(default)]
    pub forget_history: bool,
    /// For a watch: steps to play while it is open.
    #[serde(default)]
    pub meanwhile: Vec<Step>,
    /// For a watch: the number of events to read then.
    pub events: Option<usize>,
    /// For a watch: true if it must then end by itself.
    #[serde(default)]
    pub ends: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Among {
    pub list: String,
    /// JSON pointer to an item's name.
    pub key: String,
    pub names: Vec<String>,
}

fn admin() -> String {
    "admin".to_owned()
}

impl Script {
    pub fn all() -> Vec<Self> {
        let scripts = scripts::read_all(&folder()).into_iter();
        scripts
            .map(|(name, text, file)| Self::new(name, text, file))
            .collect()
    }

    /// A script that no file contains.
    pub fn made(name: &str, steps: Vec<Value>) -> Self {
        let text = Value::from(steps.clone()).to_string();
        let steps = steps.into_iter().map(serde_json::from_value::<Step>);
        Self {
            name: name.to_owned(),
            steps: steps.map(|step| step.expect("a step")).collect(),
            text,
        }
    }

    fn new(name: String, text: String, File { steps }: File) -> Self {
        let script = Self { name, steps, text };
        let mut names = script.step_names();
        names.sort_unstable();
        let twice = names.windows(2).find(|pair| pair[0] == pair[1]);
        assert_eq!(twice, None, "{}: two steps have a name", script.name);
        script
    }

    /// The names of all steps, including those within watches.
    pub fn step_names(&self) -> Vec<&str> {
        fn collect<'a>(steps: &'a [Step], names: &mut Vec<&'a str>) {
            for step in steps {
                names.push(&step.name);
                collect(&step.meanwhile, names);
            }
        }
        let mut names = Vec::new();
        collect(&self.steps, &mut names);
        names
    }
}
