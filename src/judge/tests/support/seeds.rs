//! Random cases from seeds, tried on all cores.

use std::{env, str::FromStr, thread};

use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

/// A runner of that many cases, which are always the same for a seed.
pub fn runner(seed: u64, cases: u32) -> TestRunner {
    let config = Config {
        cases,
        failure_persistence: None,
        max_shrink_iters: 200,
        ..Config::default()
    };
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes))
}

/// Has each core try some cases of a seed of its own, and returns what is wrong. The environment's `PREFIX_SEEDS` says how many
/// cases there are, and `PREFIX_SEED` where the seeds begin.
pub fn complaints(
    prefix: &str,
    cases: u32,
    try_some: impl Fn(u64, u32) -> Result<(), String> + Sync,
) -> Vec<String> {
    let count = from_environment(&format!("{prefix}_SEEDS"), cases);
    let first = from_environment(&format!("{prefix}_SEED"), 0_u64);
    let threads = thread::available_parallelism().map_or(2, usize::from) as u32;
    let try_some = &try_some;
    let outcomes: Vec<Result<(), String>> = thread::scope(|scope| {
        let runners: Vec<_> = (0..threads)
            .map(|number| scope.spawn(move || try_some(first + u64::from(number), count.div_ceil(threads))))
            .collect();
        let ended = runners.into_iter().map(|runner| runner.join());
        ended.map(|ended| ended.expect("no panic")).collect()
    });
    outcomes.into_iter().filter_map(Result::err).collect()
}

fn from_environment<T: FromStr>(name: &str, otherwise: T) -> T {
    let given = env::var(name).ok();
    given.map_or(otherwise, |text| {
        text.parse()
            .unwrap_or_else(|_| panic!("{name} is no number: {text}"))
    })
}
