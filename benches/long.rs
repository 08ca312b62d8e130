//! A run of a day: what its evidence takes for each change and each look at a member, in memory and in the file.
//!
//! The hub is the lab's, in this process, under a paused clock: a day takes minutes. The memory is that of the process,
//! the hub included, so only its growth between two hours means something. The hub remembers so little that it does not
//! grow; `--nothing` shows that.
//!
//! With `--monitor`, what a monitor keeps takes the place of a run's evidence: a window that goes on, and the verdicts.

use std::time::Duration;

use ::lab::{
    hub::Hub,
    member::{MemberState, StandIn},
};
use anyhow::{Context, ensure};
use apiserver::Misbehaviour;
use clap::Args;
use collect::{MemberWay, Members, Plan, Quiet, Wish, clock::Clock, collect, connect::USER_AGENT, ongoing};
use evidence::{Evidence, Kind, ObjectKey, file};
use judge::{Selection, judge};
use kube::api::{DeleteParams, PostParams};
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::support::{child::resident, fleet, measure::megabytes};

/// How many changes the hub remembers: enough for a watch that is never behind.
const HISTORY: usize = 1_000;
const HOUR: Duration = Duration::from_secs(3600);
/// How often a monitor judges everything here, and how long after that what has changed. A real one does the first each
/// minute; a week would then take an hour.
const WHOLE: Duration = Duration::from_secs(600);
const CHANGED: Duration = Duration::from_secs(30);

/// Watch a fleet for a day
#[derive(Args)]
pub struct Arguments {
    /// How many profiles there are
    #[arg(long, default_value_t = 1_000)]
    profiles: usize,
    /// For how many hours they are watched
    #[arg(long, default_value_t = 24)]
    hours: usize,
    /// Seconds between two status writes of a profile; the documents allow 30 on average
    #[arg(long, default_value_t = 600)]
    every: u64,
    /// How many profiles come each hour, and how many go
    #[arg(long, default_value_t = 10)]
    churn: usize,
    /// How many of the first members are asked each minute
    #[arg(long, default_value_t = 0)]
    members: usize,
    /// How many API groups each of them has
    #[arg(long, default_value_t = 20)]
    groups: usize,
    /// Keep what a monitor with a window of an hour keeps, and print the memory once a day
    #[arg(long)]
    monitor: bool,
    /// Watch nothing: what the hub takes alone
    #[arg(long, conflicts_with = "monitor")]
    nothing: bool,
}

#[tokio::main(flavor = "current_thread", start_paused = true)]
pub async fn run(arguments: Arguments) -> anyhow::Result<()> {
    let clock = Clock::system();
    let hub = Hub::lab(clock).await?;
    let lab = hub.as_lab().context("the lab")?;
    // The hub's own memory must not grow beside the evidence.
    lab.send_audit_log(None);
    lab.misbehave(Misbehaviour::Remember(HISTORY));
    fleet::publish(&hub, arguments.profiles).await?;
    if arguments.monitor {
        monitored(&hub, &arguments, clock).await?;
        return Ok(hub.stop().await?);
    }
    if arguments.nothing {
        write(&hub, &arguments, clock, Growth::each_hour()).await?;
        return Ok(hub.stop().await?);
    }
    let observe = HOUR * arguments.hours as u32 + Duration::from_secs(60);
    let plan = plan(observe, ways(&arguments, clock));
    let collecting = collect(&hub.connection, &plan, clock, &Quiet, CancellationToken::new());
    let (evidence, written) = futures::join!(collecting, write(&hub, &arguments, clock, Growth::each_hour()));
    let (evidence, written) = (evidence?, written?);

    let changes: usize = evidence
        .profiles
        .iter()
        .map(|history| history.steps().count())
        .sum();
    let looks: usize = evidence.members.iter().map(|member| member.looks.len()).sum();
    println!("{written} status writes, {changes} changes and {looks} looks at members in the evidence");
    for (name, about) in [("evidence.jsonl", "plain"), ("evidence.jsonl.zst", "packed")] {
        let all = size(&evidence, name)?;
        let of_changes = all - size(&without_changes(&evidence), name)?;
        let of_looks = all - size(&without_looks(&evidence), name)?;
        println!("the file, {about}: {:.1} MB", all as f64 / 1e6);
        for (bytes, count, of) in [(of_changes, changes, "changes"), (of_looks, looks, "looks")] {
            let each = bytes as f64 / count.max(1) as f64;
            println!(
                "  of {of}: {:.1} MB, {each:.0} bytes for each",
                bytes as f64 / 1e6
            );
        }
    }
    let gaps = evidence.gaps(Kind::Timeline).count();
    ensure!(gaps == 0, "{gaps} gaps in the watch");
    ensure!(changes >= written, "{} changes were missed", written - changes);
    hub.stop().await?;
    Ok(())
}

