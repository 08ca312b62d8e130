//! Ratios of this run beside those of the last one, so that a slow creep is seen.
//!
//! `benches/figures.json` keeps the last ones. They change with each machine and each minute, so no test asks for them.

use std::{collections::BTreeMap, env, fs, io};

/// The file that keeps the last ratios.
const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/figures.json");

/// The ratios of a benchmark, each by what was measured beside what.
type Ratios = BTreeMap<String, f64>;

/// What one benchmark measured.
pub struct Figures {
    bench: &'static str,
    now: Ratios,
}

impl Figures {
    /// Those of the benchmark of that name.
    pub fn of(bench: &'static str) -> Self {
        Self {
            bench,
            now: Ratios::new(),
        }
    }

    /// Adds a ratio. `what` names the size of what was measured: other sizes have other ratios.
    pub fn add(&mut self, what: impl Into<String>, ratio: f64) {
        // A file of three digits changes less often.
        self.now.insert(what.into(), (ratio * 1000.0).round() / 1000.0);
    }

    /// Prints each ratio beside the last one. Keeps them as the last ones where `UPDATE` is set.
    ///
    /// # Errors
    /// When the file cannot be read or written.
    pub fn compare(self) -> io::Result<()> {
        let mut kept: BTreeMap<String, Ratios> = match fs::read_to_string(FILE) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => BTreeMap::new(),
            text => serde_json::from_str(&text?)?,
        };
        let last = kept.entry(self.bench.to_owned()).or_default();
        println!("\n{:<64} {:>8} {:>8} {:>8}", "ratios", "last", "now", "times");
        for (what, now) in &self.now {
            match last.get(what) {
                Some(last) => println!("{what:<64} {last:>8.3} {now:>8.3} {:>8.2}", now / last),
                None => println!("{what:<64} {:>8} {now:>8.3} {:>8}", "-", "-"),
            }
        }
        if env::var_os("UPDATE").is_some() {
            last.extend(self.now);
            fs::write(FILE, serde_json::to_string_pretty(&kept)? + "\n")?;
        }
        Ok(())
    }
}
