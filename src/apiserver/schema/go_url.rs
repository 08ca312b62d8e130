//! URLs as Go's package `net/url` reads them. kube-apiserver uses it for CEL's URL functions and for the format `uri`.
//!
//! The rules are those of RFC 3986 with Go's deviations: only `http` and `https` forbid further colons in a host, a host
//! may be empty, a port is any number, and paths and queries need not be escaped.

use std::net::{Ipv4Addr, Ipv6Addr};

use crate::object::field::quoted;

/// Characters that a path may contain unescaped, besides letters and digits.
const IN_PATH: &[u8] = b"-_.~$&+,/:;=@";
/// Characters that Go leaves alone if a path has them unescaped.
const KEPT_IN_PATH: &[u8] = b"-_.~$&+,/:;=@!'()*[]%";
/// ASCII characters that a host or a zone may contain, besides letters and digits.
const IN_HOST: &[u8] = b"-_.~!$&'()*+,;=:[]<>\"";
const IN_USER: &[u8] = b"-._:~!$&'()*+,;=%@";

/// A text that is no URL, with Go's message.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("parse {}: {why}", quoted(.url))]
pub(super) struct UrlError {
    url: String,
    #[source]
    why: Fault,
}

/// What is wrong with a URL.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
enum Fault {
    #[error("empty url")]
    Empty,
    #[error("net/url: invalid control character in URL")]
    Control,
    #[error("missing protocol scheme")]
    Scheme,
    #[error("invalid URI for request")]
    Relative,
    #[error("first path segment in URL cannot contain colon")]
    Colon,
    #[error("net/url: invalid userinfo")]
    User,
    #[error("invalid character {} in host name", quoted(.0))]
    HostCharacter(String),
    #[error("invalid port {} after host", quoted(.0))]
    Port(String),
    #[error("missing ']' in host")]
    Bracket,
    #[error("invalid IP-literal")]
    Literal,
    #[error("invalid host: ParseAddr({}): unable to parse IP", quoted(.0))]
    Address(String),
    #[error("invalid host: ParseAddr({}): zone must be a non-empty string", quoted(.0))]
    Zone(String),
    #[error("invalid URL escape {}", quoted(.0))]
    Escape(String),
}

/// A URL, or a reference relative to one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Url {
    /// In lower case, empty for a path alone.
    pub(super) scheme: String,
    /// With its port, and with the brackets of an IPv6 address.
    pub(super) host: String,
    /// The path, escaped.
    pub(super) path: String,
    /// As in the URL.
    query: String,
}

/// A part of a URL, which determines what may be escaped in it.
#[derive(Clone, Copy, PartialEq)]
enum Part {
    User,
    Host,
    Zone,
    Path,
    Query,
}

/// How a text is read.
#[derive(Clone, Copy, PartialEq)]
enum Reading {
    /// As the target of a request: an absolute URL or an absolute path, without a fragment.
    Request,
    /// As a reference, which may be relative.
    Reference,
}

impl Url {
    /// Reads an absolute URL or an absolute path. Its fragment is dropped.
    pub(super) fn read(text: &str) -> Result<Self, UrlError> {
        check(text)?;
        let (whole, fragment) = text.split_once('#').unwrap_or((text, ""));
        let url = Self::parse(whole, Reading::Reference).map_err(because(whole))?;
        unescaped(fragment, Part::Path).map_err(because(text))?;
        Ok(url)
    }

    fn parse(text: &str, reading: Reading) -> Result<Self, Fault> {
        if text.bytes().any(|byte| byte.is_ascii_control()) {
            return Err(Fault::Control);
        }
        if text.is_empty() && reading == Reading::Request {
            return Err(Fault::Empty);
        }
        if text == "*" {
            return Ok(Self {
                path: text.to_owned(),
                ..Self::default()
            });
        }
        let (scheme, rest) = split_scheme(text)?;
        let scheme = scheme.to_ascii_lowercase();
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let mut url = Self {
            scheme,
            query: query.to_owned(),
            ..Self::default()
        };
        let is_absolute = !url.scheme.is_empty();
        if !rest.starts_with('/') {
            let first = rest.split('/').next().unwrap_or_default();
            match reading {
                // Behind a scheme, anything goes: `mailto:somebody`.
                _ if is_absolute => return Ok(url),
                Reading::Request => return Err(Fault::Relative),
                Reading::Reference if first.contains(':') => return Err(Fault::Colon),
                Reading::Reference => {}
            }
        }
        let may_have_host = is_absolute || reading == Reading::Reference && !rest.starts_with("///");
        let path = match rest.strip_prefix("//").filter(|_| may_have_host) {
            Some(rest) => {
                let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
                url.host = read_authority(&url.scheme, authority)?;
                path
            }
            None => rest,
        };
        let bytes = unescaped(path, Part::Path)?;
        let is_kept = path.bytes().all(|byte| is_among(byte, KEPT_IN_PATH));
        url.path = if is_kept { path.to_owned() } else { escaped(&bytes) };
        Ok(url)
    }

