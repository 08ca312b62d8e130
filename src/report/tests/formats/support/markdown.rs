//! Markdown, as GitHub reads it.

/// The longest summary of a step that GitHub takes.
pub const SUMMARY: usize = 1 << 20;

/// Every table has rows of its own width, and what a cell holds of others is in a span of code that ends in the cell.
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

/// The cells of a row, as the extension for tables cuts it: before anything else is looked at, at every bar that no
/// backslash escapes.
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
    let mut runs = rest.split(|c| c != '`').filter(|run| !run.is_empty());
    assert!(
        runs.any(|run| run.len() == fence.len()),
        "a span that does not end: {cell}"
    );
    let (_, behind) = rest
        .match_indices(&*fence)
        .map(|(at, _)| rest.split_at(at + fence.len()))
        .find(|(inside, behind)| {
            let before = inside[..inside.len() - fence.len()].ends_with('`');
            !before && !behind.starts_with('`')
        })
        .expect("its end");
    assert!(
        ["", " (waived)"].contains(&behind),
        "behind the span: {behind} in {line}"
    );
}
