# SPDX-License-Identifier: Apache-2.0
# tap.sh - what the tests here print. To be sourced, with FAILED=0; sets COUNT.
# shellcheck shell=bash disable=SC2034 # its variables are its users'
COUNT=0

# tap STATUS TEXT: one check; FAILED=1 if the status is not 0.
tap()
{
    COUNT=$((COUNT + 1))
    if [ "$1" = 0 ]; then
        echo "ok $COUNT - $2"
    else
        echo "not ok $COUNT - $2"
        FAILED=1
    fi
}
