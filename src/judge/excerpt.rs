//! Evidence of a few profiles, with all that rules want to know beside profiles.

use std::collections::HashMap;

use evidence::{Evidence, Namespace, ProfileHistory};
use jiff::Timestamp;

/// Evidence of a few profiles out of a fleet. What is not of single profiles is copied when it changed, not for each
/// excerpt.
#[derive(Clone, Debug, Default)]
pub(crate) struct Excerpt {
    evidence: Evidence,
    namespaces: HashMap<String, Namespace>,
    /// How many profiles it has held so far.
    #[cfg(test)]
    pub(crate) held: usize,
}

impl Excerpt {
    /// Whether something changed that is not of a single profile or namespace, but for the end of the window.
    pub(crate) fn is_outdated(&mut self, whole: &Evidence) -> bool {
        let (header, other) = (&mut self.evidence.header, &whole.header);
        if let (Some(window), Some(other)) = (&mut header.window, &other.window) {
            window.until = other.until;
        }
        // No rule asks what the run cost the hub, which changes with each request.
        header.traffic = other.traffic;
        *header != *other
            || self.evidence.gaps != whole.gaps
            || self.evidence.later != whole.later
            || self.evidence.unreadable != whole.unreadable
    }

    /// Takes over what is not of single profiles, and the namespaces.
    pub(crate) fn renew(&mut self, whole: &Evidence) {
        self.evidence = Evidence {
            header: whole.header.clone(),
            gaps: whole.gaps.clone(),
            later: whole.later.clone(),
            unreadable: whole.unreadable.clone(),
            ..Evidence::default()
        };
        let namespaces = whole.namespaces.iter();
        self.namespaces = namespaces
            .map(|namespace| (namespace.name.clone(), namespace.clone()))
            .collect();
    }

    /// Takes over one namespace.
    pub(crate) fn renew_namespace(&mut self, whole: &Evidence, name: &str) {
        match whole.namespace(name) {
            Some(namespace) => _ = self.namespaces.insert(name.to_owned(), namespace.clone()),
            None => _ = self.namespaces.remove(name),
        }
    }

    /// Makes it one of these profiles and their namespaces.
    pub(crate) fn hold<'a>(&mut self, profiles: impl Iterator<Item = &'a ProfileHistory>) {
        self.evidence.profiles.clear();
        self.evidence.profiles.extend(profiles.cloned());
        #[cfg(test)]
        {
            self.held += self.evidence.profiles.len();
        }
        let held = self.evidence.profiles.iter();
        let mut names: Vec<&str> = held.map(|history| &*history.last().metadata.namespace).collect();
        names.sort_unstable();
        names.dedup();
        let namespaces = names.into_iter().filter_map(|name| self.namespaces.get(name));
        self.evidence.namespaces.clear();
        self.evidence.namespaces.extend(namespaces.cloned());
    }

    /// Adds all namespaces.
    pub(crate) fn hold_namespaces(&mut self, whole: &Evidence) {
        self.evidence.namespaces.clone_from(&whole.namespaces);
    }

    /// The excerpt as of a time, if there is any.
    pub(crate) fn as_of(&mut self, until: Option<Timestamp>) -> &Evidence {
        if let (Some(window), Some(until)) = (&mut self.evidence.header.window, until) {
            window.until = until;
        }
        &self.evidence
    }
}
