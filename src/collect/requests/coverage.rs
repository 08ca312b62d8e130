//! The time that a log covers.

use evidence::{Gap, Kind, Window};
use jiff::{SignedDuration, Timestamp};

/// How long a log may be silent before that is taken for a hole: a kube-apiserver writes events of some kind (leader
/// elections, health checks, node leases) every few seconds.
const SILENCE: SignedDuration = SignedDuration::from_secs(60);

/// How long a log is silent while it is being written to, as one is whose last line is not yet ended.
pub(super) const BUSY: SignedDuration = SignedDuration::from_secs(5);

/// The time that one file covers.
#[derive(Clone, Debug)]
pub(super) struct Span {
    pub(super) covers: Window,
    pub(super) end: End,
    /// When the next file was begun, where the name tells.
    pub(super) rotated: Option<Timestamp>,
}

/// How a file ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// With a whole line.
    Whole,
    /// In the middle of a line.
    HalfLine,
    /// Before its end: what is behind cannot be read, for this reason.
    Lost(String),
}

/// How long a log is silent by itself: an audit policy may let through next to nothing.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Silences {
    longest: SignedDuration,
    second: SignedDuration,
}

impl Silences {
    /// Notes that nothing was logged for so long within one file.
    pub(super) fn note(&mut self, silence: SignedDuration) {
        if silence > self.longest {
            (self.longest, self.second) = (silence, self.longest);
        } else {
            self.second = self.second.max(silence);
        }
    }

    /// How long a silence means nothing: as long as the log has been silent twice. Once may be a server that was down.
    pub(super) fn bearable(self) -> SignedDuration {
        self.second.max(SILENCE)
    }
}

/// Sorts the files by their beginnings, and tells what is missing in and between them: parts that cannot be read, and
/// times in which nothing was logged for longer than is bearable.
pub(super) fn holes(spans: &mut [Span], bearable: SignedDuration) -> Vec<Gap> {
    spans.sort_by_key(|span| span.covers.from);
    believe_names(spans);
    let mut gaps = Vec::new();
    let mut latest: Option<&Span> = None;
    for (place, span) in spans.iter().enumerate() {
        if let End::Lost(reason) = &span.end {
            let mut behind = spans[place + 1..].iter().map(|next| next.covers.from);
            let next = behind.find(|from| *from >= span.covers.until);
            gaps.push(Gap {
                until: span.rotated.or(next),
                ..gap(Some(span.covers.until), None, reason)
            });
        }
        let Some(last) = latest else {
            latest = Some(span);
            continue;
        };
        let silent = span.covers.from.duration_since(last.covers.until);
        let bearable = match last.end {
            End::Whole => bearable,
            End::HalfLine => BUSY,
            // That gap is there already.
            End::Lost(_) => SignedDuration::MAX,
        };
        if silent > bearable {
            gaps.push(gap(
                Some(last.covers.until),
                Some(span.covers.from),
                "the audit log has no event of any kind in this time: give the file that lies between",
            ));
        }
        if span.covers.until > last.covers.until {
            latest = Some(span);
        }
    }
    gaps
}

/// Between the last event of a file and the beginning of the next nothing was logged, however long that took. The name
/// tells when that was, unless the next file contradicts: its first event may be a little older.
fn believe_names(spans: &mut [Span]) {
    let begins: Vec<Timestamp> = spans.iter().map(|span| span.covers.from).collect();
    for (place, span) in spans.iter_mut().enumerate() {
        let Some(rotated) = span.rotated.filter(|_| span.end == End::Whole) else {
            continue;
        };
        let next = begins.get(place + 1);
        if next.is_none_or(|begin| rotated.duration_since(*begin) <= SILENCE) {
            span.covers.until = span.covers.until.max(rotated);
        }
    }
}

/// What of a window lies before or after the log. A log that merely was silent at either end is whole.
pub(super) fn uncovered(
    covers: Window,
    window: Window,
    bearable: SignedDuration,
    is_cut_short: bool,
) -> Vec<Gap> {
    let mut gaps = Vec::new();
    if covers.from.duration_since(window.from) > bearable {
        gaps.push(gap(
            Some(window.from),
            Some(covers.from.min(window.until)),
            "the audit log begins after the window did: give the rotated file before it too",
        ));
    }
    let bearable = if is_cut_short { BUSY } else { bearable };
    if window.until.duration_since(covers.until) > bearable {
        gaps.push(gap(
            Some(covers.until.max(window.from)),
            Some(window.until),
            "the audit log ends before the window did: copy it after the run, with all its files",
        ));
    }
    gaps
}

/// A gap in the requests.
pub(super) fn gap(from: Option<Timestamp>, until: Option<Timestamp>, reason: &str) -> Gap {
    Gap {
        from,
        until,
        ..Gap::of(Kind::Requests, reason.to_owned())
    }
}
