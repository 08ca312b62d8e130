# Every habit of this repository; `just` lists them.

# List the habits.
default:
    @just --list

# What a change must pass.
check:
    bash .ci/run

# That, what takes long, and what tries a release.
everything:
    EVERYTHING=1 bash .ci/run

# Format, lint and test what changed, quickly.
quick:
    cargo fmt --all
    cargo clippy --workspace --all-targets -- -D warnings
    cargo test

# Rewrite docs/rules.md from suites/.
rules:
    UPDATE=1 cargo test --test suite the_rules_in_the_documents

# Rewrite docs/coverage.md from fixtures/documents.
coverage:
    ci/coverage

# Rewrite docs/schemas and the table in docs/configuration.md from the types and flags.
schemas:
    UPDATE=1 cargo test --test suite published

# Redraw the pictures of the README (that of the HTML report needs chromium).
pictures:
    UPDATE=1 cargo test --test suite the_picture_of_the_terminal
    UPDATE=1 cargo test --test browser draw_the_picture

# Sort all imports, one `use` for each crate (needs rustfmt of a nightly toolchain).
imports:
    cargo +nightly fmt --all -- --config imports_granularity=Crate,group_imports=StdExternalCrate

# Checks the laws of the timeline and of writes on random histories: just laws 1000000
laws COURSES="1000000":
    TIME_COURSES={{COURSES}} cargo test --release -p clusterprofile-judge --lib laws::

# Records of what the lab does, honest and with each fault, that lack something at random: just degraded 10000 SEED
degraded RECORDS="10000" SEED="0":
    DEGRADED_WORLDS=all DEGRADED_SEEDS={{RECORDS}} DEGRADED_SEED={{SEED}} cargo test --release --test suite degraded::

# Random courses of a whole hub, honest and with a fault, as all kinds of watches see them: just courses 1000000 SEED
courses COURSES="1000000" SEED="0":
    COURSES_SEEDS={{COURSES}} COURSES_SEED={{SEED}} cargo test --release -p clusterprofile-judge --test examples courses::

# Random schedules of a hub's misbehaviour, as many as wanted. A failing one is printed with its seed: just chaos 1000 SEED
chaos SCHEDULES="10000" SEED="0":
    FIRE_SEEDS={{SCHEDULES}} FIRE_SEED={{SEED}} cargo test --release --test suite chaos::schedules

# Build kube-apiserver, etcd and kubectl for the tests that want a real hub.
envtest:
    ci/envtest/build

# What must work on one Kubernetes version, or some cells of it: just cell 1.30 tests migrated
cell *ARGS:
    ci/versions/cell {{ARGS}}

# Lint the Action and run its steps.
action:
    ci/action/try

# Package the crates that stand alone, and compile what crates.io would get.
packages:
    cargo package --locked -p kube-envtest
    cargo package --locked -p in-process-apiserver

# Dependencies: licences, bans, sources, and known advisories (needs the network).
audit:
    cargo deny check

# A benchmark, or the list of them: see benches/README.md. Usage: just bench [NAME] [ARGS]
bench *ARGS="--help":
    cargo bench --bench suite -- {{ARGS}}

# Write the stubs of a new rule: its file, function, and binding. Usage: just new-rule suite/name
new-rule RULE:
    ci/new-rule {{RULE}}

# Fuzz what reads untrusted input (nightly, cargo-fuzz): audit_log, dump, evidence, hub, leak. Usage: just fuzz TARGET [libfuzzer flags]
fuzz TARGET *FLAGS:
    mkdir -p fuzz/corpus/{{TARGET}}
    test ! -e fuzz/corpora/{{TARGET}}.tar.zst || \
        tar --zstd --extract --skip-old-files --directory fuzz/corpus/{{TARGET}} --file fuzz/corpora/{{TARGET}}.tar.zst
    cargo +nightly fuzz run --sanitizer none {{TARGET}} fuzz/corpus/{{TARGET}} fuzz/seeds/{{TARGET}} -- -max_total_time=300 {{FLAGS}}

# Keep what fuzzing found: the inputs without which less code is reached. Usage: just fuzz-keep TARGET
fuzz-keep TARGET:
    cargo +nightly fuzz cmin --sanitizer none {{TARGET}}
    tar --zstd --create --sort=name --owner=0 --group=0 --mtime=@0 --file fuzz/corpora/{{TARGET}}.tar.zst \
        --directory fuzz/corpus/{{TARGET}} .
