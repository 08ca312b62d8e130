//! How many versions of profiles, and of slices, a run keeps. A hub that sends changes as fast as it can would else take all memory, and
//! the judging would take minutes.

use std::time::Duration;

use evidence::{Gap, Tracked};
use jiff::Timestamp;

use super::timeline::gap;

/// How many versions a run keeps, first ones included: a million profiles, or fewer that change.
const MOST: usize = 1_000_000;
/// How many an observation keeps that goes on: a monitor has to live within the memory of a Pod. A version takes 2 kB.
const MOST_MONITORED: usize = 100_000;
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
        Self::beside(MOST, observe)
    }

    /// The budget of an observation that goes on, with that window.
    pub fn monitored(window: Duration) -> Self {
        Self::beside(MOST_MONITORED, window)
    }

    fn beside(most: usize, window: Duration) -> Self {
        let seconds = usize::try_from(window.as_secs()).unwrap_or(usize::MAX);
        let most = most.saturating_add(seconds.saturating_mul(EACH_SECOND));
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

    /// Gives back versions that are no longer kept.
    pub fn give(&mut self, versions: usize) {
        self.left = self.left.saturating_add(versions).min(self.most);
    }

    /// True if a version was too many.
    pub fn was_full(&self) -> bool {
        self.missed.is_some()
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
        assert_eq!(MemoryBudget::monitored(hour).most, 460_000);
        assert_eq!(MemoryBudget::of_window(24 * hour).most, MOST_IN_ALL);
        assert_eq!(MemoryBudget::monitored(24 * hour).most, MOST_IN_ALL);
    }
}
