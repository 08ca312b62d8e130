//! The access providers of all profiles, from the current list and the deprecated one.

use evidence::{
    Evidence,
    api::{AccessProvider, ClusterProfile},
};

use crate::{
    shared::state::{Fault, State, each_state, same_access},
    subjects::{Finding, Findings, Profiles},
};

/// The reason for no verdict without access providers.
pub(super) const NO_PROVIDER: &str = "no profile has an access provider";

/// Rules that see nothing of a profile but its access providers.
pub(super) const OF_ACCESS: State = State {
    same: Some(same_access),
    called_by: &[],
    filled_later: false,
};

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

/// Judges the access providers in every version of each profile. `faults` returns the faults of one, or none if the rule
/// does not apply to it.
pub(super) fn each_entry<'a>(
    profiles: &Profiles<'a>,
    findings: &mut Findings,
    faults: impl FnMut(Entry<'a>) -> Option<Vec<Finding>>,
) {
    each_entry_in(profiles, OF_ACCESS, findings, faults);
}

/// The same for a rule that judges state in its own way.
pub(super) fn each_entry_in<'a>(
    profiles: &Profiles<'a>,
    state: State,
    findings: &mut Findings,
    mut faults: impl FnMut(Entry<'a>) -> Option<Vec<Finding>>,
) {
    each_state(profiles, findings, state, |profile| {
        let (mut applies, mut all) = (false, Vec::new());
        for faults in of_profile(profile).filter_map(&mut faults) {
            applies = true;
            all.extend(faults.into_iter().map(Fault::from));
        }
        applies.then_some(all)
    });
}

/// Judges all access providers. Without any, the rule is not applicable.
pub(super) fn each_present<'a>(
    profiles: &Profiles<'a>,
    findings: &mut Findings,
    faults: impl Fn(Entry<'a>) -> Vec<Finding>,
) {
    findings.not_applicable(NO_PROVIDER);
    each_entry(profiles, findings, |entry| Some(faults(entry)));
}

/// Judges the access providers that set a field, each with its text. Without any, the rule is not applicable for the
/// reason `none`. An empty text is unset: Go serializes unset fields so.
pub(super) fn each_filled<'a>(
    profiles: &Profiles<'a>,
    findings: &mut Findings,
    none: &'static str,
    field: fn(&AccessProvider) -> Option<&str>,
    mut fault: impl FnMut(Entry<'a>, &'a str) -> Option<Finding>,
) {
    findings.not_applicable(none);
    each_entry(profiles, findings, |entry| {
        let text = field(entry.provider).filter(|text| !text.is_empty())?;
        Some(fault(entry, text).into_iter().collect())
    });
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
