//! Why a request had no good answer, and whether to send it again.

use std::{fmt, time::Duration};

use http::StatusCode;
use kube::core::Status;

use super::error::{cause, is_cut_off, is_tls, one_line};

/// The longest wait before a request is sent again.
pub(crate) const LONGEST_WAIT: Duration = Duration::from_secs(15);

/// Why a request had no good answer.
#[derive(Clone, Debug)]
pub(crate) enum Failure {
    /// The hub refused the request.
    Status {
        /// Why, with the HTTP status code.
        status: Box<Status>,
        /// How long the hub wants to be left alone.
        retry_after: Option<Duration>,
    },
    /// There was no answer, or it broke off.
    NoAnswer {
        /// What happened, in words that hold no secret.
        cause: String,
        /// In which way.
        how: How,
    },
}

/// The ways of not answering.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    /// What came makes no sense, or there is no way to ask.
    Broken,
    /// There is no connection, or it broke off.
    CutOff,
    /// No secure connection could be made.
    Insecure,
    /// Nothing came for too long.
    Silent,
    /// The hub no longer has the history in which it was asked.
    Restored,
}

/// How many characters of each of the hub's texts are kept.
const LONGEST_TEXT: usize = 2000;

/// Reads a `metav1.Status`, each of its texts as one redacted line; the default if it is not one.
pub(crate) fn read_status(body: &str) -> Status {
    let mut status: Status = serde_json::from_str(body).unwrap_or_default();
    let causes = status.details.iter_mut().flat_map(|details| &mut details.causes);
    let causes = causes.flat_map(|cause| [&mut cause.reason, &mut cause.message, &mut cause.field]);
    for text in causes.chain([&mut status.reason, &mut status.message]) {
        *text = one_line(text, LONGEST_TEXT);
    }
    status
}

impl Failure {
    /// There was no answer that makes sense.
    pub fn broken(cause: impl Into<String>) -> Self {
        Failure::NoAnswer {
            cause: cause.into(),
            how: How::Broken,
        }
    }

    /// Nothing came for that long; `what` begins the sentence.
    pub fn silent(what: &str, patience: Duration) -> Self {
        Failure::NoAnswer {
            cause: format!("{what} for {} s", patience.as_secs()),
            how: How::Silent,
        }
    }

    /// The hub's newest resourceVersion is older than one that it has given out.
    pub fn restored(known: u64, newest: u64) -> Self {
        Failure::NoAnswer {
            cause: format!(
                "the hub's resourceVersion went back from {known} to {newest}, as after a restored backup"
            ),
            how: How::Restored,
        }
    }

    /// Whether the hub has a new history.
    pub fn is_restored(&self) -> bool {
        matches!(
            self,
            Failure::NoAnswer {
                how: How::Restored,
                ..
            }
        )
    }

    /// Whether nothing came for too long.
    pub fn is_silence(&self) -> bool {
        matches!(self, Failure::NoAnswer { how: How::Silent, .. })
    }

    /// HTTP status code; 0 where there was no answer.
    pub fn code(&self) -> u16 {
        match self {
            Failure::Status { status, .. } => status.code,
            Failure::NoAnswer { .. } => 0,
        }
    }

    /// Whether there is no connection, or it broke off.
    pub fn is_cut_off(&self) -> bool {
        matches!(self, Failure::NoAnswer { how: How::CutOff, .. })
    }

    /// Whether the same request may succeed a moment later. One that has used all its time is not sent again.
    pub fn may_pass(&self) -> bool {
        matches!(self.code(), 0 | 429 | 500..) && !self.is_silence() && !self.is_restored()
    }

    /// Whether the hub is there, but busy or ailing.
    pub fn is_ailing(&self) -> bool {
        self.code() != 0 && self.may_pass()
    }

    /// How long to wait before the next attempt, after `failures` of them in a row.
    pub fn wait(&self, failures: u32) -> Duration {
        let growing = Duration::from_millis(500) * 2_u32.saturating_pow(failures.saturating_sub(1).min(8));
        growing.max(self.asked_wait()).min(LONGEST_WAIT)
    }

    /// How long the hub asks to be left alone.
    pub fn asked_wait(&self) -> Duration {
        match self {
            Failure::Status { retry_after, .. } => retry_after.unwrap_or_default(),
            Failure::NoAnswer { .. } => Duration::ZERO,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::NoAnswer { cause, .. } => f.write_str(cause),
            Failure::Status { status, .. } => {
                write!(f, "the hub answered {}", code_name(status.code))?;
                match status.message.as_str() {
                    "" => Ok(()),
                    message => write!(f, ": {message}"),
                }
            }
        }
    }
}

impl std::error::Error for Failure {}

impl From<kube::Error> for Failure {
    fn from(error: kube::Error) -> Self {
        let how = if is_tls(&error) {
            How::Insecure
        } else if is_cut_off(&error) {
            How::CutOff
        } else {
            How::Broken
        };
        Failure::NoAnswer {
            cause: cause(&error),
            how,
        }
    }
}

/// A status code with its name, for example `404 Not Found`.
pub(crate) fn code_name(code: u16) -> String {
    match StatusCode::from_u16(code) {
        Ok(status) => status.to_string(),
        Err(_) => code.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_hubs_words_are_one_line_without_credentials() {
        let token = "eyJhbGciOi.CANARY-CANARY.x";
        let status = json!({
            "reason": token, "message": format!("no\ntest result: ok {token} {}", "x".repeat(5000)),
            "details": {"causes": [{"field": token, "message": format!("Bearer {}", "CANARY".repeat(5))}]},
        });
        let status = read_status(&status.to_string());
        let told = format!("{status:?}");
        assert!(!told.contains("CANARY"), "{told}");
        assert!(status.message.starts_with("no test result: ok … x"), "{told}");
        assert_eq!(status.message.chars().count(), LONGEST_TEXT + 1);
    }
}
