#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# savina.sh BUILD [--policies]: every program of bench/savina comes to its end at a small size, with
# the result of its definition, and leaves no actor behind, with one and two workers; with
# --policies instead by every policy and mode. Sizes that cannot be are refused, and the field is
# named. Matrix search is run with all placements that its script has. The times mean nothing here.
# Needs two CPUs; 77: there is one.
cd "$(dirname "$0")/../.." || exit 1
. bench/lib.sh # sets WORK, as the next one does: that is the folder of this test
# shellcheck source=tests/stress/bench_lines.sh
. tests/stress/bench_lines.sh
. tests/stress/tap.sh
export SELF=savina.sh
BUILD=$1

# lines_are_right CORES...: of each program, in $WORK/out, one for each number of workers and each
# policy.
lines_are_right()
{
    local name cores policy line
    local number='[0-9]+' real='[0-9.]+'
    while read -r name; do
        for cores in "$@"; do
            while read -r policy; do
                line="^bench=savina_$name policy=$policy cores=$cores messages=$number"
                line+=" ns_per_msg=$real ms=$real spread=$real% mean_ms=$real kept=$number"
                line+=" runs=$number check=ok gulps=$number missed=$number steals=$number"
                line+=" peak_kib=$number$"
                [ "$(grep -cE "$line" "$WORK/out")" = 1 ]
                tap $? "$name, $cores worker(s), policy $policy"
            done <"$WORK/policies"
        done
    done < <(grep -oE '^[a-z]+' bench/savina/sizes)
}

# drawn NAME MARKS FILE...: plot.sh makes that figure of FILEs, with so many marks, and says that
# the machine has one memory node if it has.
drawn()
{
    local figure=$WORK/figures/$1.svg marks=$2 note=0
    shift 2
    bench/savina/plot.sh "$WORK/figures" "$@" >"$WORK/plotted" 2>&1 &&
        grep -qxF "$figure" "$WORK/plotted" && [ "$(tail -n 1 "$figure")" = '</svg>' ]
    tap $? "plot.sh: $(basename "$figure")"
    [ "$(grep -c '<title>' "$figure")" = "$marks" ]
    tap $? "... with $marks marks"
    ! grep -qx 'nodes=1' "$@" || note=1
    [ "$(grep -c 'one memory node' "$figure")" = $note ]
    tap $? "... and says what nodes there are"
}

if [ "${2-}" = --policies ]; then
    bench/savina/run.sh --small --runs 1 --cores 2 --policies all --build "$BUILD" \
        >"$WORK/out" 2>"$WORK/err"
    tap $? "run.sh with every policy"
    cat "$WORK/err"
    grep -oE ' policy=[^ ]*' "$WORK/out" | cut -d= -f2 | sort -u >"$WORK/policies"
    [ "$(wc -l <"$WORK/policies")" = 13 ]
    tap $? "thirteen policies and modes"
    lines_are_right 2
    # Each program has a mark for each policy, and the legend one.
    marks=$((13 * ($(grep -cE '^[a-z]+' bench/savina/sizes) + 1)))
    drawn makespan_2 $marks "$WORK/out"
    drawn ratio_2 $marks "$WORK/out"
    sed 's/^nodes=1$/nodes=2/' "$WORK/out" >"$WORK/more_nodes"
    drawn makespan_2 $marks "$WORK/more_nodes"
    [ $FAILED = 0 ] || cat "$WORK/out"
    echo "1..$COUNT"
    exit $FAILED
fi

bench/savina/run.sh --small --runs 2 --build "$BUILD" --save "$WORK/saved" >"$WORK/out" \
    2>"$WORK/err"
