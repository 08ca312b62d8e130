//! The configuration file: what it says of each flag.

use std::{collections::BTreeMap, path::Path};

use clap::{Args as _, Command};
use evidence::{About, Environment, Implementation, Submitter, api::UnknownName, user_file};
use serde::Deserialize;
use serde_json::Value;

use super::{
    ABOUT, API_VERSION, KIND, Setting, WORDS,
    keys::{camel_case, keys},
};
use crate::command::run::Run;

#[derive(Debug)]
pub struct ConfigFile {
    pub about: About,
    pub settings: Vec<Setting>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FileText {
    api_version: Option<String>,
    kind: Option<String>,
    implementation: Option<Implementation>,
    submitted_by: Option<Submitter>,
    environment: Option<Environment>,
    #[serde(flatten)]
    settings: BTreeMap<String, Value>,
}

impl ConfigFile {
    /// Reads the file at a path. Each of its values is valid for its flag, and its relative paths start at its folder.
    pub fn parse(text: &str, path: &Path) -> Result<Self, String> {
        let file: FileText = user_file::read(text).map_err(|error| error.to_string())?;
        for (key, value, expected) in [
            ("apiVersion", &file.api_version, API_VERSION),
            ("kind", &file.kind, KIND),
        ] {
            if value.as_deref() != Some(expected) {
                let value = value.as_deref().unwrap_or("nothing");
                return Err(format!("expected `{key}: {expected}`, got {value}"));
            }
        }
        let run = Run::augment_args(Command::new("run"));
        let folder = path.parent().unwrap_or(Path::new(""));
        let mut settings: Vec<Setting> = Vec::new();
        for (name, value) in &file.settings {
            let place = place_of(text, name);
            let setting = read_setting(&run, folder, name, value).map_err(|why| format!("{place}{why}"))?;
            if let Some(other) = settings.iter().find(|other| setting.conflicts_with(other, &run)) {
                return Err(format!(
                    "{place}{} cannot be used with {}",
                    setting.name, other.name
                ));
            }
            // A switch that is off and an empty list are as without them.
            settings.extend((!setting.values.is_empty()).then_some(setting));
        }
        for setting in &mut settings {
            setting.name += &format!(" of {}", path.display());
        }
        Ok(Self {
            about: About {
                implementation: file.implementation,
                submitted_by: file.submitted_by,
                environment: file.environment,
            },
            settings,
        })
    }
}

fn read_setting(run: &Command, folder: &Path, name: &str, value: &Value) -> Result<Setting, String> {
    let Some(key) = keys(run).find(|key| key.name == name) else {
        return Err(unknown_key(run, name));
    };
    let texts = key.texts(value).map_err(|why| format!("`{name}`: {why}"))?;
    let is_path = |text: &str| key.is_path() && !WORDS.contains(&text);
    let values = texts.into_iter().map(|text| {
        if is_path(&text) {
            folder.join(text).into_os_string()
        } else {
            text.into()
        }
    });
    let setting = Setting {
        name: format!("`{name}`"),
        id: key.arg.get_id().to_string(),
        values: values.collect(),
    };
    setting.check(key.arg).map_err(|why| format!("`{name}`: {why}"))?;
    Ok(setting)
}

fn unknown_key(run: &Command, name: &str) -> String {
    let known: Vec<String> = keys(run).map(|key| key.name).collect();
    let known = known.iter().map(String::as_str).chain(ABOUT);
    let mut unknown = UnknownName::among("key", &camel_case(name), known);
    name.clone_into(&mut unknown.given);
    match unknown.nearest {
        Some(_) => unknown.to_string(),
        None => format!(
            "{unknown}: the keys are the flags of `run` in camelCase, {}",
            ABOUT.join(", ")
        ),
    }
}

/// Where the file has a key, such as `line 3: `; empty if the key does not begin a line.
fn place_of(text: &str, key: &str) -> String {
    let is_key = |line: &str| {
        line.strip_prefix(key)
            .is_some_and(|rest| rest.trim_start().starts_with(':'))
    };
    let line = text.lines().position(is_key);
    line.map_or_else(String::new, |line| format!("line {}: ", line + 1))
}
