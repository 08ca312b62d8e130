//! Keys that sign reports and verify signatures, and where passwords come from.

use std::{
    env,
    fs::File,
    io::{self, Read as _},
    path::Path,
};

use anyhow::{Context, anyhow, bail};
use clap::Args;
use console::Term;
use report::{
    escape,
    signed::{KeyError, LARGEST_KEY, NamedKey, PrivateKey, PublicKey},
};
use zeroize::Zeroizing;

use crate::command::terminal::exit::Failure;

/// The variable with the password of a private key, as cosign has it.
const PASSWORD: &str = "COSIGN_PASSWORD";

/// The public keys of those who may vouch for reports.
#[derive(Debug, Args)]
pub(super) struct KeyFlags {
    /// Verify the signature of a report by this public key, which stands for who its file is named after: a file of
    /// cosign, minisign or openssl, or minisign's line. Repeat it for several keys
    #[arg(long = "key", value_name = "FILE", help_heading = "Signature")]
    keys: Vec<String>,
}

impl KeyFlags {
    /// Reads the keys.
    pub(super) fn read(&self) -> Result<Vec<NamedKey>, Failure> {
        let keys = self.keys.iter().map(|key| named(key).map_err(Failure::usage));
        keys.collect()
    }
}

fn named(key: &str) -> anyhow::Result<NamedKey> {
    let path = Path::new(key);
    let failed = || format!("--key {key} cannot be used");
    let (name, own) = match PublicKey::parse(key) {
        // Minisign's users pass the key itself, on a line.
        Ok(own) => (key.trim().to_owned(), own),
        Err(KeyError::Unknown) => {
            let own = PublicKey::parse(&text(path).with_context(failed)?).with_context(failed)?;
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            (name.into_owned(), own)
        }
        // It may be a secret, so no message quotes it.
        Err(error) => bail!("--key cannot be used: {error}"),
    };
    Ok(NamedKey { name, key: own })
}

/// Reads the private key that signs.
pub(super) fn private(path: &Path) -> Result<PrivateKey, Failure> {
    let is_key = path
        .to_str()
        .is_some_and(|text| PublicKey::parse(text) != Err(KeyError::Unknown));
    if is_key {
        // It may be a secret, so no message quotes it.
        return Err(Failure::usage(anyhow!("--key is a key: name its file instead")));
    }
    let failed = || format!("--key {} cannot be used", path.display());
    let key = text(path).and_then(|text| PrivateKey::parse(&text, || password(path)));
    let key = key.map_err(|error| match error.downcast_ref() {
        Some(KeyError::Password) => anyhow!("{error}: correct {PASSWORD}, or unset it to be asked"),
        _ => error,
    });
    key.with_context(failed).map_err(Failure::usage)
}

/// The text of a key's file. Nothing of it gets into a message.
fn text(path: &Path) -> anyhow::Result<Zeroizing<String>> {
    let mut text = Zeroizing::new(String::new());
    match File::open(path)?.take(LARGEST_KEY + 1).read_to_string(&mut text) {
        Err(error) if error.kind() != io::ErrorKind::InvalidData => Err(error.into()),
        Ok(read) if read as u64 <= LARGEST_KEY => Ok(text),
        _ => Err(KeyError::Unknown.into()),
    }
}

fn password(path: &Path) -> anyhow::Result<Zeroizing<String>> {
    match env::var(PASSWORD) {
        // As for cosign, an empty one is one.
        Ok(password) => return Ok(Zeroizing::new(password)),
        Err(env::VarError::NotUnicode(_)) => bail!("{PASSWORD} is not UTF-8 text"),
        Err(env::VarError::NotPresent) => {}
    }
    let terminal = Term::stderr();
    if !terminal.is_term() {
        bail!("it has a password, and there is no terminal to ask for it: set {PASSWORD}");
    }
    let asked = format!("Password of {}: ", escape::line(&path.display().to_string()));
    terminal.write_str(&asked)?;
    Ok(Zeroizing::new(terminal.read_secure_line()?))
}
