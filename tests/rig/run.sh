#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# run.sh - runs a script in the rig, with what a build would install.
#
#   run.sh BUILD SCRIPT
#
# Makes a folder with the installed tree (tree/), the example and the script, and shows it to the
# rig copy-on-write. The programs are found below BUILD by their names, so that the layout of a
# build is nobody's promise. Exit status: 77 when the rig is not possible here (the reason is
# printed).
set -uo pipefail
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
BUILD=$(realpath -e "${1-}") || exit 2
SCRIPT=${2?the script, of this folder}
STAGE=$(mktemp -d) || exit 2
trap 'rm -rf "$STAGE"' EXIT

# take PATTERN AS: a file of the build.
take()
{
    local found
    # another machine's build may lie within (tests/arm64.sh)
    found=$(find "$BUILD" -type f -name "$1" -not -path '*/CMakeFiles/*' \
        -not -path "$BUILD/arm64/*" | sort | head -n 1)
    if [ -z "$found" ]; then
        echo "not ok 1 - $1 is built"
        exit 1
    fi
    cp "$found" "$STAGE/$2"
}

# package FOLDER OPTION...: the build as Debian packages.
package()
{
    local folder=$1
    shift
    if ! (cd "$STAGE" && cpack --config "$BUILD/CPackConfig.cmake" -B "$STAGE/$folder" "$@") \
        >"$STAGE/$folder.log" 2>&1; then
        cat "$STAGE/$folder.log"
        echo "not ok 1 - packages are made"
        exit 1
    fi
}

if ! DESTDIR=$STAGE/tree cmake --install "$BUILD" >"$STAGE/install.log" 2>&1; then
    cat "$STAGE/install.log"
    echo "not ok 1 - cmake --install works"
    exit 1
fi
chmod 755 "$STAGE"
take odeon-wordcount odeon-wordcount
take '*wordcount*.so' wordcount.so
take rig-numbers rig-numbers
take probe.so probe.so
cp "$HERE/$SCRIPT" "$HERE/service.sh" "$HERE/tap.sh" "$HERE/../../daemon/common/events.h" "$STAGE"

# The commands of README.md and of docs/first-hour.md are run where they find what they name.
if [ "$SCRIPT" = test_systemd_readme.sh ]; then
    cp "$HERE/../package/commands.awk" "$HERE/steps.awk" "$HERE/../../README.md" "$STAGE"
    mkdir "$STAGE/docs" && cp -r "$HERE/../../docs/examples" "$HERE/../../docs/first-hour.md" \
        "$STAGE/docs"
fi

# Two builds of the same layout: other bytes, another version.
if [ "$SCRIPT" = test_systemd_package.sh ]; then
    package first -D CPACK_STRIP_FILES=OFF
    package second -D CPACK_PACKAGE_VERSION=99.0
fi

# The rig takes over nothing of the environment: requests are as patient in it as elsewhere
# (tests/run/patience.h).
rc=0
bash "$HERE/rig.sh" --dir "$STAGE" --journal "$STAGE/journal" --boot-timeout 900 --timeout 3600 \
    --env ODEON_TIMEOUT_MS=300000 -- bash "./$SCRIPT" || rc=$?
if [ $rc != 0 ] && [ $rc != 77 ] && [ -s "$STAGE/journal" ]; then
    echo "-- the journal's end:"
    tail -n 40 "$STAGE/journal"
fi
exit $rc
