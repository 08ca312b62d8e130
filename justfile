# Every habit of this repository; `just` lists them.

# List the habits.
default:
    @just --list

# Everything that a change must pass.
check:
    bash .ci/run

# Format, lint and test what changed, quickly.
quick:
    cargo fmt
    cargo clippy --all-targets -- -D warnings
    cargo test

# Write the checked-in CRDs anew from src/api.
crds:
    UPDATE=1 cargo test --lib api::crd

# Build kube-apiserver, etcd and kubectl for the tests that want a real hub.
envtest:
    ci/envtest/build

# Dependencies: licences, bans, sources, and known advisories (needs the network).
audit:
    cargo deny check

# Start a new rule: its file and the place of its function. Usage: just new-rule suite/name
new-rule RULE:
    ci/new-rule {{RULE}}

# Fuzz what reads other people's words (nightly, cargo-fuzz). Usage: just fuzz TARGET [libfuzzer flags]
fuzz TARGET *FLAGS:
    mkdir -p fuzz/corpus/{{TARGET}}
    cargo +nightly fuzz run --sanitizer none {{TARGET}} fuzz/corpus/{{TARGET}} fuzz/seeds/{{TARGET}} -- -max_total_time=300 {{FLAGS}}
