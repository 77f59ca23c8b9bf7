#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The soak's proof: with an executor that changes kept states without a copy to go back to, the
# books do not balance.
#
#   seeded.sh BUILD_DIR
#
# Eight chances of 8 s each, of which a machine that has time needs one.
set -u
build=$(realpath -e "$1") || exit 2
log=$(mktemp)
trap 'rm -f "$log"' EXIT
for try in 1 2 3 4 5 6 7 8; do
    ODEON_SEED=undo_skipped timeout 1500 "$build/tests/soak/soak" --seconds 8 \
        --executor "$build/tests/stress/executor-seeded" >"$log" 2>&1
    rc=$?
    if [ $rc = 1 ] && grep -q '^soak=BROKEN .* doubled=[1-9]' "$log"; then
        echo "ok - undo_skipped is found at try $try: $(grep -m1 '^soak=' "$log")"
        exit 0
    fi
    [ $rc -le 1 ] || cat "$log"
done
echo "not ok - undo_skipped survived"
cat "$log"
exit 1
