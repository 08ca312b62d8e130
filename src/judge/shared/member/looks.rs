//! The looks at a member, one after the other.

use evidence::{Look, api::ClusterProfile};
use jiff::Timestamp;

use super::{
    comparison::Comparison,
    outcome::{Difference, Outcome},
    pair::Pair,
};
use crate::time::{Micros, Seen, Set};

/// With how many of the looks before it one is compared: runs look at most a few times within the grace. Only a file that
/// somebody made holds more.
const RECENT: usize = 200;

/// What a look shows of a profile and its member.
pub(super) enum Sight<'a, P, M> {
    /// Both values.
    Both(Moment<'a, P, M>),
    /// Not what the profile reported.
    Missed,
    /// Not what the member has.
    Unseen,
    /// The profile reports nothing for which its manager vouches.
    Unsaid,
}

/// The value seen by one look, and the values that the profile reported since the look before.
pub(super) struct Moment<'a, P, M> {
    pub(super) look: &'a Look,
    /// When the last of this look and those before it ended.
    pub(super) latest: Micros,
    pub(super) seen: M,
    pub(super) said: Vec<P>,
}

/// A version that agreed with none of two successive looks.
struct Wrong<'a, P> {
    /// The time in which it surely was there.
    span: (Micros, Micros),
    profile: &'a ClusterProfile,
    said: P,
    /// The place of the later look.
    look: usize,
}

/// The looks at a member so far.
pub(super) struct Looks<'c, 'f, 'a, P, M> {
    comparison: &'c Comparison<'f, 'a, P, M>,
    pair: &'c Pair<'a>,
    /// The values without a break.
    series: Vec<Moment<'a, P, M>>,
    /// The place from which what is wrong adds up.
    begin: usize,
    /// Since when no look has shown that the two agree.
    apart_since: Option<Micros>,
    /// Why a look has shown nothing since then.
    unknown: Option<Outcome<'a, P, M>>,
    /// Whether the two agree at any look of the series.
    has_agreed: bool,
    outcome: Outcome<'a, P, M>,
}

impl<'c, 'f, 'a, P: Clone, M: Clone> Looks<'c, 'f, 'a, P, M> {
    /// None yet.
    pub(super) fn of(comparison: &'c Comparison<'f, 'a, P, M>, pair: &'c Pair<'a>) -> Self {
        Self {
            comparison,
            pair,
            series: Vec::new(),
            begin: 0,
            apart_since: None,
            unknown: None,
            has_agreed: false,
            outcome: Outcome::Unsaid,
        }
    }

