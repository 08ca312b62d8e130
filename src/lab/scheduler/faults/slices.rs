//! Faults of the suite `placement-slices`.

use evidence::api::names::{LABEL_DECISION_INDEX, LABEL_DECISION_KEY, LABEL_PLACEMENT_KEY};

use super::fault::FaultInfo;
use crate::{
    fault::HubChange,
    scheduler::{
        misbehaviours::Misbehaviour,
        slice::Slice,
        world::{FEW, FULL, LARGE, NONE},
    },
};

pub(super) const FAULTS: &[FaultInfo] = &[
    FaultInfo::new(
        "placement-slices/size",
        "writes 110 clusters into one slice",
        |world| {
            world.edit(LARGE, |slices| {
                let rest: Vec<_> = slices
                    .drain(1..)
                    .filter_map(|slice| slice.decisions)
                    .flatten()
                    .collect();
                slices[0].decisions.get_or_insert_default().extend(rest);
            });
        },
    )
    .on(HubChange::WithoutLimit),
    FaultInfo::new(
        "placement-slices/decisions-present",
        "leaves the list out if no cluster is selected",
        |world| world.edit(NONE, |slices| slices[0].decisions = None),
    )
    .on(HubChange::WithoutRequiredList),
    FaultInfo::new(
        "placement-slices/key-shared",
        "sets no key on two slices of one decision",
        |world| world.misbehave(Misbehaviour::SetsNoKey),
    )
    .driven(),
    FaultInfo::new(
        "placement-slices/key-one-decision",
        "gives the decisions of two workloads one key",
        |world| {
            world.edit(FEW, |slices| {
                let slice = &mut slices[0];
                for key in [LABEL_DECISION_KEY, LABEL_PLACEMENT_KEY] {
                    slice.label(key, FULL);
                }
                slice.number(1);
            });
        },
    ),
    FaultInfo::new(
        "placement-slices/index-is-number",
        "writes the index of a slice in words",
        |world| world.edit(FEW, |slices| slices[0].label(LABEL_DECISION_INDEX, "first")),
    ),
    FaultInfo::new(
        "placement-slices/index-complete",
        "numbers the slices of a decision from 1 on",
        |world| {
            world.edit(LARGE, |slices| {
                for (index, slice) in slices.iter_mut().enumerate() {
                    slice.number(index + 1);
                }
            });
        },
    ),
    FaultInfo::new(
        "placement-slices/index-complete:group",
        "gives all slices of a decision the index of their group",
        |world| {
            world.edit(LARGE, |slices| {
                for slice in slices {
                    slice.label(LABEL_DECISION_INDEX, "0");
                }
            });
        },
    ),
    FaultInfo::new(
        "placement-slices/index-complete:unnumbered",
        "numbers the first slice of a decision only",
        |world| {
            world.edit(LARGE, |slices| {
                for slice in slices.iter_mut().skip(1) {
                    slice.labels.remove(LABEL_DECISION_INDEX);
                }
            });
        },
    ),
    FaultInfo::new(
        "placement-slices/no-needless-slices",
        "keeps an empty slice beside a full one",
        |world| {
            world.edit(FULL, |slices| {
                let mut empty = slices[0].clone();
                empty.number(1);
                empty.decisions = Some(Vec::new());
                slices.push(empty);
            });
        },
    ),
    FaultInfo::new(
        "placement-slices/cluster-once",
        "names a cluster twice in a slice",
        |world| {
            world.edit(FEW, |slices| {
                let decisions = slices[0].decisions.get_or_insert_default();
                decisions.extend(decisions.first().cloned());
            });
        },
    ),
    FaultInfo::new(
        "placement-slices/cluster-once:slices",
        "names a cluster in two slices",
        |world| {
            world.edit(LARGE, |slices| {
                let first = slices[0].decisions.iter().flatten().next().cloned();
                for slice in slices.iter_mut().skip(1) {
                    slice.decisions.get_or_insert_default().extend(first.clone());
                }
            });
        },
    ),
];

impl Slice {
    /// Sets a label.
    pub(super) fn label(&mut self, key: &str, value: &str) {
        self.labels.insert(key.to_owned(), value.to_owned());
    }

    /// Gives the slice another number, in its name and its index.
    fn number(&mut self, index: usize) {
        let base = self.name.trim_end_matches(|digit: char| digit.is_ascii_digit());
        self.name = format!("{base}{index}");
        self.label(LABEL_DECISION_INDEX, &index.to_string());
    }
}
