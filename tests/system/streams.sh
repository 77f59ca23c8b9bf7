#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# streams.sh SOURCE ODEOND ODEONCTL EXPORTER
# Programs whose standard streams are closed where they begin: what they print goes nowhere, not
# into the file, the memory or the connection that would be opened next under that number.
# Prints TAP.
set -uo pipefail
SOURCE=$1 ODEOND=$2 ODEONCTL=$3 EXPORTER=$4
# shellcheck source=tests/rig/tap.sh
. "$SOURCE/tests/rig/tap.sh"
work_alone
export ODEON_SOCKET=$WORK/odeon/control.sock ODEON_TIMEOUT_MS=300000

# go_nowhere PID STREAM...: the streams of the process are no file that means anything.
go_nowhere()
{
    local pid=$1 stream
    shift
    for stream; do
        [ "$(readlink "/proc/$pid/fd/$stream")" = /dev/null ] ||
            { echo "$stream: $(readlink "/proc/$pid/fd/$stream")"; return 1; }
    done
}
# cannot_print COMMAND...: of odeonctl, without a standard output: it ends, and says so.
cannot_print()
{
    local rc=0
    timeout 300 "$ODEONCTL" "$@" 2>"$WORK/said" >&- || rc=$?
    cat "$WORK/said"
    [ "$rc" = 1 ] && grep -q 'cannot write the output: Bad file descriptor' "$WORK/said"
}
# has_no_room PROGRAM: what is asked for and cannot be printed is no success.
has_no_room()
{
    local rc=0
    "$1" --help >/dev/full 2>"$WORK/said" || rc=$?
    cat "$WORK/said"
    [ "$rc" = 1 ] && grep -q 'cannot write the output: No space left on device' "$WORK/said"
}

for program in "$ODEOND" "$ODEONCTL" "$EXPORTER"; do
    check "${program##*/} --help without room" has_no_room "$program"
done
: >"$WORK/conf"
"$ODEOND" --foreground --runtime-dir "$WORK/odeon" --config "$WORK/conf" --set workers=1 \
    --set affinity=none --set actors=1024 --set queues-per-worker=2 <&- >&- 2>&- &
PIDS+=($!)
check "a service without standard streams answers" eventually 60 "$ODEONCTL" status
check "its log goes nowhere" go_nowhere "${PIDS[0]}" 0 1 2
check "its statistics are not written over" "$ODEONCTL" stats
check "who listens and cannot print says so, and ends" cannot_print --json listen
check "who looks and cannot print says so, and ends" cannot_print top --watch 0.1
check "who asks once and cannot print says so" cannot_print status

"$EXPORTER" --listen 127.0.0.1:0 --stats "$WORK/odeon/stats" --socket "$ODEON_SOCKET" \
    <&- >&- 2>&- &
PIDS+=($!)
check "so does what an exporter says" eventually 60 go_nowhere "${PIDS[1]}" 1 2

echo "1..$COUNT"
exit $((BROKEN > 0))
