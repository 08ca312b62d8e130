//! The formats with their readers, and evidence to report on.

pub mod agreement;
pub mod hostile;
pub mod world;
pub mod xml;

use std::io;

use anstream::adapter::strip_str;
use quick_xml::events::Event;
use report::{COMMAND, Report, badge, github, html, json, junit, markdown, submitted, terminal};

type Write = Box<dyn Fn(&Report, &mut dyn io::Write) -> io::Result<()>>;

pub struct Format {
    pub name: &'static str,
    write: Write,
    /// Reads it as its readers do, and fails where they would.
    read: fn(&str),
    /// Whether it is for people, who read no long texts: those are cut there.
    pub for_people: bool,
    /// Whether it quotes what comes from the hub.
    pub quotes: bool,
}

pub fn formats() -> Vec<Format> {
    let all: [(_, Write); 8] = [
        ("junit", Box::new(|report, into| junit::write(report, into))),
        ("html", Box::new(|report, into| html::write(report, into))),
        ("markdown", Box::new(|report, into| markdown::write(report, into))),
        ("badge", Box::new(|report, into| badge::write(report, into))),
        ("json", Box::new(|report, into| json::write(report, into))),
        ("terminal", Box::new(write_terminal)),
        (
            "annotations",
            Box::new(|report, into| write!(into, "{}", github::annotations(report))),
        ),
        (
            "submitted",
            Box::new(|report, into| submitted::compose(report, None).write(into)),
        ),
    ];
    let format = |(name, write)| Format {
        name,
        write,
        read: reader(name),
        for_people: name != "json",
        quotes: !["badge", "submitted"].contains(&name),
    };
    all.into_iter().map(format).collect()
}

fn write_terminal(report: &Report, into: &mut dyn io::Write) -> io::Result<()> {
    let text = terminal::list(report) + &terminal::verdicts(report, COMMAND, Some(80), true);
    write!(into, "{}", strip_str(&text))
}

fn reader(format: &str) -> fn(&str) {
    match format {
        "json" => |text| drop(serde_json::from_str::<serde_json::Value>(text).expect("JSON")),
        "junit" => xml::is_junit,
        "markdown" => is_markdown,
        "html" => is_inert,
        "badge" => |text| drop(xml::read(text)),
        "annotations" => hostile::is_annotations,
        "submitted" => |text| drop(submitted::ConformanceReport::parse(text).expect("a report")),
        // No parser reads the terminal's text. A new format needs a line here.
        _ => |_| {},
    }
}

/// The report in a format, checked by its reader and for harm. Annotations are commands: their reader checks
/// the messages.
pub fn written(format: &Format, report: &Report) -> String {
    let mut bytes = Vec::new();
    (format.write)(report, &mut bytes).expect("a vector takes all");
    let text = String::from_utf8(bytes).unwrap_or_else(|error| panic!("{}: {error}", format.name));
    (format.read)(&text);
    if format.name != "annotations" {
        hostile::does_no_harm(format.name, &text);
    }
    text
}

pub fn written_as(name: &str, report: &Report) -> String {
    let formats = formats();
    let format = formats.iter().find(|format| format.name == name);
    written(format.expect("a format"), report)
}

/// HTML as a browser reads it: elements nest, nothing runs or loads, ids are unique, and links lead to an id or to a
/// cited document.
pub fn is_inert(page: &str) {
    assert!(page.starts_with("<!DOCTYPE html>"), "{}", &page[..40]);
    let mut reader = quick_xml::Reader::from_str(page);
    let mut ids = Vec::new();
    loop {
        let event = reader.read_event();
        match event.unwrap_or_else(|error| panic!("{error} at {}", reader.error_position())) {
            Event::Start(element) | Event::Empty(element) => {
                let forbidden = [
                    "script", "img", "link", "iframe", "object", "embed", "base", "image", "use",
                ];
                assert!(!forbidden.contains(&element.name().as_ref()), "{page}");
                for attribute in element.attributes() {
                    let attribute = attribute.expect("an attribute");
                    let (key, value) = (attribute.key.as_ref(), attribute.value);
                    assert!(!key.starts_with("on") && key != "style" && key != "src", "{key}");
                    let leads_on = match value.strip_prefix('#') {
                        Some(id) => page.contains(&format!("id=\"{id}\"")),
                        None => value.starts_with("https://github.com/") && value.contains("/blob/"),
                    };
                    assert!(key != "href" || leads_on, "leads nowhere: {value}");
                    if key == "id" {
                        assert!(!ids.contains(&value.to_string()), "two of {value}");
                        ids.push(value.to_string());
                    }
                }
            }
            Event::Eof => break,
            _ => {}
        }
    }
    assert!(!page.contains('\u{202e}') && !page.contains('\0'));
}

/// The longest summary of a step that GitHub takes.
pub const SUMMARY: usize = 1 << 20;

/// Markdown as GitHub reads it: all rows of a table have the same width, and quoted text is in a code span of one cell.
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

/// The cells of a row: GitHub first splits it at each bar that no backslash escapes.
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
    let (_, behind) = rest
        .match_indices(&*fence)
        .map(|(at, _)| rest.split_at(at + fence.len()))
        .find(|(inside, behind)| {
            let before = inside[..inside.len() - fence.len()].ends_with('`');
            !before && !behind.starts_with('`')
        })
        .unwrap_or_else(|| panic!("a span without an end: {cell}"));
    let is_known = ["", " (waived)", " (warning only)"].contains(&behind);
    assert!(is_known, "behind the span: {behind} in {line}");
}
