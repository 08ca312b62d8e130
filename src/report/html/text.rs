//! Text of the hub, short enough and visible enough to be read.

use std::borrow::Cow;

use crate::report::inert;

/// How many characters of a text are shown.
const LONGEST: usize = 400;

/// Text of the hub as a person reads it: nothing hidden, and not too long.
pub(super) fn shown(text: &str) -> String {
    brief(text, LONGEST)
}

/// The same, at most so long.
pub(super) fn brief(text: &str, longest: usize) -> String {
    let text = shortened(text, longest);
    inert::line(&text).into_owned()
}

/// The beginning of a long text, and how much more there is.
pub(super) fn shortened(text: &str, longest: usize) -> Cow<'_, str> {
    let Some((end, _)) = text.char_indices().nth(longest) else {
        return text.into();
    };
    let more = grouped(text[end..].chars().count());
    format!("{}… {more} more characters", &text[..end]).into()
}

/// A number with commas between thousands.
pub(super) fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut told = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            told.push(',');
        }
        told.push(digit);
    }
    told
}

/// `1 profile`, `2,000 profiles`.
pub(super) fn count(number: usize, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {what}{plural}", grouped(number))
}

/// A coordinate in a drawing: more digits nobody sees.
pub(super) fn place(at: f64) -> String {
    format!("{at:.1}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_text_is_cut_with_a_count() {
        assert_eq!(shown("a\u{202e}\n"), r"a\u{202e}\n");
        let long = "é".repeat(1 << 20);
        assert_eq!(
            shown(&long),
            format!("{}… 1,048,176 more characters", "é".repeat(400))
        );
        assert_eq!(count(1, "profile"), "1 profile");
        assert_eq!(count(1_234_567, "profile"), "1,234,567 profiles");
    }
}
