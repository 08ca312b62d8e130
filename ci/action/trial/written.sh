# shellcheck shell=bash
# What is written about inputs, outputs and versions agrees, and lint finds nothing.

ACTIONLINT=github.com/rhysd/actionlint/cmd/actionlint@v1.7.12

# entries KEY: the entries of a mapping in the style of action.yml, as `name<TAB>description<TAB>default`.
entries() {
    awk -v key="$1:" '
        function flush() { if (name != "") print name "\t" text "\t" value; name = text = value = "" }
        /^[^ ]/ { flush(); inside = $0 == key; next }
        !inside || /^ *$/ { next }
        /^  [a-z]/ { flush(); name = $1; sub(/:$/, "", name); next }
        /^    [a-z]/ { field = $1; sub(/^ *[a-z-]+: */, "") }
        { sub(/^ +/, ""); gsub(/^"|"$/, "") }
        field == "description:" && $0 != ">-" { text = text (text == "" ? "" : " ") $0 }
        field == "default:" { value = $0 }
        END { flush() }'
}
action_inputs() { entries inputs <action.yml; }
action_outputs() { entries outputs <action.yml; }
gitlab_inputs() { sed -n '/^  inputs:/,/^---/s/^  //p' $template | entries inputs; }
gitlab_script() { sed -n '/^    - |$/,/^  artifacts:/s/^      //p' $template; }

# documents TITLE COMMAND: compares a table of docs/ci.md with the entries that the command prints.
documents() {
    local name text value
    $2 | while IFS=$'\t' read -r name text value; do
        case $2 in
        *outputs) echo "| \`$name\` | $text |" ;;
        *) echo "| \`$name\` | ${value:+\`$value\`} | $text |" ;;
        esac
    done | diff - <(sed -n "/^<!-- $1 -->/,/^<!-- end -->/p" docs/ci.md | grep '^| `')
}
check "docs/ci.md: the action's inputs" documents "inputs of action.yml" action_inputs
check "docs/ci.md: the action's outputs" documents "outputs of action.yml" action_outputs
check "docs/ci.md: the component's inputs" documents "inputs of the GitLab component" gitlab_inputs

of_this_version() { ! grep -nE '\bv?[0-9]+\.[0-9]+\.[0-9]+\b' "$1" | grep -vE "\bv?${version//./\\.}\b"; }
for file in docs/ci.md $template ci/prow/job.yaml; do
    check "$file is of version $version" of_this_version "$file"
done

# GitLab puts inputs into the component's text: none may leave its quotes, be expanded, or stand in the script.
stays_quoted() {
    ! sed '1,/^---/d' $template | grep -F '$[[' | grep -vE "'\\$\[\[ inputs\.[a-z0-9-]+ \]\]'" &&
        ! grep '^    CONFORMANCE_' $template | grep -vF 'expand: false}' &&
        test "$(grep -cE "^      (regex: \^\[\^'.n\]\*\\$|type: boolean|options: .*)$" $template)" = "$(gitlab_inputs | wc -l)"
}
check "the component's inputs stay in their quotes" stays_quoted
no_input_in_scripts() { ! grep -nE '^ *run:.*\$\{\{' action.yml; }
check "the action's inputs stay out of its scripts" no_input_in_scripts

has() { command -v "$1" >/dev/null || { echo "LEFT OUT: $2: $1 is not installed" && false; }; }
if has go actionlint; then
    # The workflow that the page shows, too.
    sed -n '/^name: conformance$/,/^```/{/^```/!p;}' docs/ci.md >"$work/workflow.yaml"
    check actionlint go run $ACTIONLINT .github/workflows/*.yaml "$work/workflow.yaml"
fi
if has shellcheck shellcheck; then
    check "shellcheck: ci/action" shellcheck -x ci/action/{lib.sh,fetch,judge,decide,try}
    check "shellcheck: the component's script" shellcheck --shell=sh <(gitlab_script)
fi
# An account, a role and a binding; account and subject are where Prow's Pods are.
is_bound() { test "$(kubectl kustomize ci/prow | grep -cE '^kind:|namespace: test-pods$')" = 5; }
if has kubectl "the role of the Prow job"; then
    check "the Prow job's account has its role" is_bound
fi
