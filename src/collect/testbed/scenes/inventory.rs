//! Which profiles are the consumer's, and what else a profile may say.

use evidence::api::names::{CONDITION_HEALTHY, CONDITION_JOINED};
use serde_json::{Value, json};

use super::super::{
    profile::{Entry, Place, Status},
    session::Session,
};

/// More properties than any other profile has.
const MANY: usize = 150;

/// Profiles of one name in two namespaces, others that the consumer does not select, one whose output would have a name that is
/// taken, one of a member that is not healthy, and one with undefined values.
pub(super) async fn inventory(session: &Session<'_>) {
    let claims = &session.plan.claims;
    let selected = session.place();
    let mut others = claims.namespaces.iter().skip(1);
    if let Some(other) = others.next() {
        place(session, &selected, "namesake", "namesake").await;
        let other = selected.clone().in_namespace(other);
        place(session, &other, "namesake", "other-namesake").await;
    }
    if let Some(unselected) = &session.plan.unselected {
        let elsewhere = selected.clone().in_namespace(unselected);
        place(session, &elsewhere, "elsewhere", "elsewhere").await;
    }
    if !claims.labels.is_empty() {
        let mut unlabelled = selected.clone();
        unlabelled.labels.clear();
        place(session, &unlabelled, "unlabelled", "unlabelled").await;
    }
    if let Some(address) = session.address("unhealthy").await {
        let status = Status::of([Entry::to(session.provider(), &address)]).healthy("False");
        session.publish("unhealthy", &status).await;
    }
    if let Some(address) = session.address("unknown-values").await {
        let status = Status::of([Entry::to(session.provider(), &address)]).with(unknown_values());
        session.publish("unknown-values", &status).await;
    }
}

/// Publishes a profile at a place, of a member of that name.
async fn place(session: &Session<'_>, place: &Place, what: &str, member: &str) {
    if let Some(address) = session.address(member).await {
        let status = Status::of([Entry::to(session.provider(), &address)]);
        session.publish_at(place, what, &status).await;
    }
}

/// An undefined condition, undefined properties, and no version.
fn unknown_values() -> Value {
    let condition = |kind: &str| {
        json!({
            "type": kind, "status": "True", "reason": "Staged", "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        })
    };
    let properties = (0..MANY).map(|number| {
        json!({"name": format!("property-{number}.conformance.example"), "value": number.to_string()})
    });
    json!({
        "version": {},
        "conditions": [
            condition(CONDITION_HEALTHY), condition(CONDITION_JOINED), condition("conformance.example/Undefined"),
        ],
        "properties": properties.collect::<Vec<_>>(),
    })
}
