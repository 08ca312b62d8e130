//! The formats, each with what reads it, and the hubs that they report on. The root package's tests share it.

pub mod agreement;
pub mod hostile;
pub mod html;
pub mod junit;
pub mod markdown;
pub mod world;
pub mod xml;

use std::io;

use anstream::adapter::strip_str;
use report::{COMMAND, FORMATS, Report, github, submitted, terminal};

type Write = Box<dyn Fn(&Report, &mut dyn io::Write) -> io::Result<()>>;

/// A format, and what reads it.
pub struct Format {
    pub name: &'static str,
    pub write: Write,
    pub reader: Reader,
}

/// What reads a format.
pub struct Reader {
    /// Reads it as its readers do, and fails where they would.
    pub read: fn(&str),
    /// Whether it is for people, who read no long texts: those are cut there.
    pub for_people: bool,
    /// Whether it quotes what comes from the hub.
    pub quotes: bool,
}

impl Reader {
    /// A person's, of a format that quotes the hub.
    fn of_quotes(read: fn(&str)) -> Self {
        Self {
            read,
            for_people: true,
            quotes: true,
        }
    }

    /// A person's, of a format that quotes nothing.
    fn of_summary(read: fn(&str)) -> Self {
        Self {
            quotes: false,
            ..Self::of_quotes(read)
        }
    }

    /// What reads a format of files.
    fn of(format: &str) -> Self {
        match format {
            "json" => Self {
                for_people: false,
                ..Self::of_quotes(is_json)
            },
            "junit" => Self::of_quotes(junit::is_junit),
            "markdown" => Self::of_quotes(markdown::is_markdown),
            "html" => Self::of_quotes(html::is_inert),
            "badge" => Self::of_summary(|text| drop(xml::read(text))),
            // Until a new one has a line here, it is searched for harm and leaks alone.
            _ => Self::of_summary(|_| {}),
        }
    }
}

/// All of them.
pub fn formats() -> Vec<Format> {
    let files = FORMATS.into_iter().map(|format| Format {
        name: format.name(),
        write: Box::new(move |report, into| format.write(report, into)),
        reader: Reader::of(format.name()),
    });
    let others = [
        Format {
            name: "terminal",
            write: Box::new(|report, into| {
                let text = terminal::list(report) + &terminal::verdicts(report, COMMAND, Some(80), true);
                into.write_all(strip_str(&text).to_string().as_bytes())
            }),
            reader: Reader::of_quotes(|_| {}),
        },
        Format {
            name: "annotations",
            write: Box::new(|report, into| into.write_all(github::annotations(report).as_bytes())),
            reader: Reader::of_quotes(hostile::is_annotations),
        },
        Format {
            name: "submitted",
            write: Box::new(|report, into| submitted::write(report, None, into)),
            reader: Reader::of_summary(|text| {
                drop(submitted::Document::parse(text).unwrap_or_else(|error| panic!("{error}")))
            }),
        },
        Format {
            name: "matrix",
            write: Box::new(|report, into| submitted::write_matrix(report, into)),
            reader: Reader::of_summary(|text| {
                let read = serde_saphyr::from_str::<serde_json::Value>(text);
                drop(read.unwrap_or_else(|error| panic!("{error}")))
            }),
        },
    ];
    files.chain(others).collect()
}

/// The report in a format, read by what reads it.
pub fn written(format: &Format, report: &Report) -> String {
    let mut bytes = Vec::new();
    (format.write)(report, &mut bytes).expect("a vector takes all");
    let text = String::from_utf8(bytes).unwrap_or_else(|error| panic!("{}: {error}", format.name));
    (format.reader.read)(&text);
    text
}

/// The report in the format of that name.
pub fn written_as(name: &str, report: &Report) -> String {
    let formats = formats();
    let format = formats.iter().find(|format| format.name == name);
    written(format.expect("a format"), report)
}

fn is_json(text: &str) {
    serde_json::from_str::<serde_json::Value>(text).unwrap_or_else(|error| panic!("{error}"));
}
