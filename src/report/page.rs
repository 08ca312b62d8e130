//! Text laid out for a terminal of 80 columns.

use std::fmt::Write;

use owo_colors::{OwoColorize, Style};
use unicode_width::UnicodeWidthChar;

/// The line width, the same for all terminals so that logs look alike.
const WIDTH: usize = 80;

/// The widest part of a long word to keep in one piece, in columns.
const PART: usize = 20;

const PLAIN: Style = Style::new();

/// Text under construction. It always has colours; the output stream strips them if needed.
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
        self.styled(indent, text, PLAIN);
    }

    /// A paragraph that stands out.
    pub fn styled(&mut self, indent: usize, text: &str, style: Style) {
        self.lay(indent, None, &[(text, style)]);
    }

    /// A paragraph whose first part stands out; all its lines but the first are indented.
    pub fn sentence(&mut self, strong: &str, style: Style, rest: &str) {
        self.lay(2, Some(("", PLAIN)), &[(strong, style), (rest, PLAIN)]);
    }

    /// A paragraph behind a mark in bold; all its lines stand to the right of the mark.
    pub fn marked(&mut self, indent: usize, mark: &str, text: &str) {
        self.behind(indent, &format!("{mark} "), PLAIN.bold(), text);
    }

    /// A named value: the name in a dim column of its own.
    pub fn field(&mut self, indent: usize, name: &str, value: &str) {
        self.behind(indent, &format!("{name:<10}"), PLAIN.dimmed(), value);
    }

    /// A named command: in one line however long, as a line break in a copied command would cut it in two.
    pub fn command(&mut self, indent: usize, name: &str, command: &str) {
        let name = format!("{:indent$}{name:<10}", "");
        let _ = writeln!(self.0, "{}{command}", name.dimmed());
    }

    /// Lines that must stay as they are, such as YAML, indented.
    pub fn verbatim(&mut self, indent: usize, text: &str) {
        for line in text.lines() {
            let _ = writeln!(self.0, "{:indent$}{line}", "");
        }
    }

    fn behind(&mut self, indent: usize, mark: &str, style: Style, text: &str) {
        let hang = indent + width(mark);
        let mark = format!("{:indent$}{mark}", "");
        self.lay(hang, Some((&mark, style)), &[(text, PLAIN)]);
    }

    /// Adds lines with a hanging mark, or all indented. It styles them after wrapping, so that escapes do not count as
    /// width.
    fn lay(&mut self, hang: usize, mark: Option<(&str, Style)>, spans: &[(&str, Style)]) {
        let margin = " ".repeat(hang);
        let (first, style) = mark.unwrap_or((&margin, PLAIN));
        let lines = Wrapping::of(spans, hang, first);
        for (number, line) in lines.into_iter().enumerate() {
            let _ = match number {
                0 => write!(self.0, "{}", first.style(style)),
                _ => write!(self.0, "{margin}"),
            };
            for (text, style) in line {
                let _ = write!(self.0, "{}", text.style(style));
            }
            self.0.push('\n');
        }
    }

    /// The text so far.
    pub fn into_text(self) -> String {
        self.0
    }
}

/// A line: texts of one style each.
type Line = Vec<(String, Style)>;

/// Text broken into lines: between words, and within a word only if it does not fit a line.
struct Wrapping {
    /// Where lines end.
    edge: usize,
    /// Where all lines but the first begin.
    hang: usize,
    lines: Vec<Line>,
    /// The end of the last line.
    column: usize,
    /// Whether nothing but space stands on the last line.
    blank: bool,
}

impl Wrapping {
    /// At least one line. Texts are a space apart; the first line has `mark` before it.
    fn of(spans: &[(&str, Style)], hang: usize, mark: &str) -> Vec<Line> {
        let mut wrapping = Self {
            // Deep indents must leave room for some text.
            edge: WIDTH.max(hang + 20),
            hang,
            lines: vec![Line::new()],
            column: width(mark),
            blank: mark.trim().is_empty(),
        };
        for (text, style) in spans {
            for word in text.split(' ') {
                wrapping.word(word, *style);
            }
        }
        wrapping.lines
    }

