# shellcheck shell=bash
# What the steps of action.yml share. They run with macOS' bash 3.2 and with Git's bash on Windows, too.

# Text in a workflow command: the runner undoes this.
escape_data() {
    local text=$1
    text=${text//'%'/%25}
    text=${text//$'\r'/%0D}
    text=${text//$'\n'/%0A}
    printf '%s' "$text"
}

# annotate error|warning|notice MESSAGE
annotate() {
    printf '::%s title=clusterprofile-conformance::%s\n' "$1" "$(escape_data "$2")"
}

# output NAME VALUE: a value of one line.
output() {
    printf '%s=%s\n' "$1" "$2" >>"$GITHUB_OUTPUT"
}

# Writes to the job's summary why there is no report. An indented block shows any text literally.
summarize_error() {
    local line
    [ -n "${GITHUB_STEP_SUMMARY:-}" ] || return 0
    {
        printf '### clusterprofile-conformance: no report\n\n'
        while IFS= read -r line || [ -n "$line" ]; do
            printf '    %s\n' "$line"
        done <<<"$1"
        printf '\n'
    } >>"$GITHUB_STEP_SUMMARY"
}

# refuse CODE MESSAGE: ends the action before the suite runs, with the suite's codes: 2 for a wrong input, else 4.
refuse() {
    annotate error "$2"
    summarize_error "$2"
    output exit-code "$1"
    exit "$1"
}

# A path that scripts can take apart: on Windows, D:/a for D:\a.
path_of() {
    if [ "${RUNNER_OS:-}" = Windows ]; then
        printf '%s' "${1//\\//}"
    else
        printf '%s' "$1"
    fi
}

# one_of INPUT VALUE ALLOWED…
one_of() {
    local input=$1 value=$2 allowed
    shift 2
    for allowed in "$@"; do
        if [ "$value" = "$allowed" ]; then
            return
        fi
    done
    allowed=$(printf ', %s' "$@")
    refuse 2 "input $input: unknown value \"$value\"; use one of ${allowed#, }"
}
