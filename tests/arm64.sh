#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Unit programs for AArch64, built by a cross compiler and run by an emulator (tests/arm64).
#
#   tests/arm64.sh [--build DIR] [--seconds N]
#
#   --build DIR  where to build, and to keep Debian's arm64 libraries (default build/arm64)
#   --seconds N  what has not begun by then is skipped (default: nothing is)
#
# Each program runs twice: on a processor that stores a pair of words at once (FEAT_LSE2), and on
# one that does not. Needs the packages gcc-aarch64-linux-gnu and qemu-user. The output is TAP; exit
# status 1 when a program failed, 77 when something that is needed is not there.
set -u
cd "$(dirname "$0")/.." || exit 2
build=build/arm64 bound=''
while [ $# -gt 0 ]; do
    case $1 in
    --build) build=${2:?--build needs a directory}; shift ;;
    --seconds) bound=${2:?--seconds needs a number}; shift ;;
    --help) sed -n '3,12s/^# \{0,1\}//p' "$0"; exit 0 ;;
    *) sed -n '5,8s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
    esac
    shift
done
PROGRAMS=(pair segment queue letters newborn outbox turn timers)

skip()
{
    echo "skipped: $1"
    exit 77
}

# within COMMAND...: 124 when the time that is left, if there is a bound, was not enough.
within()
{
    local left
    [ -n "$bound" ] || { "$@"; return; }
    left=$((bound - SECONDS))
    [ $left -gt 0 ] || return 124
    timeout -k 5 $left "$@"
}

for tool in aarch64-linux-gnu-gcc qemu-aarch64 cmake ninja; do
    command -v $tool >/dev/null ||
        skip "there is no $tool: apt-get install gcc-aarch64-linux-gnu qemu-user"
done
sysroot=$(realpath -m "$build-sysroot")
rc=0
within tests/arm64/sysroot.sh "$sysroot" || rc=$?
[ $rc != 124 ] || skip "Debian's arm64 libraries have not come in $bound s"
[ $rc = 0 ] || exit $rc
mkdir -p "$(dirname "$build")" || exit 2
{ within cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DODEON_WERROR=ON \
    -DCMAKE_TOOLCHAIN_FILE="$PWD/tests/arm64/toolchain.cmake" -DODEON_SYSROOT="$sysroot" &&
    within cmake --build "$build" --target "${PROGRAMS[@]/#/test_engine_}"; } \
    >"$build.log" 2>&1 || rc=$?
[ $rc != 124 ] || skip "the programs for AArch64 have not been built in $bound s"
if [ $rc != 0 ]; then
    tail -n 30 "$build.log"
    exit 1
fi

n=0 failed=0
for cpu in cortex-a72 max; do # without FEAT_LSE2, and with it
    for program in "${PROGRAMS[@]}"; do
        n=$((n + 1))
        if [ -n "$bound" ] && [ $SECONDS -ge "$bound" ]; then
            echo "ok $n - $program on $cpu # SKIP the $bound s are over"
        elif qemu-aarch64 -cpu $cpu -L "$sysroot" "$build/tests/unit/test_engine_$program" \
            >"$build.$program.log" 2>&1; then
            echo "ok $n - $program on $cpu"
        else
            echo "not ok $n - $program on $cpu"
            tail -n 20 "$build.$program.log" | sed 's/^/# /'
            failed=$((failed + 1))
        fi
    done
done
echo "1..$n"
[ $failed = 0 ]
