# shellcheck shell=bash
# The steps of action.yml, one after the other, with the env that it gives them.

while IFS=$'\t' read -r input _ value; do
    defaults[$input]=$value
done < <(action_inputs)

# evaluate EXPRESSION: leaves its value in $value.
evaluate() {
    local name=${1#*.}
    name=${name% \}\}}
    case $1 in
    '${{ inputs.'*) value=${given[$name]-${defaults[$name]?"action.yml has no input $name"}} ;;
    '${{ steps.'*) value=${outputs[$name]:-} ;;
    '${{ github.action_path }}') value=$root ;;
    '${{ github.action_repository || github.repository }}') value=$repository ;;
    *) value=$1 ;;
    esac
}
# step NAME ID: runs a step of action.yml with its env, and keeps its outputs.
step() {
    local line status=0 lines=() variables=()
    mapfile -t lines < <(awk -v name="    - name: $1" '/^    - name: / { on = $0 == name }
        on && /^(        [A-Z0-9_]+|      run): / { sub(/^ +/, ""); print }' action.yml)
    for line in "${lines[@]}"; do
        evaluate "${line#*: }"
        variables+=("${line%%: *}=$value")
    done
    : >"$trial/$2"
    # The last of them is `run`.
    in_trial RUNNER_OS="${SYSTEM:-Linux}" RUNNER_ARCH="${PROCESSOR:-$processor}" RUNNER_TEMP="${FOLDER:-$trial}" \
        GITHUB_OUTPUT="$trial/$2" GITHUB_STEP_SUMMARY="$trial/summary" "${variables[@]}" \
        bash --noprofile --norc -e -o pipefail -c "${lines[-1]#run: }" || status=$?
    while IFS= read -r line; do
        outputs[$2.outputs.${line%%=*}]=${line#*=}
    done <"$trial/$2"
    cat "$trial/$2" >>"$trial/output"
    [ $status = 0 ] || code=$status
    return $status
}
# action NAME [INPUT=VALUE...]
action() {
    begin "action: $1" "${@:2}"
    if step "Fetch the suite" fetch; then step Judge judge || true; fi
    [ -z "${outputs[judge.outputs.exit-code]:-}" ] || step Decide decide || true
}
# refuses NAME TEXT [INPUT=VALUE...]: ends with code 4, and runs no suite.
refuses() {
    action "$1" "${@:3}"
    ends 4 "::error title=clusterprofile-conformance::" "$2" "### clusterprofile-conformance: no report" exit-code=4 '!report='
}

RELEASES=$work/real action "conforming manager, from the release" "args=$(lab)"
ends 0 exit-code=0 decision=conformant failed=0 warned=0 "## ✅ ClusterProfile: conformant" \
    "::notice title=clusterprofile-conformance::conformant" "gh attestation verify " \
    " --repo $repository --signer-workflow $repository/.github/workflows/release.yaml"
leaves "${outputs[judge.outputs.reports]}" junit.xml report.sarif
# An output that no script sets would be empty for ever.
while read -r output; do
    check "$name: $output" test -n "${outputs[$output]:-}"
done < <(grep -oE '(judge|fetch)\.outputs\.[a-z-]+' action.yml | grep -v fetch.outputs.exit-code | sort -u)
RELEASES=$work/real action "failing manager" version=latest "args=$(lab identity/manager-label-matches,version/well-formed)"
ends 1 exit-code=1 decision=not-conformant failed=1 warned=1 "## ❌ ClusterProfile: not conformant" \
    "::error title=identity/manager-label-matches" "::not conformant (exit code 1)"
RELEASES=$work/real action "hub by kubeconfig" "kubeconfig=$work/managed" context=lab namespace=$'lab-fleet\nlab-edge' observe=0s args=--wait
ends "${outputs[judge.outputs.exit-code]}" decision=
check "$name: both namespaces" grep -q '"lab-edge"' "${outputs[judge.outputs.report]}"
RELEASES=$work/real action "inconclusive" "kubeconfig=$work/empty" observe=0s
ends 3 exit-code=3 decision=inconclusive failed=0 "::inconclusive (exit code 3)"
RELEASES=$work/real action "no hub, which fail-on does not accept" "kubeconfig=$work/gone" fail-on=never
ends 4 exit-code=4 decision=inconclusive "## ❔ ClusterProfile: inconclusive" "::could not run (exit code 4)"
RELEASES=$work/real action "argument that the suite refuses" args=--nonsense fail-on=never
ends 2 exit-code=2 '!decision=' "unexpected argument '--nonsense'" "bad usage or configuration (exit code 2); the log above says why"

for wrong in 'fail-on|unknown value "x%0Ay"; use one of not-conformant, inconclusive, never' 'verify|unknown value "x%0Ay"' \
    'strict|unknown value "x%0Ay"; use one of true, false' 'allow-mutations|unknown value "x%0Ay"' \
    'version|"x%0Ay" is no version' 'sha256|"x%0Ay" is no SHA-256' 'archive|there is no file "x%0Ay"'; do
    input=${wrong%%|*}
    action "wrong $input" "$input="$'x\ny'
    ends 2 "::error title=clusterprofile-conformance::input $input: ${wrong#*|}" "    input $input: " exit-code=2 '!report='
done
action "hostile values stay one word" "archive=$recorded" "kubeconfig=k $hostile" "context=x $hostile"$'\nsecond' \
    "namespace=$hostile"$'\r\n\n  two  \n' cluster-manager=--allow-mutations "edition=e $hostile" "observe=o $hostile" strict=true \
    "config=c $hostile" "waivers=w $hostile" "driver=d $hostile" allow-mutations=true "args=--skip"$'\n'"$hostile"$'\n\nidentity/\n'
ends 0 exit-code=0
called_with "--kubeconfig=k $hostile" "--context=x $hostile"$'\nsecond' "--namespace=$hostile" "--namespace=  two  " \
    --cluster-manager=--allow-mutations "--edition=e $hostile" "--observe=o $hostile" --strict "--config=c $hostile" \
    "--waivers=w $hostile" "--driver=d $hostile" --allow-mutations --skip "$hostile" identity/

refuses "no network" "::failed to download https://github.com/$repository/releases/download/v$version/$stem.tar.gz"
RELEASES=$work/real refuses "no such release" "${stem/$version/9.9.9}.tar.gz: check version and archive" version=v9.9.9
RELEASES=$work/other refuses "release with another version in it" "holds version 9.9.9 of the suite, not $version"
RELEASES=$work/tampered refuses "tampered archive" "the archive is damaged or was changed; it was not unpacked"
check "$name: gh was not asked" test -z "$(grep ^gh "$trial/log")"
REFUTED=yes refuses "no attestation" "could not be verified: gh says why above; the archive was not unpacked" "archive=$recorded"
TOOLS=$work/bin-without-gh refuses "no gh" "is not installed: install the GitHub CLI, or set verify to false" "archive=$recorded"
TOOLS=$work/bin-without-gh action "no gh, and verify is false" "archive=$recorded" verify=false
ends 0
RELEASES=$work/recorder action "archive by address" \
    "archive=https://github.com/$repository/releases/download/v$version/$stem.tar.gz"
ends 0
folder="$work/a b:\$(touch pwned)'\"*"
archive=$folder/suite.tar.gz
mkdir "$folder"
cp "$recorded" "$archive"
action "archive without sums, with a hostile name" "archive=$archive"
ends 2 "put it beside the archive, or set sha256"
echo "0000  other.tar.gz" >"$folder/SHA256SUMS"
refuses "archive that its sums do not list" "SHA256SUMS does not list suite.tar.gz" "archive=$archive"
action "archive by its sum, with a hostile name" "archive=$archive" "sha256=$(sum_of "$archive")"
ends 0
echo "<html>" >"$archive"
refuses "no archive" "failed to unpack" "archive=$archive" "sha256=$(sum_of "$archive")"
refuses "archive for another platform" "does not run on this machine" "archive=$work/foreign/$stem.tar.gz"
for platform in Linux/X64/x86_64-unknown-linux-musl Linux/ARM64/aarch64-unknown-linux-musl macOS/X64/x86_64-apple-darwin \
    macOS/ARM64/aarch64-apple-darwin Windows/X64/x86_64-pc-windows-msvc "Linux/ARM/there are no archives for Linux on ARM"; do
    IFS=/ read -r SYSTEM PROCESSOR expected <<<"$platform"
    RELEASES=$work refuses "${platform%/*}" "$expected"
done
SYSTEM=Windows FOLDER=${work//\//\\} action "paths on Windows" "archive=${recorded//\//\\}"
ends 0
unset SYSTEM PROCESSOR

for fails in "not-conformant 1 2 4 130" "inconclusive 1 2 3 4 130" "never 2 4 130"; do
    for status in 0 1 2 3 4 130; do
        begin "action: exit code $status, fail-on: ${fails%% *}" "fail-on=${fails%% *}"
        outputs[judge.outputs.exit-code]=$status
        step Decide decide || true
        case " ${fails#* } " in
        *" $status "*) ends "$status" "::error title=clusterprofile-conformance::" ;;
        *) ends 0 '!::error' ;;
        esac
    done
done

begin "action: a cancelled job ends the run once, and keeps its report"
cat >"$trial/suite" <<'END'
#!/bin/bash
signals=0
trap 'signals=$((signals + 1))' TERM
# The caller catches SIGTERM by now.
for _ in {1..100}; do
    [[ $(</proc/$PPID/status) =~ SigCgt:[[:space:]][0-9a-f]{12}[4-7c-f] ]] && break
    sleep 0.05
done
kill -INT $PPID
for _ in {1..100}; do [ $signals = 0 ] && sleep 0.05; done
kill -TERM $PPID
sleep 0.5
for argument; do
    case $argument in --json=*) printf '{\n  "decision": "inconclusive",\n}\n' >"${argument#--json=}" ;; esac
done
echo "signals: $signals"
exit 3
END
chmod +x "$trial/suite"
outputs[fetch.outputs.suite]=$trial/suite
step Judge judge || true
ends 0 "signals: 1" exit-code=3 decision=inconclusive failed=0
