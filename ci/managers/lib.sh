# shellcheck shell=bash
# What the managers' scripts share: building, a hub, and stopping all of it. Each manager's folder has
#
#   manager          a script: `manager crds` prints the CRDs, `manager start` runs the manager in the foreground,
#                    `manager prepare` prepares the hub, `manager namespace` prints the namespace of the profiles,
#                    `manager agent-prepare` prepares a member for the manager's agent, `manager agent-start` runs that agent in
#                    the foreground, `manager join` and `manager leave` are hooks
#   driver.yaml      the driver file
#   conformance.yaml the configuration of the run, with the pinned version
#
# `run` builds, starts, judges, and stops a manager.
# Members that stay join before the run; the hook `join` brings others. Each has a control plane of its own (`member`).

members=(lisbon oslo porto)

# What of members a run asks. Decisions on placements need none.
asked=(--members members.yaml)

# The files that a run writes.
reports=(--report report.yaml --markdown report.md)

say() { printf '%s: %s\n' "$name" "$*" >&2; }

fail() {
    say "$*"
    exit 1
}

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)

# Go code of others is built as its own go.mod has it, whatever surrounds us.
export GOWORK=off GOFLAGS="${GOFLAGS:-} -mod=readonly" CGO_ENABLED=0

# build_manager MODULE PACKAGE: builds a manager as $cache/manager, as the module itself pins its dependencies, and the
# members' agents. Go's own cache makes that quick the second time. Where VERSION names a version, that one is built in
# place of the pinned one, and from the git checkout of its tag that SOURCE names, if it does.
build_manager() {
    if [ -n "${SOURCE:-}" ]; then
        build_tag "$SOURCE" "$2"
        return
    fi
    version=${VERSION:-$(pinned_version)}
    [ -z "${VERSION:-}" ] || cache=$cache/$VERSION
    mkdir -p "$cache"
    module=$("$root/ci/go-program" "$1@$version" "$2" "$cache/manager") || fail "failed to build $1 $version"
    export version module
}

# build_tag FOLDER PACKAGE: builds VERSION of a manager as $cache/manager from a git checkout of that tag.
build_tag() {
    version=${VERSION:?VERSION is to name the tag of the checkout in SOURCE}
    module=$(cd "$1" && pwd) || fail "there is no folder $1"
    cache=$cache/$version
    mkdir -p "$cache"
    { git -C "$module" tag --points-at HEAD 2>/dev/null | grep -qx "$version" && git -C "$module" diff --quiet HEAD; } ||
        fail "SOURCE is to be a git checkout of the tag $version, without changes"
    build_from "$module" "$2" manager
    export version module
}

# build_checkout FOLDER PROGRAM...: builds programs of a manager that no version of its module has, from a git checkout of
# the commit that conformance.yaml names.
build_checkout() {
    local folder=$1 program
    shift
    version=$(pinned_version)
    git -C "$folder" rev-parse HEAD 2>/dev/null | grep -q "^${version##*-}" ||
        fail "SOURCE is to be a git checkout of commit ${version##*-}: $here/run says how to get it"
    for program; do
        build_from "$folder" "./cmd/$program" "$program"
    done
    export version
}

# build_from FOLDER PACKAGE PROGRAM: builds a package of a checkout as $cache/PROGRAM, with the dependencies that are
# vendored there, if any are.
build_from() {
    local flags=$GOFLAGS
    [ ! -d "$1/vendor" ] || flags=-mod=vendor
    say "building $2 $version"
    (cd "$1" && GOFLAGS=$flags go build -buildvcs=false -trimpath -o "$cache/$3" "$2") || fail "failed to build $2"
}

# build_also PACKAGE PROGRAM: builds another package of the module or checkout that `build_manager` built.
build_also() {
    build_from "$module" "$1" "$2"
}

# build_agents: what stands for the members' agents.
build_agents() {
    (cd "$root/ci" && go build -buildvcs=false -trimpath -o "$cache/agent" ./managers/agent) || fail "failed to build the agents"
}

