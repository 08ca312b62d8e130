//! `policies`: what it prints, and what it refuses.

use super::*;

#[test]
fn policies_warn_unless_they_are_told_to_deny() {
    let printed = expect(0, &["policies"]);
    assert!(
        printed.contains("name: clusterprofile-access-status\n"),
        "{printed}"
    );
    assert!(
        !printed.contains("Deny") && !printed.contains("WARNING"),
        "{printed}"
    );
    let done = call(&["policies", "--deny", "must", "identity/"]);
    let (printed, told) = (done.out, done.err);
    assert!(
        told.contains("a denied status write is an outage of the inventory"),
        "{told}"
    );
    assert!(
        printed.contains("# WARNING: a denied status write is an outage"),
        "{printed}"
    );
    assert!(
        printed.contains("name: clusterprofile-identity-profiles-must\n"),
        "{printed}"
    );
    // SHOULD and MAY rules stay warnings.
    let warned = printed
        .split("---\n")
        .find(|one| one.contains("name: clusterprofile-identity-profiles\n"));
    assert!(
        warned.unwrap().contains("identity/name-follows-guidance"),
        "{printed}"
    );
}

#[test]
fn levels_editions_and_scopes_narrow_the_policies() {
    let musts = expect(0, &["policies", "--level", "must"]);
    assert!(musts.contains("access/server-is-url") && !musts.contains("access/tls-verified"));
    let newer = expect(0, &["policies", "--edition", "2026-09"]);
    assert!(newer.contains("identity/member-id-set") && !newer.contains("cluster-endpoints-present"));
    // A feature that the edition wants claimed.
    assert!(!newer.contains("consumers/"));
    let claimed = expect(
        0,
        &[
            "policies",
            "--edition",
            "2026-09",
            "--feature",
            "consumer-secrets",
        ],
    );
    assert!(claimed.contains("consumers/secret-has-kubeconfig"));
    // A Secret does not say whose profile it is for, so a policy would deny those of other managers.
    let secrets = ["policies", "--feature", "consumer-secrets", "--deny", "must"];
    assert!(expect(0, &secrets).contains("- secrets\n"));
    let of_one = expect(0, &[&secrets[..], &["--cluster-manager", "m"]].concat());
    assert!(!of_one.contains("- secrets\n"), "{of_one}");
    let one = expect(
        0,
        &[
            "policies",
            "-n",
            "fleet",
            "--cluster-manager",
            "o'clock",
            "identity/manager-label",
        ],
    );
    for text in ["- fleet\n", "o\\'clock", "kubernetes.io/metadata.name"] {
        assert!(one.contains(text), "{text} in {one}");
    }
}

#[test]
fn what_no_policy_can_say_is_refused_with_words() {
    for (arguments, words) in [
        (&["policies", "--deny", "should"][..], "only must can be denied"),
        (&["policies", "--deny", "all"], "there is no such level"),
        (&["policies", "--level", "high"], "must, should, may"),
        (
            &["policies", "--edition", "placement-2025-09"],
            "from rules on ClusterProfiles only",
        ),
        (&["policies", "lifecycle/"], "none of these rules can be a policy"),
        (&["policies", "identiy/"], "did you mean `identity/`?"),
    ] {
        refused(arguments, &[words]);
    }
}

#[test]
fn names_that_nothing_on_a_hub_can_have_are_refused() {
    let (long, longest) = ("n".repeat(64), "n".repeat(63));
    for (flag, names, words) in [
        (
            "--namespace",
            &["", "Fleet", "a b", "a\nb", "fleet/a", &long][..],
            "a namespace has at most 63",
        ),
        (
            "--cluster-manager",
            &["", " "],
            "a cluster manager's name is not empty",
        ),
        (
            "--cluster-manager",
            &["a\nb", "a\r", "\u{1b}[31m", "a\u{2028}b"],
            "no line breaks",
        ),
    ] {
        for name in names {
            for command in [&["policies"][..], &["run", "--hub", "lab"], &["monitor"]] {
                refused(&[command, &[flag, name]].concat(), &[flag, words]);
            }
        }
    }
    refused(
        &["rbac", "-n", "a\nb"],
        &["--namespace", "a namespace has at most 63"],
    );
    expect(
        0,
        &[
            "policies",
            "-n",
            &longest,
            "--cluster-manager",
            "o'clock",
            "identity/",
        ],
    );
}
