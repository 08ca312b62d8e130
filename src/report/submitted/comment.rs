//! The result of verifying a folder of reports, as a comment on a pull request.

use super::check::{Fitness, Submission, Unreadable};
use crate::{
    formats::markdown::{code, plain},
    text::number::count,
};

/// GitHub refuses a comment of more than 65,536 characters.
const LONGEST: usize = 60_000;

/// Writes the comment in Markdown: a line for each folder, with what to do below it.
pub fn comment(submissions: &[Submission], unreadable: &[Unreadable]) -> String {
    let mut text = format!("## {}\n\n", headline(submissions, unreadable));
    let unreadable = unreadable.iter().map(|one| {
        let (folder, reason) = (code(&one.folder), plain(&one.reason));
        format!("- ❌ {folder}: cannot be read\n  - {reason}\n")
    });
    let mut left_out = 0;
    for item in submissions.iter().map(item).chain(unreadable) {
        if text.len() + item.len() > LONGEST {
            left_out += 1;
        } else {
            text += &item;
        }
    }
    if left_out > 0 {
        text += &format!("\n… and {}\n", count(left_out, "more folder"));
    }
    text
}

fn headline(submissions: &[Submission], unreadable: &[Unreadable]) -> String {
    let number = |fitness| {
        submissions
            .iter()
            .filter(|one| one.check.fitness == fitness)
            .count()
    };
    let (forged, unproven) = (number(Fitness::DoesNotHold), number(Fitness::NotVerified));
    let all = submissions.len() + unreadable.len();
    let mut parts = vec![format!("{} of {all} hold", number(Fitness::Holds))];
    for (number, one, many) in [
        (forged, "does not hold", "do not hold"),
        (unproven, "is not verified", "are not verified"),
        (unreadable.len(), "cannot be read", "cannot be read"),
    ] {
        if number > 0 {
            parts.push(format!("{number} {}", if number == 1 { one } else { many }));
        }
    }
    let worst = match (forged + unreadable.len(), unproven) {
        (0, 0) => Fitness::Holds,
        (0, _) => Fitness::NotVerified,
        _ => Fitness::DoesNotHold,
    };
    format!("{} Conformance reports: {}", sign(worst), parts.join(", "))
}

fn sign(fitness: Fitness) -> &'static str {
    match fitness {
        Fitness::Holds => "✅",
        Fitness::NotVerified => "❔",
        Fitness::DoesNotHold => "❌",
    }
}

fn item(submission: &Submission) -> String {
    let Submission {
        folder,
        document,
        check,
    } = submission;
    let about = document.implementation.as_ref();
    let name = about.map_or(String::new(), |about| {
        format!("{} {}", about.project, about.version)
    });
    let decision = document.decision.name().replace('-', " ");
    let to_do = submission.to_do().into_iter();
    let to_do: String = to_do.map(|item| format!("  - {}\n", plain(&item))).collect();
    format!(
        "- {} {}: {} is {decision} (edition {}); {}\n{to_do}",
        sign(check.fitness),
        code(folder),
        code(name.trim()),
        document.edition,
        check.describe()
    )
}
