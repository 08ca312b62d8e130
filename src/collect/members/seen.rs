//! Turns what was seen of the members into evidence.

use std::collections::{BTreeMap, HashMap};

use evidence::{Gap, Kind, Login, Member, MemberPart, ObjectRef, ProfileHistory, Reason, api::names};

use super::{
    tried::{Named, Tried},
    watch::{Asking, Recorded},
};

/// What was seen of the members.
#[derive(Default)]
pub(crate) struct Seen {
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
            // A Secret of no profile is a matter of its own.
            if !recorded.given && !known.has(named) {
                continue;
            }
            // Of two records, as where a Secret does not tell the namespace, the one by the way that was given counts.
            let before = members.entry(known.find(named)).or_default();
            if before.looks.is_empty() || recorded.given {
                *before = recorded;
            }
        }
        for (profile, recorded) in members {
            seen.add(profile, recorded);
        }
        let mut tried = std::mem::take(&mut *self.tried.lock());
        tried.sort_by_cached_key(Tried::id);
        let login = |tried: Tried| Login {
            at: tried.at,
            profile: known.find(&tried.profile),
            with: tried.with,
            outcome: tried.outcome,
        };
        seen.logins = tried.into_iter().map(login).collect();
        if let Some(reason) = &self.not_run {
            seen.gaps.push(Gap {
                kind: Kind::Plugins,
                ..gap(None, format!("not all credential plugins were run: {reason}"))
            });
        }
        if let Some(reason) = self.unread.filter(|_| seen.members.is_empty()) {
            let reason = format!("the Secrets that would open the members could not be read: {reason}");
            seen.gaps.push(gap(None, reason));
        }
        seen
    }
}

impl Seen {
    /// A member that never answered has no looks, but a gap.
    fn add(&mut self, profile: ObjectRef, recorded: Recorded) {
        let Recorded {
            way,
            mut looks,
            closed,
            ..
        } = recorded;
        if looks
            .iter()
            .all(|look| !MemberPart::ALL.iter().any(|part| look.has(*part)))
        {
            let cause = looks
                .last()
                .and_then(|look| look.missing.values().next().cloned());
            let cause = cause
                .or(closed.map(Reason::from))
                .unwrap_or_else(|| "the run was stopped before it was asked".into());
            self.gaps.push(gap(Some(profile.clone()), cause));
            looks.clear();
        }
        self.members.push(Member { profile, way, looks });
    }
}

fn gap(object: Option<ObjectRef>, reason: impl Into<Reason>) -> Gap {
    Gap {
        object,
        ..Gap::of(Kind::Members, reason)
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

    fn has(&self, named: &Named) -> bool {
        !self.find(named).uid.is_empty()
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
