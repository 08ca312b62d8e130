//! Losses: what a record may lack.

use std::{collections::BTreeSet, sync::Arc};

use evidence::{Evidence, Kind, MemberPart};
use jiff::SignedDuration;
use proptest::{collection::vec, prelude::*, sample::select};

use self::Loss::*;
use super::{
    less,
    removal::{
        cut_log, delay, dump, each_log, end, fail, interrupt, lack, mute, narrow, not_driven, settle,
        silence, unread,
    },
};

/// Milliseconds after the beginning of the window.
type After = i64;

#[derive(Clone, Debug)]
pub enum Loss {
    /// Each change arrives so many milliseconds late, in turn.
    Late(Vec<i64>),
    /// A watch is interrupted for so long, and lists again; the watch of this kind is not.
    Gap(Option<Kind>, After, i64),
    /// The watch reports at the end of that time what happened in it.
    Delay(After, i64),
    /// The hub answers no more from then on.
    Silence(After),
    /// The log lacks that time.
    LogHole(After, i64),
    /// The log lacks one of so many requests, those of one user, or all bodies, and does not say so.
    LogLines(usize, usize),
    LogUser(usize),
    LogBodies,
    /// The run requested this evidence in vain, or never.
    Kind(Kind, bool),
    /// Members, or one of them, did not answer for so long, or not about this part.
    Looks(Option<usize>, Option<MemberPart>, After, i64),
    /// This run has no driver: another run did what happened.
    Driver,
    /// A step fails, and its scenario ends with what undoes it; or the driver cannot act so.
    Step(usize),
    Action(usize),
    /// The run began later, ended sooner, or ended sooner and settled.
    Begin(After),
    End(After),
    Settle(After),
    /// Only one namespace is judged, and perhaps other Secrets and namespaces may not be read. Or one profile is unreadable.
    Namespace(usize, bool),
    Profile(usize),
    /// The runner's clock is behind by so many milliseconds, which the run knows, or not.
    Clock(i64, bool),
    /// Only a dump of the last state, with managedFields or without.
    Dump(bool),
}

/// Evidence that may be forbidden to a run, or that it does not request.
const KINDS: [Kind; 10] = [
    Kind::Namespaces,
    Kind::Timeline,
    Kind::Secrets,
    Kind::UnlabelledSecrets,
    Kind::Members,
    Kind::Plugins,
    Kind::Requests,
    Kind::Probe,
    Kind::Writers,
    Kind::PlacementTimeline,
];

fn span() -> impl Strategy<Value = i64> + Clone {
    prop_oneof![0..5_000_i64, 0..40_000_i64, 90_000..150_000_i64, 0..900_000_i64]
}

pub fn losses() -> impl Strategy<Value = Vec<Loss>> {
    let after = || -1_000..1_900_000_i64;
    let late = select(vec![0, 0, 0, 400, 2_000, 5_000, 9_900]);
    let spared = select(vec![
        None,
        None,
        Some(Kind::Timeline),
        Some(Kind::PlacementTimeline),
    ]);
    let member = prop::option::of(0..12_usize);
    let part = prop::option::of(select(&MemberPart::ALL[..]));
    let loss = prop_oneof![
        2 => vec(late, 1..6).prop_map(Late),
        6 => (spared, after(), span()).prop_map(|(spared, at, long)| Gap(spared, at, long)),
        1 => (after(), span()).prop_map(|(at, long)| Delay(at, long)),
        1 => after().prop_map(Silence),
        3 => (after(), prop_oneof![span(), Just(2_000_000)]).prop_map(|(at, long)| LogHole(at, long)),
        1 => (1..8_usize, 0..8_usize).prop_map(|(every, first)| LogLines(every, first)),
        1 => (0..6_usize).prop_map(LogUser),
        1 => Just(LogBodies),
        5 => (select(&KINDS[..]), any::<bool>()).prop_map(|(kind, asked)| Loss::Kind(kind, asked)),
        3 => (member, part, after(), prop_oneof![span(), Just(2_000_000)])
            .prop_map(|(member, part, at, long)| Looks(member, part, at, long)),
        1 => Just(Driver),
        2 => (0..60_usize).prop_map(Step),
        1 => (0..17_usize).prop_map(Action),
        2 => after().prop_map(Begin),
        2 => after().prop_map(End),
        1 => after().prop_map(Settle),
        1 => (0..6_usize, any::<bool>()).prop_map(|(number, reads_all)| Namespace(number, reads_all)),
        1 => (0..80_usize).prop_map(Profile),
        1 => (-200_000..200_000_i64, any::<bool>()).prop_map(|(by, known)| Clock(by, known)),
        1 => any::<bool>().prop_map(Dump),
    ];
    vec(loss, 1..5)
}

