//! Settings of credential plugins (KEP-5339 › Passing plugin configuration via extensions).

use evidence::api::{Extension, names};
use serde_json::Value;

use super::entries::{Entry, each_entry};
use crate::{
    subjects::{Finding, Findings, Profiles},
    text::ABSENT,
};

/// Maximum number of findings on the items of one extension.
const MOST: usize = 20;

/// `access/exec-extension-well-formed`
///
/// A provider has at most one exec extension, which is an object.
pub(in crate::rules) fn exec_extension_well_formed(profiles: &Profiles, findings: &mut Findings) {
    each(profiles, findings, names::EXTENSION_EXEC, |entry, extension| {
        let is_object = extension.extension.text().starts_with('{');
        let message = "exec extension is not an object";
        let wrong = (!is_object).then(|| wrong_shape(entry, extension, message, "an object"));
        wrong.into_iter().collect()
    });
}

/// `access/additional-args-well-formed`
///
/// Additional arguments of a plugin are a list of strings.
pub(in crate::rules) fn additional_args_well_formed(profiles: &Profiles, findings: &mut Findings) {
    each(
        profiles,
        findings,
        names::EXTENSION_ARGS,
        |entry, extension| match extension.extension.value() {
            Value::Array(items) => {
                let items = items.iter().enumerate();
                let items = items.map(|(index, item)| (format!("[{index}]"), item));
                not_strings(entry, extension, items, "additional argument is not a string")
            }
            _ => {
                let message = "additional arguments are not a list of strings";
                vec![wrong_shape(entry, extension, message, "a list of strings")]
            }
        },
    );
}

/// `access/additional-envs-well-formed`
///
/// Additional environment variables of a plugin are a map of strings.
pub(in crate::rules) fn additional_envs_well_formed(profiles: &Profiles, findings: &mut Findings) {
    each(
        profiles,
        findings,
        names::EXTENSION_ENVS,
        |entry, extension| match extension.extension.value() {
            Value::Object(fields) => {
                let fields = fields.iter().map(|(name, value)| (format!(".{name}"), value));
                not_strings(entry, extension, fields, "additional variable is not a string")
            }
            _ => {
                let message = "additional variables are not a map of strings";
                vec![wrong_shape(entry, extension, message, "a map of strings")]
            }
        },
    );
}

/// Judges the extensions with that name. A second one in one provider is a fault: a kubeconfig identifies them by name.
fn each(
    profiles: &Profiles,
    findings: &mut Findings,
    name: &'static str,
    faults: impl Fn(Entry, &Extension) -> Vec<Finding>,
) {
    findings.not_applicable(format!("no access provider has the extension {name}"));
    each_entry(profiles, findings, |entry| {
        let extensions = entry.provider.cluster.extensions.iter();
        let named: Vec<&Extension> = extensions.filter(|extension| &*extension.name == name).collect();
        let again = (named.len() > 1).then(|| {
            entry
                .finding(&path(name), "an extension occurs more than once")
                .expected("one extension of that name")
                .observed(named.len().to_string())
        });
        let of_each = named.iter().flat_map(|extension| faults(entry, extension));
        (!named.is_empty()).then(|| again.into_iter().chain(of_each).collect())
    });
}

fn path(name: &str) -> String {
    format!(".cluster.extensions[{name}]")
}

/// Finds items that are not strings. Numbers and booleans are a warning: the shared library converts them to text.
fn not_strings<'v>(
    entry: Entry,
    extension: &Extension,
    items: impl Iterator<Item = (String, &'v Value)>,
    message: &str,
) -> Vec<Finding> {
    let wrong = items.filter(|(_, item)| !item.is_string());
    let finding = |(place, item): (String, &Value)| {
        let finding = entry
            .finding(&format!("{}.extension{place}", path(&extension.name)), message)
            .expected("a string")
            .observed(shape(&item.to_string()));
        match item {
            Value::Number(_) | Value::Bool(_) => finding.advisory(),
            _ => finding,
        }
    };
    wrong.take(MOST).map(finding).collect()
}

/// A finding on an extension of another type. Does not quote its content, which only the plugin understands.
fn wrong_shape(entry: Entry, extension: &Extension, message: &str, expected: &str) -> Finding {
    entry
        .finding(&format!("{}.extension", path(&extension.name)), message)
        .expected(expected)
        .observed(shape(extension.extension.text()))
}

/// Names the type of a JSON text.
fn shape(json: &str) -> &'static str {
    match json.as_bytes().first() {
        Some(b'{') => "an object",
        Some(b'[') => "a list",
        Some(b'"') => "a string",
        Some(b't' | b'f') => "a boolean",
        Some(b'n') | None => ABSENT,
        Some(_) => "a number",
    }
}
