//! Strategies for members and drivers.

use std::sync::Arc;

use proptest::{option, prelude::*, sample::select};

use super::{few, object, reason, text, time};
use crate::*;

fn look() -> impl Strategy<Value = Look> {
    let part = select(vec![MemberPart::Version, MemberPart::Leases]);
    (time(), option::of(text()), few(text()), few((part, reason()))).prop_map(
        |(at, version, texts, missing)| Look {
            from: at,
            until: at,
            readyz: version.is_some().then(|| {
                Arc::new(Readyz {
                    ready: texts.is_empty(),
                    failed: texts.clone(),
                })
            }),
            leases: version.is_none().then(|| {
                let lease = |name: &String| Lease {
                    name: name.clone(),
                    age_seconds: -1,
                    duration_seconds: 15,
                };
                texts.iter().map(lease).collect()
            }),
            nodes: version.is_some().then_some(3),
            custom_resource_groups: Some(Arc::new(texts.iter().cloned().collect())),
            cluster_properties: Some(Arc::from([ClusterProperty {
                name: "a".to_owned(),
                value: texts.concat(),
                labelled: true,
            }])),
            version: version.map(Arc::from),
            missing: Arc::new(missing.into_iter().collect()),
        },
    )
}

pub(super) fn member() -> impl Strategy<Value = Member> {
    (object(), text(), few(look())).prop_map(|(profile, way, looks)| Member { profile, way, looks })
}

pub(super) fn endpoint_call() -> impl Strategy<Value = EndpointCall> {
    (time(), object(), text(), option::of(any::<u16>())).prop_map(|(at, profile, text, code)| EndpointCall {
        at,
        profile,
        endpoint: text.clone(),
        code,
        reason: text,
    })
}

pub(super) fn login() -> impl Strategy<Value = Login> {
    let with = prop_oneof![
        object().prop_map(LoginWith::Secret),
        text().prop_map(LoginWith::Plugin),
    ];
    let outcome = prop_oneof![
        (text(), option::of(any::<bool>()))
            .prop_map(|(user, everything)| LoginOutcome::Accepted { user, everything }),
        (any::<u16>(), text()).prop_map(|(code, message)| LoginOutcome::Refused { code, message }),
        text().prop_map(|reason| LoginOutcome::NoCredential { reason }),
        reason().prop_map(|reason| LoginOutcome::Unanswered { reason }),
    ];
    (time(), object(), with, outcome).prop_map(|(at, profile, with, outcome)| Login {
        at,
        profile,
        with,
        outcome,
    })
}

pub(super) fn driver() -> impl Strategy<Value = Driver> {
    let actions = || select(vec![DriverAction::Join, DriverAction::TamperStatus]);
    let outcome = prop_oneof![
        Just(StepOutcome::Done),
        text().prop_map(|reason| StepOutcome::Failed { reason }),
    ];
    let change = (text(), option::of(text())).prop_map(|(path, before)| Change {
        path,
        after: before.is_none().then(|| "a".to_owned()),
        before,
    });
    let step = (
        actions(),
        text(),
        option::of(object()),
        time(),
        outcome,
        option::of(change),
    )
        .prop_map(|(action, text, profile, at, outcome, change)| DriverStep {
            scenario: Scenario::JoinAndLeave,
            action,
            member: text.clone(),
            secrets_before: profile.is_some().then_some(2),
            profile_after: profile.clone(),
            profile,
            from: at,
            until: at,
            outcome,
            patience_seconds: 120,
            looked_until: at,
            reacted: change.is_some().then_some(at),
            placement: change.is_some().then(|| PlacementRequest {
                name: text.clone(),
                clusters: 101,
                decision: None,
            }),
            slice: None,
            change,
            output: text,
        });
    (few(step), few(actions()), few((actions(), reason())), few(text())).prop_map(
        |(steps, able, lacking, names)| Driver {
            run: names.concat(),
            stand_ins: !names.is_empty(),
            able: able.into_iter().collect(),
            lacking: lacking.into_iter().collect(),
            steps,
            touched_slices: Default::default(),
            touched: names
                .into_iter()
                .map(|name| ObjectKey {
                    namespace: name.clone(),
                    name,
                })
                .collect(),
        },
    )
}
