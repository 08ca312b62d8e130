//! Whether an access provider means the same to every consumer (Overview › Plugin configuration).

use evidence::{
    DriverAction, ObjectRef,
    api::{ClusterProfile, address::Address, names},
};
use serde_json::Value;

use super::providers::{Entry, effective_entries};
use crate::{
    engine::{Answer, Hub},
    subjects::Finding,
    text::{redacted, redacted_address},
};

/// The extensions that carry settings of credential plugins.
const EXTENSIONS: [&str; 3] = [
    names::EXTENSION_EXEC,
    names::EXTENSION_ARGS,
    names::EXTENSION_ENVS,
];

/// Top-level folders of Unix and macOS. Ids of resources begin with `/`, too.
const ROOTS: [&str; 21] = [
    "Users", "bin", "boot", "dev", "etc", "home", "lib", "lib64", "media", "mnt", "opt", "private", "proc",
    "root", "run", "sbin", "srv", "sys", "tmp", "usr", "var",
];

/// `access/not-environment-specific`
///
/// What an access provider and its plugin's settings contain is the same for every consumer.
///
/// A fake member of the run has a loopback address, which is not the manager's choice.
pub(in crate::rules) fn not_environment_specific(profile: &ClusterProfile, hub: &Hub) -> Answer {
    let is_fake = is_fake_member(profile, hub);
    Answer::each(effective_entries(profile), |entry| {
        let cluster = &entry.provider.cluster;
        let mut findings = Vec::new();
        if let Some(server) = cluster.server.as_deref().filter(|_| !is_fake) {
            findings.extend(address_violation(&entry, "server", server));
        }
        if let Some(proxy) = cluster.proxy_url.as_deref() {
            findings.extend(address_violation(&entry, "proxy-url", proxy));
        }
        for extension in cluster
            .extensions
            .iter()
            .filter(|extension| EXTENSIONS.contains(&&*extension.name))
        {
            let path = format!(".cluster.extensions[{}].extension", extension.name);
            add_setting_violations(&entry, path, &extension.extension.value(), &mut findings);
        }
        Answer::all(findings)
    })
}

/// Whether the profile describes a fake member that the run joined.
fn is_fake_member(profile: &ClusterProfile, hub: &Hub) -> bool {
    let is_same = |object: &ObjectRef| {
        *object.namespace == *profile.metadata.namespace && *object.name == *profile.metadata.name
    };
    hub.evidence.driver.as_ref().is_some_and(|driver| {
        let mut joins = driver
            .steps
            .iter()
            .filter(|step| step.action == DriverAction::Join);
        driver.stand_ins && joins.any(|join| join.profile.iter().chain(&join.profile_after).any(is_same))
    })
}

/// An address that means another machine to each consumer, or that only pods of one cluster reach.
fn address_violation(entry: &Entry, field: &str, text: &str) -> Option<Finding> {
    let address = Address::split(text);
    let violation = if address.is_loopback() {
        "is the reader's own machine"
    } else if address.is_in_cluster() {
        "is a Service, which only pods of one cluster reach"
    } else {
        return None;
    };
    let finding = entry.finding(&format!(".cluster.{field}"), format!("{field} {violation}"));
    Some(
        finding
            .expected("an address that every consumer reaches")
            .observed(redacted_address(text)),
    )
}

/// Adds the strings within a plugin's settings that belong to one environment.
fn add_setting_violations(entry: &Entry, path: String, value: &Value, findings: &mut Vec<Finding>) {
    match value {
        Value::String(text) => {
            let message = if holds_variable(text) {
                "setting of a plugin holds an environment variable"
            } else if is_local_path(text) {
                "setting of a plugin is a file's path, which other consumers do not have"
            } else {
                return;
            };
            let finding = entry.finding(&path, message);
            findings.push(
                finding
                    .expected("a setting that is the same for every consumer")
                    .observed(redacted(text)),
            );
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                add_setting_violations(entry, format!("{path}[{index}]"), item, findings);
            }
        }
        Value::Object(fields) => {
            for (name, value) in fields {
                add_setting_violations(entry, format!("{path}.{name}"), value, findings);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Whether a setting, or the value of an option such as `--file=/etc/x`, is a path on one machine.
fn is_local_path(text: &str) -> bool {
    let option = text.strip_prefix('-').and_then(|option| option.split_once('='));
    let text = option.map_or(text, |(_, value)| value);
    let in_root = |rest: &str| ROOTS.contains(&rest.split('/').next().unwrap_or_default());
    text == "~"
        || text.starts_with("~/")
        || text.starts_with("file://")
        || is_windows_path(text)
        || text.strip_prefix('/').is_some_and(in_root)
}

/// Whether a text is like `C:\Users` or `\\server\share`. `a://b` is a URL.
fn is_windows_path(text: &str) -> bool {
    let has_drive =
        matches!(text.as_bytes(), [drive, b':', b'\\' | b'/', _, ..] if drive.is_ascii_alphabetic());
    text.starts_with("\\\\") || (has_drive && !text[2..].starts_with("//"))
}

/// Whether a text holds `$NAME`, `${NAME}`, or `$(NAME)`. Plugins have placeholders in lower case.
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
    fn settings_of_one_environment() {
        for text in [
            "/var/run/secrets/token",
            "/etc/plugin/member.conf",
            "--kubeconfig=/home/fleet/config",
            "~/.kube/config",
            "file:///secrets/member",
            r"C:\Users\fleet\token",
            "C:/Users/fleet/token",
            r"\\files\fleet\token",
        ] {
            assert!(is_local_path(text), "{text}");
        }
        for text in [
            "$HOME/.kube/config",
            "${CLIENT_ID}",
            "$(NODE_NAME)",
            "${REGION:-north}",
            "--tenant=$TENANT",
        ] {
            assert!(holds_variable(text), "{text}");
        }
    }

    #[test]
    fn settings_of_every_environment() {
        for text in [
            "member-1",
            "/subscriptions/6dae42f8/resourceGroups/rg/providers/Microsoft.ContainerService/managedClusters/a",
            "/k8s/clusters/c-m-x7k2p9qz",
            "projects/1/locations/global/memberships/m",
            "/",
            "",
            "https://issuer.example/token",
            "x://host",
            "${cluster}",
            "$.items[0]",
            "5$",
            "US$5",
            "a$B",
        ] {
            assert!(!is_local_path(text) && !holds_variable(text), "{text}");
        }
    }
}
