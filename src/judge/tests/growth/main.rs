//! Judging takes time that grows at most like n log n, in every kind of record: what others write must not cost more than
//! its size suggests.

mod worlds;

use std::fs;

use evidence::Evidence;
use judge::{Selection, judge};
use worlds::worlds;

/// How many times as many records are judged the second time.
const TIMES: usize = 4;

/// How many times as much time they may take: n log n takes 5 times as much, n² 16 times.
const MOST: f64 = 8.0;

/// How often is measured again what seems to take too long: the machine has other work to do.
const AGAIN: usize = 4;

/// The time of this process that a measurement takes at least, in the hundredths of a second that the system counts.
const LEAST: u64 = 6;

#[test]
#[cfg_attr(
    not(target_os = "linux"),
    ignore = "only Linux tells in /proc what time a process took"
)]
fn time_grows_at_most_like_n_log_n_in_every_kind_of_record() {
    let only = std::env::var("GROWTH").unwrap_or_default();
    let mut slow = Vec::new();
    for (kind, few, world) in worlds().into_iter().filter(|(kind, _, _)| kind.contains(&only)) {
        let (small, large) = (world(few), world(TIMES * few));
        let (mut small_took, mut large_took) = (f64::MAX, f64::MAX);
        for _ in 0..=AGAIN {
            small_took = small_took.min(took(&small));
            large_took = large_took.min(took(&large));
            if large_took <= MOST * small_took {
                break;
            }
        }
        let ratio = large_took / small_took;
        println!("{kind:<40} {few:>6}: {small_took:>8.2} cs, {TIMES} times as many: {ratio:>5.1} times");
        if ratio > MOST {
            slow.push(format!(
                "{kind}: {TIMES} times {few} take {ratio:.1} times as long"
            ));
        }
    }
    assert!(slow.is_empty(), "{slow:#?}");
}

/// The time of all threads that judging takes once.
fn took(evidence: &Evidence) -> f64 {
    let begin = ticks();
    for times in 1.. {
        judge(evidence, &Selection::default());
        let took = ticks() - begin;
        if took >= LEAST {
            return took as f64 / f64::from(times);
        }
    }
    unreachable!("it takes some time")
}

/// The time that this process has taken so far, for itself and in the system: fields 14 and 15 of its line.
fn ticks() -> u64 {
    let line = fs::read_to_string("/proc/self/stat").expect("the kernel tells");
    let (_, after_name) = line.rsplit_once(')').expect("a name in parentheses");
    let fields = after_name.split_whitespace().skip(11).take(2);
    fields.map(|field| field.parse::<u64>().expect("a number")).sum()
}
