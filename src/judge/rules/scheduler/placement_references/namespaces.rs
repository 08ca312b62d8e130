//! The namespaces of the profiles that decisions refer to.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use evidence::{
    Asked, Evidence, Kind, ObjectRef,
    api::{PlacementDecision, syntax::is_dns_label},
};

use super::naming::key_of;
use crate::{
    shared::placement::logical_decisions,
    subjects::{Finding, Findings},
    text::{counted, redacted},
};

/// How many namespaces a finding shows.
const SHOWN: usize = 5;

/// The references to one namespace.
struct Referred<'e> {
    /// The first slice with one.
    slice: &'e PlacementDecision,
    /// Its place there.
    index: usize,
    /// How many there are.
    count: usize,
}

/// `placement-references/namespace-readable`
///
/// A namespace of a reference exists, and the declared consumers may get ClusterProfiles there.
///
/// The namespace of the decision itself is no choice of the scheduler's reference.
pub(in crate::rules) fn namespace_readable(evidence: &Evidence, findings: &mut Findings) {
    findings.not_applicable("no slice refers to another namespace");
    let hub = Namespaces::of(evidence);
    let is_dump = evidence.header.window.is_none();
    let (mut unseen, mut unanswered) = (Untold::default(), Untold::default());
    for (namespace, referred) in referred(evidence) {
        findings.examine();
        let mut is_answered = false;
        for (user, answer) in answers(evidence, namespace) {
            is_answered |= answer.is_some();
            match answer {
                Some(true) => {}
                Some(false) => findings.report(referred.unreadable(namespace, user)),
                None => unanswered.add(|| {
                    let user = redacted(user);
                    format!(
                        "the hub did not say whether {user} may get ClusterProfiles in namespace {namespace}"
                    )
                }),
            }
        }
        match hub.exists(namespace) {
            Some(false) => findings.report(referred.missing(namespace, is_dump)),
            // The hub told of a right in it.
            None if !is_answered => unseen.add(|| {
                let slice = ObjectRef::from(referred.slice).path();
                format!(
                    "the run did not see whether namespace {namespace} exists, to which slice {slice} refers"
                )
            }),
            _ => {}
        }
    }
    unseen.tell(findings);
    unanswered.tell(findings);
}

/// What the run could not tell: the first case, and how many there are.
#[derive(Default)]
struct Untold {
    first: Option<String>,
    count: usize,
}

impl Untold {
    fn add(&mut self, describe: impl FnOnce() -> String) {
        self.first.get_or_insert_with(describe);
        self.count += 1;
    }

    fn tell(self, findings: &mut Findings) {
        let Some(first) = self.first else {
            return;
        };
        findings.cannot_tell(match self.count {
            1 => first,
            count => format!("{first} (and {} like it)", counted(count - 1, "more case")),
        });
    }
}

/// The namespaces of the hub, as far as the run knows them.
struct Namespaces<'e> {
    seen: HashSet<&'e str>,
    /// Whether all were listed: a run in some namespaces reads those alone.
    is_whole: bool,
}

impl<'e> Namespaces<'e> {
    fn of(evidence: &'e Evidence) -> Self {
        let listed = evidence.namespaces.iter().map(|namespace| &*namespace.name);
        let profiles = evidence.profiles.iter();
        let held = profiles.map(|history| &*history.last().metadata.namespace);
        let mut unread = evidence
            .unreadable
            .iter()
            .map(|unreadable| &*unreadable.object.kind);
        Self {
            seen: listed.chain(held).collect(),
            is_whole: evidence.is_whole(Kind::Namespaces)
                && evidence.header.scope.namespaces.is_empty()
                && !unread.any(|kind| matches!(kind, "" | "Namespace")),
        }
    }

    /// Whether a namespace exists; none if the run cannot tell.
    fn exists(&self, namespace: &str) -> Option<bool> {
        let is_seen = self.seen.contains(namespace);
        (is_seen || self.is_whole).then_some(is_seen)
    }
}

