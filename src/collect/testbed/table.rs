//! The scenario table: what the run publishes, and what an honest consumer does with it. What may end a consumer comes last.

use std::time::Duration;

use evidence::{DriverAction, api::names::{EXTENSION_ARGS, EXTENSION_ENVS, EXTENSION_EXEC}};

use super::scenarios::{
    AccessTemplate,
    Behavior::{
        Called, CalledAs, KeepsConnections, LetsGo, Moves, NoPluginRun, NotCalled, RefusesCertificate,
        RenewsCredential, Reports, StopsCalling, UsesProxy,
    },
    CONTROL_ONLY, KNOWN,
    Need::{
        ActionsConflict, GatesOnHealth, Hook, Labels, NoFallback, OneDecision, PlacementsAlone, ProfileArgs,
        ProfileEnvs, ReadsPlacements, SecondNamespace, Unselected,
    },
    PLAIN, PluginBehavior, ProfileLocation, ProfileTemplate, Since, SliceId, TestbedScenario,
    TestbedStep::{
        Change, Complete, Create, Decide, DecideAgain, Delete, EndConnections, Health, Heartbeats, If, Move, Plugin,
        PluginsRecover, Publish, Recreate, Rewrite, Undecide, Uninstall, Wait, WhileStopped, Work,
    },
    UNKNOWN,
    Wait::{Called as UntilCalled, CalledAfterStart, NextSecond, PluginHangs, Seconds, Settled},
    expect, identified, plain, undecided, with_entries,
};

/// How long a credential is valid that expires during the run.
const SHORT_LIVED: Duration = Duration::from_secs(20);

/// The configuration of the plugin with all kinds of JSON. A double cannot hold the number.
const CONFIG: &str = r#"{"member":"$MEMBER","round":0,"nested":{"list":[1,"two",{"three":true}],"empty":{}},"text":"Zürich 🌍","number":9007199254740993}"#;

const PROXIED: &[AccessTemplate] = &[AccessTemplate { proxy: true, ..KNOWN }];
const ADDRESS_B: AccessTemplate = AccessTemplate { address: 'b', ..UNKNOWN };

const fn extended(extensions: &'static [(&'static str, &'static str)]) -> AccessTemplate {
    AccessTemplate { extensions, ..KNOWN }
}

const fn at(key: &'static str, location: ProfileLocation) -> ProfileTemplate {
    ProfileTemplate { key, location, ..PLAIN }
}

/// All scenarios, in their order.
pub(super) const SCENARIOS: &[TestbedScenario] = &[
    ACCESS, WAYS, INVENTORY, DUPLICATES, ARGUMENTS, ADDRESS, HEARTBEATS, ENDS, SLICES, REFERENCES, FOLLOWS,
    WITHDRAWN, FAILING, BEFORE_MALFORMED, MALFORMED, RESTART, RESTARTED, UNINSTALL,
];