/// Ways to the first members, which answer the same all day.
fn ways(arguments: &Arguments, clock: Clock) -> Vec<MemberWay> {
    let way = |number: usize| {
        let groups = 0..arguments.groups;
        let state = MemberState {
            custom_resource_groups: groups.map(|group| format!("group-{group}.example.com")).collect(),
            ..MemberState::default()
        };
        let key = ObjectKey {
            namespace: fleet::namespace(number).to_owned(),
            name: fleet::name(number),
        };
        let client = StandIn::new(&key.name, clock, state).client_as(StandIn::ASKER, USER_AGENT);
        MemberWay::by_client(key, "a stand-in", client)
    };
    (0..arguments.members).map(way).collect()
}

fn plan(observe: Duration, ways: Vec<MemberWay>) -> Plan {
    Plan {
        probe: Wish::No("not measured".into()),
        members: Members {
            ways,
            ..Members::default()
        },
        ..Plan::watching(observe)
    }
}

/// Writes the status of all profiles again and again; some go each hour, and others come. Gives the number of writes.
async fn write(hub: &Hub, arguments: &Arguments, clock: Clock, mut growth: Growth) -> anyhow::Result<usize> {
    // After the first look.
    sleep(Duration::from_secs(10)).await;
    let started = Instant::now();
    let client = hub.client_as("reference-manager", fleet::MANAGER)?;
    let of = |number: usize| fleet::profiles(&client, fleet::namespace(number));
    let rounds = HOUR.as_secs() / arguments.every;
    let (mut first, mut written) = (0, 0);
    for hour in 0..arguments.hours {
        for round in 0..rounds {
            for number in first..first + arguments.profiles {
                let nodes = 1 + hour * rounds as usize + round as usize;
                fleet::write_status(&of(number), number, nodes, clock.now()).await?;
                written += 1;
            }
            let passed = HOUR * hour as u32 + Duration::from_secs(arguments.every * (round + 1));
            sleep_until(started + passed).await;
        }
        for number in first..first + arguments.churn {
            of(number)
                .delete(&fleet::name(number), &DeleteParams::default())
                .await?;
            let new = number + arguments.profiles;
            let profile = serde_json::from_value(fleet::created(new))?;
            of(new).create(&PostParams::default(), &profile).await?;
        }
        first += arguments.churn;
        growth.after(hour + 1, written);
    }
    Ok(written)
}

/// Prints the memory of this process now and then.
struct Growth {
    /// How many hours lie between two lines.
    every: usize,
    before: Option<u64>,
}

impl Growth {
    fn each_hour() -> Self {
        let before = None;
        Self { every: 1, before }
    }

    fn each_day() -> Self {
        let every = 24;
        Self {
            every,
            ..Self::each_hour()
        }
    }

    fn after(&mut self, hour: usize, written: usize) {
        if !hour.is_multiple_of(self.every) {
            return;
        }
        let now = resident(std::process::id());
        let (all, grown) = (
            megabytes(now),
            now.zip(self.before).map_or("?".to_owned(), |(now, before)| {
                format!("{:+.1} MB", (now as f64 - before as f64) / 1e6)
            }),
        );
        println!("hour {hour:>3}: {written} writes so far; memory {all}, {grown} since the line before");
        self.before = now;
    }
}

/// Does as a monitor does while the fleet is written.
async fn monitored(hub: &Hub, arguments: &Arguments, clock: Clock) -> anyhow::Result<()> {
    let plan = plan(HOUR, Vec::new());
    let stop = CancellationToken::new();
    let (mut following, mut view) =
        ongoing::observe(&hub.connection, &plan, HOUR, clock, &Quiet, stop).await?;
    let mut judged = 0;
    let judging = async {
        loop {
            for (wait, whole) in [(WHOLE - CHANGED, true), (CHANGED, false)] {
                sleep(wait).await;
                view.refresh(whole);
                judge(view.evidence(), &Selection::default());
                judged += 1;
            }
        }
    };
    let written = tokio::select! {
        never = following.follow() => match never {},
        () = judging => 0,
        written = write(hub, arguments, clock, Growth::each_day()) => written?,
    };
    println!(
        "{written} status writes, {judged} judgements; {} versions held at the end",
        view.versions()
    );
    ensure!(view.gap_seconds() == 0.0, "the watch was interrupted");
    Ok(())
}

fn size(evidence: &Evidence, name: &str) -> anyhow::Result<usize> {
    let mut file = Vec::new();
    file::write_named(evidence, name.as_ref(), &mut file)?;
    Ok(file.len())
}

/// The evidence of a run in which nothing changed.
fn without_changes(evidence: &Evidence) -> Evidence {
    let mut evidence = evidence.clone();
    for history in &mut evidence.profiles {
        history.versions.truncate(1);
    }
    evidence
}

/// The evidence of a run that looked at each member once.
fn without_looks(evidence: &Evidence) -> Evidence {
    let mut evidence = evidence.clone();
    for member in &mut evidence.members {
        member.looks.truncate(1);
    }
    evidence
}