    fn word(&mut self, word: &str, style: Style) {
        let fresh = self.lines.last().is_none_or(Vec::is_empty);
        if !fresh && self.column + 1 + width(word) > self.edge {
            self.next_line();
        } else if !fresh {
            self.put(" ", style);
        }
        let mut rest = word;
        // Paths and addresses break between their parts.
        for part in word.split_inclusive(['.', '/', ',', ']']) {
            if self.column + width(part) > self.edge && width(part) < PART {
                self.next_line();
            }
            for c in part.chars() {
                if self.column + width_of(c) > self.edge {
                    self.next_line();
                }
                if self.blank && rest.starts_with("::") {
                    self.put("\\u{3a}", style)
                } else {
                    self.put(c.encode_utf8(&mut [0; 4]), style)
                }
                self.blank = false;
                rest = &rest[c.len_utf8()..];
            }
        }
    }

    fn next_line(&mut self) {
        self.lines.push(Line::new());
        self.column = self.hang;
        self.blank = true;
    }

    fn put(&mut self, text: &str, style: Style) {
        self.column += width(text);
        let Some(line) = self.lines.last_mut() else { return };
        match line.last_mut() {
            Some((run, known)) if *known == style => run.push_str(text),
            _ => line.push((text.to_owned(), style)),
        }
    }
}

/// Returns the width of a text in columns.
fn width(text: &str) -> usize {
    text.chars().map(width_of).sum()
}

fn width_of(c: char) -> usize {
    c.width().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(lay: impl FnOnce(&mut Page)) -> Vec<String> {
        let mut page = Page::default();
        lay(&mut page);
        let text = anstream::adapter::strip_str(&page.into_text()).to_string();
        let columns = |line: &str| line.chars().map(width_of).sum::<usize>();
        assert!(text.lines().all(|line| columns(line) <= WIDTH), "{text}");
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn wraps_between_words_and_splits_only_what_cannot_fit() {
        let text = format!("the quick brown fox jumps {} over", "x".repeat(45));
        assert_eq!(
            told(|page| page.paragraph(60, &text)),
            [
                "the quick brown fox",
                "jumps",
                &"x".repeat(20),
                &"x".repeat(20),
                "xxxxx over"
            ]
            .map(|line| format!("{:60}{line}", ""))
        );
        assert_eq!(told(|page| page.paragraph(0, "")), [""]);
    }

    #[test]
    fn a_path_breaks_between_its_parts() {
        let path = "status.accessProviders[one].cluster.extensions[client.authentication.k8s.io/exec].token";
        let lines = told(|page| page.field(4, "path", path));
        assert_eq!(
            lines[0],
            "    path      status.accessProviders[one].cluster.extensions[client."
        );
        assert_eq!(lines[1], "              authentication.k8s.io/exec].token");
    }

    #[test]
    fn wide_characters_take_two_columns() {
        let lines = told(|page| page.field(4, "observed", &"漢字".repeat(40)));
        assert_eq!(lines[0], format!("    observed  {}", "漢字".repeat(16) + "漢"));
        assert_eq!(lines.len(), 3);
    }

    #[test]
    fn a_sentence_goes_on_where_its_strong_part_ends() {
        let lines = told(|page| page.sentence(&"strong ".repeat(9), PLAIN.bold(), &"rest ".repeat(9)));
        assert!(
            lines[0].starts_with("strong") && lines[0].ends_with("rest"),
            "{lines:?}"
        );
        assert!(lines[1].starts_with("  rest"), "{lines:?}");
    }

    #[test]
    fn no_line_gives_orders_to_the_runner_of_a_pipeline() {
        let lines = told(|page| {
            page.paragraph(2, "::add-mask::e");
            page.field(2, "observed", &format!("::1 {}", "::stop-commands::x".repeat(9)));
        });
        assert_eq!(lines[0], r"  \u{3a}:add-mask::e");
        assert_eq!(lines[1], "  observed  ::1");
        assert!(
            !lines.iter().any(|line| line.trim_start().starts_with("::")),
            "{lines:?}"
        );
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
    fn a_command_stays_in_one_line() {
        let command = "word ".repeat(40);
        let lines = told(|page| page.command(2, "explain", &command));
        assert_eq!(lines, [format!("  explain   {command}")]);
    }

    #[test]
    fn a_hanging_paragraph_keeps_within_the_width() {
        let lines = told(|page| page.field(4, "observed", &"word ".repeat(40)));
        assert!(lines.len() > 2);
        assert!(lines.iter().skip(1).all(|line| line.starts_with(&" ".repeat(14))));
    }
}
