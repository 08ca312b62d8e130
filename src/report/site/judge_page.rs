//! The page on which a file is judged in the browser.
//!
//! It holds all that it needs: the module, packed, and the worker that runs it. So it works from a disk and offline, and
//! its policy allows no connection: what is dropped on it cannot leave the machine. The report is opened in a tab of its
//! own, with a policy of its own besides.

use askama::Template;
use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use evidence::api::Edition;
use judge::Decision;

use super::frame::Frame;
use crate::html::sign::{self, Sign};

const WORKER: &str = include_str!("../templates/site/worker.js");

/// The judge as a WebAssembly module, packed with gzip.
#[derive(Debug)]
pub struct Module {
    packed: Vec<u8>,
}

/// Why a file is no module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it is not packed with gzip, as ci/binary wasm32-unknown-unknown leaves it")]
pub struct NoModule;

impl Module {
    /// Takes a file's content.
    ///
    /// # Errors
    /// When it is not packed with gzip.
    pub fn new(packed: Vec<u8>) -> Result<Self, NoModule> {
        // RFC 1952, 2.3.1: the two bytes of every gzip file, and deflate.
        if packed.starts_with(&[0x1F, 0x8B, 8]) {
            Ok(Self { packed })
        } else {
            Err(NoModule)
        }
    }
}

/// The page.
#[derive(Template)]
#[template(path = "site/judge.html")]
pub(super) struct JudgePage<'a> {
    frame: Frame<'a>,
    edition: Edition,
    editions: [Edition; Edition::ALL.len()],
    /// The name of each decision, and its sign.
    signs: [(&'static str, Sign); Decision::ALL.len()],
    worker: &'static str,
    module: String,
}

impl<'a> JudgePage<'a> {
    pub(super) fn new(module: &Module, frame: Frame<'a>) -> Self {
        Self {
            frame,
            edition: Edition::default(),
            editions: Edition::ALL,
            signs: Decision::ALL.map(|decision| (decision.name(), sign::of_decision(decision))),
            worker: WORKER,
            module: BASE64.encode(&module.packed),
        }
    }
}