const ACCESS: TestbedScenario = TestbedScenario {
    name: "access",
    steps: &[
        Publish(with_entries("two-providers", &[ADDRESS_B, KNOWN])),
        Publish(with_entries("unknown-provider", &[UNKNOWN])),
        Publish(with_entries("no-provider", &[])),
        Publish(with_entries("no-server", &[AccessTemplate { cluster: r#"{"server":""}"#, ..KNOWN }])),
        Publish(with_entries("other-authority", &[AccessTemplate { other_authority: true, ..KNOWN }])),
        Publish(with_entries(
            "server-name-a",
            &[AccessTemplate { server_name: Some("server-name-a.conformance.example"), ..KNOWN }],
        )),
        Publish(with_entries(
            "server-name-b",
            &[AccessTemplate {
                server_name: Some("server-name-b.conformance.example"),
                shares: Some("server-name-a"),
                ..KNOWN
            }],
        )),
        Publish(with_entries(
            "config",
            &[extended(&[
                ("config.conformance.example", r#"{"member":"not for the plugin"}"#),
                (EXTENSION_EXEC, CONFIG),
            ])],
        )),
    ],
    expectations: &[
        expect("consumer-access/picks-known-provider", "two-providers/a", Called),
        expect("consumer-access/picks-known-provider", "two-providers/b", NotCalled),
        expect("consumer-access/no-guess", "unknown-provider", NotCalled).needs(&[NoFallback]),
        expect("consumer-access/no-guess", "unknown-provider", NoPluginRun).needs(&[NoFallback]),
        expect("consumer-access/no-guess", "no-server", NoPluginRun).needs(&[NoFallback]),
        expect("consumer-access/ca-honoured", "other-authority", RefusesCertificate),
        expect("consumer-access/tls-server-name-honoured", "server-name-a", Called),
        expect("consumer-access/tls-server-name-honoured", "server-name-b", Called),
        expect("consumer-exec/config-verbatim", "config", Called),
    ],
    ..CONTROL_ONLY
};

const WAYS: TestbedScenario = TestbedScenario {
    name: "ways",
    steps: &[
        Publish(with_entries("both-lists", &[KNOWN, AccessTemplate { known: true, deprecated: true, ..ADDRESS_B }])),
        Publish(with_entries("proxied", PROXIED)),
        Publish(with_entries("proxied-b", PROXIED)),
    ],
    expectations: &[
        expect("consumer-access/list-by-version", "both-lists/a", Called),
        expect("consumer-access/list-by-version", "both-lists/b", NotCalled),
        expect("consumer-access/proxy-honoured", "proxied", UsesProxy),
        expect("consumer-access/proxy-honoured", "proxied-b", UsesProxy),
    ],
    ..CONTROL_ONLY
};

const INVENTORY: TestbedScenario = TestbedScenario {
    name: "inventory",
    steps: &[
        If(
            SecondNamespace,
            &[
                Publish(plain("namesake")),
                Publish(ProfileTemplate {
                    name: Some("namesake"),
                    ..at("other-namesake", ProfileLocation::SecondNamespace)
                }),
            ],
        ),
        Publish(at("elsewhere", ProfileLocation::Unselected)),
        If(Labels, &[Publish(at("unlabelled", ProfileLocation::Unlabelled))]),
        Publish(ProfileTemplate { health: "False", ..plain("unhealthy") }),
        Publish(ProfileTemplate { unknown_values: true, ..plain("unknown-values") }),
    ],
    expectations: &[
        expect("consumer-scope/namespaces-apart", "namesake", Called),
        expect("consumer-scope/namespaces-apart", "other-namesake", Called),
        expect("consumer-scope/selection-kept", "elsewhere", NotCalled),
        expect("consumer-scope/selection-kept", "unlabelled", NotCalled),
        expect("consumer-health/unhealthy-not-dispatched", "unhealthy", NotCalled).needs(&[GatesOnHealth]),
        expect("consumer-health/unknown-values-tolerated", "unknown-values", Called),
    ],
    ..CONTROL_ONLY
};

/// No profile has an address before its rivals exist. Otherwise a consumer would act on the first one.
const DUPLICATES: TestbedScenario = TestbedScenario {
    name: "duplicates",
    needs: &[ActionsConflict],
    steps: &[
        Create(&[
            identified("oldest-stays", "of-oldest-that-stays"),
            identified("oldest-goes", "of-oldest-that-goes"),
        ]),
        Wait(Seconds(3)),
        Create(&[identified("a-younger", "of-oldest-that-stays"), identified("next", "of-oldest-that-goes")]),
        Complete(&["oldest-stays", "oldest-goes", "a-younger", "next"]),
        Wait(NextSecond),
        Create(&[identified("tied-a", "tied"), identified("tied-b", "tied")]),
        Complete(&["tied-a", "tied-b"]),
        Create(&[identified("empty-a", ""), identified("empty-b", "")]),
        Complete(&["empty-a", "empty-b"]),
        Create(&[plain("without-a"), plain("without-b")]),
        Complete(&["without-a", "without-b"]),
        If(
            Unselected,
            &[
                Publish(ProfileTemplate {
                    identity: Some("of-two-inventories"),
                    ..at("inventory-elsewhere", ProfileLocation::Unselected)
                }),
                Publish(identified("inventory-own", "of-two-inventories")),
            ],
        ),
    ],
    expectations: &[
        expect("consumer-identity/oldest-wins", "oldest-stays", Called),
        expect("consumer-identity/oldest-wins", "a-younger", NotCalled),
        expect("consumer-identity/oldest-wins", "next", NotCalled),
        expect("consumer-identity/tie-acts-on-none", "tied-a", NotCalled).created_with("tied-b"),
        expect("consumer-identity/tie-acts-on-none", "tied-b", NotCalled).created_with("tied-a"),
        expect("consumer-identity/empty-is-absent", "empty-a", Called),
        expect("consumer-identity/empty-is-absent", "empty-b", Called),
        expect("consumer-identity/other-inventories-stay", "inventory-own", Called),
        expect("consumer-identity/warning-surfaced", "a-younger", Reports("oldest-stays")),
    ],
    ..CONTROL_ONLY
};

const VARIABLES_A: &[AccessTemplate] = &[extended(&[(EXTENSION_ENVS, r#"{"CONFORMANCE_STAGE_A":"of-a"}"#)])];
const VARIABLES_C: &[AccessTemplate] = &[extended(&[(EXTENSION_ENVS, r#"{"CONFORMANCE_STAGE_C":"of-c"}"#)])];
/// Most hubs refuse a list.
const ARGUMENTS_A: &[AccessTemplate] = &[extended(&[(EXTENSION_ARGS, r#"["--of-a","--again","--again"]"#)])];
const ARGUMENTS_C: &[AccessTemplate] = &[extended(&[(EXTENSION_ARGS, r#"["--of-c"]"#)])];
const LEAKS: &str = "consumer-exec/nothing-leaks-between-profiles";

const ARGUMENTS: TestbedScenario = TestbedScenario {
    name: "arguments",
    steps: &[
        Publish(with_entries("variables-a", VARIABLES_A)),
        Publish(with_entries("arguments-a", ARGUMENTS_A)),
        If(
            ProfileEnvs,
            &[Wait(Seconds(3)), Publish(plain("variables-b")), Publish(with_entries("variables-c", VARIABLES_C))],
        ),
        If(
            ProfileArgs,
            &[Wait(Seconds(3)), Publish(plain("arguments-b")), Publish(with_entries("arguments-c", ARGUMENTS_C))],
        ),
        If(ProfileEnvs, &[Rewrite("variables-a", 5)]),
        If(ProfileArgs, &[Rewrite("arguments-a", 5)]),
    ],
    expectations: &[
        expect(LEAKS, "variables-b", Called),
        expect(LEAKS, "variables-c", Called),
        expect(LEAKS, "arguments-b", Called),
        expect(LEAKS, "arguments-c", Called),
    ],
    ..CONTROL_ONLY
};

const ADDRESS: TestbedScenario = TestbedScenario {
    name: "address",
    steps: &[
        Publish(plain("moving")),
        Wait(UntilCalled("moving")),
        Publish(plain("remade")),
        Wait(UntilCalled("remade")),
        Move("moving"),
        Recreate("remade"),
    ],
    expectations: &[
        expect("consumer-change/address-followed", "moving", Moves),
        expect("consumer-change/address-followed", "remade", Moves),
    ],
    ..CONTROL_ONLY
};

/// Profiles that change in the next scenario have the time to be called more than once.
const HEARTBEATS: TestbedScenario = TestbedScenario {
    name: "heartbeats",
    steps: &[
        Publish(plain("revoked")),
        Wait(UntilCalled("revoked")),
        Publish(plain("gone")),
        Wait(UntilCalled("gone")),
        Publish(plain("sick")),
        Wait(UntilCalled("sick")),
        Plugin("expiring", PluginBehavior::Expires(SHORT_LIVED)),
        Publish(plain("expiring")),
        Wait(UntilCalled("expiring")),
        Publish(plain("beating")),
        Wait(UntilCalled("beating")),
        Heartbeats("beating", 11),
    ],
    expectations: &[expect("consumer-change/heartbeats-harmless", "beating", KeepsConnections)],
    ..CONTROL_ONLY
};

/// Connections end as a restart of a member would end them. A consumer without access does not connect again, and each client
/// of an expired credential needs another one.
const ENDS: TestbedScenario = TestbedScenario {
    name: "ends",
    steps: &[
        Change("revoked", &[ADDRESS_B]),
        Delete("gone"),
        Health("sick", "False"),
        Health("unhealthy", "True"),
        If(
            ActionsConflict,
            &[
                EndConnections(&["a-younger", "tied-a", "tied-b", "next"]),
                Wait(Settled),
                Delete("oldest-goes"),
                Work(&["next"]),
            ],
        ),
        Wait(Settled),
        EndConnections(&[
            "expiring", "revoked", "gone", "sick", "namesake", "other-namesake", "elsewhere", "server-name-a",
            "server-name-b", "proxied", "proxied-b",
        ]),
        Wait(Seconds(5)),
        EndConnections(&["expiring"]),
    ],
    expectations: &[
        expect("consumer-change/access-revoked", "revoked", StopsCalling).needs(&[NoFallback]),
        expect("consumer-change/profile-gone", "gone", StopsCalling),
        expect("consumer-hub/deletion-not-blocked", "gone", LetsGo).warn(),
        expect("consumer-health/unhealthy-not-dispatched", "sick", StopsCalling).needs(&[GatesOnHealth]).warn(),
        expect("consumer-health/unhealthy-not-dispatched", "unhealthy", Called).needs(&[GatesOnHealth]),
        expect("consumer-change/profile-gone", "oldest-goes", StopsCalling),
        expect("consumer-identity/next-takes-over", "next", Called).since(Since::DeletionOf("oldest-goes")),
        expect("consumer-exec/expiry-renewed", "expiring", RenewsCredential),
        expect("consumer-scope/namespaces-apart", "namesake", CalledAs("other-namesake")),
        expect("consumer-scope/namespaces-apart", "other-namesake", CalledAs("namesake")),
    ],
    ..CONTROL_ONLY
};

/// A decision of several slices, of which one is empty.
const SLICES: TestbedScenario = TestbedScenario {
    name: "slices",
    needs: &[ReadsPlacements],
    steps: &[
        Publish(undecided("waits")),
        Publish(undecided("of-first-slice")),
        Publish(undecided("removed")),
        Publish(undecided("moved")),
        Decide(SliceId::Own(1), &["of-first-slice", "removed", "moved"]),
        Decide(SliceId::Own(2), &[]),
        Publish(undecided("of-last-slice")),
        Decide(SliceId::Own(3), &["of-last-slice"]),
        Publish(undecided("of-other-decision")),
        Decide(SliceId::OtherDecision, &["of-other-decision"]),
        If(
            Unselected,
            &[
                Publish(undecided("of-decision-elsewhere")),
                Decide(SliceId::OtherNamespace, &["of-decision-elsewhere"]),
            ],
        ),
    ],
    expectations: &[
        expect("consumer-placement/all-slices", "of-first-slice", Called),
        expect("consumer-placement/all-slices", "of-last-slice", Called),
        expect("consumer-placement/all-slices", "of-other-decision", NotCalled)
            .needs(&[PlacementsAlone, OneDecision]),
        expect("consumer-placement/all-slices", "of-decision-elsewhere", NotCalled).needs(&[PlacementsAlone]),
    ],
    ..CONTROL_ONLY
};

/// A reference without a namespace, next to a profile of that name elsewhere; and a reference to a missing profile.
const REFERENCES: TestbedScenario = TestbedScenario {
    name: "references",
    needs: &[ReadsPlacements],
    steps: &[
        Publish(undecided("without-namespace")),
        Publish(ProfileTemplate {
            name: Some("without-namespace"),
            location: ProfileLocation::Elsewhere,
            ..undecided("namesake-of-named")
        }),
        Publish(undecided("beside-missing")),
        Publish(undecided("leaves")),
        Decide(
            SliceId::Own(1),
            &[
                "of-first-slice",
                "removed",
                "moved",
                "without-namespace",
                "comes",
                "beside-missing",
                "leaves",
            ],
        ),
    ],
    expectations: &[
        expect("consumer-placement/references", "without-namespace", Called),
        expect("consumer-placement/references", "beside-missing", Called),
        expect("consumer-placement/references", "namesake-of-named", NotCalled).needs(&[PlacementsAlone]),
    ],
    ..CONTROL_ONLY
};

/// The missing profile is created, and a profile is deleted. A member is added, another one removed, and one moves to another
/// slice in two writes.
const FOLLOWS: TestbedScenario = TestbedScenario {
    name: "follows",
    needs: &[ReadsPlacements],
    steps: &[
        Publish(undecided("comes")),
        Delete("leaves"),
        Decide(
            SliceId::Own(1),
            &[
                "of-first-slice",
                "waits",
                "without-namespace",
                "comes",
                "beside-missing",
            ],
        ),
        Wait(Seconds(1)),
        Decide(SliceId::Own(3), &["of-last-slice", "moved"]),
        Work(&["comes"]),
        Wait(Settled),
        EndConnections(&["removed"]),
    ],
    expectations: &[
        expect("consumer-placement/references", "comes", Called),
        expect("consumer-placement/follows", "waits", Called),
        expect("consumer-placement/follows", "removed", StopsCalling).needs(&[PlacementsAlone]),
    ],
    ..CONTROL_ONLY
};

/// The decision is deleted. Later its first slice is created again.
const WITHDRAWN: TestbedScenario = TestbedScenario {
    name: "withdrawn",
    needs: &[ReadsPlacements],
    steps: &[
        Undecide,
        Wait(Settled),
        EndConnections(&[
            "of-first-slice", "waits", "moved", "of-last-slice", "without-namespace", "comes", "beside-
            missing",
        ]),
        Wait(Seconds(5)),
        DecideAgain,
    ],
    expectations: &[
        expect("consumer-placement/follows", "of-first-slice", StopsCalling).needs(&[PlacementsAlone]),
        expect("consumer-placement/follows", "of-last-slice", StopsCalling).needs(&[PlacementsAlone]),
    ],
    ..CONTROL_ONLY
};

const FAILING: TestbedScenario = TestbedScenario {
    name: "failing",
    // The consumer has to do with each of the profiles first.
    settle_times: 2,
    may_delay: true,
    steps: &[
        Plugin("failing", PluginBehavior::Fails),
        Publish(plain("failing")),
        Plugin("failing-garbage", PluginBehavior::Garbage),
        Publish(plain("failing-garbage")),
        Plugin("failing-hangs", PluginBehavior::Hangs),
        Publish(plain("failing-hangs")),
    ],
    expectations: &[expect("consumer-exec/failure-isolated", "failing-control", Called)],
    after: &[PluginsRecover, Wait(PluginHangs)],
    ..CONTROL_ONLY
};

/// A control directly before the malformed profiles: a consumer that had died before is not judged by them.
const BEFORE_MALFORMED: TestbedScenario =
    TestbedScenario { name: "before-malformed", settle_times: 0, ..CONTROL_ONLY };

/// A hub refuses some of these profiles, and another one stores them.
const MALFORMED: TestbedScenario = TestbedScenario {
    name: "malformed",
    settle_times: 2,
    steps: &[
        Publish(with_entries("malformed-config-null", &[extended(&[(EXTENSION_EXEC, "null")])])),
        Publish(with_entries("malformed-config-text", &[extended(&[(EXTENSION_EXEC, r#""text""#)])])),
        Publish(with_entries("malformed-envs-null", &[extended(&[(EXTENSION_ENVS, "null")])])),
        Publish(with_entries(
            "malformed-authority-cut",
            &[AccessTemplate { cluster: r#"{"certificate-authority-data":"LS0tLS1CRUdJTg=="}"#, ..KNOWN }],
        )),
        Publish(with_entries(
            "malformed-no-url",
            &[AccessTemplate { cluster: r#"{"server":"member without a scheme"}"#, ..KNOWN }],
        )),
    ],
    expectations: &[expect("consumer-exec/malformed-isolated", "malformed-control", Called)],
    // A consumer that calls members again now was held up, and has not ended.
    after: &[
        Delete("malformed-config-null"),
        Delete("malformed-config-text"),
        Delete("malformed-envs-null"),
        Delete("malformed-authority-cut"),
        Delete("malformed-no-url"),
    ],
    ..CONTROL_ONLY
};

const RESTART_RULE: &str = "consumer-change/restart-no-orphans";

const RESTART: TestbedScenario = TestbedScenario {
    name: "restart",
    needs: &[Hook(DriverAction::Stop), Hook(DriverAction::Start)],
    // The consumer begins with all profiles again.
    may_delay: true,
    steps: &[
        Publish(plain("stopped-gone")),
        Wait(UntilCalled("stopped-gone")),
        Publish(plain("stopped-moving")),
        Wait(UntilCalled("stopped-moving")),
        // A consumer that polls has the time to call them again.
        Wait(Settled),
        Wait(Seconds(5)),
        WhileStopped(&[
            Wait(Seconds(1)),
            Delete("stopped-gone"),
            Move("stopped-moving"),
            Publish(plain("stopped-added")),
            Wait(Seconds(1)),
        ]),
        Work(&["stopped-moving", "stopped-added"]),
        Wait(CalledAfterStart("stopped-added")),
    ],
    expectations: &[
        expect(RESTART_RULE, "stopped-gone", StopsCalling).since(Since::Start),
        expect(RESTART_RULE, "stopped-moving", Moves).since(Since::Start),
        expect(RESTART_RULE, "stopped-added", Called).since(Since::Start),
    ],
    ..CONTROL_ONLY
};

const RESTARTED: TestbedScenario = TestbedScenario {
    name: "restarted",
    needs: RESTART.needs,
    steps: &[EndConnections(&["stopped-gone", "stopped-moving"])],
    ..CONTROL_ONLY
};

const UNINSTALL: TestbedScenario = TestbedScenario {
    name: "uninstall",
    needs: &[Hook(DriverAction::Uninstall)],
    control: false,
    steps: &[
        Publish(plain("uninstalled")),
        Wait(UntilCalled("uninstalled")),
        Uninstall,
        Delete("uninstalled"),
        Wait(Settled),
    ],
    expectations: &[expect("consumer-hub/deletion-not-blocked", "uninstalled", LetsGo)],
    ..CONTROL_ONLY
};