# pinned_version: prints the version of the manager that its conformance.yaml names.
pinned_version() {
    sed -n 's/^  version: //p' "$here/$name/conformance.yaml"
}

# configuration FOLDER VERSION: prints a manager's conformance.yaml, as it is for that version.
configuration() {
    sed "s/^  version: .*/  version: $2/" "$1/conformance.yaml"
}

# build_suite: the suite's binary, unless SUITE names one.
build_suite() {
    if [ -z "${SUITE:-}" ]; then
        (cd "$root" && cargo build --locked --quiet) || fail "failed to build the suite"
        SUITE=${CARGO_TARGET_DIR:-$root/target}/debug/clusterprofile-conformance
    fi
    export SUITE
}

# build_hub [--node]: the API server, etcd and kubectl; with --node also controllers of the control plane.
build_hub() {
    local assets
    assets=$("$root/ci/envtest/build" "$@" | tail -n 1) || fail "failed to build the API server"
    export "${assets?}"
    export PATH="$KUBEBUILDER_ASSETS:$PATH"
}

# build_upgrade: the API server to which the hook `upgrade` brings a member: of the minor version that the driver file names,
# as ci/versions pins it.
build_upgrade() {
    local assets minor
    minor=$(sed -n 's/^upgradeTo: v\([0-9]*\.[0-9]*\)\..*/\1/p' "$here/$name/driver.yaml")
    assets=$("$root/ci/envtest/build" --module "$root/ci/versions/$minor" | tail -n 1) || fail "failed to build Kubernetes $minor"
    export UPGRADED=${assets#*=}
}

# in_background LOG COMMAND...: starts something that ends with this script.
in_background() {
    local log=$1
    shift
    "$@" >"$log" 2>&1 &
    started+=("$!")
}

stop_all() {
    local process
    # In reverse order: the hub ends last.
    for ((i = ${#started[@]} - 1; i >= 0; i--)); do
        process=${started[i]}
        # However it ends: the others are still to be stopped.
        kill "$process" 2>/dev/null && wait "$process" 2>/dev/null || true
    done
    if [ -n "${KEEP:-}" ]; then
        say "the logs are in $state"
    else
        rm -rf "$state"
    fi
}

# begin: a folder, $state, that goes when the script ends, and with it what runs in the background.
begin() {
    state=$(mktemp -d)
    # Programs that are killed leave temporary files.
    export TMPDIR=$state/temporary
    mkdir "$TMPDIR"
    started=()
    trap stop_all EXIT
    # A signal ends the script, and the trap does the rest.
    trap 'exit 130' INT TERM
}

# start_hub: a control plane without CRDs, with its controllers. Its kubeconfig and audit log are in $state/hub.
start_hub() {
    [ -n "${state:-}" ] || begin
    mkdir "$state/members"
    export MANAGERS_STATE=$state KUBECONFIG=$state/hub/kubeconfig
    in_background "$state/hub.log" "$here/cluster" "$state/hub" --hub
    wait_for "the hub" test -s "$KUBECONFIG"
}

# start_members: runs each member that a hook asks for by a folder in $state/members, until there is a file `leave` in it.
# Then the member ends, and its folder goes.
start_members() {
    in_background "$state/members.log" keep_members
}

# await FILE: waits for it, a minute at most.
await() {
    local tries=300
    until [ -e "$1" ] || [ "$tries" -eq 0 ]; do
        tries=$((tries - 1))
        sleep 0.2
    done
}

keep_members() {
    local folder member
    local -A running=()
    # All at the same time: each may take a while.
    trap 'for member in "${!running[@]}"; do kill "${running[$member]}" 2>/dev/null || true; done; wait; exit 0' TERM
    while :; do
        for folder in "$state"/members/*/; do
            [ -d "$folder" ] || continue
            member=$(basename "$folder")
            if [ -z "${running[$member]:-}" ]; then
                "$here/member" run "$name" "$member" >>"$state/members.log" 2>&1 &
                running[$member]=$!
                # One after the other: API servers that start together are all late.
                await "$folder/ready"
            elif [ -e "$folder/leave" ]; then
                kill "${running[$member]}" 2>/dev/null || true
                wait "${running[$member]}" || true
                unset "running[$member]"
                # Keeps the agent's log, not the member's data.
                mkdir -p "$state/left"
                mv "$folder/agent.log" "$state/left/$member.log" || true
                rm -rf "$folder"
            fi
        done
        sleep 0.3
    done
}

# start_fake_members: the permanent members, as API servers of the suite, with a kubeconfig each in $state/fake-members.
start_fake_members() {
    in_background "$state/fake-members.log" "$SUITE" hub --no-crds --kubeconfig-out "$state/unused.kubeconfig" \
        --members "${members[@]}" --members-out "$state/fake-members"
    wait_for "the fake members" test -s "$state/unused.kubeconfig"
}

# wait_for WHAT COMMAND...: until the command succeeds, two minutes at most.
wait_for() {
    local what=$1 tries=600
    shift
    until "$@" >/dev/null 2>&1; do
        tries=$((tries - 1))
        if [ "$tries" -eq 0 ]; then
            tail -n 20 "$state"/*.log >&2
            fail "$what is not there"
        fi
        sleep 0.2
    done
}

# supervise: keeps the manager running, so that the hook `restart` only has to end it.
supervise() {
    local process=
    trap '"$here/process" end "$process"; exit 0' TERM
    while :; do
        "$here/$name/manager" start &
        process=$!
        echo "$process" >"$state/manager.pid"
        # However it has ended.
        wait "$process" || sleep 1
    done
}

# join_members NAMESPACE [fake-members]: has the manager take the members that stay, whose profiles come in that namespace.
join_members() {
    local member kubeconfig
    for member in "${members[@]}"; do
        kubeconfig=members/$member/kubeconfig
        [ -z "${2:-}" ] || kubeconfig=$2/$member.kubeconfig
        CONFORMANCE_MEMBER=$member CONFORMANCE_HUB_KUBECONFIG=$KUBECONFIG \
            CONFORMANCE_MEMBER_KUBECONFIG=$state/$kubeconfig \
            "$here/$name/manager" join >>"$state/join.log" 2>&1 || fail "$member did not join: $(tail -n 5 "$state/join.log")"
        echo "$1/$member: {kubeconfig: $kubeconfig}" >>"$state/members.yaml"
    done
    for member in "${members[@]}"; do
        wait_for "the profile of $member" kubectl get clusterprofile --namespace "$1" "$member"
    done
}

# judge: runs the suite with everything that fits, and leaves its reports in NAME/VERSION of the folder REPORTS, or of
# reports/. A manager that does not conform is an outcome, not a failure of this script.
judge() {
    local folder=${REPORTS:-$root/reports}/$name/$version status=0
    # In the background, so that a signal ends both: bash handles none while a foreground command runs.
    run_suite "$@" >"$state/run.out" &
    started+=("$!")
    wait "$!" || status=$?
    is_judged "$status"
    tail -n 1 "$state/run.out"
    mkdir -p "$folder"
    cp "$state"/report.yaml "$state"/report.md "$state"/evidence.jsonl.zst "$folder"
    say "the reports are in $folder; requests of the suite: $(grep -c '"userAgent":"clusterprofile-conformance' "$state/hub/audit.log")"
}

# run_suite: in the place of the shell that calls it. Where names of files stand in reports, they are those that the
# reader has, not those of this machine.
run_suite() {
    cd "$state"
    configuration "$here/$name" "$version" >conformance.yaml
    exec "$SUITE" run --config conformance.yaml --driver "${driver:-$here/$name/driver.yaml}" --allow-mutations \
        --audit-log hub/audit.log ${asked[@]+"${asked[@]}"} "$@" "${reports[@]}" --record evidence.jsonl.zst
}

# is_judged STATUS: ends the script where that exit code of the suite is not one of a verdict.
is_judged() {
    case $1 in
    0 | 1 | 3) ;;
    *) fail "the suite could not judge: exit code $1" ;;
    esac
}
