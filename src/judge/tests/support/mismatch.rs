//! Compares the verdict on an example with the expected one.

use evidence::ReasonId;
use judge::{
    RuleVerdict, Verdict,
    rules::example::{Example, ExpectedFinding, ExpectedVerdict},
};

/// The difference between the verdict on an example and the expected one; none if they agree. `verdict` is none if the
/// example's edition does not have the rule.
pub fn mismatch(example: &Example, verdict: Option<&RuleVerdict>) -> Option<String> {
    let Some(verdict) = verdict else {
        return Some(format!("edition {} does not have the rule", example.edition));
    };
    let nothing_happened = verdict.reason_id() == Some(ReasonId::NothingHappened);
    let is_expected = match (&example.expected_verdict, verdict.verdict) {
        (ExpectedVerdict::Fails { finding, count }, Verdict::Fail | Verdict::Warn) => {
            return other_findings(finding.as_ref(), *count, verdict);
        }
        (ExpectedVerdict::Passes, Verdict::Pass)
        | (ExpectedVerdict::Inconclusive, Verdict::Inconclusive)
        | (ExpectedVerdict::Skipped, Verdict::Skipped) => true,
        (ExpectedVerdict::Inapplicable, Verdict::NotApplicable) => !nothing_happened,
        (ExpectedVerdict::NothingHappened, Verdict::NotApplicable) => nothing_happened,
        _ => false,
    };
    let (reason, findings) = (verdict.reason(), &verdict.findings);
    if !is_expected {
        let (expected, observed) = (&example.expected_verdict, verdict.verdict);
        return Some(format!(
            "expected {expected:?}, got {observed:?} ({reason:?}) with {findings:#?}"
        ));
    }
    let expected = &example.reason;
    (expected.is_some() && *expected != reason).then(|| format!("expected {expected:?}, got {reason:?}"))
}

/// The difference between the findings and the expected ones.
fn other_findings(
    expected: Option<&ExpectedFinding>,
    count: Option<usize>,
    verdict: &RuleVerdict,
) -> Option<String> {
    let findings = &verdict.findings;
    if let Some(expected) = expected
        && !findings.iter().any(|finding| expected.describes(finding))
    {
        return Some(format!("no finding is {expected:#?} among {findings:#?}"));
    }
    let count = count.filter(|count| *count != findings.len())?;
    Some(format!("expected {count} findings, got {findings:#?}"))
}
