//! Text laid out for people: as wide as the terminal, and unwrapped where there is none.

use std::fmt::Write;

use anstyle::Style;
use unicode_width::UnicodeWidthChar;

/// The least room for text behind a deep indent, in columns.
const ROOM: usize = 20;

const PLAIN: Style = Style::new();
const BOLD: Style = PLAIN.bold();
const DIMMED: Style = PLAIN.dimmed();

/// Text under construction. It always has colours; the output stream strips them if needed.
#[derive(Debug)]
pub struct Page {
    text: String,
    /// Where lines end, in columns; none where they never do.
    width: Option<usize>,
}

impl Page {
    /// Starts a page of so many columns. Without a width no line is wrapped: logs and programs read it.
    pub fn new(width: Option<usize>) -> Self {
        Self {
            text: String::new(),
            width,
        }
    }

    /// A heading that begins a part of the page.
    pub fn heading(&mut self, text: &str) {
        let _ = writeln!(self.text, "{BOLD}{text}{BOLD:#}:\n");
    }

    /// An empty line.
    pub fn gap(&mut self) {
        self.text.push('\n');
    }

    /// A paragraph, each line of it indented.
    pub fn paragraph(&mut self, indent: usize, text: &str) {
        self.styled(indent, text, PLAIN);
    }

    /// A paragraph that stands out.
    pub fn styled(&mut self, indent: usize, text: &str, style: Style) {
        self.lay(indent, None, text, style);
    }

    /// A paragraph whose lines are indented, except for the first.
    pub fn hanging(&mut self, text: &str, style: Style) {
        self.lay(2, Some(("", PLAIN)), text, style);
    }

    /// A paragraph behind a mark in bold; all its lines are to the right of the mark.
    pub fn marked(&mut self, indent: usize, mark: &str, text: &str) {
        self.behind(indent, &format!("{mark} "), BOLD, text);
    }

    /// A named value: the name in a dim column of its own.
    pub fn field(&mut self, indent: usize, name: &str, value: &str) {
        self.behind(indent, &format!("{name:<10}"), DIMMED, value);
    }

    /// A value behind a word of that style, in a column of its own.
    pub fn labelled(&mut self, indent: usize, word: &str, style: Style, value: &str) {
        self.behind(indent, &format!("{word:<10}"), style, value);
    }

    /// A named command: in one line however long, as a line break in a copied command would cut it in two.
    pub fn command(&mut self, indent: usize, name: &str, command: &str) {
        let name = format!("{:indent$}{name:<10}", "");
        let _ = writeln!(self.text, "{DIMMED}{name}{DIMMED:#}{command}");
    }

    /// Lines that must stay as they are, for example YAML, indented.
    pub fn verbatim(&mut self, indent: usize, text: &str) {
        for line in text.lines() {
            let _ = writeln!(self.text, "{:indent$}{line}", "");
        }
    }

    fn behind(&mut self, indent: usize, mark: &str, style: Style, text: &str) {
        let hang = indent + width(mark);
        let mark = format!("{:indent$}{mark}", "");
        self.lay(hang, Some((&mark, style)), text, PLAIN);
    }

    /// Adds lines with a hanging mark, or all indented. It styles them after wrapping, so that escapes do not count as
    /// width.
    fn lay(&mut self, hang: usize, mark: Option<(&str, Style)>, text: &str, style: Style) {
        let margin = " ".repeat(hang);
        let (first, mark_style) = mark.unwrap_or((&margin, PLAIN));
        let lines = Wrapping::of(text, hang, first, self.width);
        for (number, line) in lines.iter().enumerate() {
            let _ = match number {
                0 => write!(self.text, "{mark_style}{first}{mark_style:#}"),
                _ => write!(self.text, "{margin}"),
            };
            let _ = writeln!(self.text, "{style}{line}{style:#}");
        }
    }

    /// The text so far.
    pub fn into_text(self) -> String {
        self.text
    }
}

/// Text broken into lines between words. A word stays whole, and so does text between backticks: people copy commands,
/// paths, addresses, and ids.
struct Wrapping {
    /// Where lines end.
    edge: usize,
    /// Where all lines but the first begin.
    hang: usize,
    lines: Vec<String>,
    /// The end of the last line.
    column: usize,
    /// Whether the last line has only spaces.
    blank: bool,
}

impl Wrapping {
    /// At least one line; the first line has `mark` before it.
    fn of(text: &str, hang: usize, mark: &str, width_of_page: Option<usize>) -> Vec<String> {
        let mut wrapping = Self {
            edge: width_of_page.map_or(usize::MAX, |columns| columns.max(hang + ROOM)),
            hang,
            lines: vec![String::new()],
            column: width(mark),
            blank: mark.trim().is_empty(),
        };
        words(text).for_each(|word| wrapping.word(word));
        wrapping.lines
    }

