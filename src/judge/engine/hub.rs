//! What the evidence shows of the hub as a whole, and the ClusterSets of its namespaces and profiles.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
    ops::Deref,
    rc::Rc,
    sync::{Arc, OnceLock},
};

use evidence::{
    Claim, Credential, DriverStep, Evidence, Kind, Namespace, Reason,
    api::{ClusterProfile, Edition, Labels, PlacementDecision, Role, names},
    leak::{Leak, leaks_in_text},
};

use super::{
    at_end::{ConsumerSecret, by_credential, consumer_secrets},
    author::Authors,
    consumer::ConsumerRun,
    driver_steps::{has_left, observed_until},
    judged::{JudgedObject, judged_profiles, judged_slices, slices_in_scope},
};
use crate::{hash::HashMap, text::is_placeholder, time::Micros};

/// The hub, as the functions of one rule see it.
pub(crate) struct Hub<'e> {
    whole: Arc<WholeHub<'e>>,
    claim: &'e Claim,
    /// Whether a function asked for the edition.
    reads_edition: Cell<bool>,
    /// When the certificates in CA data are valid.
    pub(crate) validities: ByText<Vec<(Micros, Micros)>>,
    /// The credentials in CA data.
    pub(crate) leaks_in_ca_data: ByText<Vec<Leak>>,
    /// The credentials in names and messages that many objects have.
    leaks_in_shared: ByText<Vec<Leak>>,
}

/// What does not belong to a single object, nor to a single rule.
pub(crate) struct WholeHub<'e> {
    pub(crate) evidence: &'e Evidence,
    profiles: Vec<JudgedObject<'e, ClusterProfile>>,
    slices: Vec<JudgedObject<'e, PlacementDecision>>,
    /// The slices in scope, those of other publishers included.
    pub(super) slices_in_scope: Vec<JudgedObject<'e, PlacementDecision>>,
    /// The ClusterSet of each namespace that has one.
    clustersets: HashMap<&'e str, &'e str>,
    consumer_secrets: Vec<ConsumerSecret<'e>>,
    /// The places of the consumers' Secrets with each credential.
    pub(super) credentials: BTreeMap<&'e Credential, Vec<usize>>,
    profile_authors: OnceLock<Authors<'e>>,
    slice_authors: Authors<'e>,
    consumer_run: OnceLock<Result<ConsumerRun<'e>, Reason>>,
}

impl<'e> Hub<'e> {
    /// The hub that the evidence is about, judged by the editions in its header.
    pub(crate) fn of(evidence: &'e Evidence) -> Self {
        Self::in_claim(&Arc::new(WholeHub::of(evidence)), &evidence.header.claim)
    }

    /// The hub for a rule of the editions that a claim names.
    pub(crate) fn in_claim(whole: &Arc<WholeHub<'e>>, claim: &'e Claim) -> Self {
        Self {
            whole: Arc::clone(whole),
            claim,
            reads_edition: Cell::new(false),
            validities: ByText::default(),
            leaks_in_ca_data: ByText::default(),
            leaks_in_shared: ByText::default(),
        }
    }

    /// What the user claims of the implementation. Its editions are for [`Hub::edition`] alone.
    pub(crate) fn claim(&self) -> &'e Claim {
        self.claim
    }

    /// The edition that a role is judged by; the role's first one if the claim names none.
    pub(crate) fn edition(&self, role: Role) -> Edition {
        self.reads_edition.set(true);
        let edition = self.claim.edition_of(role);
        edition.or_else(|| role.editions().next()).unwrap_or_default()
    }

    /// The credentials in a text that many objects have, for example the name of a property.
    pub(crate) fn leaks_in_shared(&self, text: &str) -> Vec<Leak> {
        self.leaks_in_shared.get(text, leaks_in_text).to_vec()
    }

    /// Whether a function asked for the edition. If none did, the rule finds the same in each edition.
    pub(crate) fn reads_edition(&self) -> bool {
        self.reads_edition.get()
    }
}

/// The largest number of texts to know: the members of a fleet may share a few, or each has one of its own.
const MOST_TEXTS: usize = 1000;

/// The longest text to know, in bytes: a few certificates.
const LONGEST_TEXT: usize = 16 * 1024;

/// What was computed from texts that many profiles share.
pub(crate) struct ByText<V>(RefCell<HashMap<Box<str>, Rc<V>>>);

impl<V> Default for ByText<V> {
    fn default() -> Self {
        Self(RefCell::default())
    }
}

impl<V> ByText<V> {
    /// What was computed from a text, or is now.
    pub(crate) fn get(&self, text: &str, compute: impl FnOnce(&str) -> V) -> Rc<V> {
        if text.len() > LONGEST_TEXT {
            return Rc::new(compute(text));
        }
        let mut values = self.0.borrow_mut();
        if let Some(value) = values.get(text) {
            return Rc::clone(value);
        }
        if values.len() >= MOST_TEXTS {
            values.clear();
        }
        let value = Rc::new(compute(text));
        values.insert(text.into(), Rc::clone(&value));
        value
    }
}

impl<'e> Deref for Hub<'e> {
    type Target = WholeHub<'e>;

    fn deref(&self) -> &WholeHub<'e> {
        &self.whole
    }
}

impl<'e> WholeHub<'e> {
    /// The hub that the evidence is about.
    pub(crate) fn of(evidence: &'e Evidence) -> Self {
        let slice_authors = Authors::of(evidence, Role::Scheduler);
        let consumer_secrets = consumer_secrets(evidence);
        Self {
            evidence,
            profiles: judged_profiles(evidence),
            slices: judged_slices(evidence, &slice_authors),
            slices_in_scope: slices_in_scope(evidence),
            clustersets: clustersets(evidence),
            credentials: by_credential(&consumer_secrets),
            consumer_secrets,
            profile_authors: OnceLock::new(),
            slice_authors,
            consumer_run: OnceLock::new(),
        }
    }

