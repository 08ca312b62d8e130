//! What Prometheus scrapes.

use std::collections::BTreeMap;

use judge::{Decision, Verdict};
use prometheus::{Counter, CounterVec, Gauge, GaugeVec, Opts, Registry, TextEncoder, core::Collector};

use super::{
    figures::{Owner, PREFIX},
    status::Shown,
};

/// The labels of what is divided by owner. `namespace` would be that of the scraped Pod.
const OWNER: [&str; 2] = ["inventory_namespace", "cluster_manager"];

/// Writes the metrics in Prometheus' text format.
///
/// # Errors
/// When a metric is invalid.
pub fn expose(shown: &Shown) -> prometheus::Result<String> {
    let metrics = Metrics(Registry::new());
    metrics.of_itself(shown)?;
    metrics.of_the_watch(shown)?;
    if shown.is_fresh() {
        metrics.of_the_judgement(shown)?;
    }
    TextEncoder::new().encode_to_string(&metrics.0.gather())
}

struct Metrics(Registry);

impl Metrics {
    fn add(&self, metric: impl Collector + Clone + 'static) -> prometheus::Result<()> {
        self.0.register(Box::new(metric))
    }

    fn gauge(&self, name: &str, help: &str, value: f64) -> prometheus::Result<()> {
        let gauge = Gauge::with_opts(options(name, help))?;
        gauge.set(value);
        self.add(gauge)
    }

    fn counter(&self, name: &str, help: &str, value: f64) -> prometheus::Result<()> {
        let counter = Counter::with_opts(options(name, help))?;
        counter.inc_by(value.max(0.0));
        self.add(counter)
    }

    /// The process.
    fn of_itself(&self, shown: &Shown) -> prometheus::Result<()> {
        let build = GaugeVec::new(
            options(
                "build_info",
                "The suite's version, and the edition that it judges by.",
            ),
            &["version", "edition"],
        )?;
        build
            .with_label_values(&[env!("CARGO_PKG_VERSION"), &shown.edition])
            .set(1.0);
        self.add(build)?;
        self.add(shown.times.clone())
    }

    /// The watch, and what it costs the hub.
    fn of_the_watch(&self, shown: &Shown) -> prometheus::Result<()> {
        let up = "1 if the watch of the hub goes on.";
        self.gauge("watch_up", up, f64::from(shown.watches()))?;
        let fresh = "1 if the verdicts are those of the hub as it is now. Otherwise they are not exported.";
        self.gauge("verdicts_fresh", fresh, f64::from(shown.is_fresh()))?;
        self.counter(
            "watch_gap_seconds_total",
            "For how many seconds the watch of the profiles was interrupted.",
            shown.gap_seconds,
        )?;
        self.counter(
            "hub_requests_total",
            "Requests to the hub.",
            shown.traffic.requests as f64,
        )?;
        self.counter(
            "hub_response_bytes_total",
            "Bytes in the hub's answers.",
            shown.traffic.bytes as f64,
        )?;
        if let Some(measured) = &shown.measured {
            let held = "Versions of objects that the window holds.";
            self.gauge("versions", held, measured.versions as f64)?;
        }
        if let Some(judged_at) = shown.judged_at {
            self.gauge(
                "last_judged_timestamp_seconds",
                "When the hub was judged last, as seconds since 1970.",
                judged_at.as_microsecond() as f64 / 1e6,
            )?;
        }
        let writes = "Status writes on profiles that changed something, since the process began.";
        let writes = CounterVec::new(options("status_writes_total", writes), &OWNER)?;
        self.add(by_owner(writes, &shown.writes, |count| *count as f64))?;
        self.counter(
            "status_writes_dropped_total",
            "Status writes that are not in the metric of status writes, as it has too many series.",
            shown.writes_dropped as f64,
        )
    }

    /// The verdicts.
    fn of_the_judgement(&self, shown: &Shown) -> prometheus::Result<()> {
        let figures = &shown.figures;
        let decisions = GaugeVec::new(
            options(
                "decision",
                "1 for the decision on the implementation, 0 for the others.",
            ),
            &["decision"],
        )?;
        for decision in Decision::ALL {
            let is_it = figures.decision == Some(decision);
            decisions
                .with_label_values(&[decision.name()])
                .set(f64::from(is_it));
        }
        self.add(decisions)?;
        let verdicts = GaugeVec::new(
            options("rule_verdict", "1 for the verdict on the rule, 0 for the others."),
            &["rule", "level", "verdict"],
        )?;
        for (rule, level, verdict) in &figures.verdicts {
            for other in Verdict::ALL {
                let labels = [rule, level.name(), other.name()];
                verdicts
                    .with_label_values(&labels)
                    .set(f64::from(other == *verdict));
            }
        }
        self.add(verdicts)?;
        let findings = GaugeVec::new(
            options(
                "findings",
                "Findings that are not waived, by what they come to: `fail` breaks the rule, the others do not. Only \
                 findings have a series.",
            ),
            &["rule", "level", "verdict", OWNER[0], OWNER[1]],
        )?;
        for (broken, count) in &figures.findings {
            let owner = &broken.owner;
            let labels = [
                broken.rule,
                broken.level.name(),
                broken.verdict.name(),
                &owner.namespace,
                &owner.manager,
            ];
            findings.with_label_values(&labels).set(*count as f64);
        }
        self.add(findings)?;
        self.gauge(
            "findings_dropped",
            "Findings that are not in the metric of findings, as it has too many series.",
            figures.findings_dropped as f64,
        )?;
        self.gauge(
            "profiles_dropped",
            "Profiles that are not in the metric of profiles, as it has too many series.",
            figures.dropped as f64,
        )?;
        let profiles = GaugeVec::new(options("profiles", "Profiles on the hub."), &OWNER)?;
        self.add(by_owner(profiles, &figures.profiles, |count| *count as f64))?;
        let tokens = "Status writes that the emptiest bucket had left within the window; negative if it was overdrawn. \
                      Measured once a minute.";
        let tokens = GaugeVec::new(options("status_write_tokens", tokens), &OWNER)?;
        self.add(by_owner(tokens, &figures.tokens, |left| *left))
    }
}

/// Gives a metric its values.
fn by_owner<V: ByOwner, T>(metric: V, values: &BTreeMap<Owner, T>, value: impl Fn(&T) -> f64) -> V {
    for (owner, of_owner) in values {
        metric.put(&[&owner.namespace, &owner.manager], value(of_owner));
    }
    metric
}

/// A metric that is divided by owner.
trait ByOwner {
    fn put(&self, labels: &[&str], value: f64);
}

impl ByOwner for GaugeVec {
    fn put(&self, labels: &[&str], value: f64) {
        self.with_label_values(labels).set(value);
    }
}

impl ByOwner for CounterVec {
    fn put(&self, labels: &[&str], value: f64) {
        self.with_label_values(labels).inc_by(value);
    }
}

fn options(name: &str, help: &str) -> Opts {
    Opts::new(format!("{PREFIX}_{name}"), help)
}
