#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every error that the library makes, or that the service answers requests with, stands in client.h,
# and every one that stands there occurs.
#   test_api_errors.sh SOURCE_ROOT
set -u
root=$1
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
passed=0 failed=0

result() { # STATUS NAME
    if [ "$1" -eq 0 ]; then
        passed=$((passed + 1)) && echo "[       OK ] $2"
    else
        failed=$((failed + 1)) && echo "[  FAILED  ] $2"
    fi
}

# What no program sees:
#   EPERM EPROTOTYPE ENOTSOCK  are told as others where the library connects
#   EPROTONOSUPPORT ESTALE     are told as -EPROTO and -ECONNRESET
#   EBADFD                     memory that odeond has made is what it has made
#   EINPROGRESS                workers have still to be looked for: the request is not answered yet
unseen='EPERM|EPROTOTYPE|ENOTSOCK|EPROTONOSUPPORT|ESTALE|EBADFD|EINPROGRESS'

# names FILE...: without comments
names() {
    sed 's|/\*.*\*/||; /^ *\/\*/,/\*\//d' "$@" | grep -oE -e '-E[A-Z0-9]{3,}\b' | tr -d - | sort -u
}

cd "$root" || exit 1
names client-lib/src/*.c daemon/executor/command*.c daemon/executor/plugin*.c \
    daemon/executor/settings*.c daemon/executor/explain.c daemon/executor/reply.c \
    daemon/executor/ports.c daemon/executor/reconfigure.c \
    daemon/supervisor/commands*.c daemon/supervisor/listener.c daemon/supervisor/seat_ports.c \
    daemon/supervisor/port_admission.c daemon/supervisor/port_waits.c \
    daemon/supervisor/resume.c daemon/supervisor/roles.c daemon/supervisor/executor_link.c \
    daemon/supervisor/plugin_store.c daemon/supervisor/port_table.c |
    grep -vxE "$unseen" >"$scratch/occur"
sed -n '1,/^#ifndef/p' client-lib/include/odeon/client.h >"$scratch/head"
grep -E '^ \*   -E' "$scratch/head" | grep -oE -e '-E[A-Z0-9]{3,}\b' | tr -d - |
    sort >"$scratch/listed"

[ "$(wc -l <"$scratch/occur")" -gt 30 ]
result $? "errors occur"
! uniq -d "$scratch/listed" | grep . >&2
result $? "client.h lists each once"
! comm -23 "$scratch/occur" "$scratch/listed" | grep . >&2
result $? "what occurs is listed"
! comm -13 "$scratch/occur" "$scratch/listed" | grep . >&2
result $? "what is listed occurs"

echo "[==========] $((passed + failed)) test(s) run."
echo "[  PASSED  ] $passed test(s)."
[ "$failed" -eq 0 ] || echo "[  FAILED  ] $failed test(s)."
[ "$failed" -eq 0 ]
