//! What a server is made of, as handlers reach it.

use std::{
    fmt,
    sync::atomic::{AtomicU64, Ordering},
};

use jiff::Timestamp;
use parking_lot::{Mutex, MutexGuard};
use ring::digest::{SHA256, digest};
use tokio::sync::watch;

use crate::{
    about::{audit_log::AuditLog, health::About, metrics::Metrics, misbehaviour::Faults},
    access::user::Users,
    clock::Clock,
    store::{builtin, storage::Storage},
};

/// What a server is made of.
pub(crate) struct State {
    clock: Clock,
    storage: Mutex<Storage>,
    pub(crate) users: Users,
    pub(crate) audit: Mutex<AuditLog>,
    pub(crate) faults: Faults,
    pub(crate) about: Mutex<About>,
    pub(crate) metrics: Metrics,
    /// Counts up when all open watches are to end.
    pub(crate) drops: watch::Sender<u64>,
    serial: AtomicU64,
}

impl State {
    /// A server that serves its own kinds and holds no object.
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
            metrics: Metrics::default(),
            drops: watch::Sender::new(0),
            serial: AtomicU64::new(0),
        }
    }

    pub(crate) fn storage(&self) -> MutexGuard<'_, Storage> {
        self.storage.lock()
    }

    /// The present moment by the server's own, possibly skewed, clock.
    pub(crate) fn now(&self) -> Timestamp {
        let now = self.clock.now();
        now.saturating_add(self.faults.skew()).unwrap_or(now)
    }

    /// The present moment as objects tell it: in seconds.
    pub(crate) fn time(&self) -> String {
        self.time_in(0)
    }

    /// The moment so many seconds from now, as objects tell it.
    pub(crate) fn time_in(&self, seconds: i64) -> String {
        let seconds = self.now().as_second().saturating_add(seconds);
        let moment = Timestamp::from_second(seconds).unwrap_or_default();
        moment.to_string()
    }

    /// A new UID. Each world deals the same ones in the same order, so that runs can be compared.
    pub(crate) fn new_uid(&self) -> String {
        let mut bytes = self.random();
        // These bits say that it was made by chance.
        bytes[6] = bytes[6] & 0x0f | 0x40;
        bytes[8] = bytes[8] & 0x3f | 0x80;
        let hex = format!("{:032x}", u128::from_be_bytes(bytes));
        [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
    }

    /// Five characters for generated names.
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

/// Short: objects and tokens are no part of it.
impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("State")
            .field("clock", &self.clock)
            .finish_non_exhaustive()
    }
}
