# shellcheck shell=bash disable=SC2034 # COUNT and BROKEN are its users' at their end
# SPDX-License-Identifier: Apache-2.0
# A line of TAP for each thing that a script of tests expects, and what was logged where it is not
# so. Sourced by a script that has set WORK, a folder with the file `log`.
#
# Sets: COUNT, the lines so far; BROKEN, how many of them are not ok.
COUNT=0 BROKEN=0

# is WHAT GOT EXPECTED
is()
{
    COUNT=$((COUNT + 1))
    if [ "$2" = "$3" ]; then
        echo "ok $COUNT - $1"
    else
        BROKEN=$((BROKEN + 1))
        echo "not ok $COUNT - $1"
        echo "# $2, not $3"
        sed 's/^/# /' "$WORK/log"
    fi
}
