//! Reads the provider file, which names the plugin of each access provider. It has the format of the inventory's
//! consumers, in JSON or YAML.

use std::{
    collections::BTreeSet,
    env, fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use evidence::{LARGEST_TEXT, api::UnknownName, read_text};
use serde_json::{Map, Value};

use super::{
    call::is_variable,
    error::{NoProgram, ProviderFlaw, ProvidersError, ProvidersFlaw},
    plan::{ArgsPolicy, EnvsPolicy, Plugins, Protocol, Provider},
    process::Processes,
};
use crate::connect::messages::read_quietly;

/// The keys of a provider, of its plugin and of a variable.
const OF_PROVIDER: [&str; 4] = [
    "name",
    "execConfig",
    "profileSourcedCLIArgsPolicy",
    "profileSourcedEnvVarsPolicy",
];
const OF_EXEC: [&str; 7] = [
    "apiVersion",
    "command",
    "args",
    "env",
    "installHint",
    "interactiveMode",
    "provideClusterInfo",
];
const OF_VARIABLE: [&str; 2] = ["name", "value"];
/// The interactive modes. None makes a difference: the suite gives plugins no terminal.
const INTERACTIVE: [&str; 3] = ["Never", "IfAvailable", "Always"];

/// Reads a provider file, and finds the plugins that it names. Runs none.
///
/// # Errors
/// When the file cannot be used, or a plugin is not installed.
pub fn read_providers(path: &Path) -> Result<Plugins, ProvidersError> {
    let text = read_text(path, LARGEST_TEXT).map_err(|source| ProvidersError::Unreadable {
        path: path.to_owned(),
        source,
    })?;
    let listed = parse(&text).map_err(|flaw| ProvidersError::Malformed {
        path: path.to_owned(),
        source: Box::new(flaw),
    })?;
    let mut providers = Vec::new();
    for (mut provider, hint) in listed {
        let folder = path.parent().unwrap_or(Path::new(""));
        provider.command = find(&provider.command, folder).map_err(|source| ProvidersError::Missing {
            path: path.to_owned(),
            provider: provider.name.clone(),
            source,
            hint,
        })?;
        providers.push(provider);
    }
    Ok(Plugins {
        providers,
        runner: Arc::new(Processes::default()),
    })
}

/// Reads the file's text: the providers with their commands as they are given, and the hints of how to install these.
fn parse(text: &str) -> Result<Vec<(Provider, Option<String>)>, ProvidersFlaw> {
    let file: Value = read_quietly(text)?;
    let list = match fields(&file, &["providers"])?.get("providers") {
        Some(Value::Array(list)) if !list.is_empty() => list,
        _ => return Err(ProvidersFlaw::Empty),
    };
    let (mut providers, mut known) = (Vec::new(), BTreeSet::new());
    for (index, entry) in list.iter().enumerate() {
        let (provider, hint) = read(entry).map_err(|source| ProvidersFlaw::Provider {
            number: index + 1,
            name: entry["name"].as_str().map(str::to_owned),
            source,
        })?;
        if !known.insert(provider.name.clone()) {
            return Err(ProvidersFlaw::Repeated(provider.name));
        }
        providers.push((provider, hint));
    }
    Ok(providers)
}

/// Reads a provider with its command as it is given, and its hint of how to install that.
///
/// # Errors
/// What is wrong with it; quotes no value that may be secret.
fn read(entry: &Value) -> Result<(Provider, Option<String>), ProviderFlaw> {
    let entry = fields(entry, &OF_PROVIDER)?;
    let name = text(entry, "name")?.ok_or(ProviderFlaw::NoName)?;
    let exec = entry.get("execConfig").ok_or(ProviderFlaw::NoExec)?;
    let exec = fields(exec, &OF_EXEC).map_err(|flaw| ProviderFlaw::Exec(Box::new(flaw)))?;
    let version = text(exec, "apiVersion")?.ok_or(ProviderFlaw::Missing("apiVersion"))?;
    let protocol = pick("apiVersion", &version, &Protocol::ALL.map(Protocol::api_version))?;
    if let Some(mode) = text(exec, "interactiveMode")? {
        pick("interactiveMode", &mode, &INTERACTIVE)?;
    }
    let cluster_info = match exec.get("provideClusterInfo") {
        None | Some(Value::Null) => false,
        Some(Value::Bool(given)) => *given,
        Some(_) => return Err(ProviderFlaw::NotBool),
    };
    let args = match policy(entry, "profileSourcedCLIArgsPolicy", &["Ignore", "Append"])? {
        0 => ArgsPolicy::Ignore,
        _ => ArgsPolicy::Append,
    };
    let known = ["Ignore", "AppendIfNotExists", "Replace"];
    let envs = match policy(entry, "profileSourcedEnvVarsPolicy", &known)? {
        0 => EnvsPolicy::Ignore,
        1 => EnvsPolicy::AppendIfNotExists,
        _ => EnvsPolicy::Replace,
    };
    let provider = Provider {
        name,
        command: text(exec, "command")?
            .ok_or(ProviderFlaw::Missing("command"))?
            .into(),
        args: list(exec, "args")?
            .iter()
            .map(argument)
            .collect::<Result<_, _>>()?,
        env: list(exec, "env")?
            .iter()
            .map(variable)
            .collect::<Result<_, _>>()?,
        protocol: Protocol::ALL[protocol],
        cluster_info,
        additional_args: args,
        additional_envs: envs,
    };
    Ok((provider, text(exec, "installHint")?))
}

/// Finds the program: a bare name on the PATH, a path relative to the file's folder.
pub(crate) fn find(command: &Path, folder: &Path) -> Result<PathBuf, NoProgram> {
    if command.components().count() > 1 || command.is_absolute() {
        let place = folder.join(command);
        // A relative path would be resolved against another folder.
        let place = std::path::absolute(&place).unwrap_or(place);
        return if is_program(&place) {
            Ok(place)
        } else {
            Err(NoProgram::Path(place))
        };
    }
    let places = env::var_os("PATH").unwrap_or_default();
    let mut places = env::split_paths(&places).map(|place| place.join(command));
    places
        .find(|place| is_program(place))
        .ok_or_else(|| NoProgram::Name(command.display().to_string()))
}

fn is_program(path: &Path) -> bool {
    let Ok(metadata) = fs::metadata(path) else {
        return false;
    };
    #[cfg(unix)]
    let may_run = std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o111 != 0;
    #[cfg(not(unix))]
    let may_run = true;
    metadata.is_file() && may_run
}

/// Returns the fields of a mapping, if all are known.
fn fields<'a, const N: usize>(
    value: &'a Value,
    known: &[&'static str; N],
) -> Result<&'a Map<String, Value>, ProviderFlaw> {
    let fields = value.as_object().ok_or(ProviderFlaw::NotMapping)?;
    match fields.keys().find(|key| !known.contains(&key.as_str())) {
        Some(unknown) => Err(UnknownName::among("key", unknown, *known).into()),
        None => Ok(fields),
    }
}

