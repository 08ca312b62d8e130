//! Each format of a report, over small and large fleets: its size, and the time that it takes beside the JSON report.

use std::io;

use anstream::adapter::strip_str;
use clap::Args;
use evidence::Evidence;
use judge::{Selection, Verdict, judge};
use report::{
    COMMAND, Report, badge, github, html, json, junit, markdown, sarif, submitted, terminal,
    termination_message,
};
use serde_json::Value;

use crate::support::{
    figures::Figures,
    fleet, looked,
    measure::{median, ratio, seconds, timed},
};

/// Write reports on fleets in memory
#[derive(Args)]
pub struct Arguments {
    /// How many profiles the fleets have
    #[arg(long, value_delimiter = ',', default_values_t = [20, 10_000])]
    profiles: Vec<usize>,
    /// How often everything is measured
    #[arg(long, default_value_t = 5)]
    rounds: usize,
}

/// How a report gets into a vector.
type Write = fn(&Report, &mut Vec<u8>) -> io::Result<()>;

/// The formats; JSON is what the others are measured beside.
const FORMATS: &[(&str, Write)] = &[
    ("JSON", |report, into| json::write(report, into)),
    ("JUnit", |report, into| junit::write(report, into)),
    ("SARIF", |report, into| sarif::write(report, into)),
    ("Markdown", |report, into| markdown::write(report, into)),
    ("HTML", |report, into| html::write(report, into)),
    ("submitted", |report, into| submitted::write(report, None, into)),
    ("badge", |report, into| badge::write(report, into)),
    ("termination message", |report, into| {
        termination_message::write(report, into)
    }),
    ("terminal", |report, into| {
        io::Write::write_all(
            into,
            strip_str(&terminal::after_list(report, COMMAND, Some(80)))
                .to_string()
                .as_bytes(),
        )
    }),
    ("GitHub annotations", |report, into| {
        io::Write::write_all(into, github::annotations(report).as_bytes())
    }),
];

pub fn run(arguments: Arguments) -> io::Result<()> {
    let mut figures = Figures::of("reports");
    for profiles in &arguments.profiles {
        let conforming = evidence(*profiles, |_, _| {});
        measure("all conform", &conforming, arguments.rounds, &mut figures);
        let broken = evidence(*profiles, |number, profile| {
            if number % 10 == 0 {
                break_rules(profile);
            }
        });
        let what = "every tenth breaks three rules";
        measure(what, &broken, arguments.rounds, &mut figures);
    }
    figures.compare()
}

fn evidence(profiles: usize, change: impl Fn(usize, &mut Value)) -> Evidence {
    let now = fleet::created_at();
    let profiles = (0..profiles).map(|number| {
        let mut profile = fleet::shown(number, now);
        change(number, &mut profile);
        serde_json::from_value(profile).expect("a profile")
    });
    looked::evidence(profiles.collect(), now)
}

/// Breaks three rules: on the label, on a property and on a condition.
fn break_rules(profile: &mut Value) {
    profile["metadata"]["labels"]["x-k8s.io/cluster-manager"] = "another".into();
    profile["status"]["properties"][1]["value"] = "not a list".into();
    profile["status"]["conditions"][1]["status"] = "Perhaps".into();
}

fn measure(what: &str, evidence: &Evidence, rounds: usize, figures: &mut Figures) {
    let selection = Selection::default();
    let judgement = judge(evidence, &selection);
    let report = Report {
        evidence,
        judgement: &judgement,
        selection: &selection,
        judged_at: fleet::created_at(),
        file: None,
        place: None,
        advice: report::no_advice,
    };
    let verdicts = &judgement.verdicts;
    let broken = verdicts
        .iter()
        .filter(|verdict| verdict.verdict == Verdict::Fail)
        .count();
    let findings: usize = verdicts.iter().map(|verdict| verdict.findings.len()).sum();
    println!(
        "\n{} profiles, {what}: {broken} rules fail, {findings} findings",
        evidence.profiles.len()
    );
    println!(
        "{:<20} {:>12} {:>10} {:>12}",
        "format", "bytes", "time", "beside JSON"
    );
    // In rounds, so that a disturbance hits all of them.
    let mut took = vec![Vec::new(); FORMATS.len()];
    let mut sizes = vec![0; FORMATS.len()];
    for _ in 0..rounds {
        for (place, (name, write)) in FORMATS.iter().enumerate() {
            let mut into = Vec::new();
            let (written, time) = timed(|| write(&report, &mut into));
            written.unwrap_or_else(|error| panic!("{name}: {error}"));
            took[place].push(time);
            sizes[place] = into.len();
        }
    }
    let took: Vec<_> = took.into_iter().map(median).collect();
    for (place, (name, _)) in FORMATS.iter().enumerate() {
        let beside = ratio(took[place], took[0]);
        println!(
            "{name:<20} {:>12} {:>10} {beside:>12.2}",
            sizes[place],
            seconds(took[place])
        );
        if place > 0 {
            let profiles = evidence.profiles.len();
            figures.add(format!("{name} beside JSON, {profiles} profiles, {what}"), beside);
        }
    }
}
