# shellcheck shell=bash
# The command of the Prow job.

begin "prow: the job's command writes where Prow looks"
# As the kubelet does with the variable that Prow sets; ten minutes are too long for a trial.
mapfile -t arguments < <(sed -n '/^      args:$/,/^      [a-z]/s/^      - //p' ci/prow/job.yaml |
    sed "s|\$(ARTIFACTS)|$trial|; s/--observe=10m/--observe=0s/")
in_trial KUBECONFIG="$work/managed" "$suite" "${arguments[@]}" || code=$?
case $code in 0 | 3) code=judged ;; esac
ends judged
leaves "$trial" junit_clusterprofile.xml
