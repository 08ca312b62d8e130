use base64::{Engine as _, prelude::BASE64_STANDARD};
use proptest::{collection, prelude::*, sample::select};
use serde_json::json;

use super::{scan::leaks_in_value, *};
use crate::redact::{redact_value, without_credentials};

const WEB_TOKEN: &str = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJNQUdQSUUifQ.TUFHUElFTUFHUElFTUFHUElF";

const PRIVATE_KEY: &str = "-----BEGIN EC PRIVATE KEY-----\nTUFHUElFIG9wZW5zIG5vdGhpbmcsIGZvciBhbiBleGFtcGxlTUFHUElF\n-----END EC PRIVATE KEY-----\n";

const KUBECONFIG: &str = "apiVersion: v1\nkind: Config\nusers:\n- name: u\n  user:\n    token: m4gpie/Mm\n";

/// Credentials that are recognizable within prose, with their kinds.
fn phrases() -> Vec<(String, LeakKind)> {
    use LeakKind::*;
    let key = rcgen::KeyPair::generate().expect("a key");
    let issued = |text: &str, what: &'static str| (text.to_owned(), Issued(what));
    let base64 = |text: &str| BASE64_STANDARD.encode(text);
    vec![
        (WEB_TOKEN.to_owned(), WebToken),
        (PRIVATE_KEY.to_owned(), PrivateKey),
        (PRIVATE_KEY.replace('\n', "\\n"), PrivateKey),
        (BASE64_STANDARD.encode(key.serialize_der()), PrivateKey),
        (base64(PRIVATE_KEY), PrivateKey),
        (base64(WEB_TOKEN), WebToken),
        (base64(KUBECONFIG), Token),
        (base64(&base64(KUBECONFIG)), Token),
        ("https://magpie:s3cret@a.example:6443/x".to_owned(), UserInfo),
        ("socks5://:s3cret@a.example".to_owned(), UserInfo),
        ("https://0123456789abcdef0123@a.example".to_owned(), UserInfo),
        ("Bearer magpie0123456789abcdef".to_owned(), BearerToken),
        ("Authorization: Bearer magpie-1".to_owned(), BearerToken),
        (client_certificate(), ClientCertificate),
        (client_certificate().replace('\n', "\\n"), ClientCertificate),
        (base64(&client_certificate()), ClientCertificate),
        (
            "Authorization: Basic bWFncGllOnNlY3JldA==".to_owned(),
            BasicAuthentication,
        ),
        ("--token=magpie0123456789abcdef".to_owned(), Token),
        ("DB_PASSWORD=magpie-7".to_owned(), Password),
        issued("AKIAMAGPIEMAGPIE2345", "an access key of AWS"),
        issued("GOCSPX-magpie_magpie-magpie01234567", "a client secret of Google"),
        issued(&format!("AIza{}", "magpie0".repeat(5)), "an API key of Google"),
        issued("ya29.magpie_magpie-magpie01234567", "an access token of Google"),
        issued(&format!("ghp_{}", "magpie".repeat(6)), "a token of GitHub"),
        issued("glpat-magpie_magpie-magpie", "a token of GitLab"),
        issued(
            &format!("mag8Q~{}", "magpie0".repeat(5).trim_end_matches('0')),
            "a client secret of Azure",
        ),
        issued(
            &format!("AccountKey={}==", "magpie".repeat(14)),
            "an account key of Azure",
        ),
        issued(
            &format!("sha256~{}", "magpie0".repeat(6) + "m"),
            "a token of OpenShift",
        ),
        issued(&format!("k8s-aws-v1.{}", "magpie".repeat(10)), "a token of EKS"),
        issued("hvs.magpie_magpie-magpie01234567", "a token of Vault"),
        issued(
            "xoxb-123456789012-1234567890123-magpiemagpiemagpie012345",
            "a token of Slack",
        ),
        issued(
            &format!("https://hooks.slack.com/services/T01/B01/{}", "magpie".repeat(6)),
            "a webhook of Slack",
        ),
        issued(&format!("sk_live_{}", "magpie".repeat(4)), "a key of Stripe"),
        issued(&format!("rk_test_{}", "magpie".repeat(15)), "a key of Stripe"),
        issued(&format!("npm_{}", "magpie".repeat(6)), "a token of npm"),
        issued(
            &format!("pypi-AgEIcHlwaS5vcmc{}", "magpie".repeat(10)),
            "a token of PyPI",
        ),
        issued("dckr_pat_magpie_magpie-magpie01234567", "a token of Docker"),
        issued(
            &format!("hf_{}", "magpie".repeat(6).trim_end_matches("ie")),
            "a token of Hugging Face",
        ),
        issued(
            &format!("token-x7k2p:{}", "m4gpp2".repeat(9)),
            "a token of Rancher",
        ),
        issued(
            &format!("kubeconfig-u-x7k2pq:{}", "m4gpp2".repeat(9)),
            "a token of Rancher",
        ),
        issued("m4gp12.m4gpp2k9x7k2p9qz", "a bootstrap token"),
        issued(
            &format!(
                "https://a.example/x?sv=2026-01-01&sig={}m%3D",
                "magpie%2F".repeat(6)
            ),
            "a shared access signature of Azure",
        ),
        issued(
            &format!("SG.{}magp.{}m", "magpie".repeat(3), "magpie".repeat(7)),
            "a key of SendGrid",
        ),
        issued(&format!("SK{}", "0123abcd".repeat(4)), "a key of Twilio"),
        issued(
            &format!("dop_v1_{}", "0123abcd".repeat(8)),
            "a token of DigitalOcean",
        ),
        issued(
            &format!("sk-proj-{0}T3BlbkFJ{0}", "magpie".repeat(10)),
            "a key of OpenAI",
        ),
        issued(
            &format!("sk-ant-api03-{}", "magpie".repeat(15)),
            "a key of Anthropic",
        ),
        issued(
            &format!("glsa_{}ma_0123abcd", "magpie".repeat(5)),
            "a token of Grafana",
        ),
        issued("glrt-magpie_magpie-magpie", "a token of GitLab"),
        issued(&format!("dapi{}", "0123abcd".repeat(4)), "a token of Databricks"),
        issued(OWN_CREDENTIAL, "a credential of the runner"),
        (
            PRIVATE_KEY.replace('\n', "%0A").replace(' ', "%20"),
            LeakKind::PrivateKey,
        ),
        (
            PRIVATE_KEY
                .replace('\n', "%0D%0A")
                .replace(' ', "+")
                .replace('-', "%2D"),
            LeakKind::PrivateKey,
        ),
    ]
}

