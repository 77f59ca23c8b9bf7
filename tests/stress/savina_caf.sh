#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# savina_caf.sh BUILD: the programs for CAF come to their ends at a small size, with the results of
# their definitions and as many messages as Odeon's have, with one thread and with two; sizes that
# cannot be are refused, and the field is named; compare.sh has a line for each and a mean. The
# times mean nothing here. Needs two CPUs. 77: there is one, or no CAF.
cd "$(dirname "$0")/../.." || exit 1
. bench/lib.sh # sets WORK, as the next one does: that is the folder of this test
. bench/savina/lines.sh
# shellcheck source=tests/stress/bench_lines.sh
. tests/stress/bench_lines.sh
export SELF=savina_caf.sh
BUILD=$1 COUNT=0
CAF=$BUILD/bench/odeon-savina-caf
NUMBER='[0-9]+' REAL='[0-9.]+'
[ -x "$CAF" ] || { echo "skipped: there was no CAF (libcaf-dev) when this was built"; exit 77; }
sizes 2

# tap STATUS TEXT: one check.
tap()
{
    COUNT=$((COUNT + 1))
    if [ "$1" = 0 ]; then
        echo "ok $COUNT - $2"
    else
        echo "not ok $COUNT - $2"
        FAILED=1
    fi
}

# said STATUS TEXT WORD...: odeon-savina-caf ends so, and has said so, a regular expression.
said()
{
    local status=$1 text=$2
    shift 2
    "$CAF" "$@" >"$WORK/said" 2>&1
    [ $? = "$status" ] && grep -qE -- "$text" "$WORK/said"
    status=$?
    tap $status "$*: $text"
    [ $status = 0 ] || cat "$WORK/said"
}

"$CAF" --names >"$WORK/names"
[ "$(wc -l <"$WORK/names")" = 12 ]
tap $? "twelve programs"
while read -r name; do
    read -ra words <<<"${SIZES[$name]-}"
    for threads in 1 2; do
        line="^bench=savina_caf program=$name cores=$threads messages=$NUMBER"
        line+=" ns_per_message=$REAL ms=$REAL spread=$REAL% mean_ms=$REAL kept=$NUMBER"
        line+=" runs=2 peak_kib=$NUMBER check=ok$"
        said 0 "$line" "$name" "${words[@]}" --runs 2 --threads "$threads"
    done
    # Each field in turn at 0, and far beyond what it may be.
    for ((i = 0; i < ${#words[@]}; i++)); do
        for value in 0 4000000001; do
            changed=("${words[@]}")
            changed[i]=${words[i]%%=*}=$value
            said 1 "check=\"${words[i]%%=*}: " "$name" "${changed[@]}" --runs 1
        done
    done
done <"$WORK/names"
said 1 'check="n: is no power of two"' bitonicsort n=63
said 1 'check="n: 2001 is not from 1 to 2000"' banking a=20 n=2001
said 2 "there is no field 'size'" pingpong size=1
said 2 "field 'r' is missing" threadring n=1
said 2 'no such program: nonsense' nonsense
said 2 'which program'
said 2 'not a number in range: 0' pingpong n=1 --threads 0

bench/savina/compare.sh --small --rounds 1 --runs 1 --build "$BUILD" --save "$WORK/saved" \
    >"$WORK/out" 2>"$WORK/err"
tap $? "compare.sh"
cat "$WORK/err"
for cores in 1 2; do
    while read -r name; do
        line="^bench=savina_compare program=$name cores=$cores ns_per_message=$REAL"
        line+=" caf_ns_per_message=$REAL ratio=$REAL .* rounds=1 check=ok$"
        [ "$(grep -cE "$line" "$WORK/out")" = 1 ]
        tap $? "compare.sh: $name, $cores worker(s)"
    done <"$WORK/names"
    line="^bench=savina_compare_mean cores=$cores programs=12 geometric_mean=$REAL"
    line+=" target=$REAL met=(yes|no)$"
    [ "$(grep -cE "$line" "$WORK/out")" = 1 ]
    tap $? "compare.sh: the mean, $cores worker(s)"
done
bench/savina/plot.sh "$WORK/figures" "$WORK/out" >"$WORK/plotted" 2>&1
tap $? "plot.sh"
for cores in 1 2; do
    figure=$WORK/figures/caf_$cores.svg
    mean=$(grep -oE "^bench=savina_compare_mean cores=$cores .*" "$WORK/out" |
        grep -oE "geometric_mean=$REAL")
    [ "$(grep -c '<rect .*height="12"' "$figure")" = 12 ] &&
        grep -qF "geometric mean: ${mean#*=}<" "$figure" && [ "$(tail -n 1 "$figure")" = '</svg>' ]
    tap $? "plot.sh: caf_$cores.svg has a bar for each program, and the mean"
done
cmp -s "$WORK/out" "$WORK/saved"
tap $? "what was saved is what was printed"
for wrong in '--nonsense' 'nonsense' '--cores 0' '--cores 4096' '--rounds x' '--runs'; do
    # shellcheck disable=SC2086 # words
    ! bench/savina/compare.sh --small --build "$BUILD" $wrong >/dev/null 2>"$WORK/err" &&
        grep -q 'savina/compare.sh' "$WORK/err"
    tap $? "compare.sh refuses $wrong, and says so"
done
[ $FAILED = 0 ] || cat "$WORK/out"
echo "1..$COUNT"
exit $FAILED
