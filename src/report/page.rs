//! Text laid out for a terminal of 80 columns.

use std::{borrow::Cow, fmt::Write};

use owo_colors::{OwoColorize, Style};

use super::inert;

/// The width that is written for. It does not follow the terminal's, so that logs look alike everywhere.
const WIDTH: usize = 80;

const PLAIN: Style = Style::new();

/// Text under construction. Colours are always in it; what prints it takes them out where nobody would see them.
#[derive(Debug, Default)]
pub struct Page(String);

impl Page {
    /// A heading that begins a part of the page.
    pub fn heading(&mut self, text: &str) {
        let _ = writeln!(self.0, "{}:\n", text.bold());
    }

    /// An empty line.
    pub fn gap(&mut self) {
        self.0.push('\n');
    }

    /// A paragraph, each line of it indented.
    pub fn paragraph(&mut self, indent: usize, text: &str) {
        self.lay(indent, ("", PLAIN), (text, PLAIN));
    }

    /// A paragraph that stands out.
    pub fn styled(&mut self, indent: usize, text: &str, style: Style) {
        self.lay(indent, ("", PLAIN), (text, style));
    }

    /// A paragraph behind a mark in bold; all its lines stand to the right of the mark.
    pub fn marked(&mut self, indent: usize, mark: &str, text: &str) {
        self.lay(indent, (&format!("{mark} "), PLAIN.bold()), (text, PLAIN));
    }

    /// A named value: the name in a dim column of its own.
    pub fn field(&mut self, indent: usize, name: &str, value: &str) {
        self.lay(indent, (&format!("{name:<10}"), PLAIN.dimmed()), (value, PLAIN));
    }

    /// Lines that must stay as they are, such as YAML, indented.
    pub fn verbatim(&mut self, indent: usize, text: &str) {
        for line in text.lines() {
            let _ = writeln!(self.0, "{:indent$}{line}", "");
        }
    }

    /// Styles go on after wrapping, so that they do not count as width.
    fn lay(&mut self, indent: usize, (mark, mark_style): (&str, Style), (text, style): (&str, Style)) {
        let hang = indent + mark.chars().count();
        for (number, line) in wrap(text, WIDTH.saturating_sub(hang)).into_iter().enumerate() {
            // Where text is wrapped, any part of it may come to stand at the beginning of a line.
            let line = inert::without_command(Cow::Owned(line));
            let line = line.style(style);
            let _ = match number {
                0 => writeln!(self.0, "{:indent$}{}{line}", "", mark.style(mark_style)),
                _ => writeln!(self.0, "{:hang$}{line}", ""),
            };
        }
    }

    /// The text so far.
    pub fn into_text(self) -> String {
        self.0
    }
}

/// Breaks text into lines of at most `width` characters: between words, and inside of a word only where it would
/// not fit a line by itself. Gives at least one line.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let width = width.max(20);
    let mut lines = Vec::new();
    let mut line = String::new();
    let mut used = 0;
    for word in text.split(' ') {
        let long = word.chars().count();
        if used > 0 && used + 1 + long > width {
            lines.push(std::mem::take(&mut line));
            used = 0;
        } else if used > 0 {
            line.push(' ');
            used += 1;
        }
        for c in word.chars() {
            if used == width {
                lines.push(std::mem::take(&mut line));
                used = 0;
            }
            line.push(c);
            used += 1;
        }
    }
    lines.push(line);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wraps_between_words_and_splits_only_what_cannot_fit() {
        let text = format!("the quick brown fox jumps {} over", "x".repeat(45));
        assert_eq!(
            wrap(&text, 20),
            [
                "the quick brown fox",
                "jumps",
                &"x".repeat(20),
                &"x".repeat(20),
                "xxxxx over"
            ]
        );
        assert_eq!(wrap("", 20), [""]);
    }

    #[test]
    fn no_line_becomes_a_command_by_wrapping() {
        let mut page = Page::default();
        page.field(4, "", &format!("{} ::error::forged", "x".repeat(60)));
        page.paragraph(2, &format!("{}::stop-commands::x", "x".repeat(WIDTH - 2)));
        let text = anstream::adapter::strip_str(&page.into_text()).to_string();
        assert!(
            text.contains("error::forged") && text.lines().count() == 4,
            "{text}"
        );
        assert!(
            text.lines().all(|line| !line.trim_start().starts_with("::")),
            "{text}"
        );
    }

    #[test]
    fn a_hanging_paragraph_keeps_within_the_width() {
        let mut page = Page::default();
        page.field(4, "observed", &"word ".repeat(40));
        let text = anstream::adapter::strip_str(&page.into_text()).to_string();
        assert!(text.lines().count() > 2);
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH));
        assert!(text.lines().skip(1).all(|line| line.starts_with(&" ".repeat(14))));
    }
}