    /// The host without its port and without brackets.
    pub(super) fn hostname(&self) -> &str {
        let (host, _) = split_port(&self.host);
        let inner = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        inner.unwrap_or(host)
    }

    /// The digits of the port, empty if there is none.
    pub(super) fn port(&self) -> &str {
        split_port(&self.host).1
    }

    /// The decoded parameters of the query, in order. Malformed ones are omitted.
    pub(super) fn parameters(&self) -> impl Iterator<Item = (String, String)> {
        let settings = self.query.split('&');
        settings
            .filter(|setting| !setting.is_empty() && !setting.contains(';'))
            .filter_map(|setting| {
                let (name, value) = setting.split_once('=').unwrap_or((setting, ""));
                let decoded = |text| unescaped(text, Part::Query).ok().map(lossy);
                Some((decoded(name)?, decoded(value)?))
            })
    }
}

/// Checks that a text is an absolute URL or an absolute path, as the format `uri` does.
pub(super) fn check(text: &str) -> Result<(), UrlError> {
    let read = Url::parse(text, Reading::Request);
    read.map(drop).map_err(because(text))
}

fn because(url: &str) -> impl FnOnce(Fault) -> UrlError {
    move |why| UrlError {
        url: url.to_owned(),
        why,
    }
}

/// Splits off a scheme, empty if there is none.
fn split_scheme(text: &str) -> Result<(&str, &str), Fault> {
    let is_legal = |letter: char| letter.is_ascii_alphanumeric() || "+-.".contains(letter);
    match text.split_once(':') {
        Some(("", _)) => Err(Fault::Scheme),
        Some((scheme, rest)) if scheme.chars().all(is_legal) && scheme.starts_with(char::is_alphabetic) => {
            Ok((scheme, rest))
        }
        _ => Ok(("", text)),
    }
}

/// Reads what stands between `//` and the path. Returns the host.
fn read_authority(scheme: &str, authority: &str) -> Result<String, Fault> {
    let Some((user, host)) = authority.rsplit_once('@') else {
        return read_host(scheme, authority);
    };
    let host = read_host(scheme, host)?;
    if !user.bytes().all(|byte| is_among(byte, IN_USER)) {
        return Err(Fault::User);
    }
    unescaped(user, Part::User)?;
    Ok(host)
}

fn read_host(scheme: &str, host: &str) -> Result<String, Fault> {
    match host.rfind('[') {
        Some(0) => return read_literal(host),
        Some(_) => return Err(Fault::Literal),
        None => {}
    }
    let is_strict = matches!(scheme, "http" | "https");
    let colon = if is_strict {
        host.find(':')
    } else {
        host.rfind(':')
    };
    check_port(&host[colon.unwrap_or(host.len())..])?;
    unescaped(host, Part::Host).map(lossy)
}

/// Reads an IPv6 address in brackets, with an optional zone (RFC 6874) and an optional port.
fn read_literal(host: &str) -> Result<String, Fault> {
    let (address, port) = host[1..].rsplit_once(']').ok_or(Fault::Bracket)?;
    check_port(port)?;
    let (address, zone) = address.split_at(address.find("%25").unwrap_or(address.len()));
    let address = lossy(unescaped(address, Part::Host)?) + &lossy(unescaped(zone, Part::Zone)?);
    let (ip, zone) = address.split_once('%').unwrap_or((&address, "none"));
    if ip.parse::<Ipv4Addr>().is_ok() {
        return Err(Fault::Literal);
    }
    if zone.is_empty() {
        return Err(Fault::Zone(address));
    }
    if ip.parse::<Ipv6Addr>().is_err() {
        return Err(Fault::Address(address));
    }
    Ok(format!("[{address}]{port}"))
}

/// Checks the port behind a host: nothing, or a colon and digits. There need not be any.
fn check_port(port: &str) -> Result<(), Fault> {
    match port.strip_prefix(':') {
        _ if port.is_empty() => Ok(()),
        Some(digits) if is_number(digits) => Ok(()),
        _ => Err(Fault::Port(port.to_owned())),
    }
}

