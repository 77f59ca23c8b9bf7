#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# catalogue.sh - events.h, its users, the message catalogue and its documentation name the same
# events.
#
#   catalogue.sh SOURCE
#
# Prints TAP. Each check works on lists, so that a missing entry is named.
set -uo pipefail
export LC_ALL=C
cd "${1?the source folder}" || exit 2
# shellcheck source=tests/rig/tap.sh
. tests/rig/tap.sh

HEADER=daemon/common/events.h CATALOGUE=systemd/odeon.catalog
TEMPORARY=$(mktemp -d)
trap 'rm -rf "$TEMPORARY"' EXIT

header_names() { sed -nE 's/^#define (CATALOGUE_[A-Z_]+) "MESSAGE_ID=[0-9a-f]{32}"$/\1/p' $HEADER; }
header_ids() { sed -nE 's/^#define CATALOGUE_[A-Z_]+ "MESSAGE_ID=([0-9a-f]{32})"$/\1/p' $HEADER; }
catalogue_ids() { sed -nE 's/^-- ([0-9a-f]{32})$/\1/p' $CATALOGUE; }
used_names() { grep -rhoE "\bCATALOGUE_[A-Z_]+" daemon --include="*.c"; }
# shellcheck disable=SC2016 # the table's own quotes
documented_ids() { grep -oE '`[0-9a-f]{32}`' docs/operations/logs.md | tr -d '`'; }

# same LIST LIST: as sets.
same()
{
    "$1" | sort -u >"$TEMPORARY/a"
    "$2" | sort -u >"$TEMPORARY/b"
    diff "$TEMPORARY/a" "$TEMPORARY/b"
}
no_doubles()
{
    [ -z "$("$1" | sort | uniq -d | tee /dev/stderr)" ]
}
every_define_is_an_event()
{
    [ "$(grep -c '^#define' $HEADER)" = "$(header_ids | wc -l)" ]
}
has_events()
{
    [ "$(header_ids | wc -l)" -ge 10 ]
}
compiles()
{
    mkdir -p "$TEMPORARY/usr/lib/systemd/catalog" "$TEMPORARY/var/lib/systemd/catalog" &&
        cp $CATALOGUE "$TEMPORARY/usr/lib/systemd/catalog/" &&
        journalctl --root="$TEMPORARY" --update-catalog &&
        [ "$(journalctl --root="$TEMPORARY" --list-catalog | wc -l)" = \
            "$(grep -c '^-- ' $CATALOGUE)" ]
}

check "events are found in the header" has_events
check "every definition of the header is an event" every_define_is_an_event
check "no id is used twice" no_doubles header_ids
check "every event is used, and every used one defined" same header_names used_names
check "every event has an entry in the catalogue, and no entry is without one" \
    same header_ids catalogue_ids
check "every event is in the table of docs/operations/logs.md" same header_ids documented_ids
check "the catalogue compiles" compiles
echo "1..$COUNT"
[ "$BROKEN" = 0 ]
