//! Merges the evidence of all shares of a fleet into what one runner would have recorded.
//!
//! A missing share is no error: the evidence says what is missing, so that rules are inconclusive and what the other
//! shares show is not lost. Evidence that does not belong together is refused.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::{
    Asked, Evidence, Gap, Header, History, Kind, ObjectRef, Origin, Permission, Reason, Scope, Settled,
    Shard, Tracked, Traffic, Window,
};

/// The evidence of one share, and what to call it in errors.
#[derive(Clone, Debug)]
pub struct Part {
    /// A name for people, such as the file's.
    pub name: String,
    /// The evidence.
    pub evidence: Evidence,
}

/// Why evidence cannot be merged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MergeError {
    /// There is none.
    #[error("there is no evidence to merge")]
    None,
    /// It comes from a run over the whole fleet.
    #[error("{name} is no share of a fleet: its run observed all namespaces of its scope")]
    NotAShare {
        /// The evidence.
        name: String,
    },
    /// It is the result of a merge.
    #[error("{name} is merged already: merge the shares it was made of")]
    Merged {
        /// The evidence.
        name: String,
    },
    /// One share is there twice.
    #[error("{one} and {other} are both share {shard}: give the one that belongs to this run")]
    Twice {
        /// The share.
        shard: Shard,
        /// One of them.
        one: String,
        /// The other one.
        other: String,
    },
    /// They are not shares of one run.
    #[error(
        "{field} differs: {one} says {one_says}, {other} says {other_says}; merge only the shares of one run on one hub"
    )]
    Differ {
        /// What differs.
        field: &'static str,
        /// One of them.
        one: String,
        /// What it says.
        one_says: String,
        /// Another one.
        other: String,
        /// What that says.
        other_says: String,
    },
    /// An object is not of the share.
    #[error("{name} is share {shard}, and {object} does not fall to it: the evidence was changed")]
    Foreign {
        /// The evidence.
        name: String,
        /// Its share.
        shard: Shard,
        /// The object.
        object: Box<ObjectRef>,
    },
}

/// The kinds of evidence that the first share has for the whole hub.
pub const OF_FIRST_SHARE: [Kind; 4] = [
    Kind::Secrets,
    Kind::UnlabelledSecrets,
    Kind::Requests,
    Kind::Workloads,
];
/// The kinds of evidence that each share has for its own objects.
const OF_EACH_SHARE: [Kind; 7] = [
    Kind::Inventory,
    Kind::Timeline,
    Kind::PlacementDecisions,
    Kind::PlacementTimeline,
    Kind::ConsumerAccess,
    Kind::Members,
    Kind::Plugins,
];

const NAMESPACE: &str = "Namespace";
/// How far the skews of two runners' clocks may differ, in milliseconds: the hub tells its time in whole seconds.
const SKEWS_AGREE: i64 = 2_000;

/// Merges shares of one run.
///
/// # Errors
/// When they are not shares, do not belong together, or one is there twice.
pub fn merge(parts: Vec<Part>) -> Result<Evidence, MergeError> {
    let mut parts = parts.into_iter().map(Piece::of).collect::<Result<Vec<_>, _>>()?;
    parts.sort_by_key(|part| part.shard);
    let Some((first, others)) = parts.split_first() else {
        return Err(MergeError::None);
    };
    for other in others {
        agree(first, other)?;
    }
    for pair in parts.windows(2) {
        if pair[0].shard == pair[1].shard {
            return Err(MergeError::Twice {
                shard: pair[0].shard,
                one: pair[0].name.clone(),
                other: pair[1].name.clone(),
            });
        }
    }
    Ok(Whole::of(parts).evidence)
}

/// A part that is a share.
struct Piece {
    name: String,
    shard: Shard,
    evidence: Evidence,
}

impl Piece {
    fn of(part: Part) -> Result<Self, MergeError> {
        let Part { name, evidence } = part;
        let Some(shard) = evidence.header.scope.shard else {
            return Err(if evidence.header.shares.is_empty() {
                MergeError::NotAShare { name }
            } else {
                MergeError::Merged { name }
            });
        };
        let foreign = foreign(&evidence.profiles, shard).or_else(|| foreign(&evidence.slices, shard));
        if let Some(object) = foreign.map(Box::new) {
            return Err(MergeError::Foreign { name, shard, object });
        }
        Ok(Self {
            name,
            shard,
            evidence,
        })
    }

