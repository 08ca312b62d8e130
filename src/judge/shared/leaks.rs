//! Findings on credentials in the texts of an object.

use evidence::{
    api::Labels,
    leak::{Grade, Leak, leaks_in_text, leaks_under},
};

use crate::{engine::Answer, subjects::Finding};

/// Collects the credentials in the texts of an object.
pub(crate) struct LeakFindings {
    /// The kind of object, for messages.
    noun: &'static str,
    findings: Vec<Finding>,
}

impl LeakFindings {
    /// None yet.
    pub(crate) fn of(noun: &'static str) -> Self {
        Self {
            noun,
            findings: Vec::new(),
        }
    }

    /// Searches labels or annotations.
    pub(crate) fn map(&mut self, path: &str, map: &Labels) {
        for (key, value) in map.iter() {
            self.text(key, || format!("{path}[{key}]"));
            self.add(leaks_under(key, value), || format!("{path}[{key}]"));
        }
    }

    /// Searches a text.
    pub(crate) fn text(&mut self, text: &str, path: impl Fn() -> String) {
        self.add(leaks_in_text(text), path);
    }

    /// Adds the credentials at a path.
    pub(crate) fn add(&mut self, leaks: Vec<Leak>, path: impl Fn() -> String) {
        for leak in leaks {
            let path = format!("{}{}", path(), leak.place);
            let is_certain = leak.grade == Grade::Certain;
            let contains = if is_certain { "contains" } else { "may contain" };
            let observed = describe(&leak, &path);
            let finding = Finding::at_path(path, format!("{} {contains} {}", self.noun, leak.kind))
                .expected("no credential")
                .observed(observed);
            self.findings
                .push(if is_certain { finding } else { finding.advisory() });
        }
    }

    /// The answer about the object.
    pub(crate) fn answer(self) -> Answer {
        Answer::all(self.findings)
    }
}

/// Describes a credential without quoting it. Names the key unless the path does.
fn describe(leak: &Leak, path: &str) -> String {
    let mut text = format!("{} of {} characters", leak.kind, leak.length);
    if leak.encoded {
        text.push_str(" in base64");
    }
    let is_in_path = |key: &str| path.ends_with(&format!(".{key}")) || path.contains(&format!("[{key}]"));
    if let Some(key) = leak.key.as_deref().filter(|key| !is_in_path(key)) {
        text.push_str(&format!(", given as `{key}`"));
    }
    if let Some(at) = leak.at {
        text.push_str(&format!(", from character {at} on"));
    }
    text
}
