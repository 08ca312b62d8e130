//! Compares what a profile reports with what its member reports.
//!
//! A look at a member is an instant and proves no duration. The named assumption is *Sampled*: what a member shows at two
//! successive looks, it showed between them, or one of the two if they differ. So between two looks a profile is wrong
//! while it reports what agrees with neither, and it fails if that lasted for longer than the grace ([`Set::lasts`]).
//!
//! Manager and runner both see a change some time after it happened. So a profile may report what the member showed at an
//! earlier look, within the grace, or at a later one: what was wrong before does not add to what is wrong after.
//!
//! The same assumption says what is not known: if at no look for longer than the grace the two were seen to agree, and some
//! of these looks had no answer, then the profile may have been wrong all the while.

use std::{cell::LazyCell, collections::HashMap, fmt::Display};

use evidence::{
    Evidence, Kind, Look, Member, MemberPart, ProfileHistory,
    api::{
        ClusterProfile,
        names::{CONDITION_HEALTHY, CONDITION_JOINED},
    },
};
use jiff::Timestamp;

use crate::{
    reasons::NO_MEMBER_ASKED,
    subjects::{Finding, Findings, Length, Profile, by_name, name},
    time::{Micros, SECOND, Seen, Set, Timeline, timestamp, why_missed},
};

/// With how many of the looks before it one is compared: runs look at most a few times within the grace. Only a file that
/// somebody made holds more.
const RECENT: usize = 200;

/// A judged profile and its member.
pub(crate) struct Pair<'a> {
    evidence: &'a Evidence,
    /// The profile, which may be deleted, and made again.
    profile: Profile<'a>,
    /// The looks at its member.
    pub(crate) member: &'a Member,
}

/// How profiles are compared with their members.
pub(crate) struct Comparison<'f, 'a, P, M> {
    /// The part of the member's answers.
    pub(crate) part: MemberPart,
    /// How long the two may differ, in seconds.
    pub(crate) grace: i64,
    /// Whether the manager vouches for a profile's content.
    pub(crate) vouches: fn(&ClusterProfile) -> bool,
    /// The value that a profile reports, if any.
    pub(crate) said: &'f dyn Fn(&'a ClusterProfile) -> Option<P>,
    /// The value in a look; none if it was unavailable.
    pub(crate) seen: &'f dyn Fn(&'a Look) -> Option<M>,
    /// Whether the reported value agrees with the seen one, given the one seen before: the value may have been in
    /// between.
    pub(crate) agrees: &'f dyn Fn(&P, &M, Option<&M>) -> bool,
    /// Whether the reported value agrees with a member that does not answer.
    pub(crate) suits_silence: fn(&P) -> bool,
}

/// The outcome of a comparison.
pub(crate) enum Outcome<'a, P, M> {
    /// The profile was never wrong for longer than the grace.
    Agrees,
    /// The profile was wrong for longer than the grace.
    Differs(Difference<'a, P, M>),
    /// The two differ, but the looks cover no more time than the grace.
    TooShort,
    /// The watch missed what the profile reported when the member was asked.
    Missed,
    /// The profile reports a value, and the member was unavailable.
    Unseen,
    /// No look agrees for longer than the grace, and some show nothing, for this reason.
    Hidden(Box<Self>),
    /// There is nothing to compare.
    Unsaid,
}

/// A profile that was wrong for longer than the grace.
pub(crate) struct Difference<'a, P, M> {
    /// The profile, in the last version that was wrong.
    pub(crate) profile: &'a ClusterProfile,
    /// The value that it reports.
    pub(crate) said: P,
    /// The value that the member reports.
    pub(crate) seen: M,
    /// Minimum time for which it was wrong.
    total: Micros,
    /// When it was wrong at the latest.
    since: Micros,
    /// How long the two may differ, in seconds.
    grace: i64,
}

impl<P, M> Difference<'_, P, M> {
    /// Says for how long the profile was wrong, since when, and how long it may be.
    pub(crate) fn lasting(&self) -> String {
        format!(
            "for at least {} since {} (grace: {})",
            Length(self.total),
            timestamp(self.since),
            Length(self.grace * SECOND)
        )
    }
}