/// Reads a text; none if it is absent or empty.
fn text(fields: &Map<String, Value>, key: &'static str) -> Result<Option<String>, ProviderFlaw> {
    match fields.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text.contains('\0') => Err(ProviderFlaw::Nul(key)),
        Some(Value::String(text)) => Ok((!text.is_empty()).then(|| text.clone())),
        Some(_) => Err(ProviderFlaw::NotText(key)),
    }
}

fn list<'a>(fields: &'a Map<String, Value>, key: &'static str) -> Result<&'a [Value], ProviderFlaw> {
    match fields.get(key) {
        None | Some(Value::Null) => Ok(&[]),
        Some(Value::Array(list)) => Ok(list),
        Some(_) => Err(ProviderFlaw::NotList(key)),
    }
}

fn argument(value: &Value) -> Result<String, ProviderFlaw> {
    let text = value.as_str().filter(|text| !text.contains('\0'));
    text.map(str::to_owned).ok_or(ProviderFlaw::Arguments)
}

fn variable(value: &Value) -> Result<(String, String), ProviderFlaw> {
    let fields = fields(value, &OF_VARIABLE).map_err(|flaw| ProviderFlaw::Env(Box::new(flaw)))?;
    let text = |key: &str| fields.get(key).and_then(Value::as_str).unwrap_or_default();
    let (name, value) = (text("name"), text("value"));
    let is_text = fields.values().all(Value::is_string);
    if is_text && is_variable(name, value) {
        Ok((name.to_owned(), value.to_owned()))
    } else {
        Err(ProviderFlaw::Variable)
    }
}

/// Returns the index of the policy; the first if none is set.
fn policy(
    fields: &Map<String, Value>,
    key: &'static str,
    known: &[&'static str],
) -> Result<usize, ProviderFlaw> {
    match text(fields, key)? {
        Some(given) => pick(key, &given, known),
        None => Ok(0),
    }
}

fn pick(what: &'static str, given: &str, known: &[&'static str]) -> Result<usize, ProviderFlaw> {
    let found = known.iter().position(|known| *known == given);
    found.ok_or_else(|| ProviderFlaw::Choice {
        name: UnknownName::among(what, given, known.iter().copied()),
        known: known.to_vec(),
    })
}
