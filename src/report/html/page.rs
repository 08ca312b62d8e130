//! The page: what its templates show, and what a browser lets it do.

use std::io;

use askama::Template;
use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use ring::digest::{SHA256, digest};

use super::{
    excerpt::Line,
    fleet::Fleet,
    head::Head,
    mend::Mend,
    notices::Notices,
    objects::Objects,
    profiles::{Places, ranked},
    rules::Rules,
};
use crate::Report;

/// Our script and style, embedded unescaped.
pub(super) const STYLE: &str = include_str!("../templates/report/style.css");
pub(super) const SCRIPT: &str = include_str!("../templates/report/script.js");

#[derive(Template)]
#[template(path = "report.html")]
struct Page<'a> {
    policy: String,
    style: &'static str,
    script: &'static str,
    head: Head,
    mend: Mend<'a>,
    notices: Notices,
    rules: Rules<'a>,
    fleet: Fleet,
}

/// Writes the report. Fails only when `into` does.
pub fn write(report: &Report, mut into: impl io::Write) -> io::Result<()> {
    let objects = Objects::of(report.evidence);
    let entries = ranked(report);
    let places = Places::of_ranked(&entries);
    let mend = Mend::of(report);
    let page = Page {
        policy: policy(),
        style: STYLE,
        script: SCRIPT,
        head: Head::of(report),
        notices: Notices::of(report, &mend.locked),
        mend,
        rules: Rules::of(report, &objects, &places),
        fleet: Fleet::of(report, &objects, &entries),
    };
    page.write_into(&mut into)
}

/// The page's policy: a browser allows only its own style and script, by their digests.
pub(super) fn policy() -> String {
    let hash = |text: &str| BASE64.encode(digest(&SHA256, text.as_bytes()));
    format!(
        "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; base-uri 'none'; form-action 'none'",
        hash(STYLE),
        hash(SCRIPT)
    )
}
