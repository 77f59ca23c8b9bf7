# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# tap.sh - checks whose results are printed as TAP. Sourced by the tests that run inside a rig, from
# the folder they lie in, and by scripts of tests/system.
COUNT=0 BROKEN=0

# check TEXT COMMAND...: one test; what the command prints is shown when it fails.
check()
{
    local text=$1 out rc=0
    shift
    out=$("$@" 2>&1) || rc=$?
    COUNT=$((COUNT + 1))
    if [ $rc = 0 ]; then
        echo "ok $COUNT - $text"
    else
        BROKEN=$((BROKEN + 1))
        echo "not ok $COUNT - $text"
        printf '%s\n' "$out" "exit status $rc: $*" | sed 's/^/# /'
    fi
    return $rc
}

# eventually SECONDS COMMAND...: until it succeeds; prints its last words when it never does. The
# seconds are what is far too much on a machine of usual speed; a slow one has ten times as many.
eventually()
{
    local end=$((SECONDS + 10 * $1)) out
    shift
    until out=$("$@" 2>&1); do
        if [ "$SECONDS" -ge "$end" ]; then
            echo "$out"
            return 1
        fi
        sleep 0.02
    done
}

# work_alone: a folder of this test's own, WORK; it goes with the test, and so do processes, PIDS.
work_alone()
{
    WORK=$(mktemp -d) || exit 2
    PIDS=()
    trap work_alone_end EXIT
}

work_alone_end()
{
    local pid
    for pid in "${PIDS[@]}"; do kill -9 "$pid" 2>/dev/null; done
    wait 2>/dev/null
    rm -rf "$WORK"
}