tap $? "run.sh"
cat "$WORK/err"
echo default >"$WORK/policies"
lines_are_right 1 2
cmp -s "$WORK/out" "$WORK/saved"
tap $? "what was saved is what was printed"
[ $FAILED = 0 ] || cat "$WORK/out"
for way in '' --block; do
    # shellcheck disable=SC2086 # a word or none
    bench/matrix_search/run.sh --small --runs 1 --cores 2 --build "$BUILD" $way >"$WORK/placed" \
        2>"$WORK/err"
    tap $? "matrix_search/run.sh $way"
    cat "$WORK/err"
    job=${way#--}
    for place in each/each follow/each follow/follow follow/node node/node follow/pinned \
        pinned/pinned; do
        line="^bench=savina_matrixsearch .* check=ok .* place=$place job=${job:-one}$"
        [ "$(grep -cE "$line" "$WORK/placed")" = 1 ]
        tap $? "matrix_search/run.sh $way: $place"
    done
done
drawn place_2 8 "$WORK/placed" # one for each placement, and the legend
drawn makespan_1 $(($(grep -cE '^[a-z]+' bench/savina/sizes) + 1)) "$WORK/out"
! bench/savina/plot.sh "$WORK/none" "$WORK/policies" >"$WORK/plotted" 2>&1
tap $? "plot.sh fails where there is nothing to draw"
for wrong in '' "$WORK/figures" "$WORK/figures $WORK/nothing" '--nonsense x'; do
    # shellcheck disable=SC2086 # words
    bench/savina/plot.sh $wrong >"$WORK/plotted" 2>&1
    [ $? = 2 ] && [ -s "$WORK/plotted" ]
    tap $? "plot.sh refuses '$wrong'"
done
for wrong in '--places each' '--places each/there' '--save x' '--set hub=9' '--set nothing=1' \
    '--set hub='; do
    # shellcheck disable=SC2086 # words
    ! bench/matrix_search/run.sh --small --runs 1 --cores 1 --build "$BUILD" $wrong \
        >"$WORK/placed" 2>"$WORK/err"
    tap $? "matrix_search/run.sh refuses $wrong"
    ! grep -q check=ok "$WORK/placed"
    tap $? "... and runs nothing"
done
for wrong in '--nonsense' 'nonsense' '--cores 0' '--cores 4096' '--policies most' '--runs'; do
    # shellcheck disable=SC2086 # words
    ! bench/savina/run.sh --small --build "$BUILD" $wrong >/dev/null 2>"$WORK/err"
    tap $? "run.sh refuses $wrong"
    grep -q 'savina/run.sh' "$WORK/err"
    tap $? "... and says so"
done

WORK_OF_LINES=$WORK
make_work_folder
trap 'rm -rf "$WORK_OF_LINES"; cleanup' EXIT
need_service one workers=1

# refused STATUS TEXT NAME WORD...: odeon-savina ends so, and says that on its line, or on stderr.
refused()
{
    local status=$1 text=$2
    shift 2
    "$BUILD/bench/odeon-savina" --socket "$(socket one)" --runs 1 "$@" >"$WORK/said" 2>&1
    [ $? = "$status" ] && grep -qF -- "$text" "$WORK/said"
    status=$?
    tap $status "$* is refused: $text"
    [ $status = 0 ] || cat "$WORK/said"
}

# run_or_named NAME FIELD WORD...: it comes to its end with the right result, or is refused with
# words that name FIELD.
run_or_named()
{
    local name=$1 field=$2
    shift 2
    "$BUILD/bench/odeon-savina" --socket "$(socket one)" --runs 1 "$name" "$@" >"$WORK/said" 2>&1
    grep -qE " check=(ok|\"[a-z]+: .*\")$" "$WORK/said" &&
        grep -qE " check=(ok$|\"(.*[^a-z])?${field}[^a-z])" "$WORK/said"
    status=$?
    tap $status "$name $*: right, or refused with the field's name"
    [ $status = 0 ] || cat "$WORK/said"
}

# limits NAME WORD...: what the refusal of a size below its limits says of them, in LEAST and MOST.
limits()
{
    local name=$1 text
    shift
    text=$("$BUILD/bench/odeon-savina" --socket "$(socket one)" --runs 1 "$name" "$@" 2>/dev/null)
    LEAST='' MOST=''
    [[ $text =~ \ is\ not\ from\ ([0-9]+)\ to\ ([0-9]+)\"$ ]] || return
    LEAST=${BASH_REMATCH[1]} MOST=${BASH_REMATCH[2]}
}

# Each field in turn at 0, one below and one beyond what it may be, and far beyond; at the least
# that it may be, at 1, and odd; the others as they are for tests.
while IFS='|' read -r name small rest; do
    case $name in '#'* | '') continue ;; esac
    read -ra words <<<"$small"
    name=${name%% *}
    for ((i = 0; i < ${#words[@]}; i++)); do
        field=${words[i]%%=*}
        changed=("${words[@]}")
        changed[i]=$field=0
        limits "$name" "${changed[@]}"
        [ -n "$LEAST" ]
        tap $? "$name $field=0: the limits are named, $LEAST and $MOST"
        for value in 0 4000000001 $((LEAST - 1)) $((MOST + 1)); do
            changed[i]=$field=$value
            refused 1 "check=\"$field: " "$name" "${changed[@]}"
        done
        for value in "$LEAST" 1 $((${words[i]#*=} + 1 | 1)); do
            changed[i]=$field=$value
            run_or_named "$name" "$field" "${changed[@]}"
        done
    done
done <bench/savina/sizes
refused 1 'check="b: 5 is not from 6 to ' bndbuffer b=5 np=5 nc=1 i=1 pc=1 cc=1
refused 1 'check="s: 50 is not from 1 to 49"' concsll e=1 m=1 w=25 s=50
refused 1 'check="n: 2001 is not from 1 to 2000"' banking a=20 n=2001
refused 1 'check="m: is no power of two"' radixsort n=1 m=3
refused 1 'check="n: is no power of two"' recmatmul n=31 t=1 w=1
refused 1 'check="n: is no power of two"' bitonicsort n=63
refused 1 'check="n: 1 is not from 2 to 8192"' bitonicsort n=1
refused 1 'check="b: does not divide n"' apsp n=25 b=6
refused 1 'check="nodes: 5 is not from 6 to ' uct nodes=5 avg=1 stdev=1 b=5 urgent=1
refused 1 'check="w: is more than m"' matrixsearch c=1 s=1 m=2 n=1 w=3 l=2 job=1 hub=1 \
    seek=1 nodes=1
refused 1 'check="m: the matrices would take more than 16 GiB"' matrixsearch c=1 s=100 m=20000 n=1 \
    w=3 l=2 job=1 hub=1 seek=1 nodes=1
refused 1 'check="r: 4 is not from 6 to 101"' trapezoid n=1 w=1 l=5 r=4
refused 2 "there is no field 'size'" pingpong size=1
refused 2 'no such program: nonsense' nonsense
refused 2 'which program?'
refused 2 'not a number in range: 0' pingpong n=1 --runs 0
refused 3 "$WORK/nothing" pingpong n=1 --socket "$WORK/nothing"
stop_services
echo "1..$COUNT"
exit $FAILED
