#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# bench_faults.sh BUILD: what the scripts in bench/ do when something goes wrong: with programs that
# only pretend (bench_stub.sh), since none of this is about what a build does. Needs two CPUs; 77:
# there is one.
# shellcheck source=tests/stress/bench_lines.sh
. "$(dirname "$0")/bench_lines.sh"
# shellcheck source=tests/stress/tap.sh
. tests/stress/tap.sh
BUILD=$WORK/build
export STUB=$WORK/stub
PATIENT_S=300 # what nobody waits for, unless it hangs

for program in bin/{odeond,odeonctl,odeon-executor} \
    bench/odeon-{bench,ruler,idle,latency,savina,savina-caf} \
    bench/baseline/odeon-baseline{,-crossing}; do
    mkdir -p "$BUILD/${program%/*}"
    ln -s "$PWD/tests/stress/bench_stub.sh" "$BUILD/$program"
done

# pretend [PROGRAM WORDS]...: from now on these programs do something else.
pretend()
{
    rm -rf "$STUB"
    mkdir "$STUB"
    : >"$STUB/pids"
    while [ $# -gt 0 ]; do
        echo "$2" >"$STUB/$1"
        shift 2
    done
}

# run SCRIPT ARGUMENT...: its status, in STATUS; 124: it hangs. Its lines are in $WORK/out.
run()
{
    local script=$1
    shift
    timeout "$PATIENT_S" "bench/$script" "$@" >"$WORK/out" 2>"$WORK/err"
    STATUS=$?
}

# nothing_left: no service outlives its script, but for the moment that an end takes. One that does
# is ended here.
nothing_left()
{
    local pid left=0 end=$((SECONDS + PATIENT_S))
    while read -r pid; do
        while kill -0 "$pid" 2>/dev/null && [ "$SECONDS" -lt "$end" ]; do
            sleep 0.02
        done
        kill -KILL "$pid" 2>/dev/null && left=1
    done <"$STUB/pids"
    return $left
}

# holds TEXT COMMAND...: a check of what the last script has printed.
holds()
{
    local text=$1
    shift
    "$@" >"$WORK/said" 2>&1
    set -- $?
    tap "$1" "$text"
    [ "$1" = 0 ] || sed 's/^/# /' "$WORK/out" "$WORK/err" "$WORK/said"
}

told()
{
    grep -qE "$1" "$WORK/out" "$WORK/err"
}

not_told()
{
    ! told "$1"
}

failed()
{
    [ "$STATUS" != 0 ] && [ "$STATUS" != 124 ]
}

# ---- a ruler that fails ----

blanks()
{
    local paper=(paper/run.sh --quick --no-policies --build "$BUILD")
    # shellcheck disable=SC2016 # the stub's
    pretend odeon-ruler '[ "$1" != line ] && stub_ruler "$@"'
    run "${paper[@]}" --only client
    holds "the suite fails when the ruler's line cannot be measured" failed
    holds "... and has no figure of it" not_told '^bench=ruler_line'
    # shellcheck disable=SC2016 # the stub's
    pretend odeon-ruler '[ "$1" != wake ] && stub_ruler "$@"'
    run "${paper[@]}" --only wake
    holds "the suite fails when the bare wake-up cannot be measured" failed
    holds "... and has no ratio of it" not_told 'ratio=nan'
    # shellcheck disable=SC2016 # the stub's
    pretend odeon-ruler '[ "$1" != ring ] && stub_ruler "$@"'
    run "${paper[@]}" --only client
    holds "a target whose ratio there is not was not measured" \
        told '^posts of a client, .* - +least +0\.2 +not measured$'
    pretend odeon-bench 'echo messages=1000'
    run paper/setting.sh --build "$BUILD" --rounds 2 --cores 1 --only static_send steal-sources 1
    holds "a line without its figure is a failure" failed
    run paper/pairs.sh --rounds 7 --cores 1 --queues 1 --only post "$BUILD" "$BUILD"
    holds "... of pairs, too" failed
    holds "... which have no verdict" not_told 'verdict='
}

# ---- more workers than CPUs ----

# too_many SCRIPT ARGUMENT...: also when the largest number is not the last.
too_many()
{
    run "$@" --cores 3,1 --cpus "$TWO"
    holds "$1 has no three workers on two CPUs" failed
    holds "... and says so" told ': 3 workers want as many CPUs: there are '
}

workers()
{
    # shellcheck source=bench/lib.sh
    TWO=$(SELF=faults && . bench/lib.sh && allowed_cpus | head -n 2 | paste -sd,)
    pretend
    too_many paper/run.sh --quick --no-policies --only static_send --build "$BUILD"
    too_many paper/setting.sh --rounds 1 --only static_send --build "$BUILD" steal-sources 1
    too_many paper/pairs.sh --rounds 7 --only static_send --queues 1 "$BUILD" "$BUILD"
    too_many savina/run.sh fib --small --build "$BUILD"
    too_many savina/compare.sh fib --small --build "$BUILD"
}

blanks
workers
echo "1..$COUNT"
exit $FAILED