/// A certificate that only a client can use, in PEM.
fn client_certificate() -> String {
    certificate(&[rcgen::ExtendedKeyUsagePurpose::ClientAuth])
}

fn certificate(usages: &[rcgen::ExtendedKeyUsagePurpose]) -> String {
    let mut params = rcgen::CertificateParams::new(vec!["magpie.example".to_owned()]).expect("a name");
    params.extended_key_usages = usages.to_vec();
    let key = rcgen::KeyPair::generate().expect("a key");
    params.self_signed(&key).expect("a certificate").pem()
}

/// Credentials that only a whole document reveals.
fn documents() -> Vec<(String, LeakKind)> {
    use LeakKind::*;
    [
        (KUBECONFIG, Token),
        (r#"{"password":"hunter2"}"#, Password),
        (r#"{"a":[{"clientSecret":"m4gpie/Mm"}]}"#, Secret),
        (r#"[{"name":"CLIENT_SECRET","value":"m4gpie/Mm"}]"#, Secret),
        (r#"["get-token","--password","magpie"]"#, Password),
        (r#"{"client-key-data":"LS0t"}"#, Key),
        (
            r#"{"headers":{"Authorization":"Basic bWFncGllOnMzY3JldA=="}}"#,
            Authorization,
        ),
        (
            r#"[{"name":"Proxy-Authorization","value":"Bearer magpie-1"}]"#,
            Authorization,
        ),
        (
            r#"{"auths":{"registry.example":{"auth":"bWFncGllOnMzY3JldA=="}}}"#,
            BasicAuthentication,
        ),
        (r#"{"secret_id":"f3b09679-3001-009d-2b80-9c306ab81aa6"}"#, Secret),
        (r#"{"credential":"m4gpie!Mm"}"#, Credential),
        (r#"{"Cookie":"session=m4gpie-77"}"#, Cookie),
        (r#"{"db_pwd":"hunter2"}"#, Password),
        (r#"{"passwords":["hunter2"]}"#, Password),
        (r#"{"tokens":["m4gpie0123456789abcdef"]}"#, Token),
        (r#"{"client-certificate-data":"LS0t"}"#, ClientCertificate),
        (
            r#"{"config":"{\"users\":[{\"user\":{\"password\":\"hunter2\"}}]}"}"#,
            Password,
        ),
    ]
    .map(|(text, kind)| (text.to_owned(), kind))
    .into()
}

fn is_found(kind: LeakKind, text: &str) {
    let leaks = leaks_in_text(text);
    let mut certain = leaks.iter().filter(|leak| leak.grade == Grade::Certain);
    assert!(
        certain.any(|leak| leak.kind == kind),
        "{kind} in {text}: {leaks:?}"
    );
}

#[test]
fn credentials_are_found_wherever_they_stand() {
    for (credential, kind) in phrases() {
        is_found(kind, &format!("it says {credential} of it"));
        is_found(kind, &BASE64_STANDARD.encode(format!("it says: {credential}\n")));
    }
    for (credential, kind) in phrases().into_iter().chain(documents()) {
        is_found(kind, &credential);
        is_found(kind, &format!("\n{credential}\n"));
        is_found(kind, &json!({"a": [{"b": credential}]}).to_string());
        is_found(
            kind,
            &json!({"a": json!({"b": credential}).to_string()}).to_string(),
        );
        let encoded = BASE64_STANDARD.encode(format!("{credential}{}", "\n".repeat(24)));
        is_found(kind, &encoded);
        is_found(kind, &format!("first: line\nsecond: {encoded}\n"));
    }
}

#[test]
fn what_is_shown_holds_none_of_them() {
    for (credential, kind) in phrases().into_iter().chain(documents()) {
        for text in [
            credential.clone(),
            format!("it says {credential} of it"),
            json!({"a": credential}).to_string(),
        ] {
            let shown = without_credentials(&text);
            let secrets = [
                "magpie", "MAGPIE", "s3cret", "hunter2", "m4gpie", "TUFHUElF", "LS0t", "bWFncGll",
            ];
            for secret in secrets.into_iter().chain([credential.as_str()]) {
                assert!(!shown.contains(secret), "{kind}: {shown}");
            }
        }
    }
}

#[test]
fn a_find_tells_what_it_is_and_nothing_of_it() {
    let document = json!({"users": [{"name": "u", "user": {"token": "magpie-Key-7"}}]});
    let leaks = leaks_in_value(&document);
    let expected = Leak {
        kind: LeakKind::Token,
        grade: Grade::Certain,
        length: 12,
        place: ".users[0].user.token".to_owned(),
        encoded: false,
        key: Some("token".to_owned()),
        at: None,
    };
    assert_eq!(leaks, [expected]);
    let leaks = leaks_in_text(&BASE64_STANDARD.encode(PRIVATE_KEY));
    assert!(leaks[0].encoded && leaks[0].place.is_empty(), "{leaks:?}");
    // One credential is reported once, as the most certain kind.
    assert_eq!(leaks_under("token", WEB_TOKEN).len(), 1);
    assert_eq!(leaks_under("token", WEB_TOKEN)[0].kind, LeakKind::WebToken);
}

/// The grade of a value, by the name of its field alone.
fn grade(key: &str, value: &str) -> Option<Grade> {
    leaks_under(key, value).first().map(|leak| leak.grade)
}

#[test]
fn names_and_values_of_fields() {
    use Grade::*;
    for (key, value, expected) in [
        ("token", "abcdef.0123456789abcdef", Some(Certain)),
        ("bearerToken", "s3cr3t!", Some(Certain)),
        ("GITHUB_TOKEN", "x-0Xab", Some(Certain)),
        ("password", "correct", Some(Certain)),
        ("password", "correct horse battery", Some(Possible)),
        ("clientSecret", "ZmxvYmFy", Some(Possible)),
        ("client-secret", "Zm9v/mFy", Some(Certain)),
        ("secret", "s3cr3t!", Some(Certain)),
        ("aws_secret_access_key", "Zm9vYmFyZm9vYmFy0", Some(Certain)),
        ("example.com/api-key", "0123456789abcdef", Some(Certain)),
        // May be, or may be called so.
        ("secret", "fleet/member-1", Some(Possible)),
        ("token", "member-1-token", Some(Possible)),
        ("token", "6f1c7a52-3d0e-4b8f-9a41-000000000001", Some(Possible)),
        ("token", "projected", Some(Possible)),
        ("token", "4096123", Some(Possible)),
        // None of its own.
        ("password", "", None),
        ("password", "********", None),
        ("password", "xxxxx", None),
        ("password", "${PASSWORD}", None),
        ("password", "<password>", None),
        ("token", "REDACTED", None),
        ("token", "expired", None),
        ("token", "the token is in the Secret", None),
        ("token", "/var/run/secrets/token", None),
        ("token", "https://issuer.example/token", None),
        (
            "secret",
            "arn:aws:secretsmanager:eu-west-1:123456789012:secret:Member-1",
            None,
        ),
        ("secret", "projects/123456789/secrets/member/versions/1", None),
        ("secret", "vault:fleet/data/member#token", None),
        ("pull-secret", "fleet/member-1", None),
        (
            "checksum/secret",
            "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
            None,
        ),
        ("secretName", "member-1", None),
        ("secretRef", "member-1", None),
        ("tokenFile", "member-1.txt", None),
        ("tokenEndpoint", "a.example:443", None),
        ("tokenType", "JWT", None),
        ("publicKey", "MCowBQYDK2VwAyEA", None),
        ("privateKey", "ECDSA", None),
        ("key", "Zm9vYmFyZm9vYmFy0", None),
        ("clusterName", "Zm9vYmFyZm9vYmFy0", None),
        ("certificate-authority-data", "LS0t", None),
        ("token", r#"{"audience":"a"}"#, None),
    ] {
        assert_eq!(grade(key, value), expected, "{key}: {value}");
    }
}

/// A cluster's id, as names hold it: random, and no secret.
const ID: &str = "2b3cq5hf8j4k2l1m9n0p7q6r5s4t3u2v";

/// The highest grade in a document.
fn surest(document: &serde_json::Value) -> Option<Grade> {
    leaks_in_value(document).into_iter().map(|leak| leak.grade).max()
}

#[test]
fn names_are_no_secrets_however_random() {
    use Grade::*;
    let authority = {
        let mut params = rcgen::CertificateParams::default();
        params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        let key = rcgen::KeyPair::generate().expect("a key");
        params.self_signed(&key).expect("a certificate").pem()
    };
    for (document, expected) in [
        (
            json!({"kubeconfigSecret": format!("{ID}-admin-kubeconfig")}),
            None,
        ),
        (json!({"pull-secret": format!("registry-{ID}")}), None),
        (json!({"pull-secret": ID}), None),
        (
            json!({"secretName": format!("fleet/{ID}"), "secretRef": ID, "clientSecretName": ID}),
            None,
        ),
        (
            json!({"kid": ID, "tokenId": ID, "accessKeyId": ID, "clusterId": ID}),
            None,
        ),
        (
            json!({"imagePullSecrets": [ID, format!("registry-{ID}")], "secrets": [ID]}),
            None,
        ),
        (json!({"credentials": [format!("aws-{ID}")]}), None),
        (json!({"clientCertificate": format!("member-{ID}")}), None),
        (
            json!({"clientCert": "/etc/plugin/client.crt", "client-certificate": ID}),
            None,
        ),
        (
            json!({"caCertificate": authority, "serverCert": certificate(&[rcgen::ExtendedKeyUsagePurpose::ServerAuth])}),
            None,
        ),
        (
            json!({"authorization": "RBAC", "auth": "oidc", "PWD": "/home/fleet"}),
            None,
        ),
        (
            json!({"cookie": "SERVERID", "affinity-cookie": "route; max-age=31536000; domain=a1.example.com"}),
            None,
        ),
        (json!({"max_tokens": "4096", "jwt": "RS256"}), None),
        (
            json!({"secretId": "arn:aws:secretsmanager:eu-west-1:123456789012:secret:Member-1"}),
            None,
        ),
        (
            json!({"message": format!("could not read secret fleet/member-1-{ID}")}),
            None,
        ),
        (
            json!({"message": format!("could not read secret: fleet/member-1-{ID}")}),
            None,
        ),
        (
            json!({"message": format!("secret=fleet/member-1-{ID} not found")}),
            None,
        ),
        (
            json!({"message": format!("the member rejects the token: kid={ID}")}),
            None,
        ),
        (
            json!({"message": format!("cannot find secret \"member-1-{ID}\"")}),
            None,
        ),
        (
            json!({"key": "-----BEGIN PRIVATE KEY-----\n[REDACTED]\n-----END PRIVATE KEY-----"}),
            None,
        ),
        (
            json!({"key": "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----"}),
            None,
        ),
        (
            json!({"credentials": format!("fleet-{ID}@project.example.com")}),
            None,
        ),
        (
            json!({"message": "could not read secret: /subscriptions/0b1f6471-1bf0-4dda-aec3-cb9272f09590/resourceGroups/fleet/providers/Microsoft.KeyVault/vaults/hub"}),
            None,
        ),
        (
            json!({"message": "could not read secret: prod/eu_west/Member_3f2c9a8b7d6e5f4a: not found"}),
            None,
        ),
        (json!({"pull-secret": "prod/Member_3f2c9a8b7d6e5f4a"}), None),
        (json!({"authorization": "webhook cluster-3f2c9a8b7d6e5f4a"}), None),
        (
            json!({"authorization": "webhook fleet/Member_3f2c9a8b7d6e5f4a"}),
            None,
        ),
        // A name is a hint, where a secret itself would be expected.
        (
            json!({"credential": "fleet-1@project.example.com"}),
            Some(Possible),
        ),
        (json!(["--secret", format!("fleet/{ID}")]), Some(Possible)),
        (json!({"secret": ID}), Some(Possible)),
        (json!({"token": format!("member-1-{ID}")}), Some(Possible)),
        (json!({"credential": "aws-prod"}), Some(Possible)),
        (
            json!({"credential": "/etc/fleet/2b3cq5hf9k7m4n6p8r/creds"}),
            Some(Possible),
        ),
        (
            json!({"token": "/etc/fleet/2b3cq5hf9k7m4n6p8r/token"}),
            Some(Possible),
        ),
        (
            json!({"secret": "/subscriptions/0b1f6471-1bf0-4dda-aec3-cb9272f09590/resourceGroups/fleet/providers/Microsoft.KeyVault/vaults/hub"}),
            Some(Possible),
        ),
        (json!({"secret": "prod/member_7"}), Some(Possible)),
        (json!({"secret": "PROD/EastUS2/memberCluster_7"}), Some(Possible)),
        (
            json!({"credential": "prod/Member_3f2c9a8b7d6e5f4a"}),
            Some(Possible),
        ),
        (json!({"authorization": "Fleet 3F2c9a8b7d6e5f4a"}), Some(Possible)),
    ] {
        assert_eq!(surest(&document), expected, "{document}");
    }
}

#[test]
fn secrets_are_found_under_many_names() {
    use Grade::*;
    let login = BASE64_STANDARD.encode("magpie:s3cret");
    let docker = json!({"auths": {"registry.example": {"auth": login}}}).to_string();
    for (document, expected) in [
        (json!({"clientCertificate": certificate(&[])}), Certain),
        (
            json!({"clientCert": BASE64_STANDARD.encode(certificate(&[]))}),
            Certain,
        ),
        (json!({"anything": client_certificate()}), Certain),
        (
            json!({"headers": {"authorization": format!("Basic {login}")}}),
            Certain,
        ),
        (json!({"headers": {"Authorization": "Bearer s3cr3t-77"}}), Certain),
        (
            json!([{"name": "Authorization", "value": format!("Basic {login}")}]),
            Certain,
        ),
        (
            json!({".dockerconfigjson": BASE64_STANDARD.encode(&docker)}),
            Certain,
        ),
        (json!({"config": docker}), Certain),
        (
            json!({"role_id": "x", "secret_id": "f3b09679-3001-009d-2b80-9c306ab81aa6"}),
            Certain,
        ),
        (json!({"SECRET-ID": ID}), Certain),
        (json!({"credential": "S3cr3t!"}), Certain),
        (json!({"credentials": "Zm9vYmFyZm9vYmFy0"}), Certain),
        (json!({"jwt": WEB_TOKEN}), Certain),
        (json!({"jwt": "Zm9vYmFyZm9vYmFy0"}), Certain),
        (json!({"MYSQL_PWD": "correct"}), Certain),
        (json!({"cookies": "a=b; session=0123456789abcdef"}), Certain),
        (json!({"tokens": ["0123456789abcdef0123"]}), Certain),
        (json!({"clientSecret": ID}), Certain),
        // Slashes make no name of base64, and no password has the benefit.
        (
            json!({"secret": "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"}),
            Certain,
        ),
        (
            json!({"credential": "/JalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"}),
            Certain,
        ),
        (
            json!({"message": "secret: wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"}),
            Certain,
        ),
        (
            json!({"secretAccessKey": "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"}),
            Certain,
        ),
        (json!({"password": "Pa55/word_9"}), Certain),
        (json!({"password": "prod/member_7"}), Certain),
        (json!({"message": "DB_PASSWORD=Pa55/word_9"}), Certain),
        (json!({"clientSecret": "prod/member_7"}), Certain),
        (
            json!({"authorization": "Negotiate YIIB0123456789abcdef"}),
            Certain,
        ),
        (
            json!({"authorization": "Digest username=\"u\", realm=\"r\", response=\"6629fae49393a053\""}),
            Certain,
        ),
        (
            json!({"authorization": "AWS4-HMAC-SHA256 SignedHeaders=host, Signature=fe5f80f77d5fa3be"}),
            Certain,
        ),
        (json!({"token": "abcdef.0123456789abcdef"}), Certain),
        (json!(["--pwd", "magpie"]), Certain),
        (
            json!({"key": "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBg\n-----END PRIVATE KEY-----"}),
            Possible,
        ),
        (
            json!({"key": "-----BEGIN RSA PRIVATE KEY-----\nMIIEvQIBADANBg"}),
            Possible,
        ),
    ] {
        assert_eq!(surest(&document), Some(expected), "{document}");
    }
}

#[test]
fn a_number_is_rated_like_its_text() {
    use Grade::*;
    for (document, expected) in [
        (json!({"password": 31415926}), Some(Certain)),
        (json!({"users": [{"db_pwd": 31415926}]}), Some(Certain)),
        (json!([{"name": "DB_PASSWORD", "value": 31415926}]), Some(Certain)),
        (json!(["--password", 31415926]), Some(Certain)),
        (json!({"passwords": [31415926]}), Some(Possible)),
        (json!({"token": 31415926}), Some(Possible)),
        (json!({"clientSecret": 31415926}), Some(Possible)),
        (json!({"pin": 3141, "user_pin": "3141"}), Some(Possible)),
        (json!({"password": true, "token": null, "pin": false}), None),
        (json!({"password": 0, "token": -1, "pin": 17}), None),
        (
            json!({"maxToken": 4096, "max_tokens": 4096, "minPassword": 12, "spin": 3141, "port": 31415}),
            None,
        ),
        (json!({"pin": "GPIO1234", "version-pin": "v1.34.1"}), None),
    ] {
        assert_eq!(surest(&document), expected, "{document}");
        assert_eq!(
            redact_value(&mut document.clone()),
            expected.is_some(),
            "{document}"
        );
        // In a text, too.
        let text = leaks_in_text(&document.to_string());
        assert_eq!(
            text.into_iter().map(|leak| leak.grade).max(),
            expected,
            "{document}"
        );
    }
    let document = json!({"users": [{"password": 31415926}]});
    assert_eq!(leaks_in_value(&document)[0].place, ".users[0].password");
    let leaks = leaks_in_text("users:\n- name: u\n  password: 31415926\n");
    assert_eq!((leaks[0].grade, leaks[0].length), (Certain, 8));
}

#[test]
fn a_find_tells_the_name_and_the_place_that_give_it_away() {
    let text = format!("{} and then DB_PASSWORD=magpie-7 follows", "é".repeat(80));
    let leaks = leaks_in_text(&text);
    assert_eq!(leaks[0].key.as_deref(), Some("DB_PASSWORD"));
    assert_eq!(leaks[0].at, Some(80 + " and then DB_PASSWORD=".len() + 1));
    let leaks = leaks_in_value(&json!(["get-token", "--password", "magpie"]));
    assert_eq!((leaks[0].key.as_deref(), leaks[0].at), (Some("password"), None));
    // Its form tells, and the text is short.
    let leaks = leaks_in_text(WEB_TOKEN);
    assert_eq!((leaks[0].key.as_deref(), leaks[0].at), (None, None));
}

#[test]
fn a_random_word_after_token_is_redacted_and_no_finding() {
    let text = "the member rejects token 3f2c9a8b7d6e5f4a3f2c9a8b of secret fleet/member-1-3f2c9a8b7d6e5f4a";
    assert_eq!(leaks_in_text(text), []);
    assert_eq!(
        without_credentials(text),
        "the member rejects token … of secret fleet/member-1-3f2c9a8b7d6e5f4a"
    );
}

#[test]
fn what_only_looks_like_one_is_none() {
    let certificate = rcgen::generate_simple_self_signed(["a.example".to_owned()]).expect("a certificate");
    let pem = certificate.cert.pem();
    for text in [
        pem.as_str(),
        &BASE64_STANDARD.encode(&pem),
        &BASE64_STANDARD.encode(certificate.cert.der()),
        "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=\n-----END PUBLIC KEY-----",
        "expected -----BEGIN PRIVATE KEY-----, found -----END PRIVATE KEY-----",
        "eyJ is how one begins",
        "eyJhbGciOi.eyJub25lIjoi.abc",
        "eyJmb28iOiJiYXIifQ.eyJmb28iOiJiYXIifQ.Zm9vYmFy",
        "eyJhbGciOiJub25lIn0.eyJmb28iOiJiYXIifQ.",
        "invalid bearer token, token lookup failed: token has expired",
        "unsupported authorization: bearer authentication is disabled",
        "bearer authenticationconfigurations.k8s.io/something",
        "failed to get token: Unauthorized",
        "token: rejected by the member",
        "cannot read\ntoken: rejected by the member\nsecret: not found\n",
        r#"cannot find secret="fleet/member-1" token="bootstrap-token-x7k2pq""#,
        "secret=sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "https://github.com/org/repo.git",
        "ssh://git@github.com/org/repo.git",
        "https://user@a.example",
        "https://user:xxxxx@a.example/path",
        "https://user:$PASSWORD@a.example/path",
        "docker://registry.example/app:1.25@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "docker://nginx:1.25@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "https://a.example/@user:name@b",
        "oidc:alice@example.com",
        "AKIA is how one begins",
        r#"{"secretName":"foo","secretRef":{"name":"foo","key":"token"},"clusterName":"spoke-1"}"#,
        r#"{"token":null,"password":"","secret":{"name":"member-1"},"tokens":["a"],"maxToken":4096}"#,
        r#"["--token-file","/var/run/token","--tls","--token","$(TOKEN)"]"#,
        "first: 1\nsecond: [2]\n",
        "xoxb- is how one begins",
        "xoxb-your-token-here",
        "https://hooks.slack.com/services/YOUR/WEBHOOK",
        "npm_config_registry_of_the_company_mirror_2026",
        "sk_test_cluster_of_the_fleet_in_europe_west4",
        "disk_live_0123456789",
        "hf_transformers_of_the_fleet_in_europe",
        "SG.europe.west4",
        "SKU2026",
        "pypi-Agent",
        "pul-request-0123456789abcdef",
        "dapi-server-0123456789abcdef01234567",
        "glrt-eu-west4",
        "token-x7k2p:latest",
        "https://a.example/x?sig=unsigned",
        "member.17a2b3c4d5e6f708",
        "tokyo1.clusterprofile21",
        "europe.kubernetesobject",
        "abcdef.0123456789abcdef",
        "m4gp12.m4gpp2k9x7k2p9qz.clusters.example",
        "-----BEGIN%20CERTIFICATE-----%0AMIIB",
        "-----BEGIN PRIVATE KEY----- ThatIsHowAnyPrivateKeyInPEMBeginsAndThisIsNone",
        "eyJraW5kIjoibm90ZSJ9.eyJ0byI6Indob20gaXQgbWF5IGNvbmNlcm4ifQ.eW91cnM",
    ] {
        assert_eq!(leaks_in_text(text), [], "{text}");
    }
}

/// Words, names and numbers of which profiles are full.
fn ordinary() -> impl Strategy<Value = String> {
    let some = [
        "token",
        "secret",
        "password",
        "bearer token",
        "key",
        "credentials",
        "private key",
        "the token of the member",
        "basic",
        "access key",
        "kubeconfig",
        "authorization",
        "client certificate",
        "v1.34.1-gke.1162000",
        "europe-west4-a",
        "https://a.example:6443/k8s/clusters/c-m-x7k2p9qz",
        "2001:db8::1",
        "[2001:db8::1]:6443",
        "cluster.clusterset.k8s.io",
        "arn:aws:eks:eu-west-1:123456789012:cluster/Fleet-East-1",
        "projects/123456789012/locations/global/memberships/m-1",
        "arn:aws:iam::123456789012:role/FleetManagerRole2026ForAll",
        "/subscriptions/6dae42f8-4368-4678-94ff-3960e28e3630/resourceGroups/MC_Fleet/providers/Microsoft.ContainerService/m1",
        "https://connectgateway.googleapis.com/v1/projects/123456789/locations/us-central1/gkeMemberships/my-cluster-1",
        "system:serviceaccount:open-cluster-management:agent",
        "bootstrap-token-x7k2pq",
        "secretName: foo",
        "app.kubernetes.io/managed-by",
        "2026-01-01T00:00:00Z",
        "100m",
        "a@example.com",
        ",",
        "--",
        "\"",
        "\n",
    ];
    prop_oneof![
        3 => select(some.map(str::to_owned).to_vec()),
        1 => any::<u128>().prop_map(|n| {
            let hex = format!("{n:032x}");
            format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
        }),
        1 => collection::vec(any::<u8>(), 32).prop_map(|bytes| bytes.iter().map(|b| format!("{b:02x}")).collect()),
        1 => collection::vec(any::<u8>(), 20..80).prop_map(|bytes| format!("sha256-{}", BASE64_STANDARD.encode(bytes))),
        1 => "[a-z]([-a-z0-9]{0,20}[a-z0-9])?",
        1 => any::<u64>().prop_map(|n| n.to_string()),
        1 => "\\PC{0,20}",
    ]
}

proptest! {
    #[test]
    fn ordinary_text_gives_nothing(words in collection::vec(ordinary(), 1..8)) {
        let text = words.join(" ");
        prop_assert_eq!(leaks_in_text(&text), []);
        let document = json!({"clusterName": text, "items": words, "message": {"text": text}});
        prop_assert_eq!(leaks_in_value(&document), []);
        prop_assert_eq!(leaks_in_text(&document.to_string()), []);
    }

    #[test]
    fn a_credential_is_found_between_words_and_is_not_shown(
        before in collection::vec(ordinary(), 0..4),
        after in collection::vec(ordinary(), 0..4),
        credential in select(phrases()),
    ) {
        let (credential, _) = credential;
        let text = format!("{} | {credential} | {}", before.join(" "), after.join(" "));
        prop_assert!(leaks_in_text(&text).iter().any(|leak| leak.grade == Grade::Certain), "{}", text);
        let shown = without_credentials(&text);
        prop_assert!(!shown.contains(&credential), "{}", shown);
    }

    #[test]
    fn nothing_makes_it_fail(text in "\\PC{0,200}", bytes in collection::vec(any::<u8>(), 0..200)) {
        let strange = String::from_utf8_lossy(&bytes).into_owned();
        for text in [text, strange] {
            leaks_in_text(&text);
            without_credentials(&text);
        }
    }
}

#[test]
fn hostile_text_takes_no_more_than_a_moment() {
    let nested = (0..40).fold(PRIVATE_KEY.to_owned(), |text, _| match text.len() {
        0..12_000 => json!({"a": text}).to_string(),
        _ => text,
    });
    let mut encoded = "token: x\n".repeat(500);
    for _ in 0..6 {
        encoded = BASE64_STANDARD.encode(&encoded);
    }

    for text in [
        "a".repeat(1 << 15),
        "token=".repeat(5_000),
        "key=".repeat(1 << 13),
        "auth=".repeat(1 << 13),
        "auth:".repeat(1 << 12),
        format!("{}redacted", "token=".repeat(80)).repeat(1 << 6),
        "//a@".repeat(8_000),
        "eyJ".repeat(10_000),
        "-----BEGIN PRIVATE KEY-----".repeat(1_000),
        "[".repeat(1 << 15),
        format!("a: &a [x]\nb: {}", "*a ".repeat(10_000)),
        nested,
        encoded,
    ] {
        leaks_in_text(&text);
        without_credentials(&text);
    }
}
