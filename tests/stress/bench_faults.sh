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

# shellcheck source=bench/lib.sh
TWO=$(SELF=faults && . bench/lib.sh && allowed_cpus | head -n 2 | paste -sd,)

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

# run_lib WORDS: words that use bench/lib.sh.
run_lib()
{
    timeout "$PATIENT_S" bash -c "SELF=faults; . bench/lib.sh; $1" faults "$TWO" \
        >"$WORK/out" 2>"$WORK/err"
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
    pretend
    too_many paper/run.sh --quick --no-policies --only static_send --build "$BUILD"
    too_many paper/setting.sh --rounds 1 --only static_send --build "$BUILD" steal-sources 1
    too_many paper/pairs.sh --rounds 7 --only static_send --queues 1 "$BUILD" "$BUILD"
    too_many savina/run.sh fib --small --build "$BUILD"
    too_many savina/compare.sh fib --small --build "$BUILD"
}

# ---- what is waited for and does not come ----

# shellcheck disable=SC2016 # the stub's
UNARMED='stub_stats() { echo "{\"timers_armed\":0}"; }; stub_odeonctl "$@" 2>/dev/null'

waiting()
{
    # In the pretended service the executor is odeond, so that a kill of the one ends the other.
    pretend
    run timers/run.sh --smoke --build "$BUILD"
    holds "who waits for a recovery does not wait for an odeond that has ended" failed
    holds "... and says so" told 'the service has ended: recovery'
    pretend odeonctl "$UNARMED"
    run timers/run.sh --smoke --build "$BUILD"
    holds "timers that cannot be armed are a failure" told ' timers cannot be armed$'
    holds "... and leave no odeond behind" nothing_left
    # shellcheck disable=SC2016 # the stub's
    pretend odeond 'echo $$ >>"$STUB/pids"; exec sleep 1' \
        odeonctl 'echo "{\"state\":\"starting\",\"workers\":1,\"executor_pid\":1}"'
    run machines/run.sh --build "$BUILD" --rounds 1 1
    holds "who waits for a start does not wait for an odeond that has ended" failed
    holds "... and says so" told 'the service has ended: one'
    # shellcheck disable=SC2016 # the library's
    run_lib 'SERVICE[one]=$$ PATIENCE_S=0; wait_for one "the moon" false || exit "$FAILED"'
    holds "nobody waits for ever" [ "$STATUS" = 1 ]
    holds "... and says so" told 'not within 0 s: the moon'
}

# ---- what a comparison counts ----

# Rulers that differ have a comparison run once more: those of the first try are 100 and 900.
# shellcheck disable=SC2016 # the stub's
APART='[ "$1" = line ] || { stub_ruler "$@"; exit; }
    echo >>"$STUB/lines"
    if [ "$(wc -l <"$STUB/lines")" = 2 ]; then echo rtt_ns=900; else echo rtt_ns=100; fi'

counted()
{
    local paper=(paper/run.sh --quick --no-policies --cores 2 --build "$BUILD")
    # A message may be more than one send: 1000 messages, of ours 4000 sends, 1000 across, of
    # the baseline's 2000 and 200.
    pretend
    run "${paper[@]}" --only spawn_stop,matrix
    for name in spawn_stop matrix; do
        holds "what crosses is a share of what is sent: $name" \
            told "^bench=$name .* crossing=25.00% baseline_crossing=10.00% "
    done
    # shellcheck disable=SC2016 # the stub's
    pretend odeon-ruler "$APART" odeon-baseline '
        peak=900
        [ ! -e "$STUB/lines" ] || [ "$(wc -l <"$STUB/lines")" -lt 2 ] || peak=100
        echo "ns_per_msg=10 peak_rss_kib=$peak"'
    run "${paper[@]}" --only static_send
    holds "a comparison is run again when the rulers differ" told '^again=static_send '
    holds "... and then counts the second try alone" \
        told '^bench=static_send .* runs=2 .* gulps=20 missed=2 steals=4 steal_attempts=6 '
    holds "... the baseline's, too" told '^bench=static_send .* baseline_peak_kib=100 '
}

# ---- Ctrl-C ----

# interrupt PROGRAM [WORDS [PROGRAM WORDS]...]: Ctrl-C while the program runs, which would for an
# hour, of the script in SCRIPT; what else is pretended. Shells let what they start behind & ignore
# it, unless each job has a group of its own.
interrupt()
{
    # shellcheck disable=SC2016 # the stub's
    local hang='echo $$ >>"$STUB/pids"; echo >"$STUB/begun"; exec sleep 3600' pid end
    pretend "$1" "${2-}$hang" "${@:3}"
    set -m
    "bench/${SCRIPT[0]}" "${SCRIPT[@]:1}" >"$WORK/out" 2>"$WORK/err" &
    pid=$!
    set +m
    end=$((SECONDS + PATIENT_S))
    until [ -e "$STUB/begun" ] || [ "$SECONDS" -ge "$end" ]; do
        sleep 0.02
    done
    kill -INT -- "-$pid"
    while kill -0 "$pid" 2>/dev/null && [ "$SECONDS" -lt "$end" ]; do
        sleep 0.02
    done
    kill -KILL -- "-$pid" 2>/dev/null
    wait "$pid" 2>/dev/null
    STATUS=$?
    holds "Ctrl-C ends ${SCRIPT[0]} in the middle of $1" [ "$STATUS" = 130 ]
    holds "... and nothing is left" nothing_left
}

interrupted()
{
    # shellcheck disable=SC2016 # the stub's
    local names='[ "$1" != --names ] || { echo fib; exit; }; '
    # shellcheck disable=SC2016 # the stub's
    local client='[[ " $* " = *" --timeout "* ]] || { stub_line "$@"; exit; }; '
    SCRIPT=(paper/run.sh --quick --no-policies --cores 2 --build "$BUILD" --only static_send)
    interrupt odeon-bench
    interrupt odeon-baseline
    interrupt odeon-baseline-crossing
    interrupt odeon-ruler
    SCRIPT=(latency/run.sh --smoke --only step --build "$BUILD")
    interrupt odeon-latency
    SCRIPT=(savina/run.sh fib --small --build "$BUILD")
    interrupt odeon-savina
    SCRIPT=(savina/compare.sh fib --small --build "$BUILD")
    interrupt odeon-savina
    interrupt odeon-savina-caf "$names"
    SCRIPT=(timers/run.sh --smoke --build "$BUILD")
    interrupt odeon-bench "$client" odeonctl "$UNARMED"
    # What runs too long is still ended, in the middle of what taskset has started.
    pretend
    # shellcheck disable=SC2016 # the library's
    run_lib 'PATIENCE_S=1
        patiently taskset -c "$1" sh -c "echo \$\$ >>$STUB/pids; exec sleep 3600"'
    holds "what takes too long is ended" [ "$STATUS" = 124 ]
    holds "... and nothing is left" nothing_left
}

blanks
workers
waiting
counted
interrupted
echo "1..$COUNT"
exit $FAILED
