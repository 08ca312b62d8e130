//! Whether released consumer libraries can use an access provider (`pkg/access` of the API's Go module).

use std::collections::BTreeSet;

use evidence::{
    Evidence,
    api::{AccessProvider, address::Address, names},
};
use serde_json::Value;

use super::entries::{Entry, NO_PROVIDER, entries};
use crate::{hash::HashMap, subjects::Findings, text::redacted};

/// What [`Extra::names`] holds for arguments that are no options.
const POSITIONAL: &str = "arguments without an option";

/// At most so many names are told of one entry.
const TOLD: usize = 5;

/// `access/portable`
///
/// No access provider depends on what v0.1.3 of the Go module drops or mixes up.
///
/// That release leaves out `tls-server-name`. It also appends an entry's arguments and variables to the provider's own,
/// and keeps them for the next cluster. Options that every entry of a provider sets are harmless: the last one counts.
pub(in crate::rules) fn portable(evidence: &Evidence, findings: &mut Findings) {
    findings.not_applicable(NO_PROVIDER);
    let entries: Vec<Entry> = entries(evidence).filter(|entry| !entry.is_replaced()).collect();
    for entry in &entries {
        findings.examine();
        let cluster = &entry.provider.cluster;
        let name = cluster.tls_server_name.as_deref().unwrap_or_default();
        let server = Address::split(cluster.server.as_deref().unwrap_or_default());
        if !name.is_empty() && !name.eq_ignore_ascii_case(server.bare_host()) {
            findings.report(
                entry
                    .finding(
                        ".cluster.tls-server-name",
                        "released consumer libraries ignore tls-server-name",
                    )
                    .expected("a server whose certificate has the server's own name")
                    .observed(redacted(name)),
            );
        }
    }
    for (extension, read) in READERS {
        judge_leaks(&entries, extension, read, findings);
    }
}

/// Reads the names of the settings in an extension.
type ReadNames = fn(&Value) -> BTreeSet<String>;

/// The extensions with settings for plugins.
const READERS: [(&str, ReadNames); 2] = [
    (names::EXTENSION_ARGS, options),
    (names::EXTENSION_ENVS, variables),
];

/// What an entry adds to its provider by one extension.
struct Extra<'a> {
    entry: &'a Entry<'a>,
    names: BTreeSet<String>,
}

/// Reports the entries that set what another entry of the same provider does not.
fn judge_leaks(entries: &[Entry], extension: &str, read: ReadNames, findings: &mut Findings) {
    let mut siblings: HashMap<&str, usize> = HashMap::default();
    let mut setters: HashMap<(&str, String), usize> = HashMap::default();
    let mut extras = Vec::new();
    for entry in entries {
        let provider = &*entry.provider.name;
        *siblings.entry(provider).or_default() += 1;
        let names = names_in(entry, extension, read);
        for name in &names {
            *setters.entry((provider, name.clone())).or_default() += 1;
        }
        if !names.is_empty() {
            extras.push(Extra { entry, names });
        }
    }
    for Extra { entry, names } in extras {
        let provider = &*entry.provider.name;
        let all = siblings[provider];
        let leaks =
            |name: &&String| all > 1 && (*name == POSITIONAL || setters[&(provider, (*name).clone())] < all);
        let leaking: Vec<&String> = names.iter().filter(leaks).collect();
        if leaking.is_empty() {
            continue;
        }
        let told: Vec<&str> = leaking.iter().take(TOLD).map(|name| name.as_str()).collect();
        let more = leaking.len() - told.len();
        let more = if more > 0 {
            format!(" and {more} more")
        } else {
            String::new()
        };
        findings.report(
            entry
                .finding(
                    &format!(".cluster.extensions[{extension}].extension"),
                    "released consumer libraries pass this on to the plugin calls for other clusters",
                )
                .expected(format!(
                    "settings that all {all} entries of provider {} have, or settings in {}",
                    redacted(provider),
                    names::EXTENSION_EXEC
                ))
                .observed(redacted(&format!("{}{more}", told.join(", ")))),
        );
    }
}

/// The names that an entry adds to its provider by one extension.
fn names_in(entry: &Entry, extension: &str, read: ReadNames) -> BTreeSet<String> {
    content(entry.provider, extension).map_or_else(BTreeSet::new, |value| read(&value))
}

fn content(provider: &AccessProvider, name: &str) -> Option<Value> {
    let mut extensions = provider.cluster.extensions.iter();
    let found = extensions.find(|extension| &*extension.name == name)?;
    Some(found.extension.value())
}

/// The options among a plugin's arguments, without their values.
fn options(arguments: &Value) -> BTreeSet<String> {
    let mut options = BTreeSet::new();
    let mut has_option = false;
    for argument in arguments
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
    {
        if argument.starts_with('-') {
            let option = argument.split('=').next().unwrap_or(argument);
            options.insert(option.to_owned());
            has_option = !argument.contains('=');
        } else if has_option {
            // The option's value.
            has_option = false;
        } else {
            options.insert(POSITIONAL.to_owned());
        }
    }
    options
}

/// The names of a plugin's variables.
fn variables(variables: &Value) -> BTreeSet<String> {
    let variables = variables.as_object().into_iter().flatten();
    variables.map(|(name, _)| name.clone()).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn options_are_told_from_their_values() {
        let of = |arguments: Value| options(&arguments).into_iter().collect::<Vec<_>>();
        assert_eq!(
            of(json!(["--audience", "a", "--tenant=b", "-v"])),
            ["--audience", "--tenant", "-v"]
        );
        assert_eq!(of(json!(["--cluster", "a", "b"])), ["--cluster", POSITIONAL]);
        assert_eq!(of(json!(["get-token", "--x=1"])), ["--x", POSITIONAL]);
        assert!(of(json!({"args": ["--x"]})).is_empty());
        assert!(of(json!([])).is_empty());
    }
}
