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
. tests/stress/tap.sh
export SELF=savina_caf.sh
BUILD=$1
CAF=$BUILD/bench/odeon-savina-caf
NUMBER='[0-9]+' REAL='[0-9.]+'
[ -x "$CAF" ] || { echo "skipped: there was no CAF (libcaf-dev) when this was built"; exit 77; }
sizes 2

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
# A build whose CAF takes what it is told to: a ratio has digits however small it is, and what is
# wrong on its side is said.
FAKE=$WORK/build
mkdir -p "$FAKE/bench"
ln -s "$(realpath "$BUILD")"/bin "$FAKE/"
ln -s "$(realpath "$BUILD")"/bench/* "$FAKE/bench/"
rm "$FAKE/bench/odeon-savina-caf"
cat >"$FAKE/bench/odeon-savina-caf" <<'END'
#!/bin/sh
[ "$1" != --names ] || exec echo count
echo "bench=savina_caf program=count ns_per_message=$NS check=$CHECK"
END
chmod +x "$FAKE/bench/odeon-savina-caf"
NS=50000000.0 CHECK=ok bench/savina/compare.sh --small --rounds 1 --runs 1 --cores 1 \
    --build "$FAKE" >"$WORK/slow" 2>"$WORK/err"
tap $? "compare.sh with a CAF that is slow"
for line in "^bench=savina_compare program=count .* ratio=0\.0*[1-9]$NUMBER " \
    "^bench=savina_compare_mean .* geometric_mean=0\.0*[1-9]$NUMBER "; do
    grep -qE "$line" "$WORK/slow"
    tap $? "... $line"
done
NS=1.0 CHECK='"wrong"' bench/savina/compare.sh --small --rounds 1 --runs 1 --cores 1 \
    --build "$FAKE" >"$WORK/slow" 2>"$WORK/err"
[ $? = 1 ] && grep -q 'count, 1 worker(s): CAF has failed' "$WORK/err" &&
    ! grep -q '^bench=savina_compare' "$WORK/slow"
tap $? "compare.sh with a CAF that is wrong fails, and has no line of it"
for wrong in '--nonsense' 'nonsense' '--cores 0' '--cores 4096' '--rounds x' '--runs'; do
    # shellcheck disable=SC2086 # words
    ! bench/savina/compare.sh --small --build "$BUILD" $wrong >/dev/null 2>"$WORK/err" &&
        grep -q 'savina/compare.sh' "$WORK/err"
    tap $? "compare.sh refuses $wrong, and says so"
done
[ $FAILED = 0 ] || cat "$WORK/out"
echo "1..$COUNT"
exit $FAILED
