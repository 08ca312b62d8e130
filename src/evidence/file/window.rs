//! Refuses spans of time that no run has: rules would take their length for what was observed.

use jiff::Timestamp;

use super::LineError;
use crate::{Header, Window};

/// No clock of a run shows a later time: 2100-01-01T00:00:00Z.
const LATEST: i64 = 4_102_444_800;

/// Checks the window of a header.
///
/// # Errors
/// When it ends before it begins, or in another age.
pub(super) fn check_header(header: &Header) -> Result<(), LineError> {
    if let Some(window) = &header.window {
        check(window, "the window")?;
    }
    if let (Some(window), Some(settled)) = (header.window, header.settled) {
        let later = Window {
            from: window.from,
            until: settled.until,
        };
        check(&later, "the time until which the run looked on")?;
    }
    Ok(())
}

/// Checks one window. `what` begins the sentence.
///
/// # Errors
/// When it ends before it begins, or in another age.
pub(super) fn check(window: &Window, what: &'static str) -> Result<(), LineError> {
    let Window { from, until } = *window;
    if until < from {
        return Err(LineError::Backwards { what, from, until });
    }
    if until > Timestamp::from_second(LATEST).unwrap_or(Timestamp::MAX) {
        return Err(LineError::OtherAge { what, until });
    }
    Ok(())
}
