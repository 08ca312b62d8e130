//! How old a profile is.

/// Seconds until a new profile's status counts: the ledger's default grace of 2 minutes.
pub(crate) const GRACE_SECONDS: i64 = 120;
