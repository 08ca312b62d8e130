//! Quantities: amounts with a unit, in canonical form.

use std::sync::LazyLock;

use regex::Regex;

static QUANTITY: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^([+-]?)([0-9]*)(?:\.([0-9]*))?(?:([KMGTPE]i)|([numkMGTPE]?)|[eE]([+-]?[0-9]+))$")
        .expect("constant pattern")
});
const BINARY: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
/// From 10⁻⁹ on, in steps of a thousand.
const DECIMAL: [&str; 10] = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];

/// A text that is no quantity.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'")]
pub(super) struct NoQuantity;

/// The canonical form: with the largest unit of its kind that leaves no fraction.
pub(super) fn canonical(text: &str) -> Result<String, NoQuantity> {
    read(text).ok_or(NoQuantity)
}

fn read(text: &str) -> Option<String> {
    let parts = QUANTITY.captures(text)?;
    let part = |i: usize| parts.get(i).map_or("", |part| part.as_str());
    let (whole, fraction) = (part(2), part(3));
    let digits: i128 = format!("{whole}{fraction}").parse().ok()?;
    let sign = if part(1) == "-" && digits != 0 { "-" } else { "" };
    let (units, step, unit): (&[&str], i128, _) = match part(4) {
        "" => (&DECIMAL, 1000, part(5)),
        unit => (&BINARY, 1024, unit),
    };
    let power = units.iter().position(|known| *known == unit)?;
    let amount = digits.checked_mul(step.checked_pow(u32::try_from(power).ok()?)?)?;
    let divisor = 10_i128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    // Amounts with an exponent, and fractional binary units, stay as they are.
    if !part(6).is_empty() || step == 1024 && amount % divisor != 0 {
        return Some(text.to_owned());
    }
    // Smaller amounts are rounded up to one billionth.
    Some(format!(
        "{sign}{}",
        with_unit((amount + divisor - 1) / divisor, step, units)
    ))
}

fn with_unit(mut amount: i128, step: i128, units: &[&str]) -> String {
    let mut unit = 0;
    while amount != 0 && amount % step == 0 && unit + 1 < units.len() {
        amount /= step;
        unit += 1;
    }
    match amount {
        0 => "0".to_owned(),
        amount => format!("{amount}{}", units[unit]),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("4", "4")]
    #[case("1000m", "1")]
    #[case("1.5", "1500m")]
    #[case("3000", "3k")]
    #[case("1024Ki", "1Mi")]
    #[case("1.5Gi", "1536Mi")]
    #[case("-0", "0")]
    #[case("+2", "2")]
    #[case("0.0000000001", "1n")]
    #[case("1e3", "1e3")]
    fn is_told_in_one_way(#[case] sent: &str, #[case] told: &str) {
        assert_eq!(canonical(sent).as_deref(), Ok(told));
    }

    #[rstest]
    #[case("")]
    #[case(".")]
    #[case("much")]
    #[case("1Kb")]
    fn is_refused(#[case] sent: &str) {
        assert!(canonical(sent).is_err());
    }
}
