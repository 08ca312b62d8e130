//! The comments of a Go file as Markdown, line for line: what each documents is the heading above it.

/// Turns the comments into paragraphs and everything else into empty lines.
pub fn comments_as_markdown(source: &str) -> String {
    let lines: Vec<&str> = source.lines().collect();
    let mut markdown = vec![String::new(); lines.len()];
    let mut kind = None;
    let mut at = 0;
    while at < lines.len() {
        let line = lines[at];
        if let Some(package) = line.strip_prefix("package ") {
            markdown[at] = format!("# package {package}");
        }
        kind = kind_after(kind, line);
        let Some(length) = comment_length(&lines[at..]) else {
            at += 1;
            continue;
        };
        for (place, comment) in lines[at..at + length].iter().enumerate() {
            markdown[at + place] = prose(comment);
        }
        if let (Some(above), Some(documented)) = (at.checked_sub(1), lines.get(at + length)) {
            markdown[above] = name(kind, documented).map_or_else(String::new, |name| format!("## {name}"));
        }
        at += length;
    }
    markdown.join("\n")
}

/// The struct that a line is in, given the one of the line before.
fn kind_after<'a>(kind: Option<&'a str>, line: &'a str) -> Option<&'a str> {
    let opened = line.strip_prefix("type ").filter(|_| line.ends_with('{'));
    let opened = opened.and_then(|rest| rest.split(' ').next());
    opened.or(kind).filter(|_| line != "}")
}

/// How many comment lines begin here, if any.
fn comment_length(lines: &[&str]) -> Option<usize> {
    let length = lines
        .iter()
        .take_while(|line| line.trim_start().starts_with("//"))
        .count();
    (length > 0).then_some(length)
}

/// A comment without its slashes; the markers of code generators are none.
fn prose(comment: &str) -> String {
    let text = comment.trim_start().trim_start_matches("//").trim_start();
    if text.starts_with('+') {
        return String::new();
    }
    text.to_owned()
}

/// The name of what is declared in a line: a type, a constant or, with its struct, a field.
fn name(kind: Option<&str>, line: &str) -> Option<String> {
    let declared = line.trim_start().trim_start_matches("type ");
    let name = declared.split(|one: char| !one.is_alphanumeric()).next()?;
    if name.is_empty() {
        return None;
    }
    let inside = line.starts_with(char::is_whitespace);
    Some(
        kind.filter(|_| inside)
            .map_or_else(|| name.to_owned(), |kind| format!("{kind}.{name}")),
    )
}
