//! The comments of a Go file as Markdown, line for line: what each documents is the heading above it.

/// Turns the comments into paragraphs and everything else into empty lines.
pub fn comments_as_markdown(source: &str) -> String {
    let mut markdown: Vec<String> = Vec::new();
    // The struct that the line is in, and where the comment above it begins.
    let mut kind: Option<&str> = None;
    let mut comment: Option<usize> = None;
    for (at, line) in source.lines().enumerate() {
        if let Some(text) = line.trim_start().strip_prefix("//") {
            comment.get_or_insert(at);
            // The markers of code generators are no prose.
            let prose = Some(text.trim_start()).filter(|text| !text.starts_with('+'));
            markdown.push(prose.unwrap_or_default().to_owned());
            continue;
        }
        if let Some(above) = comment.take().and_then(|begins| begins.checked_sub(1)) {
            markdown[above] = name(kind, line).map_or_else(String::new, |name| format!("## {name}"));
        }
        markdown.push(String::new());
        let opened = line.strip_prefix("type ").filter(|_| line.ends_with('{'));
        let opened = opened.and_then(|rest| rest.split(' ').next());
        kind = opened.or(kind).filter(|_| line != "}");
    }
    markdown.join("\n")
}

/// The name of what is declared in a line: a type, a constant or, with its struct, a field.
fn name(kind: Option<&str>, line: &str) -> Option<String> {
    let declared = line.trim_start().trim_start_matches("type ");
    let name = declared.split(|one: char| !one.is_alphanumeric()).next();
    let name = name.filter(|name| !name.is_empty())?;
    let kind = kind.filter(|_| line.starts_with(char::is_whitespace));
    Some(kind.map_or_else(|| name.to_owned(), |kind| format!("{kind}.{name}")))
}