    /// The last look of the series.
    pub(super) fn last(&self) -> Option<&'a Look> {
        self.series.last().map(|moment| moment.look)
    }

    /// What comes of all looks.
    pub(super) fn outcome(mut self) -> Outcome<'a, P, M> {
        self.break_off();
        self.outcome
    }

    /// Adds a look.
    pub(super) fn add(&mut self, look: &'a Look, sight: Sight<'a, P, M>) {
        match sight {
            Sight::Both(moment) => self.compare(moment),
            Sight::Missed => {
                self.outcome.becomes(Outcome::Missed);
                self.miss(look, Outcome::Missed);
            }
            Sight::Unseen => self.miss(look, Outcome::Unseen),
            Sight::Unsaid => {
                self.break_off();
                self.agree();
            }
        }
    }

    /// Adds a look that shows nothing.
    fn miss(&mut self, look: &'a Look, why: Outcome<'a, P, M>) {
        self.break_off();
        self.unknown = Some(why);
        self.stay_apart(look.from, look.until);
    }

    fn compare(&mut self, mut moment: Moment<'a, P, M>) {
        let look = moment.look;
        let latest = self.series.last().map(|before| before.latest);
        moment.latest = moment.latest.max(latest.unwrap_or(Micros::MIN));
        self.series.push(moment);
        let last = self.series.len() - 1;
        // Nothing earlier ended within the grace.
        let since = look.from.as_microsecond().saturating_sub(self.comparison.grace());
        let is_recent = |other: &usize| self.series[*other].latest >= since;
        if let Some(other) = (self.begin..last)
            .rev()
            .take(RECENT)
            .take_while(is_recent)
            .find(|other| self.is_behind(*other, last))
        {
            self.judge(last - 1);
            self.begin = other + 1;
            self.has_agreed = true;
            self.agree();
        }
        let mut said = self.series[last].said.iter();
        if said.any(|said| self.suits(said, last)) {
            self.has_agreed = true;
            self.agree();
        } else {
            let since = self.series[self.begin].look.until.min(look.from);
            self.stay_apart(since, look.from);
        }
    }

    /// No look since then has shown that the two agree.
    fn stay_apart(&mut self, since: Timestamp, until: Timestamp) {
        let since = *self.apart_since.get_or_insert(since.as_microsecond());
        if until.as_microsecond() - since > self.comparison.grace()
            && let Some(why) = self.unknown.take()
        {
            // It outweighs that the two agreed at other looks.
            self.outcome.becomes(Outcome::Hidden(Box::new(why)));
        }
    }

    fn agree(&mut self) {
        (self.apart_since, self.unknown) = (None, None);
    }

    /// Ends a series of looks.
    fn break_off(&mut self) {
        if let Some(last) = self.series.len().checked_sub(1) {
            self.judge(last);
            self.outcome.becomes(if self.has_agreed {
                Outcome::Agrees
            } else {
                Outcome::TooShort
            });
        }
        self.series.clear();
        (self.begin, self.has_agreed) = (0, false);
    }

    /// Judges the looks that add up, until that one.
    fn judge(&mut self, last: usize) {
        let wrong: Vec<Wrong<'a, P>> = (self.begin..last)
            .flat_map(|place| self.wrong_after(place, place + 1 == last))
            .collect();
        if wrong.is_empty() {
            return;
        }
        let stretches = Set::of(wrong.iter().map(|wrong| wrong.span)).stretches(self.comparison.grace());
        let Some(stretch) = stretches.last() else {
            return;
        };
        let is_in = |wrong: &&Wrong<P>| wrong.span.0 < stretch.until;
        if let Some(last) = wrong.iter().rfind(is_in) {
            let difference = Difference {
                profile: last.profile,
                said: last.said.clone(),
                seen: self.series[last.look].seen.clone(),
                total: stretch.total,
                since: stretch.from,
                grace: self.comparison.grace,
            };
            self.outcome.becomes(Outcome::Differs(difference));
        }
    }

    /// The versions that were there between a look and the next one, and agree with neither.
    fn wrong_after(&self, place: usize, is_last: bool) -> Vec<Wrong<'a, P>> {
        let next = place + 1;
        let is_wrong = |said: &P| !self.suits(said, place) && !self.suits(said, next);
        // Nearly always there is none, and no timeline is asked.
        if !self.series[next].said.iter().any(is_wrong) {
            return Vec::new();
        }
        let (before, after) = (self.series[place].look, self.series[next].look);
        let until = if is_last { after.from } else { after.until };
        let timeline = self.pair.timeline();
        let mut found: Vec<Wrong<'a, P>> = Vec::new();
        let mut is_going_on = false;
        for (seen, span) in timeline.during(before.until.as_microsecond(), until.as_microsecond()) {
            let version = match seen {
                Seen::Version(version) => Some(&version.object),
                Seen::Absence | Seen::Nothing => None,
            };
            let said = version.and_then(|profile| Some((profile, (self.comparison.said)(profile)?)));
            let wrong = said.filter(|(_, said)| is_wrong(said));
            if let Some((profile, said)) = wrong {
                // When one wrong version became the next does not matter.
                let from = match found.pop_if(|_| is_going_on) {
                    Some(last) => last.span.0,
                    None => span.0,
                };
                found.push(Wrong {
                    span: (from, span.1),
                    profile,
                    said,
                    look: next,
                });
                is_going_on = true;
            } else {
                is_going_on = false;
            }
        }
        found.retain(|wrong| wrong.span.0 < wrong.span.1);
        found
    }

    /// Whether a value agrees with what a look saw.
    fn suits(&self, said: &P, place: usize) -> bool {
        let before = place.checked_sub(1).map(|before| &self.series[before].seen);
        (self.comparison.agrees)(said, &self.series[place].seen, before)
    }

    /// Whether, of two looks within the grace, the profile reported at one what the member showed at the other only: one of
    /// the two is behind, as it may be.
    fn is_behind(&self, one: usize, other: usize) -> bool {
        let between =
            self.series[other].look.from.as_microsecond() - self.series[one].look.until.as_microsecond();
        let reports = |at: usize, of: usize| {
            let mut said = self.series[at].said.iter();
            said.any(|said| self.suits(said, of) && !self.suits(said, at))
        };
        between <= self.comparison.grace() && (reports(one, other) || reports(other, one))
    }
}
