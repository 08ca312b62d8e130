//! Normalizes output, which differs from run to run, finds differences between two answers, and separates the known ones
//! (`fixtures/kubectl/divergences.yaml`).

use std::{collections::BTreeSet, sync::LazyLock};

use regex::Regex;
use serde_json::Value;

use crate::{
    clients::{hubs::fixtures, script::Script, shell::Answer},
    scripts::{Divergence, read_divergences},
};

pub fn complaints(script: &Script, table: &Table, ours: &[Answer], real: &[Answer]) -> Vec<String> {
    let mut complaints = Vec::new();
    let pins = table.pins(&script.name);
    let mut met = BTreeSet::new();
    for (ours, real) in ours.iter().zip(real) {
        let command = &real.command;
        if real.exit != real.expected {
            let (exit, expected) = (real.exit, real.expected);
            complaints.push(format!(
                "{command}: ends with {exit} on the real API server, not with {expected}: {real}"
            ));
        }
        let of_this: Vec<_> = pins.iter().filter(|pin| pin.command == command).collect();
        if real.exit != 0 && ours.exit == 0 && !of_this.iter().any(|pin| pin.accepts) {
            complaints.push(format!(
                "{command}: this server accepts what a real API server refuses"
            ));
        }
        let all: Vec<Option<&Regex>> = of_this.iter().map(|pin| pin.lines.as_ref()).collect();
        complaints.extend(difference(ours, real, &all).map(|lines| format!("{command}: differs\n{lines}")));
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
        let is_known = |line: &str| known.iter().flatten().any(|known| known.is_match(line));
        text.lines()
            .filter(|line| !is_known(line))
            .map(str::to_owned)
            .collect()
    };
    let mut lines = Vec::new();
    if ours.exit != real.exit {
        lines.push(format!("    exit: ours {}, real {}", ours.exit, real.exit));
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
        let before = lines.len();
        for (hub, lines_of_hub, others) in [("ours: ", &ours, &real), ("real:", &real, &ours)] {
            let differing = lines_of_hub.iter().filter(|line| !others.contains(line));
            lines.extend(differing.map(|line| format!("    {name}: {hub} {line}")));
        }
        if lines.len() == before {
            let both = format!("      ours:  {ours:?}\n      real: {real:?}");
            lines.push(format!(
                "    {name}: the same lines in another order or number\n{both}"
            ));
        }
    }
    (!lines.is_empty()).then(|| lines.join("\n"))
}

pub struct Table(Vec<Divergence>);

pub struct Pin<'a> {
    /// Its number within the script.
    pub index: usize,
    pub command: &'a str,
    pub lines: Option<Regex>,
    /// This server may accept what a real one refuses.
    pub accepts: bool,
}

impl Table {
    pub fn read(scripts: &[Script]) -> Self {
        Self(read_divergences(&fixtures(), |name| {
            let script = scripts.iter().find(|script| script.name == name);
            let commands = script.into_iter().flat_map(|script| &script.commands);
            commands.map(|step| step.command()).collect()
        }))
    }

    /// The commands of a script that are known to differ.
    pub fn pins<'a>(&'a self, script: &str) -> Vec<Pin<'a>> {
        let mut pins = Vec::new();
        for entry in &self.0 {
            for place in entry.places.iter().filter(|place| place.script == script) {
                for command in &place.steps {
                    let lines = place.lines.as_deref();
                    pins.push(Pin {
                        index: pins.len(),
                        command,
                        lines: lines.map(|lines| Regex::new(lines).expect("a pattern")),
                        accepts: entry.accepts.is_some(),
                    });
                }
            }
        }
        pins
    }
}

/// Patterns and their replacements, applied in this order.
static PATTERNS: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    let patterns = [
        (
            "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
            "UID",
        ),
        // RFC 3339, and the formats of `diff` and of `describe`.
        (
            r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?: ?(?:Z|[+-]\d\d:?\d\d))?",
            "TIME",
        ),
        (
            r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d \w{3} \d{4} \d\d:\d\d:\d\d [+-]\d{4}",
            "TIME",
        ),
        (r#"((?i:resource ?version)"?: *)"?\d+"?"#, "${1}VERSION"),
        (r"\b127\.0\.0\.1:\d+", "SERVER"),
        (r"\bv1\.\d+\.\d+\b", "RELEASE"),
        // kubectl may or may not log the end of a watch that it timed out itself.
        (r"(?m)^[EIW]\d{4} .* reflector\.go:.*\n", ""),
        // A line of the client's own log.
        (r"[EIW]\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ ", "LOG "),
        // Files of `diff` and `edit`, names of Events, generated names.
        (r"\S*/(LIVE|MERGED)-\d+", "$1"),
        (r"\S*/kubectl-edit-\d+", "kubectl-edit"),
        (r"\.[0-9a-f]{16}\b", ".SERIAL"),
        (r"\bgenerated-[a-z0-9]{5}\b", "generated-NAME"),
        (r"\b(?:\d+[dhms]|\d+ms)(?:\d+[hms])?\b", "AGE"),
        // The width of columns depends on what was replaced.
        (r"(\S) {2,}", "$1  "),
        (r"(?m) +$", ""),
    ];
    let compiled = patterns.map(|(pattern, place)| (Regex::new(pattern).expect("a pattern"), place));
    compiled.into()
});

/// Sorts the kinds of a group's version: the real API server lists them in varying order.
fn sort_kinds(value: &mut Value) {
    if value["kind"] == "APIResourceList"
        && let Some(kinds) = value["resources"].as_array_mut()
    {
        kinds.sort_by_key(|kind| kind["name"].to_string());
    }
}

pub fn normal(text: &str) -> String {
    // Servers send fields in any order, and kubectl sometimes prints them as sent.
    let sorted = match serde_json::from_str::<Value>(text) {
        Ok(mut value @ (Value::Object(_) | Value::Array(_))) => {
            sort_kinds(&mut value);
            format!("{value:#}\n")
        }
        _ => text.to_owned(),
    };
    PATTERNS.iter().fold(sorted, |text, (pattern, place)| {
        pattern.replace_all(&text, *place).into_owned()
    })
}
