//! Tampers with profiles of members that the run joined itself, and watches whether the implementation restores them.

use evidence::{
    Change, DriverAction, DriverStep, ObjectKey, ObjectRef, Scenario, StepOutcome,
    api::{ClusterProfile, ObjectKind, names},
};

use super::with_member::{NO_PROFILE, with_member};
use crate::{
    connect::failure::Failure,
    driver::{
        answers,
        hooks::Called,
        journal::{FieldUndo, UndoEntry},
        scenario_member::ScenarioMember,
        session::{STOPPED, Session},
        writes::NotOurs,
    },
    watch::record::Record,
};

/// A version that no member has, and that every schema takes.
const UNTRUE: &str = "v0.0.1";

/// Why a profile cannot be tampered with.
#[derive(Debug, thiserror::Error)]
enum NotTampered {
    #[error("{NO_PROFILE}")]
    NoProfile,
    #[error(transparent)]
    NotOurs(#[from] NotOurs),
    #[error("the profile tells no version that could be made untrue")]
    NoVersion,
    #[error("the profile has no manager label that could be removed")]
    NoLabel,
}

/// A profile is deleted. It may come back under another name.
pub(super) async fn delete_profile(session: &Session<'_>) {
    with_member(session, Scenario::Tampering, async |member, _| {
        let mut step = member.begin(session, DriverAction::DeleteProfile);
        let profile = match ours(session, &step) {
            Ok(profile) => profile,
            Err(reason) => {
                session.skip_step(step, reason);
                return;
            }
        };
        let deleted = session.writes.delete(ObjectKind::ClusterProfile, &profile).await;
        session.did(&mut step, called(deleted));
        if step.outcome == StepOutcome::Done {
            member.forget_profile();
        }
        session
            .look(&mut step, |record| member.find(session, record).is_some())
            .await;
        member.end(session, step);
    })
    .await;
}

/// A field is changed: the version, the manager label, or the display name.
pub(super) async fn change_field(session: &Session<'_>, action: DriverAction) {
    with_member(session, Scenario::Tampering, async |member, _| {
        let mut step = member.begin(session, action);
        let planned = ours(session, &step).and_then(|_| {
            let record = session.record();
            let profile = member.profile(&record).ok_or(NotTampered::NoProfile)?;
            field(action, profile, &session.plan.run)
        });
        let (path, change) = match planned {
            Ok(planned) => planned,
            Err(reason) => {
                session.skip_step(step, reason);
                return;
            }
        };
        step.change = Some(Change {
            path,
            before: change.before.clone(),
            after: change.after.clone(),
        });
        let undo = match session.record_undo(UndoEntry::Field(change.clone())) {
            Ok(undo) => undo,
            Err(reason) => {
                session.skip_step(step, reason);
                return;
            }
        };
        let written = write(session, &mut step, &change).await;
        // What is to be kept is kept only if it is to the end.
        let keeps = action == DriverAction::SetDisplayName;
        session
            .look(&mut step, |record| {
                !keeps
                    && member
                        .profile(record)
                        .is_some_and(|profile| is_right(action, profile, &change))
            })
            .await;
        member.end(session, step);
        if written {
            set_back(session, member, action, &change, undo).await;
        } else {
            session.undone(undo);
        }
    })
    .await;
}

/// The profile of the step's member, where it may be written to.
fn ours(session: &Session<'_>, step: &DriverStep) -> Result<ObjectRef, NotTampered> {
    let profile = step.profile.clone().ok_or(NotTampered::NoProfile)?;
    session.writes.check(&profile)?;
    Ok(profile)
}

/// Which field is changed, and how.
fn field(
    action: DriverAction,
    profile: &ClusterProfile,
    run: &str,
) -> Result<(String, FieldUndo), NotTampered> {
    let profile_ref = ObjectRef::from(profile);
    let change = |pointer: &str, before: Option<&str>, after: Option<&str>| FieldUndo {
        profile: ObjectKey::from(&profile_ref),
        uid: profile_ref.uid.clone(),
        status: action == DriverAction::TamperStatus,
        pointer: pointer.to_owned(),
        before: before.map(str::to_owned),
        after: after.map(str::to_owned),
    };
    match action {
        DriverAction::TamperStatus => match answers::version(profile) {
            Some(version) => Ok((
                "status.version.kubernetes".to_owned(),
                change("/status/version/kubernetes", Some(version), Some(UNTRUE)),
            )),
            None => Err(NotTampered::NoVersion),
        },
        DriverAction::RemoveLabel => match profile.label(names::LABEL_MANAGER) {
            Some(manager) => Ok((
                format!("metadata.labels[{}]", names::LABEL_MANAGER),
                change(
                    &format!("/metadata/labels/{}", names::LABEL_MANAGER.replace('/', "~1")),
                    Some(manager),
                    None,
                ),
            )),
            None => Err(NotTampered::NoLabel),
        },
        _ => Ok((
            "spec.displayName".to_owned(),
            change(
                "/spec/displayName",
                profile.spec.display_name.as_deref(),
                Some(&format!("set by conformance run {run}")),
            ),
        )),
    }
}

/// Makes the change, and waits until the watch has brought it. Gives whether it may have been made.
async fn write(session: &Session<'_>, step: &mut DriverStep, change: &FieldUndo) -> bool {
    if session.stop.is_cancelled() {
        session.did(step, Called::failed(STOPPED));
        return false;
    }
    match session.writes.set(change).await {
        Ok(version) => {
            session.did(step, Called::done());
            session
                .delivered(&session.context.record, &change.uid, &version)
                .await;
            true
        }
        Err(failure) => {
            session.did(step, Called::failed(failure.to_string()));
            // A hub that does not answer may have done it.
            failure.may_pass()
        }
    }
}

/// Whether the field is as it should be.
fn is_right(action: DriverAction, profile: &ClusterProfile, change: &FieldUndo) -> bool {
    let now = match action {
        DriverAction::TamperStatus => answers::version(profile),
        _ => profile.label(names::LABEL_MANAGER),
    };
    now.is_some() && now != change.after.as_deref()
}

/// What the implementation has not set right, the run sets back itself. A display name in any case.
async fn set_back(
    session: &Session<'_>,
    member: &ScenarioMember,
    action: DriverAction,
    change: &FieldUndo,
    undo: Option<u64>,
) {
    let right = |record: &Record| {
        let now = member.profile(record);
        now.is_none_or(|profile| action != DriverAction::SetDisplayName && is_right(action, profile, change))
    };
    let is_right = right(&session.record());
    let undone = if is_right {
        Ok(())
    } else {
        session.writes.set_back(change).await
    };
    match undone {
        Ok(()) => session.undone(undo),
        Err(failure) => session.report_leftover(format!(
            "{} of ClusterProfile {}/{} is still as the run has changed it: {}",
            change.pointer, change.profile.namespace, change.profile.name, failure
        )),
    }
}

/// A write as what came of a call.
pub(super) fn called(outcome: Result<(), Failure>) -> Called {
    match outcome {
        Ok(()) => Called::done(),
        Err(failure) => Called::failed(failure.to_string()),
    }
}
