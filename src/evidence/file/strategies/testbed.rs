//! Random stages, and what was recorded on them.

use proptest::{collection::vec, option, prelude::*};
use serde_json::json;

use super::{few, placements::slice, profile, text, time, window};
use crate::{
    CallEvent, ConsumerSpec, DriverAction, Expect, Expectation, HookCall, Log, MemberAddress, MemberCall,
    MemberCredential, Mention, MentionLocation, Mentions, ObjectKey, Output, OutputReader, OutputSnapshot,
    PluginAnswer, PluginCall, PluginCluster, Publication, Published, Reads, ScenarioRun, Testbed, api::Json,
};

pub(super) fn testbed() -> impl Strategy<Value = Testbed> {
    let claims = (text(), vec(text(), 0..3), option::of(text()), any::<bool>());
    let claims = claims.prop_map(|(user, providers, fallback, claimed)| ConsumerSpec {
        labels: [(user.clone(), user.clone())].into(),
        reads: if claimed {
            [Reads::Profiles, Reads::Placements].into()
        } else {
            [].into()
        },
        decision: fallback.clone(),
        user,
        namespaces: providers.iter().cloned().collect(),
        providers: providers.into_iter().collect(),
        exec_api_version: fallback.clone(),
        fallback,
        one_shot: claimed,
        profile_args: claimed,
        profile_envs: !claimed,
        actions_conflict: claimed,
        gates_on_health: !claimed,
        rolls_out: claimed,
        outputs: claimed.then_some(OutputReader::Argocd).into_iter().collect(),
    });
    let address = (text(), text(), option::of(text()), text());
    let address = address.prop_map(|(url, member, server_name, ca_data)| MemberAddress {
        url,
        member,
        server_name,
        ca_data,
    });
    let scene = (text(), text(), time(), time(), option::of(time()), any::<bool>());
    let scene = scene.prop_map(|(name, control, from, until, called, hindered)| ScenarioRun {
        name,
        control,
        from,
        until,
        called_at: called,
        may_delay: hindered,
    });
    let staged = (
        (
            text(),
            few(publication()),
            few(expectation()),
            option::of(any::<u64>()),
        ),
        claims,
        few(address),
        few(scene),
        few(hook_call()),
        few(snapshot()),
        any::<bool>(),
    );
    staged.prop_map(|staged| {
        let (
            (run, published, expectations, settle_seconds),
            consumer,
            addresses,
            scenes,
            hook_calls,
            outputs,
            user_in_audit_log,
        ) = staged;
        Testbed {
            run,
            consumer,
            addresses,
            scenarios: scenes,
            published,
            expectations,
            settle_seconds,
            hooks: hook_calls.iter().map(|call| call.action).collect(),
            hook_calls,
            outputs,
            user_in_audit_log,
        }
    })
}

fn key() -> impl Strategy<Value = ObjectKey> {
    (text(), text()).prop_map(|(namespace, name)| ObjectKey { namespace, name })
}

fn publication() -> impl Strategy<Value = Publication> {
    let state = prop_oneof![
        profile().prop_map(|profile| Published::Profile(Box::new(profile))),
        slice().prop_map(|slice| Published::Slice(Box::new(slice))),
        few(text()).prop_map(|finalizers| Published::Terminating { finalizers }),
        Just(Published::Deleted {}),
    ];
    (key(), time(), time(), state).prop_map(|(object, sent, answered, state)| Publication {
        object,
        sent,
        answered,
        state,
    })
}

fn expectation() -> impl Strategy<Value = Expectation> {
    let expect = prop_oneof![
        Just(Expect::Called {}),
        Just(Expect::NotCalled {}),
        Just(Expect::StopsCalling {}),
        Just(Expect::RefusesCertificate {}),
        Just(Expect::RenewsCredential {}),
        Just(Expect::NoPluginRun {}),
        Just(Expect::LetsGo {}),
        key().prop_map(|other| Expect::CalledAs { other }),
        key().prop_map(|other| Expect::Reports { other }),
        text().prop_map(|from| Expect::Moves { from }),
        text().prop_map(|proxy| Expect::UsesProxy { proxy }),
        few(time()).prop_map(|writes| Expect::KeepsConnections { writes }),
    ];
    let expectation = (
        (text(), key(), text(), text()),
        expect,
        (time(), time()),
        any::<bool>(),
        option::of(text()),
    );
    expectation.prop_map(
        |((rule, profile, member, url), expect, (from, until), warn, void)| Expectation {
            rule,
            profile,
            member,
            url,
            expect,
            from,
            until,
            warn,
            void,
        },
    )
}