/// Splits a host at its port.
fn split_port(host: &str) -> (&str, &str) {
    let parts = host.rsplit_once(':');
    parts.filter(|(_, port)| is_number(port)).unwrap_or((host, ""))
}

fn is_number(digits: &str) -> bool {
    digits.bytes().all(|digit| digit.is_ascii_digit())
}

fn is_among(byte: u8, known: &[u8]) -> bool {
    byte.is_ascii_alphanumeric() || known.contains(&byte)
}

/// Percent-decodes a part of a URL.
fn unescaped(text: &str, part: Part) -> Result<Vec<u8>, Fault> {
    let in_host = matches!(part, Part::Host | Part::Zone);
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [byte, after @ ..] = rest {
        let start = rest;
        rest = after;
        match byte {
            b'%' => {
                let escape = &start[..start.len().min(3)];
                let wrong = || Fault::Escape(String::from_utf8_lossy(escape).into_owned());
                let decoded = hex(&escape[1..]).ok_or_else(wrong)?;
                let is_legal = match part {
                    _ if escape == b"%25" => true,
                    Part::Host => !decoded.is_ascii(),
                    // Zones on Windows contain spaces.
                    Part::Zone => decoded == b' ' || is_among(decoded, IN_HOST),
                    Part::User | Part::Path | Part::Query => true,
                };
                if !is_legal {
                    return Err(wrong());
                }
                bytes.push(decoded);
                rest = &start[3..];
            }
            b'+' if part == Part::Query => bytes.push(b' '),
            _ if in_host && byte.is_ascii() && !is_among(*byte, IN_HOST) => {
                return Err(Fault::HostCharacter(char::from(*byte).into()));
            }
            _ => bytes.push(*byte),
        }
    }
    Ok(bytes)
}

/// The byte that two hexadecimal digits stand for.
fn hex(digits: &[u8]) -> Option<u8> {
    let [high, low] = digits else { return None };
    let digit = |letter: u8| char::from(letter).to_digit(16);
    u8::try_from(digit(*high)? * 16 + digit(*low)?).ok()
}

/// A path in Go's own escaping.
fn escaped(path: &[u8]) -> String {
    let escape = |byte: &u8| match *byte {
        byte if is_among(byte, IN_PATH) => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    };
    path.iter().map(escape).collect()
}

fn lossy(bytes: Vec<u8>) -> String {
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(
        "https://user:pw@h.example:99999/a b?x=1#f",
        "https",
        "h.example:99999",
        "/a%20b"
    )]
    #[case("HTTPS://[fe80::1%25eth0]:443", "https", "[fe80::1%eth0]:443", "")]
    #[case("https:///p", "https", "", "/p")]
    #[case("https:h", "https", "", "")]
    #[case("https://256.1.1.1/%7e(x)", "https", "256.1.1.1", "/%7e(x)")]
    #[case("grpc://a:1,b:2/", "grpc", "a:1,b:2", "/")]
    #[case("/p?q", "", "", "/p")]
    #[case("//h/p", "", "h", "/p")]
    #[case("*", "", "", "*")]
    fn reads(#[case] text: &str, #[case] scheme: &str, #[case] host: &str, #[case] path: &str) {
        let url = Url::read(text).expect("a URL");
        assert_eq!([&url.scheme, &url.host, &url.path], [scheme, host, path]);
    }

    #[rstest]
    #[case("", "empty url")]
    #[case(" https://h", "first path segment in URL cannot contain colon")]
    #[case("https://h/%zz", "invalid URL escape \"%zz\"")]
    #[case("https://h:8o/", "invalid port \":8o\" after host")]
    #[case("https://a:1:2/", "invalid port \":1:2\" after host")]
    #[case("https://[::1", "missing ']' in host")]
    #[case("https://[1.2.3.4]/", "invalid IP-literal")]
    #[case("https://a b/", "invalid character \" \" in host name")]
    #[case("https://a^b@h/", "net/url: invalid userinfo")]
    #[case("relative", "invalid URI for request")]
    fn refuses(#[case] text: &str, #[case] why: &str) {
        let error = Url::read(text).expect_err("no URL").to_string();
        assert!(error.ends_with(why) || text.starts_with(' '), "{error}");
    }

    #[test]
    fn splits_host_and_query() {
        let url = Url::read("https://[::1]:8443/?a=1&b=x+y&a=%32&bad=%zz&c;d").expect("a URL");
        assert_eq!((url.hostname(), url.port()), ("::1", "8443"));
        let parameters: Vec<_> = url.parameters().collect();
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(parameters, [pair("a", "1"), pair("b", "x y"), pair("a", "2")]);
    }
}
