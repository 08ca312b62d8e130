//! Profiles after the run changed or deleted them.

use evidence::api::{ClusterProfile, names};

use crate::{
    engine::{Answer, Shortfall, Step, describe},
    text::{ABSENT, redacted, redacted_or_absent},
};

/// `lifecycle/deleted-profile-restored`
///
/// After the run deleted a joined member's profile, the member has a profile with another uid.
pub(in crate::rules) fn deleted_profile_restored(step: &Step) -> Answer {
    let is_new = |profile: Option<&ClusterProfile>| {
        profile.is_some_and(|profile| *profile.metadata.uid != *step.profile.uid)
    };
    let missing = || Shortfall {
        message: "the deleted profile of a joined member is not recreated",
        path: "metadata.name".to_owned(),
        expected: "a profile of the member".to_owned(),
        observed: "none".to_owned(),
    };
    let answer = step.expect(is_new, |_| missing());
    let Answer::Broken(_) = answer else { return answer };
    if step.at_deadline().is_some() {
        let reason = format!("{} was still there after {}", step.profile, describe(step.taken));
        return Answer::Unknown(reason.into());
    }
    match (step.renamed(), step.records_profiles()) {
        (Some(renamed), _) => renamed.expect(is_new, |_| missing()),
        (None, true) => answer,
        // The hub may have generated another name.
        (None, false) if has_generated_name(step) => Answer::Unknown(
            format!(
                "the driver does not say which profile {} had",
                describe(step.taken)
            )
            .into(),
        ),
        (None, false) => answer,
    }
}

fn has_generated_name(step: &Step) -> bool {
    step.before()
        .is_some_and(|profile| profile.metadata.generate_name.is_some())
}

/// `lifecycle/status-restored`
///
/// The field that the run changed has another value again, and one at all if it had one.
pub(in crate::rules) fn status_restored(step: &Step) -> Answer {
    let Some(change) = &step.taken.change else {
        return Answer::Unknown(format!("{} does not record what it changed", describe(step.taken)).into());
    };
    let value = |profile: &ClusterProfile| value_at(profile, &change.path);
    let untrue = change.after.as_deref();
    step.expect_after_write(
        |profile| value(profile).as_deref() == untrue,
        |profile| {
            let value = profile.and_then(value);
            value.as_deref() != untrue && (value.is_some() || change.before.is_none())
        },
        |profile| Shortfall {
            message: "an untrue status is not corrected",
            path: redacted(&change.path),
            expected: change
                .before
                .as_deref()
                .map_or("no such value".to_owned(), redacted),
            observed: redacted_or_absent(profile.and_then(value).as_deref()),
        },
    )
}

/// The value at a path of the status, as in findings.
fn value_at(profile: &ClusterProfile, path: &str) -> Option<String> {
    let key = |prefix: &str, suffix: &str| path.strip_prefix(prefix)?.strip_suffix(suffix);
    let value = if path == "status.version.kubernetes" {
        profile.status.version.kubernetes.as_deref()
    } else if let Some(name) = key("status.properties[", "].value") {
        profile.property(name).map(|property| &*property.value)
    } else if let Some(kind) = key("status.conditions[", "].status") {
        profile.condition(kind).map(|condition| &*condition.status)
    } else {
        None
    };
    value.map(str::to_owned)
}

/// `lifecycle/label-restored`
///
/// The manager label that the run removed is there again with its value.
pub(in crate::rules) fn label_restored(step: &Step) -> Answer {
    let label = |profile: Option<&ClusterProfile>| profile?.label(names::LABEL_MANAGER).map(str::to_owned);
    step.expect_after_write(
        |profile| profile.label(names::LABEL_MANAGER).is_none(),
        |profile| {
            profile.is_some_and(|profile| profile.label(names::LABEL_MANAGER) == Some(profile.manager()))
        },
        |profile| Shortfall {
            message: "a removed manager label is not restored",
            path: format!("metadata.labels[{}]", names::LABEL_MANAGER),
            expected: profile.map_or(ABSENT.to_owned(), |profile| redacted(profile.manager())),
            observed: redacted_or_absent(label(profile).as_deref()),
        },
    )
}
