//! The line after the first list: which MUST rules fail if the hub stays as it is.

use std::time::Duration;

use collect::clock::Clock;
use evidence::Evidence;
use judge::{RuleVerdict, Selection, Verdict, Waivers, judge, rules::Level};

use super::progress::in_words;

/// The number of rules that the line names.
const MOST_NAMED: usize = 3;

/// Judges the first list as a single snapshot, and names the MUST rules that fail.
pub fn first_sight(
    list: &Evidence,
    selection: &Selection,
    waivers: Option<&Waivers>,
    observe: Duration,
) -> String {
    let mut judgement = judge(list, selection);
    if let Some(waivers) = waivers {
        let today = Waivers::day(Clock::system().now());
        judgement.waive(waivers, today, list.header.claim.strict);
    }
    let fails = |verdict: &&RuleVerdict| verdict.verdict == Verdict::Fail && verdict.level() == Level::Must;
    let failed = judgement.verdicts.iter().filter(fails);
    let ids: Vec<&str> = failed.map(|verdict| verdict.rule.id).collect();
    format!(
        "at first sight: {}; watching for {}",
        in_one_line(&ids),
        in_words(observe)
    )
}

fn in_one_line(ids: &[&str]) -> String {
    let count = match ids.len() {
        0 => return "no MUST rule fails".to_owned(),
        1 => "1 MUST rule fails".to_owned(),
        number => format!("{number} MUST rules fail"),
    };
    let mut named = ids[..ids.len().min(MOST_NAMED)].join(", ");
    if ids.len() > MOST_NAMED {
        named += &format!(", and {} more", ids.len() - MOST_NAMED);
    }
    format!("{count} ({named})")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_names_at_most_three_rules() {
        assert_eq!(in_one_line(&[]), "no MUST rule fails");
        assert_eq!(in_one_line(&["a/b"]), "1 MUST rule fails (a/b)");
        assert_eq!(in_one_line(&["a", "b", "c"]), "3 MUST rules fail (a, b, c)");
        assert_eq!(
            in_one_line(&["a", "b", "c", "d", "e"]),
            "5 MUST rules fail (a, b, c, and 2 more)"
        );
    }
}
