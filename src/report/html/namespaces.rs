//! A large fleet, namespace by namespace.

use std::{cmp::Reverse, collections::BTreeMap};

use super::{
    entries::Entry,
    sign::{Sign, Worst},
    text::{brief, place},
};
use crate::text::number::{count, thousands};

/// How many namespaces have a row of their own.
const ROWS: usize = 40;

/// How wide a row's bar is.
const WIDTH: f64 = 240.0;

/// A namespace, or all that have no row of their own.
pub(super) struct NamespaceRow {
    pub(super) name: String,
    pub(super) entries: String,
    pub(super) shares: Vec<Share>,
}

/// Those of which the same was found.
pub(super) struct Share {
    pub(super) sign: Sign,
    pub(super) number: String,
    pub(super) x: String,
    pub(super) width: String,
}

type Counts = [usize; Worst::ALL.len()];

/// The namespaces, those with the most failures first.
pub(super) fn rows(entries: &[Entry]) -> Vec<NamespaceRow> {
    let mut counted: BTreeMap<&str, Counts> = BTreeMap::new();
    for entry in entries {
        add(
            counted.entry(entry.namespace).or_default(),
            &counts(std::slice::from_ref(entry)),
        );
    }
    let mut counted: Vec<_> = counted.into_iter().collect();
    counted.sort_by_key(|(name, counts)| (Reverse(*counts), *name));
    let rows = counted.iter().take(ROWS);
    let mut rows: Vec<_> = rows.map(|(name, counts)| row(brief(name, 40), counts)).collect();
    if counted.len() > ROWS {
        let mut rest = Counts::default();
        for (_, counts) in &counted[ROWS..] {
            add(&mut rest, counts);
        }
        rows.push(row(count(counted.len() - ROWS, "more namespace"), &rest));
    }
    rows
}

/// All of the fleet in one row.
pub(super) fn whole(entries: &[Entry]) -> NamespaceRow {
    row("all".to_owned(), &counts(entries))
}

fn counts(entries: &[Entry]) -> Counts {
    Worst::ALL.map(|worst| entries.iter().filter(|entry| entry.worst == worst).count())
}

fn add(sum: &mut Counts, more: &Counts) {
    for (sum, more) in sum.iter_mut().zip(more) {
        *sum += more;
    }
}

fn row(name: String, counts: &Counts) -> NamespaceRow {
    let all: usize = counts.iter().sum();
    let mut x = 0.0;
    let shares = Worst::ALL.iter().zip(counts).map(|(worst, number)| {
        // What there is can be seen, however little it is.
        let least = if *number > 0 { 2.0 } else { 0.0 };
        let width = (WIDTH * *number as f64 / all.max(1) as f64)
            .max(least)
            .min(WIDTH - x);
        let share = Share {
            sign: worst.sign(),
            number: thousands(*number),
            x: place(x),
            width: place(width),
        };
        x += width;
        share
    });
    NamespaceRow {
        name,
        entries: thousands(all),
        shares: shares.collect(),
    }
}
