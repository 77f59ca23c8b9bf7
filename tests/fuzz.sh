#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The fuzzers of tests/fuzz, built with clang for libFuzzer, each for a time; the README.md there
# lists them.
#
#   tests/fuzz.sh [--minutes N | --seconds N | --short] [--jobs N] [--build DIR] [--keep] [NAME...]
#
#   --minutes N  how long each (default 10)
#   --seconds N  the same in seconds
#   --short      as in the test run: 5 s, 2 s when ODEON_TEST_QUICK is set, and from a fixed seed:
#                finding is what long runs are for
#   --jobs N     so many at a time (default: as many as there are CPUs)
#   --build DIR  a build directory of the preset `fuzz` (default build/fuzz); what is missing in it
#                is built
#   --keep       new inputs that reach new code are added to tests/fuzz/corpus, as few as will do
#   NAME...      these alone
#
# One TAP line a fuzzer.  A finding lies in DIR/findings, and its report is shown; exit status 1.
# 2: could not run.  Where clang or libFuzzer is missing every line is a skip.
set -u
cd "$(dirname "$0")/.." || exit 2
build=build/fuzz seconds=600 jobs=$(nproc) keep=''
names=() fixed=()
SLOW_S=30 SLOW_STATUS=70 # of an input; what libFuzzer ends with then
PATIENCE_S=300           # as tests/run/patience.h
ALL=(config plugin_file plugin_descriptor control reply codec port delivery recover)

usage()
{
    sed -n '5,15s/^# \{0,1\}//p' "$0" >&2
    exit 2
}

while [ $# -gt 0 ]; do
    case $1 in
    --minutes) seconds=$((60 * ${2:?--minutes needs a number})); shift ;;
    --seconds) seconds=${2:?--seconds needs a number}; shift ;;
    --short) seconds=5 fixed=(-seed=1); [ -z "${ODEON_TEST_QUICK-}" ] || seconds=2 ;;
    --jobs) jobs=${2:?--jobs needs a number}; shift ;;
    --build) build=${2:?--build needs a directory}; shift ;;
    --keep) keep=1 ;;
    -*) usage ;;
    *) names+=("$1") ;;
    esac
    shift
done
[ ${#names[@]} -gt 0 ] || names=("${ALL[@]}")
case $seconds$jobs in '' | *[!0-9]*) usage ;; esac

# have_libfuzzer: can clang link a fuzzer here?
have_libfuzzer()
{
    local dir rc
    command -v clang >/dev/null || return 1
    dir=$(mktemp -d) || return 1
    printf '%s\n' 'int LLVMFuzzerTestOneInput(const unsigned char *data, unsigned long size)' \
        '{ return data && size == 12345; }' >"$dir/probe.c"
    clang -fsanitize=fuzzer,address,undefined "$dir/probe.c" -o "$dir/probe" >/dev/null 2>&1
    rc=$?
    rm -rf "$dir"
    return $rc
}

skip_all()
{
    local i=0 name
    echo "1..${#names[@]}"
    for name in "${names[@]}"; do
        echo "ok $((++i)) - $name # SKIP $1"
    done
    exit 0
}

# is_slow NAME INPUT: libFuzzer's limit is of the clock, and who is kept from a processor for as
# long is slow for it, too. An input that is slow itself is so each time, for as long as a test has
# patience. What it does otherwise that is wrong is a finding as well.
is_slow()
{
    local end=$((SECONDS + PATIENCE_S)) rc
    while [ "$SECONDS" -lt "$end" ]; do
        rc=0
        "$build/fuzzers/fuzz_$1" -timeout=$SLOW_S -timeout_exitcode=$SLOW_STATUS \
            -rss_limit_mb=4096 -artifact_prefix="$build/findings/$1-" "$2" || rc=$?
        [ $rc = $SLOW_STATUS ] || return $((rc == 0))
    done
}

# fuzz_one NAME: runs it, from the beginning if it was kept from a processor; its log and its status
# lie in DIR/findings.
fuzz_one()
{
    local name=$1 grown=$build/corpus/$1 log=$build/findings/$1.log words=() rc input
    mkdir -p "$grown"
    [ ! -e "tests/fuzz/$name.dict" ] || words=(-dict="tests/fuzz/$name.dict")
    while :; do
        rc=0
        # Memory: what it takes itself is little.
        "$build/fuzzers/fuzz_$name" -max_total_time="$seconds" -timeout=$SLOW_S \
            -timeout_exitcode=$SLOW_STATUS -rss_limit_mb=4096 -print_final_stats=1 -max_len=8192 \
            "${words[@]}" "${fixed[@]}" -artifact_prefix="$build/findings/$name-" "$grown" \
            "tests/fuzz/corpus/$name" >"$log" 2>&1 || rc=$?
        [ $rc = $SLOW_STATUS ] || break
        for input in "$build/findings/$name"-timeout-*; do
            ! is_slow "$name" "$input" >>"$log" 2>&1 || break 2
            rm -f "$input"
        done
    done
    echo $rc >"$build/findings/$name.status"
}

have_libfuzzer || skip_all "clang with libFuzzer is missing (Debian: clang, libclang-rt-dev)"
log=$(mktemp) || exit 2
if ! { [ -e "$build/build.ninja" ] || cmake --preset fuzz -B "$build"; } >"$log" 2>&1 ||
    ! cmake --build "$build" --target fuzzers >>"$log" 2>&1; then
    tail -n 40 "$log"
    rm -f "$log"
    echo "fuzz.sh: the fuzzers cannot be built"
    exit 2
fi
rm -f "$log"
rm -rf "$build/findings"
mkdir -p "$build/findings"
export ASAN_OPTIONS=allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1

running=0
for name in "${names[@]}"; do
    if [ "$running" -ge "$jobs" ]; then
        wait -n
        running=$((running - 1))
    fi
    fuzz_one "$name" &
    running=$((running + 1))
done
wait

failed=0 i=0
echo "1..${#names[@]}"
for name in "${names[@]}"; do
    log=$build/findings/$name.log
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    reached=$(grep -o 'cov: [0-9]*' "$log" | tail -n 1)
    if [ "$(cat "$build/findings/$name.status")" = 0 ]; then
        echo "ok $((++i)) - $name"
        echo "# $name: ${runs:-?} inputs in $seconds s, ${reached:-cov: ?}"
    else
        echo "not ok $((++i)) - $name"
        tail -n 60 "$log" | sed 's/^/# /'
        failed=1
    fi
    [ -z "$keep" ] || "$build/fuzzers/fuzz_$name" -merge=1 -max_len=8192 "tests/fuzz/corpus/$name" \
        "$build/corpus/$name" >/dev/null 2>&1
done
exit $failed
