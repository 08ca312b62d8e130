//! Addresses that reports turn into links.

use url::Url;

/// Reads the address of a web page. Any other, such as one of a script, gives none.
pub fn web_page(address: &str) -> Option<Url> {
    let url = Url::parse(address).ok()?;
    matches!(url.scheme(), "http" | "https").then_some(url)
}
