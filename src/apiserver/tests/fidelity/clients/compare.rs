//! Finds differences between two answers, and separates the known ones.

use std::collections::BTreeSet;

use regex::Regex;

use super::{script::Script, shell::Answer, table::Table};

/// All complaints about the answers to one script.
pub fn complaints(script: &Script, table: &Table, ours: &[Answer], real: &[Answer]) -> Vec<String> {
    let mut complaints = Vec::new();
    let pins = table.pins(&script.name);
    let mut met = BTreeSet::new();
    for (ours, real) in ours.iter().zip(real) {
        let command = &real.command;
        if real.exit != real.expected {
            complaints.push(format!(
                "{command}: ends with {} on the real API server, not with {}: {real}",
                real.exit, real.expected
            ));
        }
        let of_this: Vec<_> = pins.iter().filter(|pin| pin.command == command).collect();
        if real.exit != 0 && ours.exit == 0 && !of_this.iter().any(|pin| pin.accepts) {
            complaints.push(format!(
                "{command}: this server accepts what a real API server refuses"
            ));
        }
        let all: Vec<Option<&Regex>> = of_this.iter().map(|pin| pin.lines.as_ref()).collect();
        complaints.extend(difference(ours, real, &all).map(|told| format!("{command}: differs\n{told}")));
        for (index, pin) in of_this.iter().enumerate() {
            // A pin is met if there is a difference without it.
            let mut others = all.clone();
            others.remove(index);
            if difference(ours, real, &others).is_some() {
                met.insert(pin.index);
            }
        }
    }
    let stale = pins.iter().filter(|pin| !met.contains(&pin.index));
    complaints.extend(stale.map(|pin| format!("no longer differs, take it from the table: {}", pin.command)));
    complaints
}

/// Describes the unknown differences. In `known`, `None` covers everything, a pattern the lines that it matches.
fn difference(ours: &Answer, real: &Answer, known: &[Option<&Regex>]) -> Option<String> {
    if known.iter().any(Option::is_none) {
        return None;
    }
    let counted = |text: &str| -> Vec<String> {
        let lines = text.lines();
        let unknown = lines.filter(|line| !known.iter().flatten().any(|known| known.is_match(line)));
        unknown.map(str::to_owned).collect()
    };
    let mut told = Vec::new();
    if ours.exit != real.exit {
        told.push(format!("    exit: ours {}, real {}", ours.exit, real.exit));
    }
    for (name, ours, real) in [("out", &ours.out, &real.out), ("err", &ours.err, &real.err)] {
        let (mut ours, mut real) = (counted(ours), counted(real));
        if name == "err" {
            // A real API server lists the causes of a refusal in any order.
            ours.sort();
            real.sort();
        }
        if ours == real {
            continue;
        }
        let before = told.len();
        let lacks = |lines: &[String], line: &String| !lines.contains(line);
        told.extend(
            ours.iter()
                .filter(|line| lacks(&real, line))
                .map(|line| format!("    {name}: ours:  {line}")),
        );
        told.extend(
            real.iter()
                .filter(|line| lacks(&ours, line))
                .map(|line| format!("    {name}: real: {line}")),
        );
        if told.len() == before {
            told.push(format!("    {name}: the same lines in another order or number\n      ours:  {ours:?}\n      real: {real:?}"));
        }
    }
    (!told.is_empty()).then(|| told.join("\n"))
}