/// The namespaces that present slices refer to, but for their own. A namespace that none can have is for
/// `placement-references/name-valid`.
fn referred(evidence: &Evidence) -> BTreeMap<&str, Referred<'_>> {
    let mut found: BTreeMap<&str, Referred> = BTreeMap::new();
    let slices = evidence.slices();
    for slice in slices.filter(|slice| slice.metadata.deletion_timestamp.is_none()) {
        for (index, namespace) in namespaces(slice) {
            if namespace == &*slice.metadata.namespace || !is_dns_label(namespace) {
                continue;
            }
            let entry = found.entry(namespace).or_insert(Referred {
                slice,
                index,
                count: 0,
            });
            entry.count += 1;
        }
    }
    found
}

/// The namespace of each reference, with its place.
fn namespaces(slice: &PlacementDecision) -> impl Iterator<Item = (usize, &str)> {
    let clusters = slice.clusters().iter().enumerate();
    clusters.filter_map(|(index, decision)| {
        let reference = decision.cluster_profile_ref.as_ref()?;
        Some((index, key_of(slice, reference).0))
    })
}

/// Whether each declared consumer may get ClusterProfiles in a namespace; none if the hub did not say.
fn answers<'e>(evidence: &'e Evidence, namespace: &str) -> impl Iterator<Item = (&'e str, Option<bool>)> {
    let is_asked = *evidence.asked(Kind::ConsumerAccess) == Asked::Yes;
    let users = evidence
        .header
        .claim
        .consumer_users
        .iter()
        .filter(move |_| is_asked);
    users.map(move |user| {
        let mut access = evidence
            .consumer_access
            .iter()
            .filter(|access| access.user == *user);
        let answer = access.find_map(|access| {
            let mut answers = access.profiles.iter();
            answers.find(|answer| answer.namespace == namespace)
        });
        (&**user, answer.map(|answer| answer.readable))
    })
}

impl Referred<'_> {
    fn finding(&self, message: &str) -> Finding {
        Finding::on(ObjectRef::from(self.slice), message)
            .at(format!("decisions[{}].clusterProfileRef.namespace", self.index))
    }

    fn missing(&self, namespace: &str, is_dump: bool) -> Finding {
        let finding = self
            .finding("the decision refers to a namespace that does not exist")
            .expected("a namespace with ClusterProfiles")
            .observed(format!("{namespace}, in {}", self.references()));
        // A dump may hold some namespaces only.
        if is_dump { finding.advisory() } else { finding }
    }

    fn unreadable(&self, namespace: &str, user: &str) -> Finding {
        self.finding("a consumer may not read the ClusterProfiles that the decision refers to")
            .expected(format!(
                "{} may get ClusterProfiles in namespace {namespace}",
                redacted(user)
            ))
            .observed(format!("it may not, for {}", self.references()))
    }

    fn references(&self) -> String {
        counted(self.count, "reference")
    }
}

/// `placement-references/of-one-inventory`
///
/// All profiles of a decision are in one namespace, which is one inventory.
pub(in crate::rules) fn of_one_inventory(evidence: &Evidence, findings: &mut Findings) {
    findings.nothing_happened("no slice names a cluster");
    for decision in &logical_decisions(evidence.slices()) {
        let Some(first) = decision.slices.iter().find_map(|slice| namespaces(slice).next()) else {
            continue;
        };
        findings.examine();
        let Some((slice, index)) = decision.slices.iter().find_map(|slice| {
            let mut others = namespaces(slice).filter(|(_, namespace)| *namespace != first.1);
            Some((*slice, others.next()?.0))
        }) else {
            continue;
        };
        let all = decision.slices.iter().flat_map(|slice| namespaces(slice));
        let all: BTreeSet<&str> = all.map(|(_, namespace)| namespace).collect();
        findings.report(
            Finding::on(
                ObjectRef::from(slice),
                "one decision draws from several inventories",
            )
            .at(format!("decisions[{index}].clusterProfileRef.namespace"))
            .expected(format!("profiles of one namespace in {}", decision.describe()))
            .observed(shown(&all)),
        );
    }
}

fn shown(namespaces: &BTreeSet<&str>) -> String {
    let shown: Vec<String> = namespaces.iter().take(SHOWN).map(|name| redacted(name)).collect();
    match namespaces.len() - shown.len() {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
