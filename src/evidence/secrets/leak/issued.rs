//! Credentials in the format of their issuer.
//!
//! Prefixes, lengths and alphabets are facts: most are those that the rules of gitleaks list (`config/gitleaks.toml` at
//! commit b58d3f1); those of Docker Hub, Rancher, EKS, OpenShift and Azure's accounts are from what these write themselves.

use std::sync::LazyLock;

use regex::Regex;

use super::{Grade, LeakKind, constant::constant, grade::Find};

/// Stands in evidence where the hub showed the runner's own credential: a name could hold it, too.
pub const OWN_CREDENTIAL: &str = "redacted-credential-of-the-runner";

/// A format: text of which every match holds one, the pattern, and what it is.
type Format = (&'static [&'static str], &'static str, &'static str);

const FORMATS: &[Format] = &[
    (&[OWN_CREDENTIAL], OWN_CREDENTIAL, "a credential of the runner"),
    (
        &["AKIA", "ASIA", "ABIA", "ACCA"],
        r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}\b",
        "an access key of AWS",
    ),
    (
        &["k8s-aws-v1."],
        r"\bk8s-aws-v1\.[A-Za-z0-9_-]{40,}",
        "a token of EKS",
    ),
    (&["AIza"], r"\bAIza[A-Za-z0-9_-]{35}\b", "an API key of Google"),
    (
        &["GOCSPX-"],
        r"\bGOCSPX-[A-Za-z0-9_-]{28}\b",
        "a client secret of Google",
    ),
    (
        &["ya29."],
        r"\bya29\.[A-Za-z0-9_-]{20,}",
        "an access token of Google",
    ),
    (
        &["7Q~", "8Q~"],
        r"\b[A-Za-z0-9_~.-]{3}[78]Q~[A-Za-z0-9_~.-]{31,34}",
        "a client secret of Azure",
    ),
    (
        &["AccountKey=", "AccessKey=", "accountkey=", "accesskey="],
        r"\b(?i:AccountKey|SharedAccessKey)=[A-Za-z0-9+/]{43,86}={1,2}",
        "an account key of Azure",
    ),
    // The digest of a shared access signature, in base64 within a URL.
    (
        &["sig="],
        r"[?&;]sig=(?:[A-Za-z0-9+/]|%2[BbFf]){43}(?:=|%3[Dd])",
        "a shared access signature of Azure",
    ),
    (
        &["gho_", "ghp_", "ghr_", "ghs_", "ghu_", "github_pat_"],
        r"\b(?:gh[opsru]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{60,})",
        "a token of GitHub",
    ),
    (
        &[
            "glpat-", "gldt-", "glrt-", "glptt-", "gloas-", "glsoat-", "glft-", "glimt-", "glcbt-",
            "glagent-",
        ],
        r"\bgl(?:pat|dt|rt|ptt|oas|soat|ft|imt|cbt|agent)-[A-Za-z0-9_-]{20,}",
        "a token of GitLab",
    ),
    (
        &["sha256~"],
        r"\bsha256~[A-Za-z0-9_-]{43}\b",
        "a token of OpenShift",
    ),
    (
        &["hvs.", "hvb."],
        r"\bhv[sb]\.[A-Za-z0-9_-]{24,}",
        "a token of Vault",
    ),
    (
        &[".atlasv1."],
        r"\b[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,70}",
        "a token of Terraform",
    ),
    (
        &[
            "xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-", "xoxo-", "xoxe-", "xapp-",
        ],
        r"\b(?:xox[abeoprs]|xapp)-(?:[A-Z0-9]{1,14}-)+[A-Za-z0-9]{16,}",
        "a token of Slack",
    ),
    (
        &["hooks.slack.com/"],
        r"\bhooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9+/]{43,56}",
        "a webhook of Slack",
    ),
    (
        &["k_test_", "k_live_", "k_prod_"],
        r"\b[rs]k_(?:test|live|prod)_[A-Za-z0-9]{24,99}\b",
        "a key of Stripe",
    ),
    (&["npm_"], r"\bnpm_[A-Za-z0-9]{36}\b", "a token of npm"),
    (&["pypi-Ag"], r"\bpypi-Ag[A-Za-z0-9_-]{60,}", "a token of PyPI"),
    (
        &["dckr_pat_", "dckr_oat_"],
        r"\bdckr_[po]at_[A-Za-z0-9_-]{27,}",
        "a token of Docker",
    ),
    (
        &["hf_", "api_org_"],
        r"\b(?:hf|api_org)_[A-Za-z]{34}\b",
        "a token of Hugging Face",
    ),
    (
        &["token-", "kubeconfig-"],
        r"\b(?:token|kubeconfig)-[a-z0-9-]{1,63}:[b-df-hj-np-tv-xz2-9]{54}\b",
        "a token of Rancher",
    ),
    (
        &["SG."],
        r"\bSG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}\b",
        "a key of SendGrid",
    ),
    (&["SK"], r"\bSK[0-9a-f]{32}\b", "a key of Twilio"),
    (
        &["dop_v1_", "doo_v1_", "dor_v1_"],
        r"\bdo[por]_v1_[0-9a-f]{64}\b",
        "a token of DigitalOcean",
    ),
    (
        &["T3BlbkFJ"],
        r"\bsk-[A-Za-z0-9_-]{20,}T3BlbkFJ[A-Za-z0-9_-]{20,}",
        "a key of OpenAI",
    ),
    (
        &["sk-ant-"],
        r"\bsk-ant-[a-z]+[0-9]{2}-[A-Za-z0-9_-]{80,}",
        "a key of Anthropic",
    ),
    (
        &["glsa_", "glc_"],
        r"\b(?:glsa_[A-Za-z0-9]{32}_[0-9A-Fa-f]{8}\b|glc_[A-Za-z0-9+/]{32,})",
        "a token of Grafana",
    ),
    (&["dapi"], r"\bdapi[0-9a-f]{32}\b", "a token of Databricks"),
    (&["pul-"], r"\bpul-[0-9a-f]{40}\b", "a token of Pulumi"),
    (&["rubygems_"], r"\brubygems_[0-9a-f]{48}\b", "a key of RubyGems"),
    (&["AKCp"], r"\bAKCp[A-Za-z0-9]{69}\b", "a key of Artifactory"),
    (
        &["AGE-SECRET-KEY-1"],
        r"\bAGE-SECRET-KEY-1[AC-HJ-NP-Z02-9]{58}",
        "a key of age",
    ),
];

