//! Selected clusters that their profiles report as down.

use std::collections::HashMap;

use evidence::{
    Evidence,
    api::{
        ClusterDecision, ClusterProfile,
        names::{CONDITION_HEALTHY, CONDITION_JOINED},
    },
};

use super::{
    doubts::{Doubt, Doubts, path},
    faults::{Faults, Words},
    fleet::Fleet,
    naming::{Key, namings},
};
use crate::{
    shared::clocks::GRACE,
    subjects::Findings,
    time::{Known, While},
};

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
    findings.nothing_happened("no slice names a cluster");
    let fleet = Fleet::of(evidence);
    let down = down(evidence);
    let mut doubts = Doubts::default();
    let namings = namings(evidence, |key, decision| {
        let is_wanted = !fleet.is_known(key) || (down.contains_key(&key) && !is_deliberate(decision));
        is_wanted.then(|| is_silent(decision))
    });
    let mut reported: HashMap<Key, While> = HashMap::new();
    for naming in &namings {
        (0..naming.lives).for_each(|_| findings.examine());
        let [mut faults, mut hints] = [Faults::default(), Faults::default()];
        for named in &naming.wanted {
            let Some(down) = down.get(&named.key) else {
                // One that does not exist is for `placement-references/resolve`.
                if let Some(doubt) = fleet.doubt(named.key) {
                    doubts.add(doubt, named);
                }
                continue;
            };
            // Whatever the scheduler says, it is no silence.
            let faults = if named.sort { &mut faults } else { &mut hints };
            if !fleet.is_watched {
                if named.when.is_open() && down.is_now {
                    faults.add_look(named, down.describe(named.key));
                }
                continue;
            }
            let reported = reported
                .entry(named.key)
                .or_insert_with(|| fleet.while_(named.key, |profile| false_condition(profile).is_some()));
            let fault = named.when.and(reported);
            match fault.lasting_beyond_sight(GRACE) {
                Known::Yes => faults.add(named, down.describe(named.key), &fault, GRACE),
                Known::Unknown(_) if fault.is_open() => doubts.wait(named, findings),
                Known::Unknown(_) => doubts.add(Doubt::TooEarly, named),
                Known::No => {}
            }
        }
        faults.report(findings, &words());
        hints.report_as_hint(findings, &words());
    }
    doubts.tell(findings);
}

fn words() -> Words {
    Words {
        message: "the decision names a cluster that its profile reports as down",
        expected: "clusters that are joined and healthy, or a reason that says otherwise".to_owned(),
    }
}

/// The profiles of one name that reported their member as down.
struct Down {
    /// The condition that said so last.
    condition: &'static str,
    /// Whether a profile that exists says so.
    is_now: bool,
}

impl Down {
    fn describe(&self, key: Key) -> String {
        format!("{} ({} is False)", path(key), self.condition)
    }
}

/// The profiles that reported their member as down at some time, in scope or not.
fn down(evidence: &Evidence) -> HashMap<Key<'_>, Down> {
    let mut found: HashMap<Key, Down> = HashMap::new();
    for history in &evidence.profiles {
        let metadata = &history.last().metadata;
        let mut versions = history.versions.iter().rev();
        let condition = versions.find_map(|version| false_condition(&version.object));
        let Some(condition) = condition.filter(|_| !evidence.is_touched(&metadata.namespace, &metadata.name))
        else {
            continue;
        };
        let current = history.current();
        let is_now = current.is_some_and(|last| false_condition(last).is_some());
        let key = (&*metadata.namespace, &*metadata.name);
        let down = found.entry(key).or_insert(Down {
            condition,
            is_now: false,
        });
        down.condition = condition;
        down.is_now |= is_now;
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

/// Whether a decision gives no reason.
fn is_silent(decision: &ClusterDecision) -> bool {
    decision
        .reason
        .as_deref()
        .is_none_or(|reason| reason.trim().is_empty())
}
