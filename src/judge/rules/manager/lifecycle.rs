//! The suite `lifecycle`: profiles when members join, after tampering, and after a restart of the manager.

use crate::{
    engine::{
        Guarded, Untouched, change::text_at, first_different, in_the_end, next_action_on, nothing_appeared,
        object_named, within,
    },
    rules::prelude::*,
};

/// `lifecycle/join-creates-profile`: after a member joined, there is a profile that the driver recognizes as its own.
pub(crate) fn join_creates_profile(driver_step: &DriverStep, hub: &Hub) -> Answer {
    if driver_step.profile.is_some() {
        let absence = |_: Option<&_>| Finding::at_field("metadata.name", "none").expected("a profile");
        let answer = |step: ProfileStep| step.expect(|profile| profile.is_some(), absence);
        return ProfileStep::of(hub, driver_step).map_or_else(Answer::Unknown, answer);
    }
    // The driver recognized no profile of the member.
    if let Err(reason) = nothing_appeared(hub, driver_step) {
        return Answer::Unknown(reason);
    }
    let member = object_named(KIND, ("", &driver_step.member));
    let finding = Finding::at_field_of(member, "metadata.name", in_the_end(driver_step, "none"));
    Answer::broken(finding.expected(within(driver_step, "a profile")))
}

/// `lifecycle/join-fills-status`: after a member joined, its profile has a version, Joined True, ControlPlaneHealthy
/// and, in edition standard, endpoints.
pub(crate) fn join_fills_status(step: &ProfileStep) -> Answer {
    let edition = step.hub.edition(Role::Manager);
    step.expect(
        |profile| profile.is_some_and(|profile| lacking(profile, edition).is_empty()),
        |profile| {
            let lacks = profile.map_or_else(Vec::new, |profile| lacking(profile, edition));
            let texts = lacks.iter().map(|(path, value)| format!("{path} {value}"));
            let texts: Vec<String> = texts.collect();
            let path = lacks.first().map_or("status", |(path, _)| path);
            let observed = match profile {
                Some(_) => texts.join(", "),
                None => "no profile".to_owned(),
            };
            Finding::at_field(path, observed).expected(match edition {
                Edition::Standard => "version, ControlPlaneHealthy, endpoints, and Joined True",
                _ => "version, ControlPlaneHealthy, and Joined True",
            })
        },
    )
}

/// The fields that a joined member's profile lacks, with the observed values.
fn lacking(profile: &ClusterProfile, edition: Edition) -> Vec<(String, String)> {
    let version = profile.status.version.kubernetes.as_deref().unwrap_or_default();
    let joined = profile.condition(CONDITION_JOINED).map(|joined| &*joined.status);
    let endpoints = profile.property(PROPERTY_ENDPOINTS);
    let has_endpoints = endpoints.is_some_and(|property| !property.value.is_empty());
    let has_health = profile.condition(CONDITION_HEALTHY).is_some();
    let health = format!("status.conditions[{CONDITION_HEALTHY}]");
    let endpoints = format!("status.properties[{}]", PROPERTY_ENDPOINTS);
    let fields = [
        (!version.is_empty(), "status.version.kubernetes".to_owned(), None),
        (
            joined == Some("True"),
            condition_path(CONDITION_JOINED, "status"),
            joined,
        ),
        (has_health, health, None),
        (has_endpoints || edition != Edition::Standard, endpoints, None),
    ];
    let lacking = fields.into_iter().filter(|(is_there, ..)| !is_there);
    lacking
        .map(|(_, path, value)| (path, redacted_or_absent(value)))
        .collect()
}

/// `lifecycle/restart-keeps-profiles`: each profile whose member was joined before the restart stays there with its
/// uid, and is not deleted.
pub(crate) fn restart_keeps_profiles(driver_step: &DriverStep, hub: &Hub) -> Answer {
    let message = "a profile was deleted or re-created when the manager restarted";
    match keeps(driver_step, hub, message, |_| true) {
        Answer::NotApplicable => no_profile_before(driver_step),
        answer => answer,
    }
}

/// `lifecycle/cut-off-keeps-profiles`: each profile whose member was joined before the manager was cut off stays there
/// with its uid, and is not deleted. If a namespace was deleted, so do the profiles of other namespaces.
pub(crate) fn cut_off_keeps_profiles(driver_step: &DriverStep, hub: &Hub) -> Answer {
    let is_namespace_gone = driver_step.action == DriverAction::DeleteNamespace;
    let message = if is_namespace_gone {
        "a profile was deleted or re-created when another namespace was deleted"
    } else {
        "a profile was deleted or re-created when the manager could not reach the source of its members"
    };
    let profile_there = driver_step.profile.as_ref().filter(|_| is_namespace_gone);
    let is_elsewhere = |namespace: &str| profile_there.is_none_or(|profile| profile.namespace != namespace);
    match keeps(driver_step, hub, message, is_elsewhere) {
        Answer::NotApplicable if !is_namespace_gone => no_profile_before(driver_step),
        answer => answer,
    }
}

