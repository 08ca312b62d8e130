//! What was seen of the members, as evidence.

use std::collections::{BTreeMap, HashMap};

use super::{
    tried::{Named, Tried},
    watch::{Asking, Recorded, lock},
};
use crate::{
    api::names,
    evidence::{Gap, Kind, Login, LoginWith, Member, MemberPart, ObjectRef, ProfileHistory},
};

/// What was seen of the members.
#[derive(Default)]
pub(in crate::collect) struct Seen {
    pub members: Vec<Member>,
    pub logins: Vec<Login>,
    pub gaps: Vec<Gap>,
}

impl Asking {
    /// Gives what was seen, of the profiles that the hub had.
    pub fn finish(self, profiles: &[ProfileHistory]) -> Seen {
        let mut seen = Seen::default();
        let known = Known::of(profiles);
        let mut members: BTreeMap<ObjectRef, Recorded> = BTreeMap::new();
        for (named, record) in &self.records {
            let recorded = std::mem::take(&mut *record.lock());
            if recorded.way.is_empty() && recorded.closed.is_none() {
                // Nobody was to be called.
                continue;
            }
            // A way that was given goes before one that a Secret without a namespace has shown.
            let has_way = !recorded.looks.is_empty();
            let before = members.entry(known.find(named)).or_default();
            if before.looks.is_empty() && (has_way || before.closed.is_none()) {
                *before = recorded;
            }
        }
        for (profile, recorded) in members {
            seen.add(profile, recorded);
        }
        let mut tried = std::mem::take(&mut *lock(&self.tried));
        tried.sort_by(|one, other| one.secret.cmp(&other.secret));
        let login = |tried: Tried| Login {
            at: tried.at,
            profile: known.find(&tried.profile),
            with: LoginWith::Secret(tried.secret),
            outcome: tried.outcome,
        };
        seen.logins = tried.into_iter().map(login).collect();
        if let Some(reason) = self.unread.filter(|_| seen.members.is_empty()) {
            let reason = format!("the Secrets that would open the members could not be read: {reason}");
            seen.gaps.push(gap(None, reason));
        }
        seen
    }
}

impl Seen {
    /// A member of whom nothing could ever be had has no looks, but a gap.
    fn add(&mut self, profile: ObjectRef, recorded: Recorded) {
        let Recorded {
            way,
            mut looks,
            closed,
        } = recorded;
        if looks
            .iter()
            .all(|look| !MemberPart::ALL.iter().any(|part| look.has(*part)))
        {
            let cause = looks
                .last()
                .and_then(|look| look.missing.values().next().cloned());
            let cause = cause
                .or(closed)
                .unwrap_or_else(|| "the run was stopped before it was asked".to_owned());
            self.gaps.push(gap(Some(profile.clone()), cause));
            looks.clear();
        }
        self.members.push(Member { profile, way, looks });
    }
}

fn gap(object: Option<ObjectRef>, reason: String) -> Gap {
    Gap {
        kind: Kind::Members,
        from: None,
        until: None,
        object,
        reason,
    }
}

/// The profiles that the hub had, by name.
struct Known<'a>(HashMap<&'a str, Vec<ObjectRef>>);

impl<'a> Known<'a> {
    fn of(profiles: &'a [ProfileHistory]) -> Self {
        let mut known: HashMap<&str, Vec<ObjectRef>> = HashMap::new();
        for history in profiles {
            let profile = history.last();
            let same_name = known.entry(&profile.metadata.name).or_default();
            // The last of those that had the name, one after the other.
            same_name.retain(|object| object.namespace != *profile.metadata.namespace);
            same_name.push(ObjectRef {
                resource_version: String::new(),
                ..ObjectRef::from(profile)
            });
        }
        Self(known)
    }

    /// The profile that is meant: where no namespace is told, the only one of that name, or the one in `default`.
    fn find(&self, named: &Named) -> ObjectRef {
        let same_name = self
            .0
            .get(named.name.as_str())
            .map(Vec::as_slice)
            .unwrap_or_default();
        let of = |namespace: &str| same_name.iter().find(|object| object.namespace == namespace);
        let found = match (&named.namespace, same_name) {
            (Some(namespace), _) => of(namespace),
            (None, [only]) => Some(only),
            (None, _) => of("default"),
        };
        found.cloned().unwrap_or_else(|| ObjectRef {
            kind: names::KIND.to_owned(),
            namespace: named.namespace.clone().unwrap_or_default(),
            name: named.name.clone(),
            ..ObjectRef::default()
        })
    }
}
