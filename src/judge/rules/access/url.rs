//! Absolute URLs with a host.

use url::Url;

/// What keeps a text from being an absolute URL with a host, in words that follow a subject; nothing where it is one.
/// `schemes` are those that it may have.
pub(super) fn fault(text: &str, schemes: &[&str]) -> Option<&'static str> {
    let Some((scheme, rest)) = text.split_once("://") else {
        return Some("is not an absolute URL");
    };
    // The parser mends what clients stumble over.
    if text.contains('\\')
        || !text
            .chars()
            .all(|c| c.is_alphanumeric() || c.is_ascii_punctuation())
    {
        return Some("is not a valid URL");
    }
    if !schemes.iter().any(|known| scheme.eq_ignore_ascii_case(known)) {
        return Some("is a URL with an unsupported scheme");
    }
    if rest.is_empty() || rest.starts_with(['/', '?', '#', ':']) {
        return Some("has no host");
    }
    match Url::parse(text) {
        Ok(url) if url.host_str().is_some_and(|host| !host.is_empty()) => None,
        Ok(_) | Err(url::ParseError::EmptyHost) => Some("has no host"),
        Err(url::ParseError::InvalidPort) => Some("has no valid port"),
        Err(_) => Some("has no valid host"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_a_url() {
        let good = [
            "https://a.example",
            "HTTPS://A.Example:6443/",
            "https://a.example:6443/k8s/clusters/c-1?x=y",
            "https://under_score.example",
            "https://10.0.0.1",
            "https://[2001:db8::1]:6443/path",
            "https://bücher.example",
            "https://localhost:6443",
            "https://user:secret@a.example",
        ];
        for text in good {
            assert_eq!(fault(text, &["https"]), None, "{text}");
        }
        let bad = [
            ("a.example:6443", "is not an absolute URL"),
            ("https:a.example", "is not an absolute URL"),
            ("", "is not an absolute URL"),
            ("https://", "has no host"),
            ("https:///path", "has no host"),
            ("https://:6443", "has no host"),
            ("https://user@", "has no host"),
            ("https://?x", "has no host"),
            ("https://a b.example", "is not a valid URL"),
            (" https://a.example", "is not a valid URL"),
            ("https://a.example\n", "is not a valid URL"),
            ("https:\\\\a.example", "is not an absolute URL"),
            ("https://a.example\\x", "is not a valid URL"),
            ("http://a.example", "is a URL with an unsupported scheme"),
            ("://a.example", "is a URL with an unsupported scheme"),
            ("https://a.example:port", "has no valid port"),
            ("https://a.example:65536", "has no valid port"),
            ("https://2001:db8::1", "has no valid port"),
            ("https://[2001:db8::1", "has no valid host"),
            ("https://300.1.1.1", "has no valid host"),
            ("https://<server>", "has no valid host"),
        ];
        for (text, expected) in bad {
            assert_eq!(fault(text, &["https"]), Some(expected), "{text}");
        }
        assert_eq!(fault("socks5://[::1]:1080", &["socks5"]), None);
        assert_eq!(fault("socks5://", &["socks5"]), Some("has no host"));
    }
}
