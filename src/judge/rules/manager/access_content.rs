//! The suite `access`: what access providers contain means the same to every consumer, has the right format, and no profile
//! contains a credential (Overview › Plugin configuration, KEP-5339 › Passing plugin configuration via extensions).

use evidence::{
    DriverAction,
    api::{Extension, address::Address},
    leak::{Grade, Leak, leaks_in_text, leaks_under},
};
use serde_json::Value as Json;

use super::access::{ProviderEntry, all_entries, effective_entries};
use crate::{
    rules::prelude::{leaks_at, leaks_in_metadata, no_leaks, *},
    text::{decode_base64, redacted_address},
};

/// The extensions that carry settings of credential plugins.
const EXTENSIONS: [&str; 3] = [EXTENSION_EXEC, EXTENSION_ARGS, EXTENSION_ENVS];

/// Top-level folders of Unix and macOS. Ids of resources begin with `/`, too.
const ROOTS: [&str; 21] = [
    "Users", "bin", "boot", "dev", "etc", "home", "lib", "lib64", "media", "mnt", "opt", "private", "proc",
    "root", "run", "sbin", "srv", "sys", "tmp", "usr", "var",
];

/// `access/not-environment-specific`: what an access provider and its plugin's settings contain is the same for every
/// consumer.
///
/// A fake member of the run has a loopback address, which is not the manager's choice.
pub(crate) fn not_environment_specific(profile: &ClusterProfile, hub: &Hub) -> Answer {
    let is_fake = is_fake_member(profile, hub);
    Answer::each(effective_entries(profile), |entry| {
        let cluster = &entry.provider.cluster;
        let server = cluster.server.as_deref().filter(|_| !is_fake);
        let server = server.and_then(|server| address_violation(&entry, "server", server, hub));
        let proxy = cluster.proxy_url.as_deref();
        let proxy = proxy.and_then(|proxy| address_violation(&entry, "proxy-url", proxy, hub));
        let mut findings: Vec<Finding> = server.into_iter().chain(proxy).collect();
        let extensions = cluster.extensions.iter();
        for extension in extensions.filter(|extension| EXTENSIONS.contains(&&*extension.name)) {
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
        let mut joins = driver.steps_of(DriverAction::Join);
        driver.fake_members && joins.any(|join| join.profile.iter().chain(&join.profile_after).any(is_same))
    })
}

/// An address that means another machine to each consumer, or that only pods of one cluster reach.
fn address_violation(entry: &ProviderEntry, field: &str, text: &str, hub: &Hub) -> Option<Finding> {
    let address = Address::split(text);
    let (violation, is_certain) = if address.is_loopback() {
        ("is the consumer's own machine", true)
    } else if address.is_in_cluster() {
        ("is a Service, which only pods of one cluster can reach", true)
    } else if is_in_namespace_of_hub(&address, hub) {
        let violation =
            "is probably a Service in a namespace of the hub, which only pods of the hub can reach";
        (violation, false)
    } else {
        return None;
    };
    let finding = entry.finding(&format!(".cluster.{field}"), format!("{field} {violation}"));
    let finding = finding.observed(redacted_address(text));
    Some(finding.advisory_unless(is_certain))
}

/// Whether the host is like `SERVICE.NAMESPACE`, and the hub has that namespace. A name of letters only does not count: it
/// may be a top-level domain.
fn is_in_namespace_of_hub(address: &Address, hub: &Hub) -> bool {
    address.bare_host().split_once('.').is_some_and(|(_, domain)| {
        let mut namespaces = hub.evidence.namespaces.iter();
        !domain.chars().all(char::is_alphabetic)
            && namespaces.any(|namespace| namespace.name.eq_ignore_ascii_case(domain))
    })
}

/// Adds the strings within a plugin's settings that belong to one environment.
fn add_setting_violations(entry: &ProviderEntry, path: String, value: &Json, findings: &mut Vec<Finding>) {
    match value {
        Json::String(text) => {
            let message = if holds_variable(text) {
                "plugin setting contains an environment variable"
            } else if is_local_path(text) {
                "plugin setting is a file path, which other consumers do not have"
            } else {
                return;
            };
            let finding = entry.finding(&path, message).observed(redacted(text));
            findings.push(finding.expected("a setting that is the same for every consumer"));
        }
        Json::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                add_setting_violations(entry, format!("{path}[{index}]"), item, findings);
            }
        }
        Json::Object(fields) => {
            for (name, value) in fields {
                add_setting_violations(entry, format!("{path}.{name}"), value, findings);
            }
        }
        Json::Null | Json::Bool(_) | Json::Number(_) => {}
    }
}

