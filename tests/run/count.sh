# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# What one ctest test counts for: reads the log of `ctest -V` for a single test.
#
# Sourced by test.sh. ctest knows a program as one test; cmocka programs and TAP scripts hold many,
# which are counted one by one. ctest's verdict (exit status, signal), and that of the limits
# (tests/run/limit.c), go over what the output claims: a program that failed counts at least one
# failure.

# count_output LOG NUMBER: what the test itself printed.
count_output()
{
    local about='Test command|Working Directory|Test timeout computed to be|Environment variables'
    sed -nE "/^$2: ($about): ?/d; s/^$2: ?//p" "$1"
}

# The line of ctest's verdict.
count_verdict()
{
    grep -E "^ *[0-9]+/[0-9]+ Test +#$2: " "$1" | tail -n 1
}

# count_trim LOG NUMBER: leaves of the log what a person wants to read, if there is any of it.
count_trim()
{
    local text
    text=$(count_output "$@"; count_verdict "$@")
    case $text in *'***Not Run'*) ;; *) printf '%s\n' "$text" >"$1" ;; esac
}

# count_result LOG NUMBER CTEST_STATUS LIMIT: prints "state passed failed skipped reason...". LIMIT
# is the verdict of limit.c.
count_result()
{
    local log=$1 number=$2 rc=$3 limit=$4 verdict reason
    verdict=$(count_verdict "$log" "$number")
    case $verdict in
    *'***Not Run (Disabled)'*)
        echo "skipped 0 0 1 the build has disabled it: what it needs was missing then"
        return
        ;;
    *'***Skipped'*)
        reason=$(count_output "$log" "$number" | grep -iE 'skip' | tail -n 1)
        if [ -n "$reason" ]; then
            echo "skipped 0 0 1 $reason"
        else
            echo "failed 0 1 0 skipped without a reason"
        fi
        return
        ;;
    *'***'*) reason=${verdict##*\*\*\*} ;;
    *) reason= ;;
    esac
    case $limit in
    ended) ;;
    processor-time) reason="it has used more processor time than its limit" ;;
    still) reason="for minutes it has used no processor time and printed nothing" ;;
    wall) reason="the last resort: hours have passed" ;;
    *) reason="it was not begun, or the program that watches it has ended ($limit)" ;;
    esac
    [ "$limit" = ended ] || rc=1
    case $verdict in *' Passed '*) [ "$rc" = 0 ] || rc=1 ;; *) rc=1 ;; esac
    count_output "$log" "$number" | awk -v rc="$rc" -v reason="$reason" '
        /^\[       OK \]/ { passed++ }
        /^\[  (FAILED|SKIPPED) *\] .*[0-9]+ test\(s\), listed below/ {
            n = $0; sub(/ test\(s\).*/, "", n); sub(/.* /, "", n)
            if ($0 ~ /FAILED/) failed += n; else skipped += n
        }
        /^\[  FAILED  \] GROUP TEARDOWN/ { failed++ }
        /^ok .*# [Ss][Kk][Ii][Pp]/ {
            skipped++
            note = note (note == "" ? "" : "; ") substr($0, index($0, "# "))
            next
        }
        /^ok / { passed++ }
        /^not ok / || /^FAIL / { failed++ }
        END {
            if (rc && !failed) failed = 1
            if (!passed && !failed && !skipped) passed = 1
            state = failed ? "failed" : passed ? "passed" : "skipped"
            print state, passed + 0, failed + 0, skipped + 0, reason, note
        }'
}
