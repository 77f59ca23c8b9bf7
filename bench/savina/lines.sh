# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# What the scripts of this folder share: which programs there are, and their sizes; how many memory
# nodes the machine has. To be sourced from the top of the source tree. Sets ALL_NAMES and SIZES.
# shellcheck disable=SC2034 # its variables are its users'
declare -A SIZES=()

# say_nodes: a line for plot.sh.
say_nodes()
{
    local nodes
    nodes=$(find /sys/devices/system/node -maxdepth 1 -name 'node[0-9]*' 2>/dev/null | wc -l)
    echo "nodes=$((nodes > 0 ? nodes : 1))"
}

# sizes COLUMN: all programs in ALL_NAMES, their parameters in SIZES. COLUMN: 2 for tests, 3 the
# default, 4 the definitions'; each says what is other than in the one before.
sizes()
{
    local column=$1 name='' first small default full word words
    ALL_NAMES=()
    while IFS='|' read -r first small default full; do
        words=''
        case $first in
        '#'* | '') continue ;;
        ' '*) ;; # the row before goes on
        *)
            name=${first%% *}
            ALL_NAMES+=("$name")
            SIZES[$name]=$small
            ;;
        esac
        [ "$column" -lt 3 ] || words=$default
        [ "$column" -lt 4 ] || words+=" $full"
        for word in $words; do
            SIZES[$name]=$(sed -E "s/(^| )${word%%=*}=[0-9]+/\1$word/" <<<"${SIZES[$name]}")
        done
    done <bench/savina/sizes
}