/// Whether a setting, or the value of an option like `--file=/etc/x`, is a path on one machine.
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
    text.split('$').skip(1).any(|rest| {
        let (rest, close) = match rest.as_bytes().first() {
            Some(b'{') => (&rest[1..], "}:"),
            Some(b'(') => (&rest[1..], "):"),
            _ => (rest, ""),
        };
        let ends = |c: char| !(c.is_ascii_alphanumeric() || c == '_');
        let (name, after) = rest.split_at(rest.find(ends).unwrap_or(rest.len()));
        let is_name = name.len() > 1
            && name.starts_with(|c: char| c.is_ascii_uppercase() || c == '_')
            && !name.contains(|c: char| c.is_ascii_lowercase());
        is_name && (close.is_empty() || after.starts_with(|c| close.contains(c)))
    })
}

/// `access/exec-extension-well-formed`: a provider has at most one exec extension, which is an object.
pub(crate) fn exec_extension_well_formed(profile: &ClusterProfile, _: &Hub) -> Answer {
    judge_extension(profile, EXTENSION_EXEC, |extension| {
        Answer::broken_if(!extension.content.is_object(), || extension.wrong_type())
    })
}

/// `access/additional-args-well-formed`: additional arguments of a plugin are a list of strings.
pub(crate) fn additional_args_well_formed(profile: &ClusterProfile, _: &Hub) -> Answer {
    judge_extension(profile, EXTENSION_ARGS, |extension| {
        let Json::Array(items) = &extension.content else {
            return Answer::broken(extension.wrong_type());
        };
        let items = Answer::each(items.iter().enumerate(), |(index, item)| {
            extension.judge_item(&format!("[{index}]"), item, "additional argument is not a string")
        });
        items.or_kept()
    })
}

/// `access/additional-envs-well-formed`: additional environment variables of a plugin are a map of strings.
pub(crate) fn additional_envs_well_formed(profile: &ClusterProfile, _: &Hub) -> Answer {
    judge_extension(profile, EXTENSION_ENVS, |extension| {
        let Json::Object(fields) = &extension.content else {
            return Answer::broken(extension.wrong_type());
        };
        let fields = Answer::each(fields, |(name, value)| {
            extension.judge_item(&format!(".{name}"), value, "additional variable is not a string")
        });
        fields.or_kept()
    })
}

/// Judges the extension of that name in each entry. A second one is a violation: a kubeconfig identifies them by name.
fn judge_extension(
    profile: &ClusterProfile,
    name: &'static str,
    check: fn(&NamedExtension) -> Answer,
) -> Answer {
    Answer::each(effective_entries(profile), |entry| {
        let extensions = &entry.provider.cluster.extensions;
        let same_name: Vec<&Extension> = extensions.iter().filter(|other| &*other.name == name).collect();
        let answer = Answer::each(&same_name, |extension| {
            let content = extension.extension.value();
            check(&NamedExtension { entry, name, content })
        });
        if same_name.len() < 2 {
            return answer;
        }
        let path = format!(".cluster.extensions[{name}]");
        let finding = entry.finding(&path, "an extension occurs more than once");
        let finding = finding.expected("one extension of that name");
        Answer::broken(finding.observed(same_name.len().to_string())).and(answer)
    })
}

/// An extension of an access provider.
struct NamedExtension<'a> {
    entry: ProviderEntry<'a>,
    name: &'static str,
    content: Json,
}

impl NamedExtension<'_> {
    /// Numbers and booleans are a warning: the shared library converts them to text.
    fn judge_item(&self, place: &str, item: &Json, message: &str) -> Answer {
        let finding = || {
            let finding = self.finding(place, message).expected("a string");
            finding.observed(type_name(item))
        };
        match item {
            Json::String(_) => Answer::Kept,
            Json::Number(_) | Json::Bool(_) => Answer::warning(finding()),
            Json::Null | Json::Array(_) | Json::Object(_) => Answer::broken(finding()),
        }
    }

    /// A finding on content of another type. Does not quote the content, which only the plugin understands.
    fn wrong_type(&self) -> Finding {
        self.finding("", "").observed(type_name(&self.content))
    }

    fn finding(&self, place: &str, message: &str) -> Finding {
        let path = format!(".cluster.extensions[{}].extension{place}", self.name);
        self.entry.finding(&path, message)
    }
}

/// The JSON type of a value, in words.
fn type_name(value: &Json) -> &'static str {
    match value {
        Json::Object(_) => "an object",
        Json::Array(_) => "a list",
        Json::String(_) => "a string",
        Json::Bool(_) => "a boolean",
        Json::Number(_) => "a number",
        Json::Null => ABSENT,
    }
}

/// `access/no-secrets`: no access provider contains a credential: readers may have read one that was removed.
pub(crate) fn no_secrets(profile: &ClusterProfile, hub: &Hub) -> Answer {
    Answer::each(all_entries(profile), |entry| {
        no_leaks("access provider", leaks_in_entry(&entry, hub))
    })
}