/// What a look shows of a profile and its member.
enum Sight<'a, P, M> {
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
struct Moment<'a, P, M> {
    look: &'a Look,
    /// When the last of this look and those before it ended.
    latest: Micros,
    seen: M,
    said: Vec<P>,
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
struct Looks<'c, 'f, 'a, P, M> {
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

/// Members that a rule cannot judge: each cause once, with the first member.
#[derive(Default)]
pub(crate) struct Doubts(Vec<Doubt>);

struct Doubt {
    first: String,
    cause: String,
    count: usize,
}

/// The judged profiles with a member. Notes the members without a profile.
pub(crate) fn pairs<'a>(
    evidence: &'a Evidence,
    findings: &mut Findings,
    doubts: &mut Doubts,
) -> Vec<Pair<'a>> {
    if evidence.members.is_empty() {
        findings.not_asked(NO_MEMBER_ASKED);
    }
    let mut members: HashMap<(&str, &str), &Member> = HashMap::new();
    for member in &evidence.members {
        let (namespace, name) = (&member.profile.namespace, &member.profile.name);
        if evidence.histories_named(namespace, name).next().is_none() {
            doubts.add(
                &member.profile,
                "a kubeconfig of its member was given, but there is no such profile",
            );
        }
        members.insert((namespace, name), member);
    }
    let histories = evidence.histories();
    let asked = histories.filter(|history| members.contains_key(&name(history.last())));
    let pair = |profile: Profile<'a>| Pair {
        evidence,
        member: members[&name(profile.last_life().last())],
        profile,
    };
    by_name(evidence, asked).into_iter().map(pair).collect()
}

/// Whether the profile says that the member is joined. If not, the manager does not maintain the status.
pub(crate) fn is_joined(profile: &ClusterProfile) -> bool {
    let joined = profile.condition(CONDITION_JOINED);
    profile.metadata.deletion_timestamp.is_none() && joined.is_none_or(|joined| &*joined.status == "True")
}

/// Whether the manager also claims to reach a healthy member: otherwise the status may be stale.
pub(crate) fn vouches(profile: &ClusterProfile) -> bool {
    let healthy = profile.condition(CONDITION_HEALTHY);
    is_joined(profile) && healthy.is_none_or(|healthy| &*healthy.status == "True")
}

impl<'a> Pair<'a> {
    /// The profile as it was last seen; none if it is deleted.
    pub(crate) fn current(&self) -> Option<&'a ClusterProfile> {
        self.profile.last_life().current()
    }

    fn timeline(&self) -> &Timeline<'a, ClusterProfile> {
        self.profile.timeline(self.evidence)
    }

    /// The versions of the profile that may have been there during a look; none if the watch may have missed one.
    pub(crate) fn versions_at(&self, look: &Look) -> Option<Vec<&'a ClusterProfile>> {
        versions_in(self.timeline(), look.from, look.until)
    }

    /// Whether a part of the member's answers was never available.
    pub(crate) fn never_told(&self, part: MemberPart) -> bool {
        !self.member.looks.iter().any(|look| look.has(part))
    }

    /// Why a part of the member's answers was unavailable.
    fn reason(&self, evidence: &Evidence, part: MemberPart) -> String {
        let missing = self.member.looks.iter().rev();
        let missing = missing.filter_map(|look| look.missing.get(&part)).next();
        if let Some(missing) = missing {
            return format!("its {} could not be read: {missing}", part.name());
        }
        let reason = why_missed(evidence, Kind::Members, &self.member.profile);
        reason.unwrap_or("it was not asked").to_owned()
    }
}

/// What is in doubt if the watch missed how a profile was when its member was called.
pub(crate) const MISSED: &str = "the watch was interrupted when its member was called";

