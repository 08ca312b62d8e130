//! What one change of a fleet costs a judge that keeps its verdicts up to date, beside judging the whole fleet.

mod support;

use std::{io, iter, time::Duration};

use clap::Parser;
use evidence::{Asked, Evidence, Kind, ObjectKey, Version, Window, api::ClusterProfile};
use jiff::{SignedDuration, Timestamp, ToSpan as _};
use judge::{Selection, Standing, judge};
use support::{
    figures::Figures,
    fleet, looked,
    measure::{median, ratio, seconds, timed},
};

/// How often the fleet changes: each change comes so much later than the one before.
const PACE: SignedDuration = SignedDuration::from_millis(10);

/// Judges fleets that change all the time.
#[derive(Parser)]
struct Arguments {
    /// How many profiles each fleet has
    #[arg(long, value_delimiter = ',', default_value = "100,1000,10000")]
    profiles: Vec<usize>,
    /// How many changes are measured in each fleet
    #[arg(long, default_value_t = 2_000)]
    changes: usize,
    /// How often the whole fleet is judged
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Comes from cargo
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() -> io::Result<()> {
    let arguments = Arguments::parse();
    let mut figures = Figures::of("standing");
    let mut smallest: Option<Duration> = None;
    println!(
        "{:>10} {:>12} {:>12} {:>12} {:>12} {:>14}",
        "profiles", "whole", "first", "one change", "mean", "100 a second"
    );
    for profiles in arguments.profiles {
        let mut evidence = fleet_of(profiles);
        let whole =
            median((0..arguments.rounds).map(|_| timed(|| judge(&evidence, &Selection::default())).1));
        let mut standing = Standing::new(Selection::default());
        let (_, first) = timed(|| standing.judgement(&evidence));
        let changes: Vec<Duration> = (0..arguments.changes)
            .map(|number| {
                let key = change(&mut evidence, number * 7919 % profiles);
                standing.profile_changed(key);
                timed(|| standing.judgement(&evidence)).1
            })
            .collect();
        assert_same(&mut standing, &evidence);
        let mean = changes.iter().sum::<Duration>() / u32::try_from(changes.len()).unwrap_or(u32::MAX);
        let change = median(changes);
        println!(
            "{profiles:>10} {:>12} {:>12} {:>9} µs {:>9} µs {:>7.1} % of a core",
            seconds(whole),
            seconds(first),
            change.as_micros(),
            mean.as_micros(),
            // The mean has the passes over the whole fleet, one a minute, in it.
            mean.as_secs_f64() * 100.0 * 100.0,
        );
        figures.add(
            format!("one change of {profiles} profiles, beside judging them all"),
            ratio(change, whole),
        );
        let smallest = *smallest.get_or_insert(change);
        figures.add(
            format!("one change of {profiles} profiles, beside one of the smallest fleet"),
            ratio(change, smallest),
        );
    }
    figures.compare()
}

/// What a watch has seen of a fleet for ten minutes.
fn fleet_of(profiles: usize) -> Evidence {
    let now = fleet::created_at();
    let texts = (0..profiles).map(|number| fleet::shown(number, now).to_string());
    let read = |text: String| serde_json::from_str::<ClusterProfile>(&text).expect("a profile");
    let mut evidence = looked::evidence(texts.map(read).collect(), now);
    evidence.header.asked.insert(Kind::Timeline, Asked::Yes);
    evidence.header.clock_skew_ms = Some(0);
    let from = evidence.header.window.map_or(now, |window| window.from);
    evidence.header.window = Some(Window {
        from,
        until: from + 20.minutes(),
    });
    evidence
}

/// Lets the manager report another version of Kubernetes in one profile.
fn change(evidence: &mut Evidence, place: usize) -> ObjectKey {
    let now = evidence.header.window.as_mut().map(|window| {
        window.until += PACE;
        window.until
    });
    let at = now.unwrap_or(Timestamp::MAX);
    let history = &mut evidence.profiles[place];
    let before = history.last().clone();
    let mut object = before.clone();
    let minor = 30 + history.versions.len() % 6;
    object.status.version.kubernetes = Some(format!("v1.{minor}.1").into());
    object.metadata.resource_version = format!("{}1", before.metadata.resource_version);
    object.share_with(&before);
    // A long-running watch folds what is old.
    if history.versions.len() > 4 {
        history.versions.remove(0);
    }
    history.versions.push(Version { at, object });
    ObjectKey::of(history.last())
}

/// Checks that the verdicts that stand are those of a whole judgement.
fn assert_same(standing: &mut Standing, evidence: &Evidence) {
    let (standing, whole) = (
        standing.judgement(evidence),
        judge(evidence, &Selection::default()),
    );
    for (one, other) in iter::zip(&standing.verdicts, &whole.verdicts) {
        assert_eq!(
            (one.verdict, one.examined, one.findings.len()),
            (other.verdict, other.examined, other.findings.len()),
            "{}",
            one.rule.id
        );
    }
}