    fn word(&mut self, word: &str) {
        let fresh = self.lines.last().is_none_or(String::is_empty);
        if !fresh && self.column.saturating_add(1 + width(word)) > self.edge {
            self.lines.push(String::new());
            self.column = self.hang;
            self.blank = true;
        } else if !fresh {
            self.put(" ");
        }
        // A runner of pipelines takes a line that begins so for a command.
        let rest = if self.blank { word.strip_prefix("::") } else { None };
        match rest {
            Some(rest) => {
                self.put("\\u{3a}:");
                self.put(rest);
            }
            None => self.put(word),
        }
        self.blank &= word.is_empty();
    }

    fn put(&mut self, text: &str) {
        self.column += width(text);
        if let Some(line) = self.lines.last_mut() {
            line.push_str(text);
        }
    }
}

/// Splits a text at spaces, but for those between backticks.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let mut is_quoted = false;
    let mut remaining = text.matches('`').count();
    text.split(move |c: char| {
        if c == '`' {
            remaining -= 1;
            // The last one of an odd number closes nothing.
            is_quoted = !is_quoted && remaining > 0;
        }
        c == ' ' && !is_quoted
    })
}

fn width(text: &str) -> usize {
    text.chars().map(width_of).sum()
}

fn width_of(c: char) -> usize {
    c.width().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const WIDTH: usize = 80;

    fn lines_of(lay: impl FnOnce(&mut Page)) -> Vec<String> {
        lines_within(Some(WIDTH), lay)
    }

    fn lines_within(width: Option<usize>, lay: impl FnOnce(&mut Page)) -> Vec<String> {
        let mut page = Page::new(width);
        lay(&mut page);
        let text = anstream::adapter::strip_str(&page.into_text()).to_string();
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn lines_end_between_words() {
        let long = "x".repeat(45);
        let text = format!("the quick brown fox jumps {long} over");
        let expected = ["the quick brown fox", "jumps", &long, "over"].map(|line| format!("{:60}{line}", ""));
        assert_eq!(lines_of(|page| page.paragraph(60, &text)), expected);
        assert_eq!(lines_of(|page| page.paragraph(0, "")), [""]);
        let command = "word ".repeat(40);
        let lines = lines_of(|page| page.command(2, "explain", &command));
        assert_eq!(lines, [format!("  explain   {command}")]);
        let text = "word ".repeat(100);
        let lines = lines_within(None, |page| page.field(4, "observed", text.trim()));
        assert_eq!(lines, [format!("    observed  {}", text.trim())]);
        let lines = lines_within(Some(120), |page| page.paragraph(0, &text));
        assert!(lines[0].len() > 110 && lines[0].len() <= 120, "{lines:?}");
    }

    #[test]
    fn a_quoted_command_stays_whole() {
        let command = "`kubectl get secrets -A -l x-k8s.io/cluster-profile -o yaml`";
        let text = format!("the dump holds no Secrets: add {command} to it");
        let lines = lines_of(|page| page.paragraph(2, &text));
        assert_eq!(lines[1], format!("  {command} to it"));
        let lines = lines_of(|page| page.paragraph(0, &format!("an odd ` {}", "word ".repeat(30))));
        assert!(lines.len() > 1, "{lines:?}");
    }

    #[test]
    fn wide_characters_take_two_columns() {
        let lines = lines_of(|page| page.field(4, "observed", &"漢字 ".repeat(40)));
        let expected = format!("    observed  {}", "漢字 ".repeat(13));
        assert_eq!(lines[0], expected.trim_end());
        assert!(lines.iter().all(|line| width(line) <= WIDTH), "{lines:?}");
    }

    #[test]
    fn hanging_paragraph_indents_all_lines_but_the_first() {
        let lines = lines_of(|page| page.hanging(&"word ".repeat(20), BOLD));
        let is_hanging = lines[0].starts_with("word") && lines[1].starts_with("  word");
        assert!(is_hanging, "{lines:?}");
    }

    #[test]
    fn no_line_is_a_workflow_command() {
        let lines = lines_of(|page| {
            page.paragraph(2, "::add-mask::e");
            page.field(2, "observed", &format!("::1 {}", "::stop-commands::x ".repeat(9)));
            page.field(4, "", &format!("{} ::error::forged", "x".repeat(60)));
            page.field(4, "", &format!("{}  ::error::forged", "x".repeat(66)));
        });
        assert_eq!(lines[0], r"  \u{3a}:add-mask::e");
        assert!(lines[1].starts_with("  observed  ::1 ::stop"), "{lines:?}");
        let forged = lines.iter().filter(|line| line.contains(r"\u{3a}:error::forged"));
        assert_eq!(forged.count(), 2, "{lines:?}");
        let is_command = lines.iter().any(|line| line.trim_start().starts_with("::"));
        assert!(lines.len() > 3 && !is_command, "{lines:?}");
    }
}
