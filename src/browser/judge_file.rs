//! From a file's bytes to the report.

use std::io::{self, Cursor};

use evidence::{Digester, Limits, api::Edition, read_packed};
use jiff::Timestamp;
use judge::{Decision, Selection, judge};
use report::{Report, headline, html};
use serde::{Deserialize, Serialize};

/// What the page asks for, beside the file itself.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Order {
    /// The file's name, for messages and the report.
    pub name: String,
    /// The edition to judge by. Without one, that which the evidence claims: `standard` for a dump.
    pub edition: Option<Edition>,
    /// The time, which the module cannot ask for.
    pub now: Timestamp,
    /// Random bytes, the key of the digests that take the place of credentials in a dump's Secrets.
    pub key: [u8; 32],
}

/// What the page gets.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Answer {
    /// The report.
    Judged(Judged),
    /// Why the file cannot be judged.
    Refused(String),
}

/// A judged file.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Judged {
    /// The decision.
    pub decision: Decision,
    /// The decision in a sentence.
    pub headline: String,
    /// What was noticed while reading, such as objects of other kinds.
    pub notes: Vec<String>,
    /// The HTML report.
    pub html: String,
}

/// Judges a dump or an evidence file, packed or not.
pub fn judge_file(file: Vec<u8>, order: &Order) -> Answer {
    let digester = Digester::new(order.key);
    let input = match read_packed(Cursor::new(file), &order.name, &digester, &Limits::default()) {
        Ok(input) => input,
        Err(error) => return Answer::Refused(error.to_string()),
    };
    let mut evidence = input.evidence;
    if let Some(edition) = order.edition {
        evidence.header.claim.edition = edition;
        evidence.header.claim.also = None;
    }
    let selection = Selection::default();
    let judgement = judge(&evidence, &selection);
    let report = Report {
        evidence: &evidence,
        judgement: &judgement,
        selection: &selection,
        judged_at: order.now,
        file: Some(&order.name),
        place: None,
        advice: report::no_advice,
    };
    match to_html(&report) {
        Ok(html) => Answer::Judged(Judged {
            decision: judgement.decision,
            headline: headline(&report),
            notes: input.notes,
            html,
        }),
        Err(error) => Answer::Refused(error.to_string()),
    }
}

fn to_html(report: &Report) -> io::Result<String> {
    let mut page = Vec::new();
    html::write(report, &mut page)?;
    String::from_utf8(page).map_err(io::Error::other)
}
