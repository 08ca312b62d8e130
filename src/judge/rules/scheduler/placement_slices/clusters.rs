//! The clusters of a decision.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use evidence::{
    Evidence, ObjectRef,
    api::{ClusterProfile, PlacementDecision, names},
};

use crate::{
    shared::placement::{
        Difference, LastingFault, LogicalDecision, Moment, RESCHEDULE, Reads, each_version, faults_that_last,
        logical_decisions,
    },
    subjects::{Finding, Findings},
};

/// Maximum number of clusters in several slices of a decision that are reported.
const MOST: usize = 100;

/// `placement-slices/cluster-once`
///
/// A decision names no cluster twice, in one slice or in two.
///
/// A scheduler that moves a cluster from one slice to another names it twice for a moment, so that no consumer misses it.
/// Within one slice there is no such reason. Two profiles with one member id are a warning: the fault may be in the
/// inventory.
pub(in crate::rules) fn cluster_once(evidence: &Evidence, findings: &mut Findings) {
    each_version(evidence, findings, |slice| Some(repeated(slice)));
    let examined = findings.examined;
    let mut named = Named::default();
    let reads = Reads::Everything;
    faults_that_last(evidence, findings, RESCHEDULE, reads, |moment| named.at(moment));
    findings.examined = examined;
    one_member(evidence, findings);
}

/// The namespace and name of a profile.
type Cluster<'e> = (&'e str, &'e str);

/// The namespace, scheduler and key of a decision.
type Decision<'e> = (&'e str, &'e str, &'e str);

/// The clusters of a slice with their places. An absent reference or an empty name is no cluster's.
fn clusters(slice: &PlacementDecision) -> impl Iterator<Item = (usize, Cluster<'_>)> {
    let own = &*slice.metadata.namespace;
    let decisions = slice.clusters().iter().enumerate();
    decisions.filter_map(move |(place, decision)| {
        let reference = decision.cluster_profile_ref.as_ref()?;
        let namespace = match &*reference.namespace {
            "" => own,
            namespace => namespace,
        };
        (!reference.name.is_empty()).then_some((place, (namespace, &*reference.name)))
    })
}

fn twice(slice: &PlacementDecision, place: usize, decision: &str, cluster: Cluster, first: &str) -> Finding {
    let (namespace, name) = cluster;
    Finding::on(ObjectRef::from(slice), "the decision names a cluster twice")
        .at(format!("decisions[{place}].clusterProfileRef"))
        .expected(format!("each cluster once in {decision}"))
        .observed(format!("{namespace}/{name}, as in slice {first}"))
}

/// The clusters that one slice names twice.
fn repeated(slice: &PlacementDecision) -> Vec<Finding> {
    let metadata = &slice.metadata;
    let decision = || format!("slice {}/{}", metadata.namespace, metadata.name);
    let mut named = HashSet::new();
    clusters(slice)
        .filter(|(_, cluster)| !named.insert(*cluster))
        .map(|(place, cluster)| twice(slice, place, &decision(), cluster, &metadata.name))
        .collect()
}

/// Which slices name each cluster of a decision at a moment. Each moment changes few slices, so only those are read.
#[derive(Default)]
struct Named<'e> {
    of_decision: HashMap<Decision<'e>, HashMap<Cluster<'e>, Vec<&'e PlacementDecision>>>,
    /// The clusters that several slices name.
    doubled: BTreeSet<(Decision<'e>, Cluster<'e>)>,
}

impl<'e> Named<'e> {
    /// Goes on to a moment, and returns the clusters that two slices name.
    fn at(&mut self, moment: &Moment<'_, 'e>) -> Vec<LastingFault> {
        if moment.is_first {
            *self = Self::default();
        }
        for change in moment.changes {
            change.before.into_iter().for_each(|slice| self.leave(slice));
            change.after.into_iter().for_each(|slice| self.enter(slice));
        }
        let doubled = self.doubled.iter().take(MOST);
        doubled.flat_map(|key| self.findings(*key)).collect()
    }