/// The versions of a profile that may have been there in a span; none if the watch may have missed one.
fn versions_in<'e>(
    timeline: &Timeline<'e, ClusterProfile>,
    from: Timestamp,
    until: Timestamp,
) -> Option<Vec<&'e ClusterProfile>> {
    let mut versions = Vec::new();
    for (seen, _) in timeline.during(from.as_microsecond(), until.as_microsecond()) {
        match seen {
            Seen::Version(version) => versions.push(&version.object),
            Seen::Absence => {}
            Seen::Nothing => return None,
        }
    }
    Some(versions)
}

/// The versions of a profile that may have been there at a moment; none if the watch may have missed one.
pub(crate) fn versions_at<'e>(
    evidence: &'e Evidence,
    history: &'e ProfileHistory,
    at: Timestamp,
) -> Option<Vec<&'e ClusterProfile>> {
    versions_in(&Timeline::of(evidence, &[history]), at, at)
}

/// Whether the manager vouched for all of these profiles at that time, as far as the watch tells.
pub(crate) fn stood<'a>(
    evidence: &'a Evidence,
    histories: impl IntoIterator<Item = &'a ProfileHistory>,
    at: Timestamp,
    stands: fn(&ClusterProfile) -> bool,
) -> bool {
    let mut versions = Vec::new();
    for history in histories {
        let Some(there) = versions_at(evidence, history, at) else {
            return false;
        };
        versions.extend(there);
    }
    !versions.is_empty() && versions.into_iter().all(stands)
}

impl<'a, P: Clone, M: Clone> Comparison<'_, 'a, P, M> {
    /// Compares all judged profiles with their members. `finding` describes one that differs.
    pub(crate) fn each(
        &self,
        evidence: &'a Evidence,
        findings: &mut Findings,
        finding: impl Fn(&Difference<'a, P, M>) -> Finding,
    ) {
        let mut doubts = Doubts::default();
        for pair in pairs(evidence, findings, &mut doubts) {
            match self.of(&pair) {
                Outcome::Agrees => findings.examine(),
                Outcome::Differs(difference) => {
                    findings.examine();
                    findings.report(finding(&difference));
                }
                outcome => self.doubt(evidence, &pair, &outcome, &mut doubts),
            }
        }
        doubts.tell(findings);
    }

    /// Records why a comparison has no result, if that matters.
    pub(crate) fn doubt(
        &self,
        evidence: &Evidence,
        pair: &Pair,
        outcome: &Outcome<P, M>,
        doubts: &mut Doubts,
    ) {
        match outcome {
            Outcome::TooShort => doubts.add(&pair.member.profile, &self.too_short()),
            Outcome::Missed => doubts.add(
                &pair.member.profile,
                "the watch missed what its profile said while it was asked",
            ),
            Outcome::Unseen => doubts.add_missing(evidence, pair, self.part),
            Outcome::Hidden(why) => self.doubt(evidence, pair, why, doubts),
            Outcome::Agrees | Outcome::Differs(_) | Outcome::Unsaid => {}
        }
    }

    /// Compares one profile with its member.
    pub(crate) fn of(&self, pair: &Pair<'a>) -> Outcome<'a, P, M> {
        let mut looks = Looks {
            comparison: self,
            pair,
            series: Vec::new(),
            begin: 0,
            apart_since: None,
            unknown: None,
            has_agreed: false,
            outcome: Outcome::Unsaid,
        };
        let is_ever_said = LazyCell::new(|| self.is_ever_said(pair));
        for look in &pair.member.looks {
            let since = looks.series.last().map_or(look.from, |moment| moment.look.until);
            let sight = self.sight(pair.timeline(), look, since);
            looks.add(
                look,
                match sight {
                    Sight::Missed if !*is_ever_said => Sight::Unsaid,
                    sight => sight,
                },
            );
        }
        looks.break_off();
        match looks.outcome {
            Outcome::Unsaid
                if !self.was_seen(pair) && pair.current().is_some_and(|last| self.is_open(last)) =>
            {
                Outcome::Unseen
            }
            outcome => outcome,
        }
    }

    /// Whether the manager vouches for a value in a profile.
    fn is_said(&self, profile: &'a ClusterProfile) -> bool {
        (self.vouches)(profile) && (self.said)(profile).is_some()
    }

    /// Whether a profile says what only an answer of the member shows to be right.
    fn is_open(&self, profile: &'a ClusterProfile) -> bool {
        (self.vouches)(profile) && (self.said)(profile).is_some_and(|said| !(self.suits_silence)(&said))
    }

    fn is_ever_said(&self, pair: &Pair<'a>) -> bool {
        let lives = pair.profile.lives.iter();
        let mut versions = lives.flat_map(|life| &life.versions);
        versions.any(|version| self.is_said(&version.object)) && self.was_seen(pair)
    }

    /// What a look shows, and what the profile reported since the look before.
    fn sight(
        &self,
        timeline: &Timeline<'a, ClusterProfile>,
        look: &'a Look,
        since: Timestamp,
    ) -> Sight<'a, P, M> {
        let Some(versions) = versions_in(timeline, since.min(look.from), look.until) else {
            return Sight::Missed;
        };
        let Some(seen) = (self.seen)(look) else {
            return if versions.iter().any(|profile| self.is_open(profile)) {
                Sight::Unseen
            } else {
                Sight::Unsaid
            };
        };
        let stands = !versions.is_empty() && versions.iter().all(|profile| (self.vouches)(profile));
        let said: Option<Vec<P>> = versions.iter().map(|profile| (self.said)(profile)).collect();
        match said.filter(|_| stands) {
            Some(said) => Sight::Both(Moment {
                look,
                latest: look.until.as_microsecond(),
                seen,
                said,
            }),
            None => Sight::Unsaid,
        }
    }

    /// Whether any look has the part.
    fn was_seen(&self, pair: &Pair<'a>) -> bool {
        pair.member.looks.iter().any(|look| (self.seen)(look).is_some())
    }

    fn grace(&self) -> Micros {
        self.grace * SECOND
    }

    fn too_short(&self) -> String {
        let minutes = self.grace / 60;
        format!(
            "it differs from its member, which was not watched without a break for longer than the grace period of \
             {minutes} min: observe for at least {} min",
            minutes + 1
        )
    }
}

