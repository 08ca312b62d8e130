//! The hub's syntax of names and label values.

/// Returns `true` for a valid label value. It may be empty.
pub fn is_label_value(text: &str) -> bool {
    text.is_empty() || (text.len() <= 63 && is_framed(text, u8::is_ascii_alphanumeric, b"-_."))
}

/// Returns `true` for a DNS label (RFC 1123), for example the name of a namespace.
pub fn is_dns_label(text: &str) -> bool {
    text.len() <= 63 && is_label_of_subdomain(text)
}

/// Returns `true` for a DNS subdomain (RFC 1123), for example an API group.
pub fn is_dns_subdomain(text: &str) -> bool {
    text.len() <= 253 && text.split('.').all(is_label_of_subdomain)
}

/// The API does not limit the length of a subdomain's parts.
fn is_label_of_subdomain(text: &str) -> bool {
    is_framed(
        text,
        |byte| byte.is_ascii_lowercase() || byte.is_ascii_digit(),
        b"-",
    )
}

/// Returns `true` if it is not empty, all bytes are `plain` or `inner`, and both ends are plain.
pub fn is_framed(text: &str, plain: impl Fn(&u8) -> bool, inner: &[u8]) -> bool {
    let bytes = text.as_bytes();
    bytes.first().is_some_and(&plain)
        && bytes.last().is_some_and(&plain)
        && bytes.iter().all(|byte| plain(byte) || inner.contains(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn label_values_are_valid_as_on_the_hub() {
        for good in ["", "a", "A-b_c.9", &"x".repeat(63)] {
            assert!(is_label_value(good), "{good}");
        }
        for bad in [" ", "a b", "-a", "a-", "a/b", "é", ".", &"x".repeat(64)] {
            assert!(!is_label_value(bad), "{bad}");
        }
    }

    #[test]
    fn names_are_valid_as_on_the_hub() {
        for good in ["a", "0", "a-b", &"x".repeat(63)] {
            assert!(is_dns_label(good) && is_dns_subdomain(good), "{good}");
        }
        for bad in ["", "A", "a_b", "-a", "a-", "a/b", "é", ".", "a..b", "a.", ".a"] {
            assert!(!is_dns_label(bad) && !is_dns_subdomain(bad), "{bad}");
        }
        assert!(!is_dns_label("a.b") && is_dns_subdomain("a.b"));
        assert!(!is_dns_label(&"x".repeat(64)) && is_dns_subdomain(&"x".repeat(64)));
        assert!(!is_dns_subdomain(&"x.".repeat(127)) && is_dns_subdomain(&"x.".repeat(126)[..251]));
    }
}
