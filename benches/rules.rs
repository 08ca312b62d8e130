//! All rules over a large inventory in memory, next to the time that reading its JSON takes.

use std::{cmp::Reverse, collections::BTreeMap, io, thread, time::Duration};

use clap::Args;
use evidence::{
    Evidence, FORMAT, Kind, Namespace, Origin, ProfileHistory, Requested, Version, Window,
    api::ClusterProfile,
};
use jiff::{Timestamp, ToSpan as _};
use judge::{Selection, Verdict, judge, rules};

use crate::{
    fleet::{self, NAMESPACES},
    measure::{median, ratio, seconds, timed},
};

/// How many of the most expensive rules are listed.
const LISTED: usize = 10;

/// Judge a large inventory in memory
#[derive(Args)]
pub struct Arguments {
    /// How many profiles there are
    #[arg(long, default_value_t = 100_000)]
    profiles: usize,
    /// How often everything is measured
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Measure each rule by itself too, and list the most expensive ones
    #[arg(long)]
    each: bool,
}

pub fn run(arguments: Arguments) -> io::Result<()> {
    let now = fleet::created_at();
    let text = |number| fleet::shown(number, now).to_string();
    let texts: Vec<String> = (0..arguments.profiles).map(text).collect();
    let bytes: usize = texts.iter().map(String::len).sum();
    let (count, megabytes) = (texts.len(), bytes / 1_000_000);
    println!(
        "{count} profiles, {megabytes} MB of JSON, {} bytes each",
        bytes / count.max(1)
    );
    // The files of the rules are read once in a run, whatever the hub's size.
    let (count, start) = timed(|| rules::all().len());
    println!("{count} rules, read in {}", seconds(start));

    let (mut reading, mut judging) = (Vec::new(), Vec::new());
    let mut each: BTreeMap<&str, Vec<Duration>> = BTreeMap::new();
    for _ in 0..arguments.rounds {
        let (profiles, took) = timed(|| read(&texts));
        reading.push(took);
        let evidence = evidence_of(profiles, now);
        let (judgement, took) = timed(|| judge(&evidence, &Selection::default()));
        judging.push(took);
        for verdict in judgement.verdicts {
            if verdict.verdict == Verdict::Skipped {
                continue;
            }
            let finding = verdict.findings.first();
            assert_ne!(verdict.verdict, Verdict::Fail, "{}: {finding:?}", verdict.rule.id);
            let took = each.entry(verdict.rule.id).or_default();
            if arguments.each {
                took.push(timed(|| verdict.rule.findings(&evidence)).1);
            }
        }
    }

    let (reading, judging) = (median(&reading), median(&judging));
    let cores = thread::available_parallelism()?;
    println!("read the JSON into profiles: {}", seconds(reading));
    let (rules, time) = (each.len(), seconds(judging));
    println!(
        "judge by {rules} rules on {cores} cores: {time}, {:.2} times",
        ratio(judging, reading)
    );
    let mut each: Vec<_> = each.into_iter().filter(|(_, took)| !took.is_empty()).collect();
    each.sort_unstable_by_key(|(_, took)| Reverse(median(took)));
    for (id, took) in each.iter().take(LISTED) {
        println!("  {id:<42} {:>10}", seconds(median(took)));
    }
    Ok(())
}

fn read(texts: &[String]) -> Vec<ClusterProfile> {
    let read = |text: &String| serde_json::from_str(text).expect("a profile");
    texts.iter().map(read).collect()
}

/// The evidence of a run with one list of these profiles.
fn evidence_of(profiles: Vec<ClusterProfile>, now: Timestamp) -> Evidence {
    let until = now + 10.minutes();
    let mut evidence = Evidence::default();
    evidence.header.format = FORMAT.to_owned();
    evidence.header.window = Some(Window { from: until, until });
    let kinds = [Kind::Inventory, Kind::Namespaces, Kind::Writers];
    evidence.header.requested = kinds.map(|kind| (kind, Requested::Yes)).into();
    let namespace = |name: &str| Namespace {
        name: name.to_owned(),
        ..Namespace::default()
    };
    evidence.namespaces = NAMESPACES.map(namespace).into();
    let history = |profile| ProfileHistory {
        origin: Origin::Listed,
        versions: vec![Version {
            at: Some(until),
            object: profile,
        }],
        deleted: None,
        deleted_version: None,
    };
    evidence.profiles = profiles.into_iter().map(history).collect();
    evidence
}