/// Texts of which every credential with a format of its own holds one.
pub(super) fn hints() -> impl Iterator<Item = &'static str> {
    FORMATS.iter().flat_map(|(hints, ..)| hints.iter().copied())
}

/// True for a text that is in many words of which none is a credential. What it hints at is long enough for base64.
pub(super) fn is_common(hint: &str) -> bool {
    hint.len() < 3
}

static PATTERNS: LazyLock<Vec<Regex>> =
    LazyLock::new(|| FORMATS.iter().map(|(_, pattern, _)| constant(pattern)).collect());

/// A token by which a node joins a cluster of kubeadm, by itself: its id, and its secret.
static BOOTSTRAP: LazyLock<Regex> = LazyLock::new(|| {
    constant(r"(?:^|[^A-Za-z0-9._/@:-])(?<token>[a-z0-9]{6}\.(?<secret>[a-z0-9]{16}))(?:$|[^A-Za-z0-9._-])")
});

/// Adds the credentials in a text that have the format of an issuer.
pub(super) fn find(text: &str, finds: &mut Vec<Find>) {
    for ((hints, _, what), pattern) in FORMATS.iter().zip(PATTERNS.iter()) {
        if hints.iter().any(|hint| text.contains(hint)) {
            let found = pattern.find_iter(text);
            finds.extend(found.map(|found| Find::new(found.range(), LeakKind::Issued(what), Grade::Certain)));
        }
    }
}

/// Adds the tokens of kubeadm. Names may have the same form: in nearly all tokens, letters and digits alternate more often, and
/// the name of an Event ends with a time in hexadecimal digits.
pub(super) fn find_bootstrap(text: &str, finds: &mut Vec<Find>) {
    if !text.contains('.') {
        return;
    }
    for found in BOOTSTRAP.captures_iter(text) {
        let (Some(token), secret) = (found.name("token"), &found["secret"]) else {
            continue;
        };
        let beyond_hexadecimal = secret.chars().filter(|c| matches!(c, 'g'..='z')).count();
        let changes = secret
            .as_bytes()
            .windows(2)
            .filter(|pair| pair[0].is_ascii_digit() != pair[1].is_ascii_digit());
        if beyond_hexadecimal >= 3 && changes.count() >= 4 {
            let kind = LeakKind::Issued("a bootstrap token");
            finds.push(Find::new(token.range(), kind, Grade::Certain));
        }
    }
}

/// True for a text that may hold a token of kubeadm: a quick check.
pub(super) fn may_hold_bootstrap(text: &str) -> bool {
    let bytes = text.as_bytes();
    let is_of_token = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    memchr::memchr_iter(b'.', bytes).any(|dot| {
        let secret = bytes.get(dot + 1..dot + 17);
        dot >= 6
            && secret.is_some_and(|secret| secret.iter().all(is_of_token))
            && bytes[dot - 6..dot].iter().all(is_of_token)
            && secret.is_some_and(|secret| secret.iter().filter(|byte| byte.is_ascii_digit()).count() >= 2)
    })
}
