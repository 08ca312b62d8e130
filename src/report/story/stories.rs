//! Tells the stories of the objects that findings are about.

use std::{cell::OnceCell, collections::HashMap};

use evidence::{
    Asked, Evidence, Member, ObjectRef,
    api::{ClusterProfile, PlacementDecision, names},
};
use judge::{WriterNames, rules::Finding};

use super::{
    choice::chosen,
    draft::Drafts,
    event::Story,
    named::{Name, Named, named},
    object::StoryObject,
};

/// All stories that the evidence holds. Asking for none costs nothing.
pub(crate) struct Stories<'e> {
    pub(super) evidence: &'e Evidence,
    pub(super) authors: WriterNames<'e>,
    profiles: OnceCell<Lives<'e, ClusterProfile>>,
    slices: OnceCell<Lives<'e, PlacementDecision>>,
    members: OnceCell<HashMap<Name<'e>, Vec<&'e Member>>>,
}

/// The objects of a kind by name: in the window, and after it.
pub(super) struct Lives<'e, T> {
    pub(super) watched: Named<'e, T>,
    pub(super) later: Named<'e, T>,
}

impl<'e> Stories<'e> {
    pub(crate) fn of(evidence: &'e Evidence) -> Self {
        Self {
            evidence,
            authors: WriterNames::of(evidence),
            profiles: OnceCell::new(),
            slices: OnceCell::new(),
            members: OnceCell::new(),
        }
    }

    /// How the object of a finding came to what the finding says; none for other kinds than profiles and slices, and for
    /// an object that was not seen.
    pub(crate) fn of_finding(&self, finding: &Finding) -> Option<Story> {
        match &*finding.object.kind {
            names::KIND => self.tell(self.profiles.get_or_init(|| self.lives()), finding),
            names::PLACEMENT_KIND => self.tell(self.slices.get_or_init(|| self.lives()), finding),
            _ => None,
        }
    }

    fn lives<T: StoryObject>(&self) -> Lives<'e, T> {
        Lives {
            watched: named(T::histories(self.evidence)),
            later: named(T::later(&self.evidence.later)),
        }
    }

    fn tell<T: StoryObject>(&self, lives: &Lives<'e, T>, finding: &Finding) -> Option<Story> {
        let drafts = Drafts::gather(self, lives, finding)?;
        let is_still = drafts.versions() == 1 && drafts.all.len() == 1;
        let note = is_still.then(|| match self.evidence.asked(T::WATCHED) {
            Asked::Yes => "The run watched the object and saw no change.",
            Asked::No(_) => "The run read the object once, so nothing is known of earlier versions.",
        });
        Some(Story {
            events: chosen(drafts),
            note: note.map(str::to_owned),
        })
    }

    /// The members of a profile.
    pub(super) fn members<'s>(&'s self, object: &'s ObjectRef) -> &'s [&'e Member] {
        let members = self.members.get_or_init(|| {
            let mut members: HashMap<Name, Vec<&Member>> = HashMap::new();
            for member in &self.evidence.members {
                let key = (&*member.profile.namespace, &*member.profile.name);
                members.entry(key).or_default().push(member);
            }
            members
        });
        let of_name = members.get(&(&*object.namespace, &*object.name));
        of_name.map_or(&[], Vec::as_slice)
    }
}
