//! Whether an access provider is the same for every consumer (Overview › Plugin configuration).

use evidence::api::{
    Extension,
    address::{Address, Fault, Schemes, endpoint_fault, without_path},
    names,
};
use serde_json::Value;

use super::entries::{Entry, each_present};
use crate::{
    subjects::{Finding, Findings, Profiles},
    text::{redacted, redacted_address},
};

/// At most so many settings of one entry are told one by one.
const MOST: usize = 20;

/// The extensions that carry settings of credential plugins.
const EXTENSIONS: [&str; 3] = [
    names::EXTENSION_EXEC,
    names::EXTENSION_ARGS,
    names::EXTENSION_ENVS,
];

/// First folders of paths on Unix and macOS.
const ROOTS: [&str; 21] = [
    "Users", "bin", "boot", "dev", "etc", "home", "lib", "lib64", "media", "mnt", "opt", "private", "proc",
    "root", "run", "sbin", "srv", "sys", "tmp", "usr", "var",
];

/// Endings of the files that credential plugins read.
const ENDINGS: [&str; 16] = [
    "cfg",
    "conf",
    "crt",
    "der",
    "env",
    "ini",
    "json",
    "jwt",
    "key",
    "kubeconfig",
    "p12",
    "pem",
    "pfx",
    "toml",
    "yaml",
    "yml",
];

/// Last words in the names of settings that hold a path.
const OF_PATHS: [&str; 5] = ["dir", "directory", "file", "folder", "kubeconfig"];

/// Last words in the names of settings that hold an address. An audience or an issuer is no address: it only looks so.
const OF_ADDRESSES: [&str; 7] = ["addr", "address", "endpoint", "host", "proxy", "server", "url"];

/// `access/not-environment-specific`
///
/// What an access provider and its plugin's settings hold is the same for every consumer.
pub(in crate::rules) fn not_environment_specific(profiles: &Profiles, findings: &mut Findings) {
    each_present(profiles, findings, |entry| {
        let mut faults = Vec::new();
        let cluster = &entry.provider.cluster;
        for (field, address) in [("server", &cluster.server), ("proxy-url", &cluster.proxy_url)] {
            let address = address.as_deref().unwrap_or_default();
            if let Some(what) = whose(address) {
                faults.push(
                    entry
                        .finding(&format!(".cluster.{field}"), format!("{field} {what}"))
                        .expected("an address that every consumer reaches")
                        .observed(redacted_address(address)),
                );
            }
        }
        let extensions = cluster.extensions.iter();
        for extension in extensions.filter(|extension| EXTENSIONS.contains(&&*extension.name)) {
            judge_settings(entry, extension, &mut faults);
        }
        faults
    });
}

/// What is special about an address that means something else to each reader.
fn whose(text: &str) -> Option<&'static str> {
    let address = Address::split(text);
    let what = if address.is_loopback() {
        "is the reader's own machine"
    } else if address.is_in_cluster() {
        "is a Service, which only pods of one cluster reach"
    } else {
        return None;
    };
    // Malformed addresses are another rule's matter.
    let fault = endpoint_fault(without_path(text), Schemes::Any);
    matches!(fault, None | Some(Fault::NoPort)).then_some(what)
}

fn judge_settings(entry: Entry, extension: &Extension, faults: &mut Vec<Finding>) {
    // Nearly all settings are plain names.
    let json = extension.extension.text();
    let hosts = ["localhost", ".svc", "127.", "::1"];
    if !json.contains(['/', '\\', '$', '~']) && !hosts.iter().any(|host| json.contains(host)) {
        return;
    }
    let mut settings = Vec::new();
    collect(String::new(), "", &extension.extension.value(), &mut settings);
    for setting in settings.iter().take(MOST) {
        let path = format!(
            ".cluster.extensions[{}].extension{}",
            extension.name, setting.path
        );
        faults.push(
            entry
                .finding(&path, setting.what)
                .expected("a setting that is the same for every consumer")
                .observed(redacted(&setting.text)),
        );
    }
}

/// A setting that belongs to one environment.
struct Setting {
    path: String,
    what: &'static str,
    text: String,
}

