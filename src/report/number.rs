//! Numbers for people.

/// Formats a number with separators: `1,048,576`.
pub(super) fn thousands(number: usize) -> String {
    let digits = number.to_string();
    let mut told = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            told.push(',');
        }
        told.push(digit);
    }
    told
}

/// `1 profile`, `2,000 profiles`.
pub fn count(number: usize, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {what}{plural}", thousands(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_apart_and_one_is_no_plural() {
        assert_eq!(thousands(7), "7");
        assert_eq!(thousands(1_000), "1,000");
        assert_eq!(thousands(1_048_576), "1,048,576");
        assert_eq!(count(1, "profile"), "1 profile");
        assert_eq!(count(1_234_567, "profile"), "1,234,567 profiles");
    }
}
