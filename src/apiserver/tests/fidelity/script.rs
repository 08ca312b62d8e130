//! The scripts: one file for each subject under `fixtures/fidelity/`.

use std::{collections::BTreeMap, path::PathBuf};

use serde::Deserialize;
use serde_json::Value;

use super::scripts;

/// Where the scripts and what belongs to them are.
pub fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures/fidelity")
}

/// The requests of one subject, in a namespace of their own.
#[derive(Debug)]
pub struct Script {
    /// The file's name without its extension.
    pub name: String,
    pub steps: Vec<Step>,
    /// The file itself: what stands in it is not taken for something that a server made up.
    pub text: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    steps: Vec<Step>,
}

/// One request. Texts may hold `${name}`: a value that an earlier step saved, or one of the player's own.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Step {
    /// What is asked; unique within the file.
    pub name: String,
    /// Method and path: `GET ${profiles}/a`.
    pub request: String,
    /// The code that the real API server answers with, 0 for any. Guards against a script that does not ask what it
    /// means to.
    pub expect: u16,
    /// Who asks; `nobody` sends no token, `stranger` one that is unknown.
    #[serde(default = "admin")]
    pub user: String,
    /// The bearer token, in place of the user's.
    #[serde(default)]
    pub token: Option<String>,
    /// What is sent besides: the values of each header.
    #[serde(default)]
    pub headers: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    pub content_type: Option<String>,
    #[serde(default)]
    pub accept: Option<String>,
    /// Makes the User-Agent another than the player's own, which tells file and step.
    #[serde(default)]
    pub user_agent: Option<String>,
    /// What is sent, as JSON.
    #[serde(default)]
    pub body: Option<Value>,
    /// What is sent, as it is.
    #[serde(default)]
    pub text: Option<String>,
    /// What is sent, in base64.
    #[serde(default)]
    pub bytes: Option<String>,
    /// Of lists in the answer, which items are compared: those that both hubs have.
    #[serde(default)]
    pub among: Vec<Among>,
    /// The parts of the answer that are compared, by JSON pointer; all of it, if there are none.
    #[serde(default)]
    pub only: Vec<String>,
    /// Values of the answer for later steps, by JSON pointer.
    #[serde(default)]
    pub save: BTreeMap<String, String>,
    /// The request is repeated until it is answered with the expected code and these values, by JSON pointer. For
    /// what a server does in its own time.
    #[serde(default)]
    pub until: Option<BTreeMap<String, Value>>,
    /// Before this request our server compacts its history. A real one does so by and by: use `until`.
    #[serde(default)]
    pub forget_history: bool,
    /// For a watch: the steps that are done while it is open.
    #[serde(default)]
    pub meanwhile: Vec<Step>,
    /// For a watch: how many events are then read.
    #[serde(default)]
    pub events: Option<usize>,
    /// For a watch: whether it then has to end by itself.
    #[serde(default)]
    pub ends: bool,
}

/// Some of the items of a list.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Among {
    /// Where the list is, as JSON pointer.
    pub list: String,
    /// Where the name of an item is.
    pub key: String,
    pub names: Vec<String>,
}

fn admin() -> String {
    "admin".to_owned()
}

impl Script {
    /// All scripts, by name.
    pub fn all() -> Vec<Self> {
        scripts::of(&folder())
            .iter()
            .map(|path| Self::read(path))
            .collect()
    }

    fn read(path: &std::path::Path) -> Self {
        let text = std::fs::read_to_string(path).expect("a script is readable");
        let options = serde_saphyr::options! { strict_booleans: true };
        let file: File = serde_saphyr::from_str_with_options(&text, options)
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let name = path.file_stem().expect("a script has a name");
        let script = Self {
            name: name.to_string_lossy().into_owned(),
            steps: file.steps,
            text,
        };
        let mut names = script.step_names();
        names.sort_unstable();
        let twice = names.windows(2).find(|pair| pair[0] == pair[1]);
        assert!(
            twice.is_none(),
            "{}: two steps have a name: {twice:?}",
            script.name
        );
        script
    }

    /// The names of all steps, those within watches too.
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