fn leaks_in_entry(entry: &ProviderEntry, hub: &Hub) -> Vec<(String, Vec<Leak>)> {
    let cluster = &entry.provider.cluster;
    let text = |text: &Option<Box<str>>| leaks_in_text(text.as_deref().unwrap_or_default());
    let address = |text: &Option<Box<str>>| leaks_in_address(text.as_deref().unwrap_or_default());
    let ca_data = cluster.certificate_authority_data.as_deref().unwrap_or_default();
    let fields = [
        ("name", hub.leaks_in_shared(&entry.provider.name)),
        ("cluster.server", address(&cluster.server)),
        ("cluster.proxy-url", address(&cluster.proxy_url)),
        ("cluster.tls-server-name", text(&cluster.tls_server_name)),
        (
            "cluster.certificate-authority",
            text(&cluster.certificate_authority),
        ),
        (
            "cluster.certificate-authority-data",
            hub.leaks_in_ca_data.get(ca_data, leaks_in_ca_data).to_vec(),
        ),
    ];
    let fields = fields.map(|(field, leaks)| leaks_at(|| entry.path(&format!(".{field}")), leaks));
    let extensions = cluster.extensions.iter().flat_map(|extension| {
        let path = |part: &str| entry.path(&format!(".cluster.extensions[{}].{part}", extension.name));
        let content = match extension.extension.value() {
            Json::String(text) => leaks_under(&extension.name, &text),
            _ => leaks_in_text(extension.extension.text()),
        };
        [
            leaks_at(|| path("name"), hub.leaks_in_shared(&extension.name)),
            leaks_at(|| path("extension"), content),
        ]
    });
    fields.into_iter().chain(extensions).flatten().collect()
}

/// `access/no-secrets-elsewhere`: no other part of a profile contains a credential.
pub(crate) fn no_secrets_elsewhere(profile: &ClusterProfile, hub: &Hub) -> Answer {
    let status = &profile.status;
    let texts = [
        ("spec.displayName", profile.spec.display_name.as_deref()),
        ("spec.clusterManager.name", Some(profile.manager())),
        ("status.version.kubernetes", status.version.kubernetes.as_deref()),
    ];
    let texts =
        texts.map(|(path, text)| leaks_at(|| path.to_owned(), leaks_in_text(text.unwrap_or_default())));
    let properties = status.properties.iter().flat_map(|property| {
        let path = |part: &str| format!("status.properties[{}].{part}", property.name);
        let value = leaks_under(&property.name, &property.value);
        [
            leaks_at(|| path("name"), hub.leaks_in_shared(&property.name)),
            leaks_at(|| path("value"), value),
        ]
    });
    let conditions = status.conditions.iter().flat_map(|condition| {
        let path = |field: &str| format!("status.conditions[{}].{field}", condition.kind);
        [
            leaks_at(|| path("type"), hub.leaks_in_shared(&condition.kind)),
            leaks_at(|| path("reason"), hub.leaks_in_shared(&condition.reason)),
            leaks_at(|| path("message"), leaks_in_text(&condition.message)),
        ]
    });
    let mut parts = leaks_in_metadata(&profile.metadata, hub);
    parts.extend(texts.into_iter().chain(properties).chain(conditions).flatten());
    no_leaks("profile", parts)
}

/// Credentials in an address, with or without a scheme. A user's name in it is not a credential, but unexpected.
fn leaks_in_address(address: &str) -> Vec<Leak> {
    if !address.contains('@') {
        return leaks_in_text(address);
    }
    let url = if address.contains("://") {
        address.to_owned()
    } else {
        format!("https://{}", address.trim_start_matches('/'))
    };
    let leaks = leaks_in_text(&url);
    let userinfo = Address::split(&url).userinfo.unwrap_or_default();
    if !leaks.is_empty() || userinfo.is_empty() {
        return leaks;
    }
    vec![Leak {
        kind: "userinfo of a URL",
        grade: Grade::Possible,
        length: userinfo.len(),
        place: String::new(),
        encoded: false,
        key: None,
        at: None,
    }]
}

/// Credentials in CA data, outside of the certificates.
fn leaks_in_ca_data(data: &str) -> Vec<Leak> {
    let bytes = decode_base64(data).unwrap_or_default();
    let pem = String::from_utf8_lossy(&bytes);
    let mut parts = pem.split("-----BEGIN CERTIFICATE-----");
    let mut outside = parts.next().unwrap_or_default().to_owned();
    if outside.len() == pem.len() {
        return leaks_in_text(data);
    }
    for part in parts {
        let (_, after) = part.split_once("-----END CERTIFICATE-----").unwrap_or_default();
        outside.push_str(after);
    }
    leaks_in_text(&outside)
}
