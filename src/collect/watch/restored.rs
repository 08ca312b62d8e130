//! Mentions a hub that was restored from a backup: its history is a new one, and gives resourceVersions out again.
//!
//! A watch from a resourceVersion that such a hub has not reached yet brings nothing, not even a bookmark, and so looks like
//! a quiet hub. A list tells how far the hub has come.

use evidence::{Reason, ReasonId};
use tokio::time::timeout;

use super::list::list_head;
use crate::connect::{
    call::{ATTEMPTS, TimedClient, retry},
    failure::Failure,
};

/// Checks that the hub at `path` still has the history in which it has given out `known`.
///
/// # Errors
/// When it has not, or does not answer.
pub(crate) async fn check(client: &TimedClient, path: &str, known: &str) -> Result<(), Failure> {
    let limit = client.request_timeout;
    let late = |_| Err(Failure::silent("no answer came", limit));
    let asking = retry(ATTEMPTS, Failure::may_pass, || list_head(client, path));
    let (newest, _) = timeout(limit, asking).await.unwrap_or_else(late)?;
    compare(known, &newest.resource_version)
}

/// Compares the newest resourceVersion of a hub with one that it has given out before. Versions that are no numbers cannot be
/// compared.
///
/// # Errors
/// When the newest one is older.
pub(super) fn compare(known: &str, newest: &str) -> Result<(), Failure> {
    match (known.parse::<u64>(), newest.parse::<u64>()) {
        (Ok(known), Ok(newest)) if newest < known => Err(Failure::restored(known, newest)),
        _ => Ok(()),
    }
}

/// Why changes are missing, if the hub has a new history.
pub(super) fn reason(words: String, failure: &Failure) -> Reason {
    if failure.is_restored() {
        Reason::of(ReasonId::HubRestored, words)
    } else {
        words.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_lesser_number_is_a_new_history() {
        for (known, newest) in [("9", "10"), ("10", "10"), ("x9", "x8"), ("", "7"), ("7", "")] {
            assert!(compare(known, newest).is_ok(), "{known} {newest}");
        }
        let failure = compare("10", "9").expect_err("it went back");
        assert!(failure.is_restored());
        assert_eq!(
            failure.to_string(),
            "the hub's resourceVersion went back from 10 to 9, as after a restored backup"
        );
    }
}
