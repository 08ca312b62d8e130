# shellcheck shell=bash
# The script of the GitLab component, with inputs put in as GitLab does.

while IFS=$'\t' read -r input _ value; do
    defaults[$input]=$value
done < <(gitlab_inputs)

# gitlab SHELL NAME [INPUT=VALUE...]
gitlab() {
    local variable input variables=()
    begin "gitlab: $2, in $1" "${@:3}"
    while read -r variable input; do
        variables+=("$variable=${given[$input]-${defaults[$input]}}")
    done < <(sed -n "s/^    \(CONFORMANCE_[A-Z0-9_]*\): {value: '\$\[\[ inputs\.\([a-z0-9-]*\) \]\]'.*/\1 \2/p" $template)
    in_trial "${variables[@]}" "$1" -e -c "$(gitlab_script)" || code=$?
}
words() { lab "$@" | paste -sd ' '; }

RELEASES=$work/real gitlab sh "conforming manager, from the release" "args=$(words)"
ends 0 "conformant with edition standard"
leaves "$trial/workspace/$(sed -n 's/^    paths: \[\(.*\)\]$/\1/p' $template)" report.md
check "$name: JUnit" grep -q "<testsuites" "$trial/workspace/$(sed -n 's/^      junit: //p' $template)"
gitlab bash "failing manager" "archive=$work/real/$stem.tar.gz" "args=$(words identity/manager-label-matches)"
ends 1 "not conformant with edition standard"
RELEASES=$work/real gitlab sh "inconclusive, which fail-on accepts" "kubeconfig=$work/empty" observe=0s fail-on=not-conformant
ends 0 "exit code 3, which fail-on: not-conformant accepts"
RELEASES=$work/real gitlab sh "argument that the suite refuses" fail-on=never args=--nonsense
ends 2 "unexpected argument '--nonsense'"
for shell in sh bash; do
    gitlab $shell "hostile values stay one word" "archive=$recorded" "kubeconfig=k $hostile" "context=x $hostile" \
        'namespace= one * $(two) ' cluster-manager=--allow-mutations "edition=e $hostile" "observe=o $hostile" strict=true \
        "config=c $hostile" "waivers=w $hostile" "driver=d $hostile" allow-mutations=true 'args=--skip * $(touch${IFS}pwned)  identity/'
    ends 0
    called_with "--kubeconfig=k $hostile" "--context=x $hostile" --namespace=one '--namespace=*' '--namespace=$(two)' \
        --cluster-manager=--allow-mutations "--edition=e $hostile" "--observe=o $hostile" --strict "--config=c $hostile" \
        "--waivers=w $hostile" "--driver=d $hostile" --allow-mutations --skip '*' '$(touch${IFS}pwned)' identity/
done
gitlab sh "no network"
ends 4 "failed to download https://github.com/$repository"
gitlab sh "tampered archive" "archive=$work/tampered/$stem.tar.gz"
ends 4 "the archive is damaged or was changed; it was not unpacked"
gitlab sh "archive by its sum" "archive=$work/tampered/$stem.tar.gz" "sha256=$(sum_of "$work/tampered/$stem.tar.gz")"
ends 0
RELEASES=$work/other gitlab sh "release with another version in it"
ends 4 "holds version 9.9.9 of the suite, not $version"
