# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# What the scripts of this folder share: which programs there are, and their sizes. To be sourced
# from the top of the source tree. Sets ALL_NAMES and SIZES.
# shellcheck disable=SC2034 # its variables are its users'
declare -A SIZES=()

# sizes COLUMN: all programs in ALL_NAMES, their parameters in SIZES. COLUMN: 2 for tests, 3 the
# default, 4 the definitions'.
sizes()
{
    local column=$1 name small default full word
    ALL_NAMES=()
    while IFS='|' read -r name small default full; do
        case $name in '#'* | '') continue ;; esac
        name=${name%% *}
        ALL_NAMES+=("$name")
        if [ "$column" = 2 ]; then SIZES[$name]=$small; else SIZES[$name]=$default; fi
        [ "$column" = 4 ] || continue
        for word in $full; do
            SIZES[$name]=$(sed -E "s/(^| )${word%%=*}=[0-9]+/\1$word/" <<<"${SIZES[$name]}")
        done
    done <bench/savina/sizes
}
