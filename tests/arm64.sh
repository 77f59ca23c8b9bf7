#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# AArch64: unit programs and the service under kills, built by a cross compiler and run by an
# emulator (tests/arm64).
#
#   tests/arm64.sh [--build DIR] [--seconds N] [--kill-seconds N] [--cpu CPU] [PROGRAM...]
#
#   --build DIR       where to build, and to keep Debian's arm64 libraries (default build/arm64)
#   --seconds N       what has not begun by then is skipped (default: nothing is)
#   --kill-seconds N  how long executor and odeond are killed (default 60; 0: not at all)
#   --cpu CPU         on this processor of the emulator's alone
#   PROGRAM           these unit programs, `engine_queue` for example, and nothing else
#
# Each program runs twice: on a processor that stores a pair of words at once (FEAT_LSE2), and on
# one that does not; an emulator before qemu 8.1 has none that does: engine_pair tells. Needs the
# packages gcc-aarch64-linux-gnu and qemu-user. The output is TAP; exit status 1 when a program
# failed, 77 when something that is needed is not there.
set -u
cd "$(dirname "$0")/.." || exit 2
build=build/arm64 bound='' kill_seconds=60
cpus=(cortex-a72 max) # without FEAT_LSE2, and with it
programs=()
while [ $# -gt 0 ]; do
    case $1 in
    --build) build=${2:?--build needs a directory}; shift ;;
    --seconds) bound=${2:?--seconds needs a number}; shift ;;
    --kill-seconds) kill_seconds=${2:?--kill-seconds needs a number}; shift ;;
    --cpu) cpus=("${2:?--cpu needs a name}"); shift ;;
    --help) sed -n '3,17s/^# \{0,1\}//p' "$0"; exit 0 ;;
    [a-z]*) programs+=("$1") kill_seconds=0 ;;
    *) sed -n '6,13s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
    esac
    shift
done
[ ${#programs[@]} -gt 0 ] || programs=(engine_pair engine_segment engine_queue engine_letters
    engine_newborn engine_outbox engine_turn engine_timers)
targets=("${programs[@]/#/test_}")
[ "$kill_seconds" = 0 ] || targets+=(kills)

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
    within cmake --build "$build" --target "${targets[@]}"; } >"$build.log" 2>&1 || rc=$?
[ $rc != 124 ] || skip "the programs for AArch64 have not been built in $bound s"
if [ $rc != 0 ]; then
    tail -n 30 "$build.log"
    exit 1
fi
build=$(realpath "$build")

# The emulator's own settings, which reach what it starts, too. It pays for each page of addresses
# that is mapped: where there are few the service reserves little.
export QEMU_LD_PREFIX=$sysroot
qemu-aarch64 -version | sed -n '1s/^/# /p'

n=0 failed=0
# check NAME LOG COMMAND...: one line, and the end of the log if it failed.
check()
{
    local name=$1 log=$2
    shift 2
    n=$((n + 1))
    if [ -n "$bound" ] && [ $SECONDS -ge "$bound" ]; then
        echo "ok $n - $name # SKIP the $bound s are over"
    elif "$@" >"$log" 2>&1; then
        echo "ok $n - $name"
        sed -n '/^# \(a pair\|seed\|kills\)/p' "$log"
    else
        echo "not ok $n - $name"
        tail -n 20 "$log" | sed 's/^/# /'
        failed=$((failed + 1))
    fi
}

# wrap PROGRAM: what the kernel starts when the emulated one starts it. Prints its path.
wrap()
{
    local file=$build/wrapped/${1##*/}
    mkdir -p "$build/wrapped"
    printf '#!/bin/sh\nexec qemu-aarch64 %q "$@"\n' "$build/$1" >"$file"
    chmod +x "$file"
    echo "$file"
}

kill_torture()
{
    QEMU_RESERVED_VA=0x800000000 qemu-aarch64 "$build/tests/arm64/kills" \
        --seconds "$kill_seconds" --odeond "$(wrap bin/odeond)" \
        --executor "$(wrap bin/odeon-executor)" --plugin "$build/tests/system/probe.so"
}

if [ "$kill_seconds" != 0 ]; then
    export QEMU_CPU=${cpus[0]}
    check "executor and odeond are killed for $kill_seconds s, on $QEMU_CPU" \
        "$build.kills.log" kill_torture
fi
for cpu in "${cpus[@]}"; do
    export QEMU_CPU=$cpu
    for program in "${programs[@]}"; do
        check "$program on $cpu" "$build.$program.log" \
            qemu-aarch64 "$build/tests/unit/test_$program"
    done
done
echo "1..$n"
[ $failed = 0 ]
