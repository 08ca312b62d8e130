//! Shares of a fleet: several runners judge a hub together, and each observes the namespaces whose names fall to it.

use std::{fmt, str::FromStr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::{Evidence, Settled, Window};

/// One share of several. The shares of one count divide all namespaces between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Shard {
    /// Its number, from 0.
    pub index: u32,
    /// How many shares there are.
    pub count: u32,
}

/// What one runner observed of its share.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Share {
    /// The share.
    pub shard: Shard,
    /// The observed namespaces: those of the share that held profiles or slices.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub namespaces: Vec<String>,
    /// When its runner observed the hub.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<Window>,
    /// How its runner looked on after that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settled: Option<Settled>,
}

/// Why a text or a number is no share.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShardError {
    /// It does not have two numbers.
    #[error("give the share's number and how many there are, such as 0/8 for the first of eight")]
    Form,
    /// There are no shares.
    #[error("there is no share of 0: give the number of shares behind the slash, such as 0/8")]
    None,
    /// The number is too large.
    #[error("there is no share {index}/{count}: shares count from 0, so the last one is {}/{count}", count - 1)]
    OutOfRange {
        /// The number that was given.
        index: u32,
        /// How many shares there are.
        count: u32,
    },
}

impl Shard {
    /// The share of that number.
    ///
    /// # Errors
    /// When there are not that many.
    pub fn new(index: u32, count: u32) -> Result<Self, ShardError> {
        match count {
            0 => Err(ShardError::None),
            _ if index >= count => Err(ShardError::OutOfRange { index, count }),
            _ => Ok(Self { index, count }),
        }
    }

    /// The number of the share that a namespace falls to, of so many: the first 32 bits of the SHA-256 of its name,
    /// modulo their count. So every runner divides a hub alike, whenever it looks.
    pub fn index_of(namespace: &str, count: u32) -> u32 {
        let digest = Sha256::digest(namespace);
        u32::from_be_bytes([digest[0], digest[1], digest[2], digest[3]]) % count.max(1)
    }

    /// Returns `true` if a namespace falls to it.
    pub fn holds(&self, namespace: &str) -> bool {
        Self::index_of(namespace, self.count) == self.index
    }

    /// Returns `true` if its runner reads what belongs to no namespace with objects: consumers' Secrets, workloads and the audit
    /// log. One runner reads each, because their load would not shrink if it were shared.
    pub fn reads_hub(&self) -> bool {
        self.index == 0
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.count)
    }
}

impl FromStr for Shard {
    type Err = ShardError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (index, count) = text.split_once('/').ok_or(ShardError::Form)?;
        let number = |text: &str| {
            let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            digits
                .then(|| text.parse().ok())
                .flatten()
                .ok_or(ShardError::Form)
        };
        Self::new(number(index)?, number(count)?)
    }
}

impl Evidence {
    /// The share of merged evidence that a namespace falls to; none if the evidence comes from one runner.
    pub(crate) fn share_of(&self, namespace: &str) -> Option<&Share> {
        let count = self.merged_from()?;
        let index = Shard::index_of(namespace, count);
        let mut shares = self.header.shares.iter();
        shares.find(|share| share.shard.index == index)
    }

    /// How many shares there are of merged evidence, missing ones included; none if the evidence comes from one runner.
    pub fn merged_from(&self) -> Option<u32> {
        let first = self.header.shares.first()?;
        self.header.scope.shard.is_none().then_some(first.shard.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_read_and_written_alike() {
        for text in ["0/1", "0/8", "7/8"] {
            let shard: Shard = text.parse().expect(text);
            assert_eq!(shard.to_string(), text);
        }
        for (text, error) in [
            ("", ShardError::Form),
            ("3", ShardError::Form),
            ("/", ShardError::Form),
            ("a/b", ShardError::Form),
            ("1/", ShardError::Form),
            ("-1/8", ShardError::Form),
            ("+1/8", ShardError::Form),
            ("1/8/2", ShardError::Form),
            ("0/0", ShardError::None),
            ("99999999999/99999999999", ShardError::Form),
            ("3/2", ShardError::OutOfRange { index: 3, count: 2 }),
            ("2/2", ShardError::OutOfRange { index: 2, count: 2 }),
        ] {
            assert_eq!(text.parse::<Shard>(), Err(error), "{text}");
        }
    }

    /// Evidence of different versions of the suite may be merged by a later one: these numbers must never change.
    #[test]
    fn a_namespace_always_falls_to_the_same_share() {
        // echo $((0x$(printf %s fleet-a | sha256sum | cut -c1-8) % 8))
        let of_eight = ["fleet-a", "fleet-b", "fleet-c", "default", ""].map(|name| Shard::index_of(name, 8));
        assert_eq!(of_eight, [1, 4, 5, 1, 2]);
    }

    #[test]
    fn shares_divide_all_namespaces_between_them() {
        for count in [1, 2, 3, 8] {
            let shards: Vec<Shard> = (0..count).map(|index| Shard { index, count }).collect();
            let mut sizes = vec![0_usize; shards.len()];
            for number in 0..1_000 {
                let name = format!("fleet-{number}");
                let holders: Vec<&Shard> = shards.iter().filter(|shard| shard.holds(&name)).collect();
                let [holder] = holders.as_slice() else {
                    panic!("{name} falls to {holders:?} of {count}");
                };
                sizes[holder.index as usize] += 1;
            }
            let (least, most) = (sizes.iter().min(), sizes.iter().max());
            assert!(most < least.map(|least| least * 2).as_ref(), "{sizes:?}");
        }
    }
}
