//! Does independent work on several threads, and joins what comes of it in the order of the work.

use std::{
    collections::BTreeMap,
    panic::resume_unwind,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

/// Joins what `work` makes of the items, in the order of the items; none if there are none. Each thread takes the next item
/// when it is done with one, so that long ones hold up nobody. What neighbours gave is joined as soon as both are there,
/// so that what waits takes little memory.
///
/// # Panics
/// With the panic of `work` or of `join`, if any.
pub(crate) fn side_by_side<T: Sync, R: Send>(
    items: &[T],
    threads: usize,
    work: impl Fn(&T) -> R + Sync,
    join: impl Fn(&mut R, R) + Sync,
) -> Option<R> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Done(BTreeMap::new()));
    let take_turns = || {
        loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(place) else { return };
            let result = work(item);
            // Who panics while joining ends the whole.
            let Ok(mut done) = done.lock() else { return };
            done.add(place, result, &join);
        }
    };
    thread::scope(|scope| {
        // This thread takes turns too, so that the work is done even if no other thread can be started.
        let start = |_| thread::Builder::new().spawn_scoped(scope, take_turns).ok();
        let others: Vec<_> = (1..threads).filter_map(start).collect();
        take_turns();
        for other in others {
            other.join().unwrap_or_else(|panic| resume_unwind(panic));
        }
    });
    let Done(mut stretches) = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    Some(stretches.pop_first()?.1.joined)
}

/// What came of items that are neighbours.
struct Stretch<R> {
    /// The place behind the last of them.
    end: usize,
    joined: R,
}

/// What is done, by the place of the first item of each stretch.
struct Done<R>(BTreeMap<usize, Stretch<R>>);

impl<R> Done<R> {
    fn add(&mut self, place: usize, result: R, join: impl Fn(&mut R, R)) {
        let end = place + 1;
        let mut own = Stretch { end, joined: result };
        if let Some(next) = self.0.remove(&end) {
            own.end = next.end;
            join(&mut own.joined, next.joined);
        }
        let before = self.0.range_mut(..place).next_back();
        match before.filter(|(_, before)| before.end == place) {
            Some((_, before)) => {
                before.end = own.end;
                join(&mut before.joined, own.joined);
            }
            None => _ = self.0.insert(place, own),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{panic::catch_unwind, sync::Barrier};

    use super::*;

    /// What comes of each item, in a list.
    fn listed<T: Sync, R: Send>(items: &[T], threads: usize, work: impl Fn(&T) -> R + Sync) -> Vec<R> {
        let work = |item: &T| vec![work(item)];
        side_by_side(items, threads, work, Vec::extend).unwrap_or_default()
    }

    #[test]
    fn results_are_joined_in_the_order_of_the_items() {
        let items: Vec<usize> = (0..100).collect();
        for threads in [0, 1, 2, 200] {
            let doubled = listed(&items, threads, |item| item * 2);
            assert!(
                doubled.iter().copied().eq((0..100).map(|item| item * 2)),
                "{threads}"
            );
        }
        assert!(listed(&[] as &[usize], 2, |item| *item).is_empty());
    }

    #[test]
    fn neighbours_are_joined_whoever_comes_first() {
        let mut done = Done(BTreeMap::new());
        for place in [3, 1, 5, 4, 0, 2] {
            done.add(place, vec![place], Vec::extend);
            assert!(done.0.len() <= 3);
        }
        let stretches: Vec<_> = done
            .0
            .into_iter()
            .map(|(at, stretch)| (at, stretch.joined))
            .collect();
        assert_eq!(stretches, [(0, vec![0, 1, 2, 3, 4, 5])]);
    }

    #[test]
    fn items_are_worked_on_at_the_same_time() {
        // Neither ends before the other has begun.
        let both = Barrier::new(2);
        let leaders = listed(&[0, 1], 2, |_| both.wait().is_leader());
        assert_eq!(leaders.iter().filter(|leads| **leads).count(), 1);
    }

    #[test]
    fn a_panic_is_passed_on_with_its_words() {
        for threads in [1, 2] {
            let judged = catch_unwind(|| {
                listed(&[1, 2, 3], threads, |item| {
                    assert_ne!(*item, 2, "rule {item} is broken");
                })
            });
            let panic = judged.expect_err("a panic");
            let words = panic.downcast_ref::<String>().expect("words");
            assert!(words.contains("rule 2 is broken"), "{words}");
        }
    }
}
