//! The page: what its templates show, and what a browser lets it do.

use std::io;

use askama::Template;

use super::{
    entries::{Places, rankings},
    excerpt::Line,
    fleet::Fleet,
    head::Head,
    mend::Mend,
    notices::Notices,
    objects::Objects,
    rules::Rules,
};
use crate::{Report, html::shared};

/// Our script and style, embedded unescaped. The style follows the shared one.
pub(super) const STYLE: &str = include_str!("../templates/report/style.css");
pub(super) const SCRIPT: &str = include_str!("../templates/report/script.js");

#[derive(Template)]
#[template(path = "report.html")]
struct Page<'a> {
    policy: String,
    style: String,
    script: &'static str,
    head: Head,
    mend: Mend<'a>,
    notices: Notices,
    rules: Rules<'a>,
    /// The objects of each role that is judged.
    fleets: Vec<Fleet>,
}

/// Writes the report. Fails only when `into` does.
pub fn write(report: &Report, mut into: impl io::Write) -> io::Result<()> {
    let objects = Objects::of(report.evidence);
    let rankings = rankings(report, &objects);
    let places = Places::of_ranked(&rankings, &objects);
    let mend = Mend::of(report);
    let style = shared::style(STYLE);
    let page = Page {
        policy: shared::policy(&style, SCRIPT),
        style,
        script: SCRIPT,
        head: Head::of(report),
        notices: Notices::of(report, &mend.locked),
        mend,
        rules: Rules::of(report, &objects, &places),
        fleets: rankings
            .iter()
            .map(|ranking| Fleet::of(report, &objects, ranking))
            .collect(),
    };
    page.write_into(&mut into)
}
