//! The provider file: which plugin yields credentials for which access provider. Its form is that of the inventory's
//! consumers, in JSON or YAML.

use std::{
    collections::BTreeSet,
    env, fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use evidence::api::UnknownName;
use serde_json::{Map, Value};

use super::{
    call::is_variable,
    plan::{ArgsPolicy, EnvsPolicy, Plugins, Protocol, Provider},
    process::Processes,
};
use crate::words::read_quietly;

/// What a provider file may look like, for errors.
const EXAMPLE: &str = "give for each provider a name and an execConfig with apiVersion and command, such as \
                       `providers: [{name: secretreader, execConfig: {apiVersion: client.authentication.k8s.io/v1, \
                       command: ./secretreader, provideClusterInfo: true}}]`";

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
/// None of them makes a difference: the suite has no terminal to lend.
const INTERACTIVE: [&str; 3] = ["Never", "IfAvailable", "Always"];

/// Why a provider file cannot be used. No message quotes an argument or a variable's value.
#[derive(Debug, thiserror::Error)]
pub enum ProvidersError {
    /// The file cannot be read.
    #[error("failed to read the provider file {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },

    /// The file does not say what it should.
    #[error("failed to use the provider file {}: {flaw}; {EXAMPLE}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        flaw: String,
    },

    /// A plugin is not on this machine.
    #[error("failed to use the provider file {}: provider `{provider}`: {flaw}", path.display())]
    Missing {
        /// The file.
        path: PathBuf,
        /// The provider's name.
        provider: String,
        /// Where it was looked for, and the file's own hint.
        flaw: String,
    },
}

/// Reads a provider file, and finds the plugins that it names. None is run yet.
///
/// # Errors
/// When the file cannot be used, or a plugin is not there.
pub fn read_providers(path: &Path) -> Result<Plugins, ProvidersError> {
    let malformed = |flaw: String| ProvidersError::Malformed {
        path: path.to_owned(),
        flaw,
    };
    let text = fs::read_to_string(path).map_err(|source| ProvidersError::Unreadable {
        path: path.to_owned(),
        source,
    })?;
    let file: Value = read_quietly(&text).map_err(|flaw| malformed(flaw.to_string()))?;
    let file = fields(&file, &["providers"]).map_err(malformed)?;
    let list = match file.get("providers") {
        Some(Value::Array(list)) if !list.is_empty() => list,
        _ => return Err(malformed("it lists no providers".to_owned())),
    };
    let (mut providers, mut known) = (Vec::new(), BTreeSet::new());
    for (number, entry) in list.iter().enumerate() {
        let (mut provider, hint) = read(entry).map_err(|flaw| {
            malformed(match entry["name"].as_str() {
                Some(name) => format!("provider `{name}`: {flaw}"),
                None => format!("provider {}: {flaw}", number + 1),
            })
        })?;
        if !known.insert(provider.name.clone()) {
            return Err(malformed(format!(
                "it has two providers of the name `{}`",
                provider.name
            )));
        }
        let folder = path.parent().unwrap_or(Path::new(""));
        provider.command = find(&provider.command, folder).map_err(|flaw| ProvidersError::Missing {
            path: path.to_owned(),
            provider: provider.name.clone(),
            flaw: match hint.as_str() {
                "" => flaw,
                hint => format!("{flaw} ({hint})"),
            },
        })?;
        providers.push(provider);
    }
    Ok(Plugins {
        providers,
        runner: Arc::new(Processes::default()),
    })
}

