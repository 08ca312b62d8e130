//! Tries one credential on its member.

use evidence::LoginOutcome;
use http::StatusCode;
use serde_json::{Value, json};

use super::ask::{Asker, NoAnswer};

const WHO_AM_I: &str = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
const MAY_I: &str = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
/// Whom an API server takes those for who show nothing that it knows.
const NOBODY: &str = "system:anonymous";
/// The user's name where the member does not tell it.
const UNTOLD: &str = "(not told)";

/// Asks the member whether it knows who asks, and what that user may do.
pub(super) async fn login(asker: &Asker) -> LoginOutcome {
    let question = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"});
    match asker.review(WHO_AM_I, &question).await {
        Ok(answer) => {
            let user = asker.clean.words(
                answer["status"]["userInfo"]["username"]
                    .as_str()
                    .unwrap_or(UNTOLD),
            );
            if user == NOBODY {
                refused(&format!("Unauthorized: it takes the bearer for {NOBODY}"))
            } else {
                LoginOutcome::Accepted {
                    user,
                    everything: everything(asker).await.ok(),
                }
            }
        }
        Err(NoAnswer::Refused(StatusCode::UNAUTHORIZED)) => refused("Unauthorized"),
        // Older members know no such question, and some do not let everybody ask it.
        Err(NoAnswer::Refused(StatusCode::NOT_FOUND | StatusCode::FORBIDDEN)) => by_rights(asker).await,
        Err(no) => unanswered(&no),
    }
}

/// The same of a member that does not tell who asks: it tells the rights of those whom it knows.
async fn by_rights(asker: &Asker) -> LoginOutcome {
    match everything(asker).await {
        Ok(everything) => LoginOutcome::Accepted {
            user: UNTOLD.to_owned(),
            everything: Some(everything),
        },
        Err(NoAnswer::Refused(StatusCode::UNAUTHORIZED)) => refused("Unauthorized"),
        Err(no) => unanswered(&no),
    }
}

/// Whether the user may do everything to everything.
async fn everything(asker: &Asker) -> Result<bool, NoAnswer> {
    let question: Value = json!({
        "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": {"verb": "*", "group": "*", "version": "*", "resource": "*"}},
    });
    let answer = asker.review(MAY_I, &question).await?;
    let allowed = answer["status"]["allowed"].as_bool();
    allowed.ok_or_else(|| NoAnswer::Silent("what the member answered cannot be read".to_owned()))
}

fn refused(message: &str) -> LoginOutcome {
    LoginOutcome::Refused {
        code: 401,
        message: message.to_owned(),
    }
}

fn unanswered(no: &NoAnswer) -> LoginOutcome {
    LoginOutcome::Unanswered {
        reason: no.describe("create on selfsubjectreviews"),
    }
}
