//! Settings of credential plugins (KEP-5339 › Passing plugin configuration via extensions).

use evidence::{
    Evidence,
    api::{Extension, names},
};
use serde_json::Value;

use super::entries::{Entry, entries};
use crate::rules::{finding::Findings, text::ABSENT};

/// Maximum number of findings on the items of one extension.
const MOST: usize = 20;

/// `access/exec-extension-well-formed`
///
/// A provider has at most one exec extension, which is an object.
pub(in crate::rules) fn exec_extension_well_formed(evidence: &Evidence, findings: &mut Findings) {
    for (entry, extension) in each(evidence, findings, names::EXTENSION_EXEC) {
        if !extension.extension.text().starts_with('{') {
            report_shape(
                entry,
                extension,
                "exec extension is not an object",
                "an object",
                findings,
            );
        }
    }
}

/// `access/additional-args-well-formed`
///
/// Additional arguments of a plugin are a list of strings.
pub(in crate::rules) fn additional_args_well_formed(evidence: &Evidence, findings: &mut Findings) {
    for (entry, extension) in each(evidence, findings, names::EXTENSION_ARGS) {
        match extension.extension.value() {
            Value::Array(items) => {
                let items = items.iter().enumerate();
                let items = items.map(|(index, item)| (format!("[{index}]"), item));
                are_strings(
                    entry,
                    extension,
                    items,
                    "additional argument is not a string",
                    findings,
                );
            }
            _ => {
                let message = "additional arguments are not a list of strings";
                report_shape(entry, extension, message, "a list of strings", findings);
            }
        }
    }
}

/// `access/additional-envs-well-formed`
///
/// Additional environment variables of a plugin are a map of strings.
pub(in crate::rules) fn additional_envs_well_formed(evidence: &Evidence, findings: &mut Findings) {
    for (entry, extension) in each(evidence, findings, names::EXTENSION_ENVS) {
        match extension.extension.value() {
            Value::Object(fields) => {
                let fields = fields.iter().map(|(name, value)| (format!(".{name}"), value));
                are_strings(
                    entry,
                    extension,
                    fields,
                    "additional variable is not a string",
                    findings,
                );
            }
            _ => {
                let message = "additional variables are not a map of strings";
                report_shape(entry, extension, message, "a map of strings", findings);
            }
        }
    }
}

/// Returns the extensions with that name. Reports a second one in one provider: a kubeconfig identifies them by name.
fn each<'a>(
    evidence: &'a Evidence,
    findings: &mut Findings,
    name: &'static str,
) -> Vec<(Entry<'a>, &'a Extension)> {
    findings.not_applicable(format!("no access provider has the extension {name}"));
    let mut found = Vec::new();
    for entry in entries(evidence) {
        let extensions = entry.provider.cluster.extensions.iter();
        let named: Vec<&Extension> = extensions.filter(|extension| &*extension.name == name).collect();
        if named.is_empty() {
            continue;
        }
        findings.examine();
        if named.len() > 1 {
            findings.report(
                entry
                    .finding(&path(name), "an extension occurs more than once")
                    .expected("one extension of that name")
                    .observed(named.len().to_string()),
            );
        }
        found.extend(named.into_iter().map(|extension| (entry, extension)));
    }
    found
}

fn path(name: &str) -> String {
    format!(".cluster.extensions[{name}]")
}

/// Reports items that are not strings. Numbers and booleans are a warning: the shared library converts them to text.
fn are_strings<'v>(
    entry: Entry,
    extension: &Extension,
    items: impl Iterator<Item = (String, &'v Value)>,
    message: &str,
    findings: &mut Findings,
) {
    let wrong = items.filter(|(_, item)| !item.is_string());
    for (place, item) in wrong.take(MOST) {
        let finding = entry
            .finding(&format!("{}.extension{place}", path(&extension.name)), message)
            .expected("a string")
            .observed(shape(&item.to_string()));
        findings.report(match item {
            Value::Number(_) | Value::Bool(_) => finding.advisory(),
            _ => finding,
        });
    }
}

/// Reports an extension of another type. Does not quote its content, which only the plugin understands.
fn report_shape(entry: Entry, extension: &Extension, message: &str, expected: &str, findings: &mut Findings) {
    findings.report(
        entry
            .finding(&format!("{}.extension", path(&extension.name)), message)
            .expected(expected)
            .observed(shape(extension.extension.text())),
    );
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
