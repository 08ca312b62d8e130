//! Markdown, as GitHub reads it.

use judge::{Verdict, rules::Finding};

use super::{format, world::World, written};

/// Where a summary of a step ends for GitHub.
const SUMMARY: usize = 1 << 20;

/// Every table has rows of its own width, and what a cell holds of others is in a span of code that ends in the cell.
pub fn is_markdown(text: &str) {
    assert!(text.len() < SUMMARY, "{} bytes", text.len());
    let mut width = 0;
    for line in text.lines() {
        if !line.starts_with('|') {
            width = 0;
            continue;
        }
        let cells = cells(line);
        if width == 0 {
            width = cells.len();
        }
        assert_eq!(cells.len(), width, "{line}");
        for cell in cells {
            is_span_or_plain(cell.trim(), line);
        }
    }
    let opened = text.lines().filter(|line| line.starts_with("<details")).count();
    let closed = text.lines().filter(|line| *line == "</details>").count();
    assert_eq!(opened, closed);
}

/// The cells of a row, as the extension for tables cuts it: before anything else is looked at, at every bar that no
/// backslash escapes.
fn cells(line: &str) -> Vec<&str> {
    let mut cells = Vec::new();
    let mut from = 0;
    let mut escaped = false;
    for (at, c) in line.char_indices() {
        if c == '|' && !escaped {
            cells.push(&line[from..at]);
            from = at + 1;
        }
        escaped = c == '\\' && !escaped;
    }
    cells.push(&line[from..]);
    cells
}

fn is_span_or_plain(cell: &str, line: &str) {
    let fence: String = cell.chars().take_while(|c| *c == '`').collect();
    if fence.is_empty() {
        let markup = cell.find(['<', '>', '[', ']', '*', '_', '&', '`']);
        assert_eq!(markup, None, "{cell} in {line}");
        return;
    }
    let rest = &cell[fence.len()..];
    let mut runs = rest.split(|c| c != '`').filter(|run| !run.is_empty());
    assert!(
        runs.any(|run| run.len() == fence.len()),
        "a span that does not end: {cell}"
    );
    let (_, behind) = rest
        .match_indices(&*fence)
        .map(|(at, _)| rest.split_at(at + fence.len()))
        .find(|(inside, behind)| {
            let before = inside[..inside.len() - fence.len()].ends_with('`');
            !before && !behind.starts_with('`')
        })
        .expect("its end");
    assert!(
        ["", " (waived)"].contains(&behind),
        "behind the span: {behind} in {line}"
    );
}

#[test]
fn a_summary_has_room_for_whatever_is_found() {
    let mut world = World::violating();
    let finding = world
        .judgement
        .verdicts
        .iter()
        .find_map(|verdict| verdict.findings.first())
        .expect("one")
        .clone();
    let findings: Vec<Finding> = (0..50)
        .map(|number| {
            let mut finding = finding.clone();
            finding.object.name = format!("cluster-{number}");
            finding.expected = "\u{e0041}".repeat(2000);
            finding.observed = "日".repeat(2000);
            finding
        })
        .collect();
    let rules = world.judgement.verdicts.len();
    for verdict in &mut world.judgement.verdicts {
        verdict.verdict = Verdict::Fail;
        verdict.findings = findings.clone();
    }
    let text = world.report(|report| written(format("markdown"), report));
    assert!(text.len() > SUMMARY / 2, "{} bytes", text.len());
    let told = text.matches("<details open>").count();
    let left_out = format!("… and {} more rules with findings, left out", rules - told);
    assert!(
        told > 10 && told < rules && text.contains(&left_out),
        "{told} of {rules}"
    );
    assert!(text.contains("… and 30 more findings"));
    assert!(text.contains("日… 1,700 more characters"));
}

#[test]
fn what_is_waived_is_told_with_its_reason() {
    let text = World::violating().report(|report| written(format("markdown"), report));
    assert!(
        text.contains("### Waived") && text.contains("waived until 2027-01-01: legacy"),
        "{text}"
    );
    assert!(text.contains("partial: stopped by a signal"), "{text}");
}