    /// Whether a slice of a namespace could not be read. The name or kind of an unreadable object may be unknown.
    pub(crate) fn has_unreadable_slice(&self, namespace: &str) -> bool {
        let mut objects = self
            .evidence
            .unreadable
            .iter()
            .map(|unreadable| &unreadable.object);
        objects.any(|object| {
            (object.kind.is_empty() || object.kind == names::PLACEMENT_KIND)
                && (object.namespace.is_empty() || object.namespace == namespace)
        })
    }

    /// The namespace of that name; none if it was not read.
    pub(crate) fn namespace(&self, name: &str) -> Option<&'e Namespace> {
        self.evidence.namespace(name)
    }

    /// The ClusterSet that a namespace represents, by its label or the user's declaration.
    pub(crate) fn clusterset_of_namespace(&self, namespace: &str) -> Option<&'e str> {
        self.clustersets.get(namespace).copied()
    }

    /// The ClusterSet of a profile: the one that it names, or that of its namespace.
    pub(crate) fn clusterset_of<'a>(&'a self, profile: &'a ClusterProfile) -> Option<&'a str> {
        let set = claims(profile).map(|(_, set)| set).next();
        set.or_else(|| self.clusterset_of_namespace(&profile.metadata.namespace))
    }

    /// The profiles that are judged, in the order of their first appearance.
    pub(crate) fn profiles(&self) -> &[JudgedObject<'e, ClusterProfile>] {
        &self.profiles
    }

    /// The slices that are judged, in the order of their first appearance.
    pub(crate) fn slices(&self) -> &[JudgedObject<'e, PlacementDecision>] {
        &self.slices
    }

    /// Whether other clients are known to publish all slices in scope.
    pub(crate) fn has_only_slices_of_other_clients(&self) -> bool {
        self.slices().is_empty() && self.evidence.slice_histories().next().is_some()
    }

    /// The judged profiles that existed before a driver's action, and that the run does not touch while it watches.
    pub(crate) fn profiles_before<'h>(
        &'h self,
        step: &'h DriverStep,
    ) -> impl Iterator<Item = &'h JudgedObject<'e, ClusterProfile>> {
        let until = observed_until(self.evidence, step).as_microsecond();
        self.profiles().iter().filter(move |object| {
            let before = object.last_before(step.from);
            before.is_some_and(|profile| !has_left(self.evidence, profile, step.from))
                && object.first_touch.is_none_or(|touch| touch >= until)
        })
    }

    /// The run of a consumer on the testbed, or why it cannot be judged.
    pub(crate) fn consumer_run(&self) -> Result<&ConsumerRun<'e>, &Reason> {
        let run = self.consumer_run.get_or_init(|| ConsumerRun::of(self.evidence));
        run.as_ref()
    }

    pub(crate) fn consumer_secrets(&self) -> &[ConsumerSecret<'e>] {
        &self.consumer_secrets
    }

    /// Whether a profile of that name may exist that could not be read.
    pub(crate) fn may_have_unread_profile(&self, name: &str) -> bool {
        !self.evidence.is_whole(Kind::Inventory) || self.evidence.may_be_unread(names::KIND, name)
    }

    /// Whether profiles of a namespace were read.
    pub(crate) fn holds_namespace(&self, namespace: &str) -> bool {
        self.evidence.header.scope.holds_namespace(namespace)
    }

    pub(crate) fn profile_authors(&self) -> &Authors<'e> {
        let authors = || Authors::of(self.evidence, Role::Manager);
        self.profile_authors.get_or_init(authors)
    }

    pub(crate) fn slice_authors(&self) -> &Authors<'e> {
        &self.slice_authors
    }
}

/// The ClusterSets of namespaces, by the KEP's label, else by that of the API's Go package, else as declared by the user.
fn clustersets(evidence: &Evidence) -> HashMap<&str, &str> {
    let entries = evidence.header.claim.clustersets.iter();
    let mut sets: HashMap<&str, &str> = entries.map(|(namespace, set)| (&**namespace, &**set)).collect();
    for Namespace { name, labels, .. } in &evidence.namespaces {
        let keys = [names::LABEL_CLUSTERSET, names::LABEL_CLUSTERSET_GO];
        sets.extend(keys.iter().find_map(|key| Some((&**name, label(labels, key)?))));
    }
    sets
}

/// A namespace's label, unless it is empty: some managers write an empty one outside of ClusterSets.
pub(crate) fn label<'a>(labels: &'a Labels, key: &str) -> Option<&'a str> {
    labels.get(key).map(String::as_str).filter(|set| !set.is_empty())
}

/// The ClusterSets that a profile claims, each with the path of the field.
pub(crate) fn claims(profile: &ClusterProfile) -> impl Iterator<Item = (&'static str, &str)> {
    let property = profile.property(names::PROPERTY_CLUSTERSET);
    [
        (
            "status.properties[clusterset.k8s.io].value",
            property.map(|property| property.value.trim()),
        ),
        (
            "metadata.labels[multicluster.x-k8s.io/clusterset]",
            profile.label(names::LABEL_CLUSTERSET_GO),
        ),
        (
            "metadata.labels[clusterset.multicluster.x-k8s.io]",
            profile.label(names::LABEL_CLUSTERSET),
        ),
    ]
    .into_iter()
    .filter_map(|(path, set)| Some((path, set.filter(|set| !is_placeholder(set))?)))
}
