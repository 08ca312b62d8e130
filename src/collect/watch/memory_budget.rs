//! How many versions of profiles, and of slices, a run keeps. A hub that sends changes as fast as it can would else take all memory, and
//! the judging would take minutes.

use std::time::Duration;

use evidence::{Gap, Tracked};
use jiff::Timestamp;

use super::timeline::gap;

/// How many versions a run keeps, first ones included: a million profiles, or fewer that change.
const MOST: usize = 1_000_000;
/// How many more for each second of the window.
const EACH_SECOND: usize = 100;
/// How many at most, however long the window is. They take 8 GB: a machine that has less ends the run, and all is lost.
const MOST_IN_ALL: usize = 4_000_000;

/// How many more versions are kept.
#[derive(Debug)]
pub(crate) struct MemoryBudget {
    most: usize,
    left: usize,
    /// When the first and the last version came that was too many.
    missed: Option<(Timestamp, Timestamp)>,
}

impl MemoryBudget {
    /// The budget of a run with that window.
    pub fn of_window(observe: Duration) -> Self {
        let seconds = usize::try_from(observe.as_secs()).unwrap_or(usize::MAX);
        let most = MOST.saturating_add(seconds.saturating_mul(EACH_SECOND));
        Self::of(most.min(MOST_IN_ALL))
    }

    /// A budget of so many versions.
    pub fn of(most: usize) -> Self {
        Self {
            most,
            left: most,
            missed: None,
        }
    }

    /// Takes a version that came then out of the budget. Returns whether it is kept.
    pub fn take(&mut self, at: Timestamp) -> bool {
        if let Some(left) = self.left.checked_sub(1) {
            self.left = left;
            return true;
        }
        let first = self.missed.map_or(at, |(first, _)| first);
        self.missed = Some((first, at));
        false
    }

    /// What is missing of the evidence for want of memory: of the inventory and of its changes.
    pub fn gaps<T: Tracked>(&self) -> Vec<Gap> {
        let Some((from, until)) = self.missed else {
            return Vec::new();
        };
        let reason = format!(
            "the hub sent more than the {} versions of {}s that are kept; later ones were left out",
            self.most,
            T::KIND
        );
        let changes = gap::<T>(from, until, reason.clone());
        vec![changes, Gap::of(T::LISTED, reason)]
    }
}

impl Default for MemoryBudget {
    fn default() -> Self {
        Self::of_window(Duration::ZERO)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_window_has_more_room_but_no_day_fills_the_memory() {
        let hour = Duration::from_secs(3_600);
        assert_eq!(MemoryBudget::of_window(hour).most, 1_360_000);
        assert_eq!(MemoryBudget::of_window(24 * hour).most, MOST_IN_ALL);
    }
}
