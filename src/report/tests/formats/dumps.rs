//! A dump does not say when it was taken, and no format pretends to know.

use std::{fs, path::Path};

use evidence::{Digester, Evidence, api::Role, read_input};
use jiff::Timestamp;
use report::Report;

use super::support::{formats, world::World, written};

/// What stands for no time where somebody prints it after all.
const NO_TIMES: [&str; 3] = ["1970-", "-009999-", "9999-12-3"];

fn dumps() -> Vec<(String, Evidence)> {
    let mut dumps = Vec::new();
    for folder in ["fixtures/topologies", "fixtures/managers", "tests/cli"] {
        for entry in fs::read_dir(Path::new(super::ROOT).join(folder)).expect("a folder") {
            let path = entry.expect("an entry").path();
            if let Ok(input) = read_input(&path, &Digester::new([7; 32])) {
                dumps.push((path.display().to_string(), input.evidence));
            }
        }
    }
    dumps.retain(|(_, evidence)| evidence.header.window.is_none());
    dumps
}

#[test]
fn no_format_shows_a_time_of_a_dump() {
    let dumps = dumps();
    assert!(dumps.len() >= 8, "{} dumps", dumps.len());
    for (name, mut evidence) in dumps {
        let roles = [Role::Manager, Role::Scheduler];
        let claim = &mut evidence.header.claim;
        claim.also = roles
            .into_iter()
            .find(|role| *role != claim.edition.role())
            .map(Role::default_edition);
        let world = World::of(evidence);
        let report = Report {
            evidence: &world.evidence,
            judgement: &world.judgement,
            selection: &world.selection,
            judged_at: "2026-06-01T00:00:00Z".parse::<Timestamp>().expect("a time"),
            file: None,
            editions: &[],
            advice: report::no_advice,
        };
        for format in &formats() {
            let output = written(format, &report);
            for time in NO_TIMES {
                assert!(
                    !output.contains(time),
                    "{} of {name} has {time}: {output}",
                    format.name
                );
            }
        }
    }
}
