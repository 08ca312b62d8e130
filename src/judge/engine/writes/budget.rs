//! Whether writes stay within a token bucket, the findings if they do not (who wrote, how often, and which fields), and the
//! budget of a profile write by write, for reports.

use std::fmt;

use super::{CountedWrites, ObjectWrite, Value, Writes, WritesByAuthor, by_name::writes_by_name};
use crate::{
    engine::{author::is_part_of, prelude::*},
    time::{Bucket, skew},
};

/// The bucket's capacity: the maximum burst of writes to one object (KEP-4322 › Scalability implication).
pub const BURST: i64 = 10;

/// Seconds until one more write becomes available.
pub const REFILL_SECONDS: i64 = 30;

/// The bucket that the documents allow each object.
pub(crate) const BUDGET: Bucket = Bucket {
    burst: BURST,
    refill: REFILL_SECONDS * SECOND,
    at_least: 0,
};

/// The maximum number of spans in a finding.
const LISTED_SPANS: usize = 3;

/// The reason if writes seem to overdraw the bucket, and may have been slower.
const TIMES_TOO_COARSE: Reason =
    Reason::unknown("the writes may exceed the budget, but their times are not exact enough");

impl<'e, T: Judged> Writes<'_, 'e, T> {
    /// Broken if the implementation's writes overdraw a bucket, whenever they took place. `noun` names them in the plural,
    /// and `path` is the field that they change.
    pub(crate) fn within(&self, bucket: Bucket, noun: &str, path: &str) -> Answer {
        if !is_likely_overdrawn(bucket, self.all()) {
            return self.unless_missed(Answer::Kept);
        }
        let WritesByAuthor { own, unknown } = self.by_author();
        let edges: Vec<Edge> = own.iter().map(|write| write.at).collect();
        let overdrafts = bucket.overdrafts(&edges);
        if let Some(worst) = overdrafts.first() {
            let spans = overdrafts.iter().take(LISTED_SPANS);
            let spans = spans.map(|draw| self.span(&own[draw.first..=draw.last], noun));
            let longest = edges[worst.last].latest - edges[worst.first].earliest;
            let reported = own[worst.last].reported - own[worst.first].reported;
            let finding = Finding::at_field(path, spans.collect::<Vec<String>>().join("; "));
            return Answer::broken(finding.expected(allowance(bucket, longest, reported)));
        }
        if is_likely_overdrawn(bucket, own.iter().copied()) {
            return Answer::Unknown(TIMES_TOO_COARSE);
        }
        let mut possible = own;
        possible.extend(unknown.iter().map(|(write, _)| *write));
        possible.sort_by_key(|write| write.likely_at.latest);
        match unknown.into_iter().next() {
            Some((_, reason)) if is_likely_overdrawn(bucket, possible) => Answer::Unknown(reason),
            _ => self.unless_missed(Answer::Kept),
        }
    }

    /// Kept if the changes of each value, by its path, stay within a budget.
    pub(crate) fn values_within(&self, bucket: Bucket, values: fn(&T) -> Vec<Value>) -> Answer {
        if !self.versions().any(|object| !values(object).is_empty()) {
            return Answer::NotApplicable;
        }
        let answer = Answer::each(self.changes(values), |(path, changes)| {
            changes.within(bucket, "changes", &path)
        });
        self.unless_missed(answer.or_kept())
    }

    /// The implementation's writes in a span, in words.
    fn span(&self, writes: &[&ObjectWrite<'e, T>], noun: &str) -> String {
        let (from, until) = (writes[0].reported, writes[writes.len() - 1].reported);
        format!(
            "{} {noun} in {} s, from {} on: {}",
            writes.len(),
            whole_seconds(until - from),
            timestamp(from),
            self.tally(writes)
        )
    }

    /// Writes by their writers, with the fields that they changed.
    pub(crate) fn tally(&self, writes: &[&ObjectWrite<'e, T>]) -> WriterTallies {
        let mut tally = WriterTallies::default();
        for write in writes {
            match (write.request, write.versions()) {
                (Some(request), _) => tally.add_request(request),
                (None, Some(_)) => {
                    let fields = write.changed_fields().iter().cloned();
                    tally.add(listed(&self.author(write).names), fields);
                }
                (None, None) => {}
            }
        }
        tally
    }

    /// Broken if the implementation sent several writes that changed nothing. A single one may be a retry after a lost response.
    pub(crate) fn each_changes_something(&self, path: &str) -> Answer {
        let effect = |write: &ObjectWrite<'e, T>| write.request.and_then(|request| request.changed);
        let WritesByAuthor { mut own, mut unknown } = self.by_author();
        own.retain(|write| effect(write).is_some());
        unknown.retain(|(write, _)| effect(write).is_some());
        if own.is_empty() && unknown.is_empty() {
            return Answer::NotApplicable;
        }
        let count = own.len();
        own.retain(|write| effect(write) == Some(false));
        unknown.retain(|(write, _)| effect(write) == Some(false));
        let may_be_broken = own.len() + unknown.len() > 1;
        match (own.len(), unknown.into_iter().next()) {
            (0 | 1, Some((_, reason))) if may_be_broken => Answer::Unknown(reason),
            (0, _) => Answer::Kept,
            (1, _) => Answer::warning(empty_writes(&own, count, path)),
            _ => Answer::broken(empty_writes(&own, count, path)),
        }
    }
}

/// The finding on writes that changed nothing, of a number of writes in all.
fn empty_writes<T>(empty: &[&ObjectWrite<T>], count: usize, path: &str) -> Finding {
    let requests = empty.iter().filter_map(|write| write.request);
    let users = listed(&requests.map(|request| &*request.user).collect());
    let (number, first) = (empty.len(), timestamp(empty[0].reported));
    let observed = format!("{number} of {count} writes by {users} changed nothing, first at {first}");
    Finding::at_field(path, observed)
}

/// Whether writes overdraw a bucket if nothing was late and no clock was wrong.
fn is_likely_overdrawn<'w, 'e: 'w, T: 'e>(
    bucket: Bucket,
    writes: impl IntoIterator<Item = &'w ObjectWrite<'e, T>>,
) -> bool {
    let edges: Vec<Edge> = writes.into_iter().map(|write| write.likely_at).collect();
    bucket.draws(&edges).any(|draw| draw.is_too_much())
}

/// What a bucket allows in a span that is reported as some other length.
fn allowance(bucket: Bucket, span: Micros, reported: Micros) -> String {
    format!(
        "at most {} in {} s ({} at once, one more every {} s)",
        bucket.allowed(span),
        whole_seconds(reported),
        bucket.burst,
        bucket.refill / SECOND
    )
}

/// Rounds up to at least one second, so that a statement about the span stays true.
fn whole_seconds(span: Micros) -> i64 {
    (span.max(1) + SECOND - 1) / SECOND
}

/// The maximum number of writers, and of fields of each, that a finding lists.
const MOST: usize = 3;

/// The name of a writer that the evidence does not show.
const UNKNOWN: &str = "an unknown writer";

/// Writes by their writers. Its text follows a number of writes, for example `3 by m (status.version each time)`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct WriterTallies(BTreeMap<String, WriterTally>);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct WriterTally {
    count: usize,
    /// How often each field was written, if the evidence shows it.
    fields: BTreeMap<String, usize>,
}