/// Reads a provider with its command as it is given, and its hint of how to install that.
///
/// # Errors
/// What is wrong with it; quotes no value that may be secret.
fn read(entry: &Value) -> Result<(Provider, String), String> {
    let entry = fields(entry, &OF_PROVIDER)?;
    let name = text(entry, "name")?.ok_or("it has no name")?;
    let exec = entry.get("execConfig").ok_or("it has no execConfig")?;
    let exec = fields(exec, &OF_EXEC).map_err(|flaw| format!("its execConfig: {flaw}"))?;
    let version = text(exec, "apiVersion")?.ok_or("its execConfig has no apiVersion")?;
    let protocol = pick("apiVersion", &version, &Protocol::ALL.map(Protocol::api_version))?;
    if let Some(mode) = text(exec, "interactiveMode")? {
        pick("interactiveMode", &mode, &INTERACTIVE)?;
    }
    let cluster_info = match exec.get("provideClusterInfo") {
        None | Some(Value::Null) => false,
        Some(Value::Bool(given)) => *given,
        Some(_) => return Err("its provideClusterInfo is neither true nor false".to_owned()),
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
            .ok_or("its execConfig has no command")?
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
    Ok((provider, text(exec, "installHint")?.unwrap_or_default()))
}

/// Where the program is. A name alone is looked for where programs are; anything else as seen from the file.
fn find(command: &Path, folder: &Path) -> Result<PathBuf, String> {
    let told = command.display();
    if command.components().count() > 1 || command.is_absolute() {
        let place = folder.join(command);
        // A relative program would be looked for as seen from elsewhere.
        let place = std::path::absolute(&place).unwrap_or(place);
        return if is_program(&place) {
            Ok(place)
        } else {
            Err(format!("its command {} is no program", place.display()))
        };
    }
    let places = env::var_os("PATH").unwrap_or_default();
    let mut places = env::split_paths(&places).map(|place| place.join(command));
    places
        .find(|place| is_program(place))
        .ok_or_else(|| format!("its command `{told}` is not on the PATH"))
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

/// The fields of a mapping that has only known ones.
fn fields<'a, const N: usize>(
    value: &'a Value,
    known: &[&'static str; N],
) -> Result<&'a Map<String, Value>, String> {
    let fields = value.as_object().ok_or("it is no mapping")?;
    match fields.keys().find(|key| !known.contains(&key.as_str())) {
        Some(unknown) => Err(UnknownName::among("key", unknown, *known).to_string()),
        None => Ok(fields),
    }
}

/// A text that is there and not empty.
fn text(fields: &Map<String, Value>, key: &str) -> Result<Option<String>, String> {
    match fields.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text.contains('\0') => Err(format!("its {key} has a NUL in it")),
        Some(Value::String(text)) => Ok((!text.is_empty()).then(|| text.clone())),
        Some(_) => Err(format!("its {key} is no text")),
    }
}

fn list<'a>(fields: &'a Map<String, Value>, key: &str) -> Result<&'a [Value], String> {
    match fields.get(key) {
        None | Some(Value::Null) => Ok(&[]),
        Some(Value::Array(list)) => Ok(list),
        Some(_) => Err(format!("its {key} is no list")),
    }
}

fn argument(value: &Value) -> Result<String, String> {
    let text = value.as_str().filter(|text| !text.contains('\0'));
    text.map(str::to_owned)
        .ok_or_else(|| "its args are not all text".to_owned())
}

fn variable(value: &Value) -> Result<(String, String), String> {
    let fields = fields(value, &OF_VARIABLE).map_err(|flaw| format!("its env: {flaw}"))?;
    let text = |key: &str| fields.get(key).and_then(Value::as_str).unwrap_or_default();
    let (name, value) = (text("name"), text("value"));
    let is_text = fields.values().all(Value::is_string);
    if is_text && is_variable(name, value) {
        Ok((name.to_owned(), value.to_owned()))
    } else {
        Err("its env is no list of names and values that an environment can have".to_owned())
    }
}

/// Which of the policies is set; the first where none is.
fn policy(fields: &Map<String, Value>, key: &'static str, known: &[&'static str]) -> Result<usize, String> {
    match text(fields, key)? {
        Some(given) => pick(key, &given, known),
        None => Ok(0),
    }
}

fn pick(what: &'static str, given: &str, known: &[&'static str]) -> Result<usize, String> {
    let found = known.iter().position(|known| *known == given);
    found.ok_or_else(|| {
        let unknown = UnknownName::among(what, given, known.iter().copied());
        format!("{unknown} (there are {})", known.join(", "))
    })
}
