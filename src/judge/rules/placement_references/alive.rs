//! Selected clusters that their profiles report as down.

use std::collections::HashMap;

use evidence::{
    Evidence, ProfileHistory,
    api::{
        ClusterDecision, ClusterProfile,
        names::{CONDITION_HEALTHY, CONDITION_JOINED},
    },
};

use super::{
    doubts::{Doubt, Doubts, path},
    faults::{Faults, Stretch, Weight, Words},
    fleet::{Fleet, Watched},
    naming::{Key, naming},
    spans::{Span, add},
};
use crate::rules::{clocks::GRACE, finding::Findings, write_time::Micros};

/// Words by which a reason says that the scheduler knows: it selected the cluster nevertheless.
const KNOWN: [&str; 12] = [
    "unhealthy",
    "not healthy",
    "healthy=false",
    "not joined",
    "unjoined",
    "joined=false",
    "unavailable",
    "unreachable",
    "outage",
    "maintenance",
    "tolerat",
    "despite",
];

/// `placement-references/selected-is-alive`
///
/// No decision names a cluster that is not joined or whose control plane is down, unless its reason says so.
pub(in crate::rules) fn selected_is_alive(evidence: &Evidence, findings: &mut Findings) {
    findings.not_applicable("no slice names a cluster");
    let fleet = Fleet::of(evidence);
    let down = down(evidence);
    let mut doubts = Doubts::default();
    for history in evidence.slice_histories() {
        let naming = naming(evidence, history, |key, decision| {
            let is_known = fleet.is_known(key);
            !is_known || (down.contains_key(&key) && !is_deliberate(decision))
        });
        if naming.is_any {
            findings.examine();
        }
        let mut faults = Faults::default();
        let watched = Watched::of(evidence, history);
        for named in &naming.wanted {
            let Some(down) = down.get(&named.key) else {
                // One that does not exist is for `placement-references/resolve`.
                if let Some(doubt) = fleet.doubt(named.key) {
                    doubts.add(doubt, named);
                }
                continue;
            };
            if !fleet.is_watched {
                if named.is_current_in(history) && down.is_now {
                    faults.add_look(named, down.describe(named.key));
                }
                continue;
            }
            let stretches = fleet.confirmed(&watched, named).within(&down.spans);
            match Stretch::gravest(&stretches, GRACE) {
                Some((Weight::Violation, stretch)) => faults.add(named, down.describe(named.key), stretch),
                Some((Weight::Unsure, _)) => doubts.add(Doubt::TooEarly, named),
                _ => {}
            }
        }
        faults.report(findings, &words());
    }
    doubts.tell(findings);
}

fn words() -> Words {
    Words {
        message: "the decision names a cluster that its profile reports as down",
        expected: "clusters that are joined and healthy, or a reason that says otherwise".to_owned(),
    }
}

/// When the profiles of one name reported their member as down.
#[derive(Default)]
struct Down {
    spans: Vec<Span>,
    /// The condition that said so last.
    condition: &'static str,
    /// Whether a profile that exists says so.
    is_now: bool,
}

impl Down {
    fn describe(&self, key: Key) -> String {
        format!("{} ({} is False)", path(key), self.condition)
    }

    fn learn(&mut self, history: &ProfileHistory) {
        for (index, version) in history.versions.iter().enumerate() {
            let Some(condition) = false_condition(&version.object) else {
                continue;
            };
            let next = history.versions.get(index + 1).map(|next| next.at);
            let until = next.or(history.deleted).map(|until| until.as_microsecond());
            let from = version.at.as_microsecond();
            add(&mut self.spans, (from, until.unwrap_or(Micros::MAX).max(from)));
            self.condition = condition;
        }
        self.is_now |= history
            .current()
            .is_some_and(|last| false_condition(last).is_some());
    }
}

/// The profiles that reported their member as down at some time, in scope or not.
fn down(evidence: &Evidence) -> HashMap<Key<'_>, Down> {
    let mut found: HashMap<Key, Down> = HashMap::new();
    for history in &evidence.profiles {
        let metadata = &history.last().metadata;
        let mut versions = history.versions.iter();
        let is_down = versions.any(|version| false_condition(&version.object).is_some());
        if is_down && !evidence.is_touched(&metadata.namespace, &metadata.name) {
            let key = (&*metadata.namespace, &*metadata.name);
            found.entry(key).or_default().learn(history);
        }
    }
    found
}

/// The condition by which a profile reports its member as down. Unknown is no such report.
fn false_condition(profile: &ClusterProfile) -> Option<&'static str> {
    let is_false = |kind: &&str| {
        let condition = profile.condition(kind);
        condition.is_some_and(|condition| &*condition.status == "False")
    };
    [CONDITION_JOINED, CONDITION_HEALTHY].into_iter().find(is_false)
}

/// Whether the reason of a decision says that the scheduler selected the cluster though it is down.
fn is_deliberate(decision: &ClusterDecision) -> bool {
    let reason = decision.reason.as_deref().unwrap_or_default().to_lowercase();
    KNOWN.iter().any(|word| reason.contains(word))
}