impl WriterTallies {
    pub(crate) fn add_request(&mut self, request: &Request) {
        self.add(redacted(&request.user), patch_fields(request));
    }

    pub(crate) fn add(&mut self, by: String, fields: impl IntoIterator<Item = String>) {
        let by = if by.is_empty() { UNKNOWN.to_owned() } else { by };
        let writes = self.0.entry(by).or_default();
        writes.count += 1;
        for field in fields {
            *writes.fields.entry(field).or_default() += 1;
        }
    }
}

/// The fields that a patch names. An update or an apply names all fields of its sender, changed or not.
fn patch_fields(request: &Request) -> BTreeSet<String> {
    let is_of_status = &*request.subresource == "status";
    let body = request.body.iter().filter(|_| &*request.verb == "patch");
    let body = body.filter(|body| body.parts.iter().all(|part| part != "metadata.name"));
    let parts = body.flat_map(|body| &body.parts);
    let parts = parts.filter(|part| !is_of_status || is_part_of(part, "status"));
    parts.map(|part| redacted(part)).collect()
}

impl fmt::Display for WriterTallies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut writers: Vec<_> = self.0.iter().collect();
        writers.sort_by_key(|(_, writes)| usize::MAX - writes.count);
        let texts = writers
            .iter()
            .map(|(by, writes)| format!("{} by {by}{writes}", writes.count));
        f.write_str(&first_of(texts, "writer"))
    }
}

impl fmt::Display for WriterTally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.fields.is_empty() {
            return Ok(());
        }
        let mut fields: Vec<_> = self.fields.iter().collect();
        fields.sort_by_key(|(_, count)| usize::MAX - **count);
        let texts = fields.iter().map(|(field, count)| {
            let times = if **count == self.count {
                "each time".to_owned()
            } else {
                counted(*count, "time")
            };
            format!("{field} {times}")
        });
        write!(f, " ({})", first_of(texts, "field"))
    }
}

/// The first few texts, and how many more things there are.
fn first_of(texts: impl ExactSizeIterator<Item = String>, noun: &str) -> String {
    let more = texts.len().saturating_sub(MOST);
    let mut texts: Vec<String> = texts.take(MOST).collect();
    if more > 0 {
        texts.push(counted(more, &format!("more {noun}")));
    }
    texts.join(", ")
}

/// The known budgets of a hub's profiles, by namespace and name.
pub struct Spendings<'e>(HashMap<(&'e str, &'e str), Vec<Spending>>);

/// One profile's bucket, from its creation (or the first evidence) to its end.
#[derive(Clone, Debug, PartialEq)]
pub struct Spending {
    /// The evidence of the writes.
    pub source: WriteSource,
    /// The writes, in order.
    pub draws: Vec<Draw>,
}

