//! The flag for a share of the fleet.

use std::env;

use clap::Args;
use evidence::{Shard, ShardError};

/// Which share of the fleet to judge.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Scope")]
pub struct ShardFlag {
    /// Judge share I of N (from 0/N), as one of several runners: a namespace falls to a share by its name. `auto/N` takes
    /// I from JOB_COMPLETION_INDEX, as Pods of an Indexed Job have it. Merge what --record writes with `report merge`
    #[arg(
        long,
        value_name = "I/N",
        value_parser = shard,
        conflicts_with_all = ["from", "driver", "allow_mutations", "clean"],
    )]
    pub shard: Option<Shard>,
}

/// The variable with the number of a Pod of an Indexed Job, from 0.
const INDEX: &str = "JOB_COMPLETION_INDEX";

/// Why a text names no share.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
enum ShardFlagError {
    #[error(transparent)]
    Shard(#[from] ShardError),
    #[error("{INDEX} is not set: only Pods of an Indexed Job have it; give the share's number, such as 0/8")]
    NoIndex,
    #[error("{INDEX} is `{0}`, and has to be a number")]
    Index(String),
    #[error("{INDEX} is {index}, and of {count} shares the last one is {}: set the Job's completions to {count}", count.saturating_sub(1))]
    TooMany { index: u32, count: u32 },
}

fn shard(given: &str) -> Result<Shard, ShardFlagError> {
    match given.strip_prefix("auto/") {
        Some(count) => automatic(count, env::var(INDEX).ok()),
        None => Ok(given.parse()?),
    }
}

/// The share of a Pod with that index, of so many.
fn automatic(count: &str, index: Option<String>) -> Result<Shard, ShardFlagError> {
    // Checks the count.
    let first: Shard = format!("0/{count}").parse()?;
    let index = index
        .filter(|index| !index.is_empty())
        .ok_or(ShardFlagError::NoIndex)?;
    let Ok(number) = index.parse() else {
        return Err(ShardFlagError::Index(index));
    };
    Shard::new(number, first.count).map_err(|_| ShardFlagError::TooMany {
        index: number,
        count: first.count,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_s_index_is_the_share_s_number() {
        let automatic = |count: &str, index: Option<&str>| {
            automatic(count, index.map(str::to_owned)).map(|shard| shard.to_string())
        };
        assert_eq!(automatic("8", Some("7")).as_deref(), Ok("7/8"));
        assert_eq!(automatic("8", None), Err(ShardFlagError::NoIndex));
        assert_eq!(automatic("8", Some("")), Err(ShardFlagError::NoIndex));
        assert_eq!(
            automatic("8", Some("x")),
            Err(ShardFlagError::Index("x".to_owned()))
        );
        let too_many = ShardFlagError::TooMany { index: 8, count: 8 };
        assert!(too_many.to_string().contains("the last one is 7"), "{too_many}");
        assert_eq!(automatic("8", Some("8")), Err(too_many));
        assert_eq!(automatic("0", Some("0")), Err(ShardError::None.into()));
        assert_eq!(automatic("many", Some("0")), Err(ShardError::Form.into()));
    }
}