/// Kept if each joined profile stays there, in the namespaces for which `is_guarded` holds; not applicable without any.
fn keeps(
    driver_step: &DriverStep,
    hub: &Hub,
    message_deleted: &'static str,
    is_guarded: impl Fn(&str) -> bool,
) -> Answer {
    let untouched = Untouched::<ClusterProfile> {
        changed: |_, _| None,
        message_changed: "",
        message_deleted,
    };
    let is_kept = |object: &&JudgedObject<ClusterProfile>| {
        object.last_before(driver_step.from).is_some_and(has_member)
            && is_guarded(&object.histories[0].last().metadata.namespace)
    };
    let guarded = hub
        .profiles_before(driver_step)
        .filter(is_kept)
        .map(|object| Guarded {
            histories: object.histories.clone(),
            from: driver_step.from.as_microsecond(),
            is_created_by_run: false,
            until: next_action_on(hub.evidence, object.histories[0].last(), driver_step)
                .unwrap_or(Micros::MAX),
        });
    untouched.judge(hub, driver_step, guarded)
}

fn no_profile_before(driver_step: &DriverStep) -> Answer {
    Answer::unknown(format!("there was no profile before {}", describe(driver_step)))
}

/// `lifecycle/foreign-profiles-untouched`: the implementation neither changes nor deletes the run's profile of another
/// manager, after its creation, after a change of its spec, and after its re-creation.
pub(crate) fn foreign_profiles_untouched(driver_step: &DriverStep, hub: &Hub) -> Answer {
    let untouched = Untouched {
        changed: |before: &ClusterProfile, after: &ClusterProfile| {
            first_different([
                (before.spec == after.spec, "spec"),
                (before.metadata.labels == after.metadata.labels, "metadata.labels"),
                (before.status == after.status, "status"),
                (before.metadata.writers == after.metadata.writers, "metadata"),
            ])
        },
        message_changed: "a profile of another manager was changed",
        message_deleted: "a profile of another manager was deleted",
    };
    let created = driver_step
        .profile_after
        .as_ref()
        .or(driver_step.profile.as_ref());
    untouched.judge_created(hub, driver_step, created)
}

/// `lifecycle/deleted-profile-restored`: after the run deleted a joined member's profile, the member has a profile with
/// another uid.
pub(crate) fn deleted_profile_restored(step: &ProfileStep) -> Answer {
    let is_new = |profile: Option<&ClusterProfile>| {
        profile.is_some_and(|profile| *profile.metadata.uid != *step.profile.uid)
    };
    let absence = |_: Option<&_>| {
        let finding = Finding::at_field("metadata.name", "none");
        finding.expected("a profile of the member")
    };
    let answer = step.expect(is_new, absence);
    let Answer::Broken(_) = answer else { return answer };
    let action = describe(step.driver_step);
    if step.at_deadline().is_some() {
        return Answer::unknown(format!("{} was still there after {action}", step.profile));
    }
    // The hub may have generated another name.
    let is_generated = step
        .before()
        .is_some_and(|profile| profile.metadata.generate_name.is_some());
    match step.renamed() {
        Some(renamed) => renamed.expect(is_new, absence),
        None if !step.records_profiles() && is_generated => {
            Answer::unknown(format!("the driver step {action} does not name the profile"))
        }
        None => answer,
    }
}

/// `lifecycle/status-restored`: the field that the run changed has another value again, and one at all if it had one.
pub(crate) fn status_restored(step: &ProfileStep) -> Answer {
    let Some(change) = &step.driver_step.change else {
        return does_not_record(step);
    };
    let value = |profile: &ClusterProfile| text_at(profile, &change.path);
    let untrue = change.after.as_deref();
    step.expect_after_write(
        |profile| value(profile).as_deref() == untrue,
        |profile| {
            let value = profile.and_then(value);
            value.as_deref() != untrue && (value.is_some() || change.before.is_none())
        },
        |profile| {
            let before = change.before.as_deref();
            let observed = redacted_or_absent(profile.and_then(value).as_deref());
            let finding = Finding::at_field(redacted(&change.path), observed);
            finding.expected(before.map_or("no such value".to_owned(), redacted))
        },
    )
}

fn does_not_record(step: &ProfileStep) -> Answer {
    let action = describe(step.driver_step);
    Answer::unknown(format!("{action} does not record what it changed"))
}

/// `lifecycle/label-restored`: the manager label that the run removed is there again with its value.
pub(crate) fn label_restored(step: &ProfileStep) -> Answer {
    let is_right = |profile: &ClusterProfile| profile.label(LABEL_MANAGER) == Some(profile.manager());
    step.expect_after_write(
        |profile| profile.label(LABEL_MANAGER).is_none(),
        |profile| profile.is_some_and(is_right),
        |profile| {
            let label = profile.and_then(|profile| profile.label(LABEL_MANAGER));
            let finding = Finding::at_field(label_path(LABEL_MANAGER), redacted_or_absent(label));
            finding.expected(redacted_or_absent(profile.map(ClusterProfile::manager)))
        },
    )
}

/// `identity/display-name-kept`: after the run set `spec.displayName`, no change by the implementation takes that value
/// away.
pub(crate) fn display_name_kept(step: &ProfileStep) -> Answer {
    let change = step.driver_step.change.as_ref();
    let Some(name) = change.and_then(|change| change.after.as_deref()) else {
        return does_not_record(step);
    };
    let is_wanted = |profile: &ClusterProfile| profile.spec.display_name.as_deref() == Some(name);
    step.expect_kept(is_wanted, |after| {
        let observed = redacted_or_absent(after.spec.display_name.as_deref());
        Finding::at_field_of(after, "spec.displayName", observed).expected(redacted(name))
    })
}
