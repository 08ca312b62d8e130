//! Does independent work on several threads, and keeps its order.

use std::{
    iter,
    panic::resume_unwind,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

/// Returns what `work` makes of each item, in the order of the items. Each thread takes the next item when it is done
/// with one, so that long ones hold up nobody.
///
/// # Panics
/// With the panic of `work`, if any.
pub(crate) fn side_by_side<T: Sync, R: Send>(
    items: &[T],
    threads: usize,
    work: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let take_turns = || -> Vec<(usize, R)> {
        let turns = iter::from_fn(|| {
            let place = next.fetch_add(1, Ordering::Relaxed);
            Some((place, work(items.get(place)?)))
        });
        turns.collect()
    };
    let mut done = thread::scope(|scope| {
        // This thread takes turns too, so that all is done where no other one can be started, as in a browser.
        let start = |_| thread::Builder::new().spawn_scoped(scope, take_turns).ok();
        let others: Vec<_> = (1..threads).filter_map(start).collect();
        let mut done = take_turns();
        for other in others {
            done.extend(other.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        done
    });
    done.sort_unstable_by_key(|(place, _)| *place);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use std::{panic::catch_unwind, sync::Barrier};

    use super::*;

    #[test]
    fn results_come_in_the_order_of_the_items() {
        let items: Vec<usize> = (0..100).collect();
        for threads in [0, 1, 2, 200] {
            let doubled = side_by_side(&items, threads, |item| item * 2);
            assert!(
                doubled.iter().copied().eq((0..100).map(|item| item * 2)),
                "{threads}"
            );
        }
        assert!(side_by_side(&[] as &[usize], 2, |item| *item).is_empty());
    }

    #[test]
    fn items_are_worked_on_at_the_same_time() {
        // Neither ends before the other has begun.
        let both = Barrier::new(2);
        let leaders = side_by_side(&[0, 1], 2, |_| both.wait().is_leader());
        assert_eq!(leaders.iter().filter(|leads| **leads).count(), 1);
    }

    #[test]
    fn a_panic_is_passed_on_with_its_words() {
        for threads in [1, 2] {
            let judged = catch_unwind(|| {
                side_by_side(&[1, 2, 3], threads, |item| {
                    assert_ne!(*item, 2, "rule {item} is broken");
                })
            });
            let panic = judged.expect_err("a panic");
            let words = panic.downcast_ref::<String>().expect("words");
            assert!(words.contains("rule 2 is broken"), "{words}");
        }
    }
}
