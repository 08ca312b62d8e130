# shellcheck shell=bash
# What the consumers' scripts share, beside what ci/managers/lib.sh has. Each consumer's folder has
#
#   consumer         a script: `consumer prepare` sets the hub up, `consumer start` runs the consumer in the foreground;
#                    `consumer work`, `consumer stop` and `consumer again` are hooks of the driver file, where it has them
#   driver.yaml      what the run is told of the consumer, and the hook
#   conformance.yaml the version that is pinned
#   run              builds, starts, judges, stops
#
# `providers` prints the file in which a consumer has the suite's plugin, and `lifetime` starts and stops one.

# shellcheck source=../managers/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../managers/lib.sh"
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export here

# No member stays, and none is asked: the run has its own.
members=(none)
asked=()

# build_program MODULE PACKAGE: builds a consumer as $cache/consumer, as the module itself pins its dependencies.
build_program() {
    version=${VERSION:-$(pinned_version)}
    mkdir -p "$cache"
    module=$("$root/ci/go-program" "$1@$version" "$2" "$cache/consumer") || fail "failed to build $1 $version"
    export version module
}

# use_programs NAME...: takes the programs of a consumer at the version that is pinned from the folder PROGRAMS. They are built elsewhere.
use_programs() {
    local program
    for program; do
        [ -x "${PROGRAMS:-}/$program" ] || fail "PROGRAMS is to name a folder with $program: see $0"
    done
    PROGRAMS=$(cd "$PROGRAMS" && pwd)
    version=$(pinned_version)
    export PROGRAMS version
}

# start_consumer_hub: a real API server with the suite's CRDs, and a kubeconfig for the consumer's own user.
start_consumer_hub() {
    state=$(mktemp -d)
    started=()
    trap stop_all EXIT
    trap 'exit 130' INT TERM
    export CONSUMER_STATE=$state KUBECONFIG=$state/hub.kubeconfig
    in_background "$state/hub.log" "$SUITE" hub --hub envtest \
        --kubeconfig-out "$KUBECONFIG" --audit-log-out "$state/audit.log"
    wait_for "the hub" test -s "$KUBECONFIG"
    wait_for "the API" kubectl get clusterprofiles -A
    as_consumer >"$state/consumer.kubeconfig"
    CONSUMER_KUBECONFIG=$state/consumer.kubeconfig
    if grep -q '^  hub: ' "$here/$name/driver.yaml"; then
        CONSUMER_KUBECONFIG=$state/relay.kubeconfig
    fi
    export CONSUMER_KUBECONFIG
    grep -q '^    as: ' "$state/consumer.kubeconfig" || fail "the consumer would be the hub's administrator"
}

# as_consumer: prints the hub's kubeconfig for the user that driver.yaml names.
as_consumer() {
    local user
    user=$(sed -n 's/^  user: //p' "$here/$name/driver.yaml")
    # The hub may write JSON: kubectl prints YAML.
    kubectl config view --raw | sed "s/^  user:$/&\n    as: $user\n    as-groups: ['system:masters']/"
}

# stop_consumer: ends what a hook has started again, and all else.
stop_consumer() {
    "$here/$name/consumer" stop >>"$state/stop.log" 2>&1 || true
    stop_all
}

# judge_consumer [FLAG...]: starts the consumer, runs the suite, and leaves its reports where those of managers are.
judge_consumer() {
    "$here/$name/consumer" prepare >"$state/prepare.log"
    # Its file of the way to the run is beside it.
    driver=$state/driver.yaml
    sed -E "s|\[consumer, ([a-z]+)\]|['$here/$name/consumer', \1]|" "$here/$name/driver.yaml" >"$driver"
    trap stop_consumer EXIT
    in_background "$state/consumer.log" "$here/lifetime" first "$here/$name/consumer"
    judge "$@"
}