/// The record without all that.
pub fn without(whole: &Evidence, losses: &[Loss]) -> Evidence {
    let mut losses = losses.to_vec();
    // What a single snapshot shows counts as settled, so it is the last of a run that was not cut short.
    let is_snapshot = |loss: &Loss| {
        matches!(
            loss,
            Dump(_) | Loss::Kind(Kind::Timeline | Kind::PlacementTimeline, _)
        )
    };
    if losses.iter().any(is_snapshot) {
        losses.retain(|loss| !matches!(loss, Silence(_) | End(_) | Settle(_)));
    }
    losses.sort_by_key(Loss::rank);
    let mut record = whole.clone();
    for loss in losses {
        // A dump has no time in which anything could be missed, and of other runs only what they left.
        if record.header.window.is_some() {
            loss.apply(&mut record);
        }
    }
    record
}

impl Loss {
    /// The order: a watch is late with what it reports at all, and a run that ends sees no more.
    fn rank(&self) -> u8 {
        match self {
            Late(_) => 0,
            Driver => 1,
            Begin(_) => 2,
            Gap(..) | Delay(..) => 3,
            Silence(_) => 4,
            End(_) => 5,
            Settle(_) => 6,
            Clock(..) => 8,
            Dump(_) => 9,
            _ => 7,
        }
    }

    fn apply(&self, record: &mut Evidence) {
        let window = record.header.window.expect("no dump");
        let moment = |after: After| {
            (window.from + SignedDuration::from_millis(after)).clamp(window.from, window.until)
        };
        let span = |after: After, long: i64| (moment(after), moment(after.saturating_add(long.max(1))));
        match self {
            Late(late) => {
                let late: Vec<_> = late.iter().copied().map(SignedDuration::from_millis).collect();
                delay(&mut record.profiles, &late, window);
                delay(&mut record.slices, &late, window);
            }
            Gap(spared, at, long) => interrupt(record, *spared, span(*at, *long)),
            Delay(at, long) => {
                let (from, until) = span(*at, *long);
                *record = less::delayed(record, from, until);
            }
            Silence(at) => silence(record, (moment(*at), window.until)),
            LogHole(at, long) => cut_log(record, span(*at, *long)),
            LogLines(every, first) => each_log(record, |log| {
                let mut place = *first;
                log.events.retain(|_| {
                    place += 1;
                    place % (every + 1) != 0
                });
            }),
            LogUser(number) => each_log(record, |log| {
                let users: BTreeSet<_> = log.events.iter().map(|event| Arc::clone(&event.user)).collect();
                let user = users.iter().nth(*number);
                log.events.retain(|event| Some(&event.user) != user);
            }),
            LogBodies => each_log(record, |log| {
                for event in &mut log.events {
                    (event.changed, event.body) = (None, None);
                }
            }),
            Loss::Kind(Kind::Timeline | Kind::PlacementTimeline, _) if record.driver.is_some() => {}
            // Without a watch, all other evidence is of a single snapshot, too.
            Loss::Kind(kind @ (Kind::Timeline | Kind::PlacementTimeline), _) => {
                *record = less::without(record, *kind, true);
            }
            Loss::Kind(kind, was_asked) => *record = less::without(record, *kind, *was_asked),
            Looks(member, part, at, long) => mute(record, *member, *part, span(*at, *long)),
            Driver => not_driven(record),
            Step(number) => fail(record, *number),
            Action(number) => lack(record, *number),
            Begin(at) => {
                not_driven(record);
                *record = less::since(record, moment(*at));
                record.logins.retain(|login| login.at >= moment(*at));
                record.endpoint_calls.retain(|call| call.at >= moment(*at));
            }
            End(at) => end(record, moment(*at)),
            Settle(at) => settle(record, window, moment(*at)),
            Namespace(number, reads_all) => {
                not_driven(record);
                narrow(record, *number, *reads_all);
            }
            Profile(number) => unread(record, *number),
            Clock(by, is_known) => {
                *record = less::set_back(record, SignedDuration::from_millis(*by));
                if !is_known {
                    record.header.clock_skew_ms = None;
                }
            }
            Dump(has_writers) => dump(record, window.until, *has_writers),
        }
    }
}