    fn header(&self) -> &Header {
        &self.evidence.header
    }

    fn has_objects(&self) -> bool {
        !(self.evidence.profiles.is_empty() && self.evidence.slices.is_empty())
    }

    /// Whether it lists the hub's namespaces as they were at its end.
    fn has_namespaces(&self) -> bool {
        self.evidence.is_whole(Kind::Namespaces)
    }

    fn end(&self) -> Option<Timestamp> {
        self.header().window.map(|window| window.until)
    }

    /// The hub, by the uid of its namespace `kube-system`: the source's name differs between machines.
    fn hub(&self) -> Option<&str> {
        let mut namespaces = self.evidence.namespaces.iter();
        let system = namespaces.find(|namespace| namespace.name == "kube-system")?;
        Some(&*system.uid).filter(|uid| !uid.is_empty())
    }
}

/// A field in which shares have to agree, as a value that can be compared and shown.
type Field = (&'static str, fn(&Piece) -> Value);

const FIELDS: [Field; 6] = [
    ("the number of shares", |part| json!(part.shard.count)),
    ("the suite's version", |part| json!(part.header().suite_version)),
    ("the edition", |part| json!(part.header().claim.edition)),
    ("the claim", |part| json!(part.header().claim)),
    ("the API version", |part| json!(part.header().hub.api_version)),
    ("the scope", |part| {
        let scope = &part.header().scope;
        json!({"namespaces": scope.namespaces, "clusterManager": scope.cluster_manager})
    }),
];

fn agree(one: &Piece, other: &Piece) -> Result<(), MergeError> {
    let differ = |field, one_says: String, other_says: String| MergeError::Differ {
        field,
        one: one.name.clone(),
        one_says,
        other: other.name.clone(),
        other_says,
    };
    for (field, of) in FIELDS {
        let (ours, theirs) = (of(one), of(other));
        if ours != theirs {
            return Err(differ(field, ours.to_string(), theirs.to_string()));
        }
    }
    let (field, ours, theirs) = match (one.hub(), other.hub()) {
        (Some(ours), Some(theirs)) => ("the uid of the hub's namespace kube-system", ours, theirs),
        _ => ("the hub", &*one.header().hub.source, &*other.header().hub.source),
    };
    if ours == theirs {
        Ok(())
    } else {
        Err(differ(field, ours.to_owned(), theirs.to_owned()))
    }
}

/// The merged evidence, while it is put together.
struct Whole {
    evidence: Evidence,
    count: u32,
}

impl Whole {
    /// Puts parts together. They are at least one, sorted by their shares, and agree.
    fn of(parts: Vec<Piece>) -> Self {
        let count = parts[0].shard.count;
        let missing: Vec<Shard> = (0..count)
            .map(|index| Shard { index, count })
            .filter(|shard| parts.iter().all(|part| part.shard != *shard))
            .collect();
        let mut whole = Self {
            evidence: Evidence {
                header: header(&parts),
                ..Evidence::default()
            },
            count,
        };
        whole.ask(&parts);
        for shard in missing {
            whole.miss(shard);
        }
        whole.namespaces(&parts);
        for part in parts {
            whole.take(part);
        }
        whole.sort();
        whole
    }

    /// Merges what was asked for. Where runners of shares differ, the evidence was asked for and has gaps.
    fn ask(&mut self, parts: &[Piece]) {
        let kinds: BTreeSet<Kind> = parts
            .iter()
            .flat_map(|part| part.header().asked.keys())
            .copied()
            .collect();
        for kind in kinds {
            let asked = if OF_FIRST_SHARE.contains(&kind) {
                match parts.iter().find(|part| part.shard.reads_hub()) {
                    Some(first) => first.evidence.asked(kind).clone(),
                    None => {
                        Asked::No(format!("share 0/{} is missing, and no other reads it", self.count).into())
                    }
                }
            } else {
                // A share without objects has nothing to show.
                let showing: Vec<&Piece> = parts.iter().filter(|part| part.has_objects()).collect();
                let relevant = if showing.is_empty() {
                    parts.iter().collect()
                } else {
                    showing
                };
                self.ask_each(kind, &relevant)
            };
            self.evidence.header.asked.insert(kind, asked);
        }
    }

    fn ask_each(&mut self, kind: Kind, parts: &[&Piece]) -> Asked {
        let is_asked = |part: &&&Piece| *part.evidence.asked(kind) == Asked::Yes;
        if !parts.iter().any(|part| is_asked(&part)) {
            return parts[0].evidence.asked(kind).clone();
        }
        if OF_EACH_SHARE.contains(&kind) {
            for part in parts {
                if let Asked::No(reason) = part.evidence.asked(kind) {
                    let reason = reason.in_words(format!("share {}: {reason}", part.shard));
                    self.gap(kind, part.shard, reason);
                }
            }
        }
        Asked::Yes
    }

    /// Notes that a share is missing.
    fn miss(&mut self, shard: Shard) {
        for kind in OF_EACH_SHARE {
            if *self.evidence.asked(kind) == Asked::Yes {
                self.gap(
                    kind,
                    shard,
                    format!("share {shard} is missing: its evidence was not given").into(),
                );
            }
        }
    }

    fn gap(&mut self, kind: Kind, shard: Shard, reason: Reason) {
        self.evidence.gaps.push(Gap {
            share: Some(shard.index),
            ..Gap::of(kind, reason)
        });
    }

    /// Takes the last list of Namespaces: each share lists all.
    fn namespaces(&mut self, parts: &[Piece]) {
        let key = |part: &&Piece| (part.has_namespaces(), part.end());
        let Some(last) = parts.iter().max_by_key(key) else {
            return;
        };
        self.evidence.namespaces.clone_from(&last.evidence.namespaces);
        let gaps = last.evidence.gaps(Kind::Namespaces).cloned();
        self.evidence.gaps.extend(gaps);
        let unreadable = last.evidence.unreadable.iter();
        let unreadable = unreadable.filter(|unreadable| unreadable.object.kind == NAMESPACE);
        self.evidence.unreadable.extend(unreadable.cloned());
    }

    /// Takes what a part has for its own share and, of the first share, for the hub.
    fn take(&mut self, part: Piece) {
        let Piece {
            shard, evidence: own, ..
        } = part;
        let of_hub = |gap: &Gap| OF_FIRST_SHARE.contains(&gap.kind);
        let evidence = &mut self.evidence;
        let gaps = own.gaps.into_iter().filter(|gap| gap.kind != Kind::Namespaces);
        evidence
            .gaps
            .extend(gaps.filter_map(|gap| match (of_hub(&gap), shard.reads_hub()) {
                (false, _) => Some(Gap {
                    share: Some(shard.index),
                    reason: gap.reason.in_words(format!("share {shard}: {}", gap.reason)),
                    ..gap
                }),
                (true, true) => Some(gap),
                (true, false) => None,
            }));
        let unreadable = own.unreadable.into_iter();
        let unreadable = unreadable.filter(|unreadable| unreadable.object.kind != NAMESPACE);
        evidence.unreadable.extend(unreadable);
        evidence.profiles.extend(own.profiles);
        evidence.slices.extend(own.slices);
        evidence.later.profiles.extend(own.later.profiles);
        evidence.later.slices.extend(own.later.slices);
        evidence.later.missing.extend(own.later.missing);
        let later = own.later.gaps.into_iter().map(|gap| Gap {
            share: Some(shard.index),
            ..gap
        });
        evidence.later.gaps.extend(later);
        evidence.secrets.extend(own.secrets);
        evidence.unlabelled_secrets.extend(own.unlabelled_secrets);
        evidence.probes.extend(own.probes);
        evidence.members.extend(own.members);
        evidence.endpoint_calls.extend(own.endpoint_calls);
        evidence.logins.extend(own.logins);
        if shard.reads_hub() {
            evidence.requests = own.requests;
            evidence.slice_requests = own.slice_requests;
            evidence.workloads = own.workloads;
        }
        for of_share in own.consumer_access {
            let mut known = evidence.consumer_access.iter_mut();
            match known.find(|known| known.user == of_share.user) {
                Some(known) => {
                    known.writes.extend(of_share.writes);
                    known.profiles.extend(of_share.profiles);
                }
                None => evidence.consumer_access.push(of_share),
            }
        }
    }

    /// Restores the order in which one runner records: the first list by namespace and name, then what came later.
    fn sort(&mut self) {
        self.evidence.later.sort();
        sort(&mut self.evidence.profiles);
        sort(&mut self.evidence.slices);
        for access in &mut self.evidence.consumer_access {
            let profiles = &mut access.profiles;
            profiles.sort_by(|one, other| one.namespace.cmp(&other.namespace));
            profiles.dedup_by(|one, other| one.namespace == other.namespace);
        }
        let path = |object: &ObjectRef| format!("{}/{}", object.namespace, object.name);
        self.evidence
            .members
            .sort_by_cached_key(|member| path(&member.profile));
        self.evidence
            .endpoint_calls
            .sort_by_cached_key(|call| path(&call.profile));
        self.evidence
            .logins
            .sort_by_cached_key(|login| path(&login.profile));
    }
}

/// An object that does not fall to a share.
fn foreign<T: Tracked>(histories: &[History<T>], shard: Shard) -> Option<ObjectRef> {
    let mut objects = histories.iter().map(History::last);
    let foreign = objects.find(|object| !shard.holds(&object.metadata().namespace));
    foreign.map(ObjectRef::from)
}

/// Sorts histories as one runner records them.
fn sort<T: Tracked>(histories: &mut [History<T>]) {
    histories.sort_by_cached_key(|history| {
        let first = &history.versions[0];
        let came = (history.origin != Origin::Listed).then_some(first.at);
        (came, ObjectRef::from(&first.object).path())
    });
}

/// Merges headers, without what was asked for.
fn header(parts: &[Piece]) -> Header {
    let first = parts[0].header();
    let headers = || parts.iter().map(Piece::header);
    let server_version = first.hub.server_version.clone();
    let is_common = headers().all(|header| header.hub.server_version == server_version);
    let mut hub = first.hub.clone();
    hub.server_version = server_version.filter(|_| is_common);
    let cut_short: Vec<String> = parts
        .iter()
        .filter_map(|part| {
            Some(format!(
                "share {}: {}",
                part.shard,
                part.header().cut_short.as_ref()?
            ))
        })
        .collect();
    Header {
        scope: Scope {
            shard: None,
            ..first.scope.clone()
        },
        shares: headers()
            .flat_map(|header| header.shares.iter().cloned())
            .collect(),
        hub,
        window: headers().filter_map(|header| header.window).reduce(Window::with),
        settled: headers()
            .filter_map(|header| header.settled)
            .reduce(Settled::with),
        cut_short: (!cut_short.is_empty()).then(|| cut_short.join("; ")),
        clock_skew_ms: common_skew(parts),
        traffic: headers()
            .filter_map(|header| header.traffic)
            .reduce(Traffic::with),
        permissions: permissions(parts),
        asked: Default::default(),
        other_runs: headers()
            .flat_map(|header| header.other_runs.iter().cloned())
            .collect(),
        ..first.clone()
    }
}

/// How far the hub's clock is ahead of all runners'; none if one does not know, or they do not agree.
fn common_skew(parts: &[Piece]) -> Option<i64> {
    let skews: Option<Vec<i64>> = parts.iter().map(|part| part.header().clock_skew_ms).collect();
    let mut skews = skews?;
    skews.sort_unstable();
    let (least, most) = (*skews.first()?, *skews.last()?);
    (most.saturating_sub(least) <= SKEWS_AGREE).then(|| skews[skews.len() / 2])
}

/// Every answer once, in the order of the shares.
fn permissions(parts: &[Piece]) -> Vec<Permission> {
    let mut permissions: Vec<Permission> = Vec::new();
    for permission in parts.iter().flat_map(|part| &part.header().permissions) {
        if !permissions.contains(permission) {
            permissions.push(permission.clone());
        }
    }
    permissions
}
