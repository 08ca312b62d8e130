//! What came of verifying a folder of reports, as a comment on a pull request.

use std::fmt::Write as _;

use super::{
    fitness::Fitness,
    submission::{Submission, Unreadable},
};
use crate::{
    formats::markdown::{code, plain},
    text::number::count,
};

/// GitHub refuses a comment of more than 65,536 characters.
const LONGEST: usize = 60_000;

/// Writes the comment in Markdown: a table, then what to do about each folder.
pub fn comment(submissions: &[Submission], unreadable: &[Unreadable]) -> String {
    let mut text = format!("## {}\n\n", headline(submissions, unreadable));
    text += "| folder | implementation | edition | decision | checked |\n|---|---|---|---|---|\n";
    let rows = submissions.iter().map(row).chain(unreadable.iter().map(|one| {
        let folder = code(&one.folder);
        format!("| {folder} |  |  |  | ❌ cannot be read |\n")
    }));
    push_all(&mut text, rows, "folder", LONGEST / 2);
    let lists = submissions.iter().map(|one| (&one.folder, one.to_do()));
    let lists = lists.chain(
        unreadable
            .iter()
            .map(|one| (&one.folder, vec![one.reason.clone()])),
    );
    let lists: Vec<String> = lists
        .filter(|(_, list)| !list.is_empty())
        .map(|(folder, list)| {
            let items = list.iter().map(|item| format!("- {}\n", plain(item)));
            format!("\n{}\n\n{}", code(folder), items.collect::<String>())
        })
        .collect();
    if lists.is_empty() {
        text += "\nNothing to do.\n";
    } else {
        text += "\n### What to do\n";
        push_all(&mut text, lists.into_iter(), "folder", LONGEST);
    }
    text
}

/// Appends texts while there is room, then how many are left out.
fn push_all(text: &mut String, parts: impl Iterator<Item = String>, what: &str, room: usize) {
    let mut left_out = 0;
    for part in parts {
        if text.len() + part.len() > room {
            left_out += 1;
        } else {
            *text += &part;
        }
    }
    if left_out > 0 {
        let _ = writeln!(text, "\n… and {}", count(left_out, &format!("more {what}")));
    }
}

fn headline(submissions: &[Submission], unreadable: &[Unreadable]) -> String {
    let number = |fitness| {
        let of = submissions.iter().filter(|one| one.fitness() == fitness);
        of.count()
    };
    let (forged, unproven) = (number(Fitness::DoesNotHold), number(Fitness::NotVerified));
    let parts = [
        (forged, "does not hold", "do not hold"),
        (unproven, "is not verified", "are not verified"),
        (unreadable.len(), "cannot be read", "cannot be read"),
    ];
    let mut told: Vec<String> = parts
        .into_iter()
        .filter(|(number, ..)| *number > 0)
        .map(|(number, one, many)| format!("{number} {}", if number == 1 { one } else { many }))
        .collect();
    let holding = number(Fitness::Holds);
    told.insert(
        0,
        format!("{holding} of {} hold", submissions.len() + unreadable.len()),
    );
    let sign = match (forged + unreadable.len(), unproven) {
        (0, 0) => "✅",
        (0, _) => "❔",
        _ => "❌",
    };
    format!("{sign} Conformance reports: {}", told.join(", "))
}

fn row(submission: &Submission) -> String {
    let document = &submission.document;
    let implementation = document.implementation.as_ref();
    let name = implementation.map(|of| format!("{} {}", of.project, of.version));
    let sign = match submission.fitness() {
        Fitness::Holds => "✅",
        Fitness::NotVerified => "❔",
        Fitness::DoesNotHold => "❌",
    };
    format!(
        "| {} | {} | {} | {} | {sign} {} |\n",
        code(&submission.folder),
        code(name.as_deref().unwrap_or_default().trim()),
        document.edition,
        document.decision.name().replace('-', " "),
        submission.check.describe()
    )
}