/// Adds the settings of one environment within a value.
fn collect(path: String, key: &str, value: &Value, settings: &mut Vec<Setting>) {
    match value {
        Value::String(text) => {
            if let Some(what) = flaw(key, text) {
                let text = text.clone();
                settings.push(Setting { path, what, text });
            }
        }
        Value::Array(items) => {
            let mut option = None;
            for (index, item) in items.iter().enumerate() {
                collect(format!("{path}[{index}]"), option.unwrap_or(key), item, settings);
                // An option's value follows it.
                option = item
                    .as_str()
                    .filter(|item| item.starts_with('-') && !item.contains('='));
            }
        }
        Value::Object(fields) => {
            for (name, value) in fields {
                collect(format!("{path}.{name}"), name, value, settings);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// What ties a setting to one environment.
fn flaw(key: &str, text: &str) -> Option<&'static str> {
    let (key, text) = match text.split_once('=') {
        Some((option, value)) if text.starts_with('-') => (option, value),
        _ => (key, text),
    };
    if holds_variable(text) {
        Some("setting of a plugin holds an environment variable")
    } else if is_path(key, text) {
        Some("setting of a plugin is a file's path, which other consumers do not have")
    } else if ends_in(key, &OF_ADDRESSES) && whose(text).is_some() {
        Some("setting of a plugin is an address within one machine or cluster")
    } else {
        None
    }
}

/// Returns `true` if the last word of a name is one of these.
fn ends_in(key: &str, words: &[&str]) -> bool {
    let key = key.to_ascii_lowercase();
    let mut parts = key.rsplit(|c: char| !c.is_ascii_alphanumeric());
    let last = parts.next().unwrap_or_default();
    // A profile is no file.
    !last.ends_with("profile") && words.iter().any(|word| last.ends_with(word))
}

/// Returns `true` for an absolute path, or one from somebody's home. Ids of resources and paths of URLs look alike
/// (`/subscriptions/…`, `/k8s/clusters/…`), so something must tell that a file is meant.
fn is_path(key: &str, text: &str) -> bool {
    let (is_file_url, text) = match text.strip_prefix("file://") {
        Some(path) => (true, path),
        None => (false, text),
    };
    let bytes = text.as_bytes();
    let is_of_windows = matches!(bytes, [drive, b':', b'\\' | b'/', _, ..] if drive.is_ascii_alphabetic())
        && !text[2..].starts_with("//");
    if is_of_windows || text.starts_with("\\\\") || text.starts_with("~/") || text == "~" {
        return true;
    }
    let Some(rest) = text.strip_prefix('/') else {
        return false;
    };
    let root = rest.split('/').next().unwrap_or_default();
    let name = rest.rsplit('/').next().unwrap_or_default();
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    is_file_url
        || ROOTS.contains(&root)
        || ENDINGS.iter().any(|known| ending.eq_ignore_ascii_case(known))
        || (ends_in(key, &OF_PATHS) && !rest.is_empty())
}

/// Returns `true` if a text holds `$NAME`, `${NAME}` or `$(NAME)`. Names in small letters are placeholders of plugins
/// rather than variables.
fn holds_variable(text: &str) -> bool {
    text.match_indices('$').any(|(at, _)| {
        let rest = &text[at + 1..];
        let (rest, close) = match rest.as_bytes().first() {
            Some(b'{') => (&rest[1..], Some('}')),
            Some(b'(') => (&rest[1..], Some(')')),
            _ => (rest, None),
        };
        let ends = |c: char| !(c.is_ascii_alphanumeric() || c == '_');
        let (name, after) = rest.split_at(rest.find(ends).unwrap_or(rest.len()));
        let is_name = name.len() > 1
            && name.starts_with(|c: char| c.is_ascii_uppercase() || c == '_')
            && !name.contains(|c: char| c.is_ascii_lowercase());
        is_name && close.is_none_or(|close| after.starts_with([close, ':']))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_of_one_environment_and_of_all() {
        for (key, text) in [
            ("tokenFile", "/var/run/secrets/token"),
            ("x", "/etc/plugin/member.conf"),
            ("x", "/data/member.kubeconfig"),
            ("cacheDir", "/cache"),
            ("--token-file", "/tokens/member"),
            ("", "--kubeconfig=/secrets/member"),
            ("x", "~/.kube/config"),
            ("x", "file:///secrets/member"),
            ("x", r"C:\Users\fleet\token"),
            ("x", "$HOME/.kube/config"),
            ("x", "${CLIENT_ID}"),
            ("x", "$(NODE_NAME)"),
            ("x", "${REGION:-north}"),
            ("", "--tenant=$TENANT"),
            ("VAULT_ADDR", "http://127.0.0.1:8200"),
            ("tokenUrl", "https://issuer.auth.svc/token"),
            ("host", "localhost"),
        ] {
            assert!(flaw(key, text).is_some(), "{key}: {text}");
        }
        for (key, text) in [
            ("clusterName", "member-1"),
            (
                "resourceId",
                "/subscriptions/6dae42f8/resourceGroups/rg/providers/Microsoft.ContainerService/managedClusters/a",
            ),
            ("path", "/k8s/clusters/c-m-x7k2p9qz"),
            ("x", "projects/1/locations/global/memberships/m"),
            ("x", "/"),
            ("audience", "https://kubernetes.default.svc"),
            ("--audience", "https://kubernetes.default.svc.cluster.local"),
            ("issuer", "https://kubernetes.default.svc"),
            ("url", "https://issuer.example/token"),
            ("url", "https://api.svc.example"),
            ("template", "${cluster}"),
            ("query", "$.items[0]"),
            ("price", "5$"),
            ("price", "US$5"),
            ("x", "a$B"),
            ("x", ""),
            ("profile", "/team"),
            ("scope", "https://management.example/.default"),
        ] {
            assert_eq!(flaw(key, text), None, "{key}: {text}");
        }
    }
}