fn snapshot() -> impl Strategy<Value = OutputSnapshot> {
    let reader = prop_oneof![Just(OutputReader::Argocd), Just(OutputReader::Http)];
    let output = (reader, text(), few(text()), few(text()));
    let output = output.prop_map(|(reader, object, servers, members)| Output {
        reader,
        object,
        servers: servers.into_iter().collect(),
        members: members.into_iter().collect(),
    });
    (time(), few(output)).prop_map(|(at, outputs)| OutputSnapshot { at, outputs })
}

fn hook_call() -> impl Strategy<Value = HookCall> {
    let action = prop_oneof![
        Just(DriverAction::Stop),
        Just(DriverAction::Start),
        Just(DriverAction::Uninstall)
    ];
    let call = (action, time(), time(), option::of(text()), text());
    call.prop_map(|(action, from, until, failure, output)| HookCall {
        action,
        from,
        until,
        failure,
        output,
    })
}

pub(super) fn member_calls() -> impl Strategy<Value = Log<MemberCall>> {
    let credential = prop_oneof![
        Just(MemberCredential::None),
        Just(MemberCredential::Unknown),
        (text(), any::<u64>()).prop_map(|(member, serial)| MemberCredential::Of { member, serial }),
    ];
    let request = (text(), text(), any::<bool>(), credential, any::<u16>());
    let what = prop_oneof![
        Just(CallEvent::Connected {}),
        Just(CallEvent::Closed {}),
        text().prop_map(|reason| CallEvent::Failed { reason }),
        text().prop_map(|host| CallEvent::Proxied { host }),
        request.prop_map(|(method, path, watch, credential, code)| CallEvent::Request {
            method,
            path,
            watch,
            credential,
            code,
        }),
    ];
    let call = (
        time(),
        text(),
        text(),
        any::<u64>(),
        option::of(text()),
        any::<[bool; 2]>(),
        what,
    );
    let call = call.prop_map(
        |(at, url, member, connection, server_name, [hello, via_proxy], what)| MemberCall {
            at,
            url,
            member,
            connection,
            server_name,
            hello,
            via_proxy,
            what,
        },
    );
    (window(), few(call)).prop_map(|(covers, events)| Log { covers, events })
}

pub(super) fn plugin_calls() -> impl Strategy<Value = Log<PluginCall>> {
    let cluster = (text(), option::of(text())).prop_map(|(server, text)| PluginCluster {
        server,
        tls_server_name: text.clone(),
        certificate_authority_data: text.clone(),
        proxy_url: text.clone(),
        // What is null is read as what is absent.
        config: text.map(|text| Json::from(&json!({"text": text, "none": null}))),
    });
    let answer = prop_oneof![
        Just(PluginAnswer::Failed {}),
        Just(PluginAnswer::Hung {}),
        Just(PluginAnswer::Garbage {}),
        Just(PluginAnswer::NoMember {}),
        (text(), any::<u64>(), option::of(time())).prop_map(|(member, serial, expires)| {
            PluginAnswer::Credential {
                member,
                serial,
                expires,
            }
        }),
    ];
    let call = (
        time(),
        text(),
        few(text()),
        few(text()),
        option::of(text()),
        option::of(cluster),
        answer,
    );
    let call = call.prop_map(
        |(at, provider, args, env, api_version, cluster, answer)| PluginCall {
            at,
            provider,
            args,
            env,
            api_version,
            cluster,
            answer,
        },
    );
    (window(), few(call)).prop_map(|(covers, events)| Log { covers, events })
}

pub(super) fn mentions() -> impl Strategy<Value = Mentions> {
    let place = prop_oneof![
        any::<u64>().prop_map(|number| MentionLocation::Line { number }),
        (text(), text(), any::<bool>()).prop_map(|(namespace, reason, warning)| MentionLocation::Event {
            namespace,
            reason,
            warning,
        }),
        (text(), text(), text()).prop_map(|(kind, namespace, name)| MentionLocation::Object {
            kind,
            namespace,
            name,
        }),
    ];
    let notice = (place, few(text()), few(text())).prop_map(|(place, names, credentials)| Mention {
        place,
        names: names.into_iter().collect(),
        credentials: credentials.into_iter().collect(),
    });
    (any::<bool>(), few(notice)).prop_map(|(log, found)| Mentions { log, found })
}
