//! The suite `consumer-identity`: several profiles of one member, for a consumer whose actions on them would conflict (KEP-4322,
//! uniqueness of the ClusterProfile object).

mod empty;
mod first;
mod inventories;
mod warned;

pub(in crate::rules) use empty::empty_is_absent;
use evidence::Evidence;
pub(in crate::rules) use first::{next_takes_over, oldest_wins, tie_acts_on_none};
pub(in crate::rules) use inventories::other_inventories_stay;
pub(in crate::rules) use warned::warning_surfaced;

use crate::{rules::consumer::support::testbed::Play, subjects::Findings};

/// Where the identity stands.
const PATH: &str = "metadata.labels[multicluster.x-k8s.io/inventory-member-id]";

/// Reads what was played for a consumer that says that its actions conflict. Others are not asked.
fn play_of_conflicts<'e>(evidence: &'e Evidence, findings: &mut Findings) -> Option<Play<'e>> {
    let play = Play::of(evidence, findings)?;
    if play.testbed.consumer.actions_conflict {
        return Some(play);
    }
    findings.not_asked(
        "the consumer does not claim that its actions on several profiles of one member conflict: then it may act on each",
    );
    None
}
