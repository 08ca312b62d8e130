//! The verdicts as tests in the JSON that libtest prints, for programs that read the results of `cargo test`.

use anstream::adapter::strip_str;
use judge::{RuleVerdict, Verdict};
use serde_json::{Value, json};

use super::terminal::{outcome, selected};
use crate::{
    COMMAND, Report,
    summary::findings,
    text::{escape, page::Page},
};

/// Writes an event a line: two for each selected rule.
pub fn json_lines(report: &Report) -> String {
    let verdicts = selected(report);
    let mut events = vec![json!({"type": "suite", "event": "started", "test_count": verdicts.len()})];
    for verdict in &verdicts {
        events.push(json!({"type": "test", "event": "started", "name": verdict.rule.id}));
        events.push(result(verdict));
    }
    let with = |verdict| verdicts.iter().filter(|one| one.verdict == verdict).count();
    let (passed, failed) = (with(Verdict::Pass), with(Verdict::Fail));
    events.push(json!({
        "type": "suite",
        "event": if failed > 0 { "failed" } else { "ok" },
        "passed": passed,
        "failed": failed,
        "ignored": verdicts.len() - passed - failed,
        "measured": 0,
        "filtered_out": report.judgement.verdicts.len() - verdicts.len(),
        "exec_time": 0.0,
    }));
    let lines: String = events.iter().map(|event| format!("{event}\n")).collect();
    escape::json(&lines).into_owned()
}

fn result(verdict: &RuleVerdict) -> Value {
    let name = verdict.rule.id;
    match verdict.verdict {
        Verdict::Pass => json!({"type": "test", "name": name, "event": "ok"}),
        Verdict::Fail => {
            let mut page = Page::new(None);
            findings::in_full(&mut page, verdict, COMMAND);
            let text = strip_str(&page.into_text()).to_string();
            json!({"type": "test", "name": name, "event": "failed", "stdout": text})
        }
        _ => json!({"type": "test", "name": name, "event": "ignored", "message": outcome(verdict)}),
    }
}
