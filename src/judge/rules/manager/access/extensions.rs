//! Settings of credential plugins (KEP-5339 › Passing plugin configuration via extensions).

use evidence::api::{ClusterProfile, Extension, names};
use serde_json::Value;

use super::providers::{Entry, effective_entries};
use crate::{
    engine::{Answer, Hub},
    subjects::Finding,
    text::ABSENT,
};

/// `access/exec-extension-well-formed`
///
/// A provider has at most one exec extension, which is an object.
pub(in crate::rules) fn exec_extension_well_formed(profile: &ClusterProfile, _: &Hub) -> Answer {
    judge_extension(profile, names::EXTENSION_EXEC, |extension| {
        let is_object = extension.content.is_object();
        Answer::broken_if(!is_object, || {
            extension.wrong_type("exec extension is not an object", "an object")
        })
    })
}

/// `access/additional-args-well-formed`
///
/// Additional arguments of a plugin are a list of strings.
pub(in crate::rules) fn additional_args_well_formed(profile: &ClusterProfile, _: &Hub) -> Answer {
    judge_extension(profile, names::EXTENSION_ARGS, |extension| {
        match &extension.content {
            Value::Array(items) => Answer::each(items.iter().enumerate(), |(index, item)| {
                extension.judge_item(&format!("[{index}]"), item, "additional argument is not a string")
            })
            .or_kept(),
            _ => {
                let message = "additional arguments are not a list of strings";
                Answer::broken(extension.wrong_type(message, "a list of strings"))
            }
        }
    })
}

/// `access/additional-envs-well-formed`
///
/// Additional environment variables of a plugin are a map of strings.
pub(in crate::rules) fn additional_envs_well_formed(profile: &ClusterProfile, _: &Hub) -> Answer {
    judge_extension(profile, names::EXTENSION_ENVS, |extension| {
        match &extension.content {
            Value::Object(fields) => Answer::each(fields, |(name, value)| {
                extension.judge_item(&format!(".{name}"), value, "additional variable is not a string")
            })
            .or_kept(),
            _ => {
                let message = "additional variables are not a map of strings";
                Answer::broken(extension.wrong_type(message, "a map of strings"))
            }
        }
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
        if same_name.is_empty() {
            return Answer::NotApplicable;
        }
        let once = Answer::broken_if(same_name.len() > 1, || {
            entry
                .finding(
                    &format!(".cluster.extensions[{name}]"),
                    "an extension occurs more than once",
                )
                .expected("one extension of that name")
                .observed(same_name.len().to_string())
        });
        let contents = same_name.iter().map(|extension| extension.extension.value());
        once.and(Answer::each(contents, |content| {
            check(&NamedExtension { entry, name, content })
        }))
    })
}

/// An extension of an access provider.
struct NamedExtension<'a> {
    entry: Entry<'a>,
    name: &'static str,
    content: Value,
}

impl NamedExtension<'_> {
    /// Numbers and booleans are a warning: the shared library converts them to text.
    fn judge_item(&self, place: &str, item: &Value, message: &str) -> Answer {
        let finding = || {
            self.finding(place, message)
                .expected("a string")
                .observed(type_name(item))
        };
        match item {
            Value::String(_) => Answer::Kept,
            Value::Number(_) | Value::Bool(_) => Answer::warning(finding()),
            Value::Null | Value::Array(_) | Value::Object(_) => Answer::broken(finding()),
        }
    }

    /// A finding on content of another type. Does not quote the content, which only the plugin understands.
    fn wrong_type(&self, message: &str, expected: &str) -> Finding {
        self.finding("", message)
            .expected(expected)
            .observed(type_name(&self.content))
    }

    fn finding(&self, place: &str, message: &str) -> Finding {
        let path = format!(".cluster.extensions[{}].extension{place}", self.name);
        self.entry.finding(&path, message)
    }
}

/// The JSON type of a value, in words.
fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Object(_) => "an object",
        Value::Array(_) => "a list",
        Value::String(_) => "a string",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::Null => ABSENT,
    }
}
