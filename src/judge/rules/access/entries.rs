//! The access providers of all profiles, from the current list and the deprecated one.

use evidence::{
    Evidence,
    api::{AccessProvider, ClusterProfile},
};

use crate::rules::finding::{Finding, Findings};

/// One access provider.
#[derive(Clone, Copy)]
pub(super) struct Entry<'a> {
    /// The profile that contains it.
    pub(super) profile: &'a ClusterProfile,
    /// The field name of the list that contains it.
    pub(super) list: &'static str,
    /// Its index in that list.
    place: usize,
    /// Its content.
    pub(super) provider: &'a AccessProvider,
}

/// The two lists of a profile, with their field names.
pub(super) fn lists(profile: &ClusterProfile) -> [(&'static str, &[AccessProvider]); 2] {
    [
        ("accessProviders", &profile.status.access_providers),
        ("credentialProviders", &profile.status.credential_providers),
    ]
}

/// All access providers of the judged profiles.
pub(super) fn entries(evidence: &Evidence) -> impl Iterator<Item = Entry<'_>> {
    evidence.inventory().flat_map(of_profile)
}

/// The access providers of a profile.
pub(super) fn of_profile(profile: &ClusterProfile) -> impl Iterator<Item = Entry<'_>> {
    lists(profile).into_iter().flat_map(move |(list, providers)| {
        let places = providers.iter().enumerate();
        places.map(move |(place, provider)| Entry {
            profile,
            list,
            place,
            provider,
        })
    })
}

/// Returns all access providers and counts each as examined. Without any, the rule is not applicable.
pub(super) fn examined<'a>(evidence: &'a Evidence, findings: &mut Findings) -> Vec<Entry<'a>> {
    findings.not_applicable("no profile has an access provider");
    let entries: Vec<Entry> = entries(evidence).collect();
    entries.iter().for_each(|_| findings.examine());
    entries
}

/// Returns the access providers that set a field, each with its text, and counts them as examined. Without any, the
/// rule is not applicable for the reason `none`. An empty text is unset: Go serializes unset fields so.
pub(super) fn filled<'a>(
    evidence: &'a Evidence,
    findings: &mut Findings,
    none: &str,
    field: fn(&AccessProvider) -> Option<&str>,
) -> Vec<(Entry<'a>, &'a str)> {
    findings.not_applicable(none);
    let filled: Vec<(Entry, &str)> = entries(evidence)
        .filter_map(|entry| Some((entry, field(entry.provider)?)))
        .filter(|(_, text)| !text.is_empty())
        .collect();
    filled.iter().for_each(|_| findings.examine());
    filled
}

impl<'a> Entry<'a> {
    /// Whether it is of the deprecated list, and the newer list has the same provider.
    pub(super) fn is_replaced(&self) -> bool {
        let [(newer, providers), _] = lists(self.profile);
        self.list != newer && providers.iter().any(|other| other.name == self.provider.name)
    }

    /// The path of a field, given as `part` with a leading dot. An entry without a name is identified by its index.
    pub(super) fn path(&self, part: &str) -> String {
        let list = self.list;
        match &*self.provider.name {
            "" => format!("status.{list}[{}]{part}", self.place),
            name => format!("status.{list}[{name}]{part}"),
        }
    }

    /// A finding on one of its fields.
    pub(super) fn finding(&self, part: &str, message: impl Into<String>) -> Finding {
        Finding::on(self.profile, message).at(self.path(part))
    }
}