    fn enter(&mut self, slice: &'e PlacementDecision) {
        let Some(decision) = decision_of(slice) else {
            return;
        };
        let of_cluster = self.of_decision.entry(decision).or_default();
        for (_, cluster) in clusters(slice) {
            let slices = of_cluster.entry(cluster).or_default();
            // The slice itself may name it twice.
            if slices.last().is_some_and(|last| std::ptr::eq(*last, slice)) {
                continue;
            }
            slices.push(slice);
            if slices.len() > 1 {
                self.doubled.insert((decision, cluster));
            }
        }
    }

    fn leave(&mut self, slice: &'e PlacementDecision) {
        let Some(decision) = decision_of(slice) else {
            return;
        };
        let of_cluster = self.of_decision.entry(decision).or_default();
        for (_, cluster) in clusters(slice) {
            let Some(slices) = of_cluster.get_mut(&cluster) else {
                continue;
            };
            slices.retain(|other| !std::ptr::eq(*other, slice));
            if slices.len() < 2 {
                self.doubled.remove(&(decision, cluster));
            }
            if slices.is_empty() {
                of_cluster.remove(&cluster);
            }
        }
        if of_cluster.is_empty() {
            self.of_decision.remove(&decision);
        }
    }

    /// The fault of each slice that names a cluster after another one. It is the cluster's, whatever its place.
    fn findings(&self, key: (Decision<'e>, Cluster<'e>)) -> Vec<LastingFault> {
        let (decision, wanted) = key;
        let mut slices = self.of_decision[&decision][&wanted].clone();
        slices.sort_by(|one, other| one.metadata.name.cmp(&other.metadata.name));
        let described = format!("decision {} in namespace {}", decision.2, decision.0);
        // Two decisions with one key are for `placement-slices/key-one-decision`.
        let first_of = |number: usize| {
            let mut before = slices[..number].iter();
            before.find(|other| Difference::of(other, slices[number]).is_none())
        };
        let doubled = (1..slices.len()).find_map(|number| Some((slices[number], first_of(number)?)));
        let finding = doubled.and_then(|(slice, first)| {
            let (place, _) = clusters(slice).find(|(_, cluster)| *cluster == wanted)?;
            Some(twice(slice, place, &described, wanted, &first.metadata.name))
        });
        let key = format!("{described}: {}/{}", wanted.0, wanted.1);
        finding
            .map(|finding| LastingFault::of(key, finding))
            .into_iter()
            .collect()
    }
}

/// The decision of a slice, if it may have others.
fn decision_of(slice: &PlacementDecision) -> Option<Decision<'_>> {
    let of_one_slice = logical_decisions([slice]);
    let decision = of_one_slice.first()?;
    Some((decision.namespace, slice.scheduler(), decision.key?))
}

/// Warns if a decision names two profiles of one namespace that have the same member id when the run ends. In two
/// namespaces, which may be two inventories, the same id may be of two members.
fn one_member(evidence: &Evidence, findings: &mut Findings) {
    let ids: HashMap<Cluster, &str> = evidence.everyone().filter_map(member_id).collect();
    if ids.is_empty() {
        return;
    }
    for decision in logical_decisions(evidence.slices()) {
        twins(&decision, &ids, findings);
    }
}

fn member_id(profile: &ClusterProfile) -> Option<(Cluster<'_>, &str)> {
    let metadata = &profile.metadata;
    let id = profile
        .label(names::LABEL_MEMBER_ID)
        .filter(|id| !id.is_empty())?;
    let is_leaving = metadata.deletion_timestamp.is_some();
    (!is_leaving).then_some(((&*metadata.namespace, &*metadata.name), id))
}

fn twins(decision: &LogicalDecision, ids: &HashMap<Cluster, &str>, findings: &mut Findings) {
    let mut of_member: BTreeMap<(&str, &str), Cluster> = BTreeMap::new();
    for slice in &decision.slices {
        for (place, cluster) in clusters(slice) {
            let Some(id) = ids.get(&cluster) else { continue };
            let first = *of_member.entry((cluster.0, id)).or_insert(cluster);
            if first != cluster {
                let finding = Finding::on(
                    ObjectRef::from(*slice),
                    "the decision names two profiles of one member",
                )
                .at(format!("decisions[{place}].clusterProfileRef"))
                .expected(format!("each member once in {}", decision.describe()))
                .observed(format!(
                    "{}/{} and {}/{}, both with member id {id}",
                    first.0, first.1, cluster.0, cluster.1
                ));
                findings.report(finding.advisory());
            }
        }
    }
}
