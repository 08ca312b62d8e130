# shellcheck shell=bash
# A runner without a network: its tools, GitHub's releases, hubs; and what a trial is.

repository=clusterprofile-conformance/clusterprofile-conformance
case $(uname -m) in
x86_64) processor=X64 target=x86_64-unknown-linux-musl ;;
*) processor=ARM64 target=aarch64-unknown-linux-musl ;;
esac
stem=clusterprofile-conformance-$target-v$version

mkdir "$work/bin"
for tool in awk bash cat cp curl cut dirname env gzip head mkdir mktemp rm sed sh sha256sum sleep tail tar touch uname; do
    ln -s "$(command -v $tool)" "$work/bin/$tool"
done
cp -r "$work/bin" "$work/bin-without-gh"
# curl finds GitHub's releases in the folder RELEASES; without it, nothing answers.
rm "$work/bin/curl"
cat >"$work/bin/curl" <<END
#!/bin/bash
url=\${*: -1}
[ -n "\$RELEASES" ] || exec $(command -v curl) "\$@" --retry 0 --connect-to github.com:443:127.0.0.1:1
case \$url in
https://github.com/$repository/releases/latest) printf %s "\${url%/latest}/tag/v$version" ;;
https://github.com/$repository/releases/download/v$version/*)
    exec $(command -v curl) "\${@:1:\$#-1}" "file://\$RELEASES/\${url##*/}" --proto =file
    ;;
*) printf 404 && exit 22 ;;
esac
END
cat >"$work/bin/gh" <<'END'
#!/bin/bash
echo "gh $*"
[ -z "$REFUTED" ] || { echo "no attestations found" >&2 && exit 1; }
END
chmod +x "$work/bin/curl" "$work/bin/gh"

# release FOLDER: packs FOLDER/suite as a release does.
release() {
    mkdir "$1/$stem"
    install -m 755 "$1/suite" "$1/$stem/clusterprofile-conformance"
    tar -C "$1" -c "$stem" | gzip -1 >"$1/$stem.tar.gz"
    (cd "$1" && sha256sum "$stem.tar.gz" >SHA256SUMS)
}
# recorder FOLDER VERSION: a release whose suite only writes down its arguments.
recorder() {
    mkdir "$1"
    cat >"$1/suite" <<END
#!/bin/bash
if [ "\$1" = --version ]; then echo "clusterprofile-conformance $2"; exit; fi
printf '%s\0' "\$@" >"\$TRIAL/arguments"
END
    release "$1"
}
mkdir "$work/real"
# Most of a debug binary is for debuggers, and many trials unpack it.
strip -o "$work/real/suite" "$suite" || cp "$suite" "$work/real/suite"
release "$work/real"
recorder "$work/recorder" "$version"
recorder "$work/other" 9.9.9
recorder "$work/foreign" '"; exit 1; #'
cp -r "$work/recorder" "$work/tampered"
cp "$work/other/$stem.tar.gz" "$work/tampered"
recorded=$work/recorder/$stem.tar.gz
sum_of() { sha256sum <"$1" | cut -d ' ' -f 1; }

# hub NAME FLAG...: serves a hub of the lab, and leaves its kubeconfig in $work/NAME.
hub() {
    "$suite" hub --kubeconfig-out "$work/$1" "${@:2}" >/dev/null 2>&1 &
    hubs+=($!)
    for _ in $(seq 300); do
        [ ! -s "$work/$1" ] || return 0
        sleep 0.1
    done
}
hub managed --manager reference
hub empty
sed 's|server: .*|server: https://127.0.0.1:1|' "$work/empty" >"$work/gone"

# begin NAME [INPUT=VALUE...]
declare -A defaults given outputs
begin() {
    local input
    trial=$work/trial code=0 name=$1 given=() outputs=()
    rm -rf "$trial"
    mkdir -p "$trial/workspace"
    for input in "${@:2}"; do
        given[${input%%=*}]=${input#*=}
    done
}
# in_trial [VARIABLE=VALUE...] COMMAND...: runs it with no other environment.
in_trial() {
    (cd "$trial/workspace" && env -i PATH="${TOOLS:-$work/bin}" HOME="$trial" TMPDIR="$trial" TRIAL="$trial" \
        RELEASES="${RELEASES:-}" REFUTED="${REFUTED:-}" "$@") >>"$trial/log" 2>&1
}
# ends CODE [TEXT...]: how the trial ended, and what its log, outputs or summary say, or with ! do not say.
ends() {
    local text problems=
    [ "$code" = "$1" ] || problems="exit code $code, expected $1; "
    for text in "${@:2}"; do
        if grep -qF -- "${text#!}" "$trial"/{log,output,summary} 2>/dev/null; then
            [ "$text" = "${text#!}" ] || problems+="it says ${text#!}; "
        else
            [ "$text" != "${text#!}" ] || problems+="nothing says $text; "
        fi
    done
    [ -z "$(find "$work" -name 'pwned*')" ] || problems+="a value was executed; "
    check "$name${problems:+: $problems}" test -z "$problems"
    [ -z "$problems" ] || sed 's/^/     /' "$trial/log"
}
# called_with ARGUMENT...: the last arguments that the recorder got.
called_with() {
    local got=()
    mapfile -d '' got <"$trial/arguments"
    check "$name: arguments" test "$(printf '<%s>' "${got[@]: -$#}")" = "$(printf '<%s>' "$@")"
}
# leaves FOLDER FILE...
leaves() {
    local file
    for file in "${@:2}" report.html report.json report.yaml evidence.jsonl.zst; do
        check "$name: $file" test -s "$1/$file"
    done
}
lab() { printf -- '--hub\nlab\n--manager\nreference%s' "${1:+=$1}"; }
hostile='a b"c\d $(touch pwned) `touch pwned`; touch pwned #\\ %s $HOME * ]] ::set-output name=x::y'
