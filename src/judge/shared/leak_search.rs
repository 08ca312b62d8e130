//! Looks for credentials in the texts of an object, and reports each once however many versions hold it.

use std::sync::Arc;

use evidence::{
    Tracked,
    api::ProfileLabels,
    leak::{Grade, Leak, LeakKind, leaks_in_text, leaks_under, names_credential},
};

use crate::{
    hash::HashSet,
    subjects::{Finding, Findings},
};

/// Maximum number of credentials that are reported per object.
const MOST: usize = 20;

/// What many objects have in common and holds no credential, so that it is searched once.
#[derive(Default)]
pub(crate) struct Clean<'e> {
    texts: HashSet<&'e str>,
    /// Names of fields whose text may be anything, unless the text itself is a credential.
    names: HashSet<&'e str>,
}

/// The search of one version of an object.
pub(crate) struct LeakSearch<'e, 's, T> {
    pub(crate) object: &'e T,
    /// The kind of object, as messages call it.
    pub(crate) noun: &'static str,
    /// What was found in earlier versions.
    pub(crate) told: &'s mut HashSet<(String, LeakKind)>,
    pub(crate) clean: &'s mut Clean<'e>,
    pub(crate) findings: &'s mut Findings,
}

impl<'e, T: Tracked> LeakSearch<'e, '_, T> {
    /// Labels or annotations.
    pub(crate) fn map(&mut self, path: &str, map: &'e ProfileLabels) {
        for (key, value) in map.iter() {
            self.field(key, value, |_| format!("{path}[{key}]"));
        }
    }

    /// Searches the name of a field and its text. Many objects have fields of that name. `path` gives the paths of both,
    /// which it calls `name` and `value`.
    pub(crate) fn field(&mut self, name: &'e str, text: &str, path: impl Fn(&str) -> String) {
        if self.clean.names.contains(name) {
            self.text(text, || path("value"));
            return;
        }
        let leaks = leaks_in_text(name);
        if leaks.is_empty() && !names_credential(name) {
            self.clean.names.insert(name);
        }
        self.add(leaks, || path("name"));
        self.add(leaks_under(name, text), || path("value"));
    }

    /// Searches a text of this object alone.
    pub(crate) fn text(&mut self, text: &str, path: impl Fn() -> String) {
        self.add(leaks_in_text(text), path);
    }

    /// Searches a text that many objects have in common.
    pub(crate) fn common(&mut self, text: &'e str, search: fn(&str) -> Vec<Leak>, path: impl Fn() -> String) {
        if self.clean.texts.contains(text) {
            return;
        }
        let leaks = search(text);
        if leaks.is_empty() {
            self.clean.texts.insert(text);
        }
        self.add(leaks, path);
    }

    /// Reports what was found at a path, where it has not been told.
    pub(crate) fn add(&mut self, leaks: Vec<Leak>, path: impl Fn() -> String) {
        for leak in leaks {
            let path = format!("{}{}", path(), leak.place);
            if self.told.len() >= MOST || !self.told.insert((path.clone(), leak.kind)) {
                continue;
            }
            let (message, is_sure) = match leak.grade {
                Grade::Certain => (format!("{} contains {}", self.noun, leak.kind), true),
                _ => (format!("{} may contain {}", self.noun, leak.kind), false),
            };
            let observed = describe(&leak, &path);
            let finding = Finding::on(self.object.object_ref(), message)
                .at(path)
                .expected("no credential")
                .observed(observed);
            self.findings
                .report(if is_sure { finding } else { finding.advisory() });
        }
    }
}

/// What was found, without a piece of it: its length, the name that makes it a credential where the path lacks that,
/// and its place in a long text.
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

/// Whether a part of an object is the one of the version before.
pub(crate) fn is_known<T: ?Sized>(previous: Option<&Arc<T>>, own: &Arc<T>) -> bool {
    previous.is_some_and(|previous| Arc::ptr_eq(previous, own))
}