/// One status write, and the balance after it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Draw {
    /// When it was reported, by the runner's clock.
    pub at: Timestamp,
    /// Best possible number of writes left by the times that are known: at most [`BURST`](crate::rules::BURST); negative if
    /// overdrawn.
    pub left: f64,
}

/// The evidence of writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteSource {
    /// The audit log: all writes.
    AuditLog,
    /// The watch: writes that change something.
    Watch,
}

impl<'e> Spendings<'e> {
    /// Reads the status writes of the implementation, from the source that the rule uses.
    pub fn of(evidence: &'e Evidence) -> Self {
        let hub = Hub::of(evidence);
        let mut spendings: HashMap<(&str, &str), Vec<Spending>> = HashMap::default();
        for writes_to_name in writes_by_name::<ClusterProfile>(&hub, CountedWrites::Status) {
            let buckets = spendings.entry(writes_to_name.name).or_default();
            for writes in writes_to_name.of_each_object(CountedWrites::Status) {
                buckets.push(Spending {
                    source: writes.source,
                    draws: draws(&writes),
                });
            }
            buckets.retain(|spending| !spending.draws.is_empty());
        }
        Self(spendings)
    }

    /// The buckets of the profiles with one name, one after the other, without those that were never written.
    pub fn of_profile(&self, namespace: &'e str, name: &'e str) -> &[Spending] {
        self.0.get(&(namespace, name)).map_or(&[], Vec::as_slice)
    }
}

/// The implementation's writes, and the balance of the budget after each.
fn draws(writes: &Writes<'_, '_, ClusterProfile>) -> Vec<Draw> {
    let ahead = match writes.source {
        WriteSource::AuditLog => skew(writes.writes_to_name.hub.evidence),
        WriteSource::Watch => 0,
    };
    let WritesByAuthor { own, .. } = writes.by_author();
    let edges: Vec<Edge> = own.iter().map(|write| write.at).collect();
    let draws = BUDGET.draws(&edges).map(|draw| Draw {
        at: timestamp(own[draw.last].reported - ahead),
        left: draw.left as f64 / BUDGET.refill as f64,
    });
    draws.collect()
}

impl Spending {
    /// Whether a write overdraws the bucket.
    pub fn is_overdrawn(&self) -> bool {
        self.draws.iter().any(Draw::is_too_much)
    }
}

impl Draw {
    /// Whether it overdraws the bucket.
    pub fn is_too_much(&self) -> bool {
        self.left < 0.0
    }
}

impl WriteSource {
    /// A note on the evidence of a budget rule.
    pub(super) fn note(self) -> &'static str {
        match self {
            Self::AuditLog => "judged from the audit log, which has every write",
            Self::Watch => "judged from the watch, which shows writes that change something",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::{self, example::Example};

    fn tally(writes: &[(&str, &[&str])]) -> String {
        let mut tally = WriterTallies::default();
        for (by, fields) in writes {
            tally.add((*by).to_owned(), fields.iter().map(|field| (*field).to_owned()));
        }
        tally.to_string()
    }

    #[test]
    fn writers_are_listed_with_their_fields() {
        let writes: [(&str, &[&str]); 3] = [
            ("m", &["status.version"]),
            ("m", &["status.version", "status.conditions"]),
            ("", &["metadata.labels[tier]"]),
        ];
        assert_eq!(
            tally(&writes),
            "2 by m (status.version each time, status.conditions 1 time), 1 by an unknown writer \
             (metadata.labels[tier] each time)"
        );
        let of_five = ["u0", "u1", "u2", "u3", "u4"].map(|user| (user, &[][..]));
        assert_eq!(tally(&of_five), "1 by u0, 1 by u1, 1 by u2, 2 more writers");
    }

    /// The drawing agrees with the verdict: the profiles with a finding are those with an overdrawn bucket.
    #[test]
    fn is_overdrawn_where_the_rule_reports_a_violation() {
        let judge = rules::find("updates/status-writes-within-budget").expect("the rule");
        let (mut complaints, mut buckets) = (0, 0);
        for rule in rules::all().iter().filter(|rule| rule.suite() == "updates") {
            for example in Example::of(rule).expect("examples") {
                let evidence = example.evidence();
                let findings = judge.findings(evidence);
                let spendings = Spendings::of(evidence);
                for history in evidence.histories() {
                    let metadata = &history.last().metadata;
                    let of_profile = spendings.of_profile(&metadata.namespace, &metadata.name);
                    let is_reported = findings.list().iter().any(|finding| {
                        *finding.object.name == *metadata.name
                            && *finding.object.namespace == *metadata.namespace
                    });
                    assert_eq!(
                        of_profile.iter().any(Spending::is_overdrawn),
                        is_reported,
                        "{}: {}",
                        rule.id,
                        metadata.name
                    );
                    complaints += usize::from(is_reported);
                    buckets += of_profile.len();
                }
            }
        }
        assert!(complaints > 3 && buckets > 30, "{complaints} of {buckets}");
    }
}
