//! The server's state, which handlers get.

use std::{
    fmt,
    sync::atomic::{AtomicU64, Ordering},
};

use jiff::Timestamp;
use parking_lot::{Mutex, MutexGuard};
use ring::digest::{SHA256, digest};
use tokio::sync::watch;

use crate::{
    about::{audit_log::AuditLog, health::About, misbehaviour::Faults},
    access::user::Users,
    clock::Clock,
    store::{builtin, storage::Storage},
};

/// The server's state.
pub(crate) struct State {
    clock: Clock,
    storage: Mutex<Storage>,
    pub(crate) users: Users,
    pub(crate) audit: Mutex<AuditLog>,
    pub(crate) faults: Faults,
    pub(crate) about: Mutex<About>,
    /// Incremented to end all open watches.
    pub(crate) drops: watch::Sender<u64>,
    serial: AtomicU64,
}

impl State {
    /// The state of a server with the built-in resources and no objects.
    pub(crate) fn new(clock: Clock) -> Self {
        let mut storage = Storage::default();
        for resource in builtin::resources() {
            storage.serve(resource);
        }
        Self {
            clock,
            storage: Mutex::new(storage),
            users: Users::default(),
            audit: Mutex::default(),
            faults: Faults::default(),
            about: Mutex::default(),
            drops: watch::Sender::new(0),
            serial: AtomicU64::new(0),
        }
    }

    pub(crate) fn storage(&self) -> MutexGuard<'_, Storage> {
        self.storage.lock()
    }

    /// The current time by the server's clock, which may be skewed.
    pub(crate) fn now(&self) -> Timestamp {
        let now = self.clock.now();
        now.saturating_add(self.faults.skew()).unwrap_or(now)
    }

    /// The current time in objects: with seconds.
    pub(crate) fn time(&self) -> String {
        self.time_in(0)
    }

    /// The time in so many seconds, as objects show it.
    pub(crate) fn time_in(&self, seconds: i64) -> String {
        let seconds = self.now().as_second().saturating_add(seconds);
        let moment = Timestamp::from_second(seconds).unwrap_or_default();
        moment.to_string()
    }

    /// A new UID. Every server makes the same sequence, so that runs can be compared.
    pub(crate) fn new_uid(&self) -> String {
        let mut bytes = self.random();
        // Version 4, RFC 4122.
        bytes[6] = bytes[6] & 0x0f | 0x40;
        bytes[8] = bytes[8] & 0x3f | 0x80;
        let hex = format!("{:032x}", u128::from_be_bytes(bytes));
        [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
    }

    /// A random suffix for generated names.
    pub(crate) fn name_suffix(&self) -> String {
        const ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
        let letter = |byte: &u8| char::from(ALPHABET[usize::from(*byte) % ALPHABET.len()]);
        self.random()[..5].iter().map(letter).collect()
    }

    fn random(&self) -> [u8; 16] {
        let serial = self.serial.fetch_add(1, Ordering::Relaxed);
        let digest = digest(&SHA256, &serial.to_be_bytes());
        std::array::from_fn(|i| digest.as_ref()[i])
    }
}

/// Omits objects and tokens.
impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("State")
            .field("clock", &self.clock)
            .finish_non_exhaustive()
    }
}
