//! Text that is safe and legible where it is shown; numbers and lists for people.

pub(crate) mod difference;
pub mod escape;
pub mod page;
pub mod yaml;

/// A file of the working folder as an argument of a shell's command.
pub(crate) fn file_argument(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | '+' | ':' | '@');
    if name.chars().all(is_plain) && !name.starts_with('-') {
        name.to_owned()
    } else {
        format!("./'{}'", name.replace('\'', r"'\''"))
    }
}

/// Formats a number with separators: `1,048,576`.
pub(crate) fn thousands(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 profile`, `2,000 profiles`.
pub fn count(number: usize, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {what}{plural}", thousands(number))
}

/// Lists things as a sentence does, for example `a, b and c`; none if there are none.
pub(crate) fn listed<T: AsRef<str>>(things: &[T]) -> Option<String> {
    let (last, earlier) = things.split_last()?;
    let earlier: Vec<&str> = earlier.iter().map(AsRef::as_ref).collect();
    Some(match &earlier[..] {
        [] => last.as_ref().to_owned(),
        earlier => format!("{} and {}", earlier.join(", "), last.as_ref()),
    })
}

/// `812 bytes`, `1.2 MB`: powers of 1000, as networks are measured.
pub(crate) fn bytes(number: u64) -> String {
    const UNITS: [&str; 4] = ["kB", "MB", "GB", "TB"];
    if number < 1000 {
        return count(number as usize, "byte");
    }
    let mut amount = number as f64 / 1000.0;
    let mut unit = 0;
    // What would be written as 1000.0 belongs to the next unit.
    while amount >= 999.95 && unit + 1 < UNITS.len() {
        amount /= 1000.0;
        unit += 1;
    }
    format!("{amount:.1} {}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_separators_and_plurals() {
        assert_eq!(thousands(7), "7");
        assert_eq!(thousands(1_000), "1,000");
        assert_eq!(thousands(1_048_576), "1,048,576");
        assert_eq!(count(1, "profile"), "1 profile");
        assert_eq!(count(1_234_567, "profile"), "1,234,567 profiles");
    }

    #[test]
    fn bytes_have_a_fitting_unit() {
        for (number, text) in [
            (0, "0 bytes"),
            (1, "1 byte"),
            (999, "999 bytes"),
            (1_000, "1.0 kB"),
            (999_949, "999.9 kB"),
            (999_950, "1.0 MB"),
            (450_000_000, "450.0 MB"),
            (u64::MAX, "18446744.1 TB"),
        ] {
            assert_eq!(bytes(number), text);
        }
    }
}
