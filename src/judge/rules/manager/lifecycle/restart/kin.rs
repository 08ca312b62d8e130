//! Which of the profiles that a restart brought are of the members of those that were there.

use evidence::{ProfileHistory, api::ClusterProfile};

use crate::{
    hash::{HashMap, HashSet},
    shared::same_cluster::{
        Candidates, IdentityIndex, Relation, by_everything, identifying_versions_of, note_uncertain,
    },
    subjects::{Findings, Name, name, sets::ClusterSets},
};

/// The lives that a restart is to keep, and those that came after it.
pub(super) struct Kin<'e> {
    /// The lives that it is to keep.
    pub(super) lives: Vec<&'e ProfileHistory>,
    newborns: Vec<&'e ProfileHistory>,
    /// The places of each newborn's name.
    newborns_of: HashMap<Name<'e>, Vec<usize>>,
    /// Of each newborn, the places of the lives of other names whose member it was of at some time.
    twins: Vec<Vec<usize>>,
    /// Of each such life, the place of the first such newborn.
    heirs: HashMap<usize, usize>,
    /// How many newborns were compared with a few lives only.
    uncertain: usize,
}

impl<'e> Kin<'e> {
    pub(super) fn of(
        sets: &ClusterSets<'e>,
        lives: Vec<&'e ProfileHistory>,
        newborns: impl Iterator<Item = &'e ProfileHistory>,
    ) -> Self {
        let newborns: Vec<&ProfileHistory> = newborns.collect();
        let mut kin = Self {
            newborns_of: by_name(&newborns),
            twins: vec![Vec::new(); newborns.len()],
            heirs: HashMap::default(),
            uncertain: 0,
            lives,
            newborns,
        };
        if !kin.newborns.is_empty() {
            kin.find(sets);
        }
        kin
    }

    /// Finds twins by what they share: to compare each with each would take too long.
    fn find(&mut self, sets: &ClusterSets<'e>) {
        let lives = self.lives.iter().map(|life| (*life, None));
        let newborns = self.newborns.iter().zip(0..);
        let all = lives.chain(newborns.map(|(newborn, place)| (*newborn, Some(place))));
        let versions = all.flat_map(|(history, newborn)| {
            identifying_versions_of(history).map(move |profile| (profile, newborn))
        });
        let versions: Vec<(&ClusterProfile, Option<usize>)> = versions.collect();
        let members = versions
            .iter()
            .map(|(profile, _)| (*profile, Some(&*profile.metadata.namespace)));
        let lives_of = by_name(&self.lives);
        let mut compared: HashSet<(usize, usize)> = HashSet::default();
        let mut cut: HashSet<usize> = HashSet::default();
        for (kind, groups) in IdentityIndex::of(members).groups() {
            for group in groups {
                let mut candidates = Candidates::default();
                for (profile, newborn) in group.into_iter().map(|place| versions[place]) {
                    // All lives come before all newborns.
                    let Some(newborn) = newborn else {
                        candidates.add(sets, profile);
                        continue;
                    };
                    let (others, is_cut) = candidates.of(kind, sets, profile);
                    let others = others.into_iter().filter(|other| name(other) != name(profile));
                    for life in others.filter_map(|other| lives_of.get(&name(other))).flatten() {
                        if compared.insert((newborn, *life)) && self.were_of_one(sets, *life, newborn) {
                            self.twins[newborn].push(*life);
                        }
                    }
                    if is_cut {
                        cut.insert(newborn);
                    }
                }
            }
        }
        cut.retain(|newborn| self.twins[*newborn].is_empty());
        self.uncertain = cut.len();
        for (newborn, lives) in self.twins.iter_mut().enumerate() {
            lives.sort_unstable();
            for life in lives {
                self.heirs.entry(*life).or_insert(newborn);
            }
        }
    }

    fn were_of_one(&self, sets: &ClusterSets<'e>, life: usize, newborn: usize) -> bool {
        let mut ours = identifying_versions_of(self.lives[life]);
        ours.any(|one| {
            let mut theirs = identifying_versions_of(self.newborns[newborn]);
            theirs.any(|other| is_of_one(sets, one, other))
        })
    }

    /// The newborns that were of the member of lives of other names, each with those lives.
    pub(super) fn twins(&self) -> impl Iterator<Item = (&'e ProfileHistory, &[usize])> {
        let twins = self.newborns.iter().zip(&self.twins);
        twins.map(|(newborn, lives)| (*newborn, &**lives))
    }

    /// The newborn that took the place of a life.
    pub(super) fn heir(&self, life: usize) -> Option<&'e ProfileHistory> {
        let lost = self.lives[life];
        let of_name = self.newborns_of.get(&name(lost.last())).into_iter().flatten();
        let mut of_name = of_name.map(|newborn| self.newborns[*newborn]);
        of_name
            .find(|newborn| newborn.versions[0].received() > lost.versions[0].received())
            .or_else(|| self.heirs.get(&life).map(|newborn| self.newborns[*newborn]))
    }

    /// Notes the newborns that were not compared with all lives whose members they may be of.
    pub(super) fn note_uncertain(&self, findings: &mut Findings) {
        note_uncertain(self.uncertain, findings);
    }
}

/// The places of histories by name.
fn by_name<'e>(histories: &[&'e ProfileHistory]) -> HashMap<Name<'e>, Vec<usize>> {
    let mut places: HashMap<Name, Vec<usize>> = HashMap::default();
    for (place, history) in histories.iter().enumerate() {
        places.entry(name(history.last())).or_default().push(place);
    }
    places
}

/// Whether two profiles are of one manager and one cluster.
pub(super) fn is_of_one<'a>(
    sets: &ClusterSets<'a>,
    one: &'a ClusterProfile,
    other: &'a ClusterProfile,
) -> bool {
    one.metadata.namespace == other.metadata.namespace
        && one.manager() == other.manager()
        && by_everything(sets, one, other) == Relation::Same
}