impl<'a, P: Clone, M: Clone> Looks<'_, '_, 'a, P, M> {
    fn add(&mut self, look: &'a Look, sight: Sight<'a, P, M>) {
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

impl<P, M> Outcome<'_, P, M> {
    /// Merges a later outcome: what tells the most remains.
    fn becomes(&mut self, later: Self) {
        let weight = |outcome: &Self| match outcome {
            Outcome::Unsaid | Outcome::Unseen => 0,
            Outcome::Missed => 1,
            Outcome::TooShort => 2,
            Outcome::Agrees => 3,
            Outcome::Hidden(_) => 4,
            Outcome::Differs(_) => 5,
        };
        if weight(&later) >= weight(self) {
            *self = later;
        }
    }
}

impl Doubts {
    /// Records that a rule cannot judge an object.
    pub(crate) fn add(&mut self, object: impl Display, cause: &str) {
        match self.0.iter_mut().find(|doubt| doubt.cause == cause) {
            Some(doubt) => doubt.count += 1,
            None => self.0.push(Doubt {
                first: object.to_string(),
                cause: cause.to_owned(),
                count: 1,
            }),
        }
    }

    /// Records that a rule cannot judge a member, as that part was unavailable.
    pub(crate) fn add_missing(&mut self, evidence: &Evidence, pair: &Pair, part: MemberPart) {
        self.add(&pair.member.profile, &pair.reason(evidence, part));
    }

    /// Reports each doubt as inconclusive.
    pub(crate) fn tell(self, findings: &mut Findings) {
        for Doubt { first, cause, count } in self.0 {
            match count {
                1 => findings.cannot_tell(format!("{first}: {cause}")),
                _ => findings.cannot_tell(format!("{first} and {} more: {cause}", count - 1)),
            }
        }
    }
}
