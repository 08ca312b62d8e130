//! Logins with a consumer's credential (KEP-4322 › Push Model via Credentials in Secret).

use std::collections::HashMap;

use evidence::{Evidence, Login, LoginOutcome, LoginWith};

use super::subject::{NO_SECRET, Subject, nothing_found, subjects};
use crate::{
    reasons::NO_SECRET_TRIED,
    shared::member::{Doubts, MISSED, is_joined, stood, versions_at, vouches},
    subjects::{Finding, Findings},
    text::redacted,
};

const PATH: &str = "data.Config.users";

/// `consumers/kubeconfig-works`
///
/// The member accepts the consumer's credential.
pub(in crate::rules) fn kubeconfig_works(evidence: &Evidence, findings: &mut Findings) {
    let mut doubts = Doubts::default();
    for Tried {
        subject,
        login,
        is_missed,
    } in logins(evidence, findings)
    {
        match &login.outcome {
            LoginOutcome::Accepted { .. } => findings.examine(),
            // A member that left may refuse consumers.
            LoginOutcome::Refused { .. } if is_missed => doubts.add(secret(&subject), MISSED),
            LoginOutcome::Refused { code, message } => {
                findings.examine();
                findings.report(
                    Finding::on(subject.secret, "the member rejects the consumer's credential")
                        .at(PATH)
                        .expected("a credential that the member accepts")
                        .observed(redacted(&format!("it answers {code} {message}"))),
                );
            }
            outcome => doubt(evidence, &subject, login, is_missed, outcome, &mut doubts),
        }
    }
    doubts.tell(findings);
}

/// `consumers/least-privilege`
///
/// A consumer's credential does not grant full access to the member.
pub(in crate::rules) fn least_privilege(evidence: &Evidence, findings: &mut Findings) {
    let mut doubts = Doubts::default();
    for Tried {
        subject,
        login,
        is_missed,
    } in logins(evidence, findings)
    {
        match &login.outcome {
            LoginOutcome::Accepted { everything: None, .. } => {
                doubts.add(
                    secret(&subject),
                    "the member does not report the permissions of the credential",
                );
            }
            // A member that left is another rule's matter.
            LoginOutcome::Accepted {
                everything: Some(true),
                ..
            } if is_missed => doubts.add(secret(&subject), MISSED),
            LoginOutcome::Accepted {
                user,
                everything: Some(everything),
            } => {
                findings.examine();
                if *everything {
                    findings.report(
                        Finding::on(subject.secret, "the consumer has full access to the member")
                            .at(PATH)
                            .expected("a user with the rights that the consumer needs")
                            .observed(redacted(&format!("{user}, with every verb on every resource"))),
                    );
                }
            }
            // A user unknown to the member has no rights there.
            LoginOutcome::Refused { .. } => {}
            outcome => doubt(evidence, &subject, login, is_missed, outcome, &mut doubts),
        }
    }
    doubts.tell(findings);
}

/// A login with a judged Secret.
struct Tried<'a> {
    subject: Subject<'a>,
    login: &'a Login,
    /// Whether the watch may have missed that the member was not joined then.
    is_missed: bool,
}

/// The logins with judged Secrets that were tried while the member was, or may have been, joined.
fn logins<'a>(evidence: &'a Evidence, findings: &mut Findings) -> Vec<Tried<'a>> {
    let mut tried: HashMap<(&str, &str), &Login> = HashMap::new();
    for login in &evidence.logins {
        if let LoginWith::Secret(secret) = &login.with {
            tried.insert((&secret.namespace, &secret.name), login);
        }
    }
    let subjects = subjects(evidence);
    match (subjects.is_empty(), tried.is_empty()) {
        (true, _) => nothing_found(evidence, findings, NO_SECRET),
        (false, true) => findings.not_asked(NO_SECRET_TRIED),
        (false, false) => {
            findings.not_applicable("no Secret of a joined member contains a credential that can be tried")
        }
    }
    let login = |subject: Subject<'a>| {
        let login = *tried.get(&(&*subject.secret.namespace, &*subject.secret.name))?;
        let is_missed = is_missed(evidence, &subject, login);
        let histories = subject.profiles.iter().copied();
        let is_judged = is_missed || stood(evidence, histories, login.at, is_joined);
        is_judged.then_some(Tried {
            subject,
            login,
            is_missed,
        })
    };
    subjects.into_iter().filter_map(login).collect()
}

/// Whether the watch missed what the profiles of a Secret were at a login, and shows none that was not joined.
fn is_missed(evidence: &Evidence, subject: &Subject, login: &Login) -> bool {
    let histories = subject.profiles.iter().copied();
    let versions: Vec<_> = histories
        .map(|history| versions_at(evidence, history, login.at))
        .collect();
    let mut seen = versions.iter().flatten().flatten();
    versions.iter().any(Option::is_none) && seen.all(|profile| is_joined(profile))
}

/// Records a login that says nothing about the credential.
fn doubt(
    evidence: &Evidence,
    subject: &Subject,
    login: &Login,
    is_missed: bool,
    outcome: &LoginOutcome,
    doubts: &mut Doubts,
) {
    if let LoginOutcome::Unanswered { reason } = outcome
        && (is_missed || stood(evidence, subject.profiles.iter().copied(), login.at, vouches))
    {
        doubts.add(secret(subject), reason);
    }
}

fn secret(subject: &Subject) -> String {
    format!("Secret {}/{}", subject.secret.namespace, subject.secret.name)
}
