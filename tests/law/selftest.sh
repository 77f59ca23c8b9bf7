#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# selftest.sh - proves that law.sh sees: seeds one violation after the other into a copy of the
# tree, and wants each named.
#
#   selftest.sh SOURCE
#
# A seed is a line of text appended to a file (made if missing) of the copy. Prints TAP.
set -uo pipefail
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
ROOT=$(realpath -e "${1-}") || exit 2
WORK=$(mktemp -d) || exit 2
trap 'rm -rf "$WORK"' EXIT
COUNT=0 BROKEN=0
SPDX='/* SPDX-License-Identifier: Apache-2.0 */'

verdict()
{
    COUNT=$((COUNT + 1))
    if [ "$1" = 0 ]; then
        echo "ok $COUNT - $2"
    else
        BROKEN=$((BROKEN + 1))
        echo "not ok $COUNT - $2"
        sed 's/^/# /' "$WORK/out"
    fi
}

# seed GROUP FILE TEXT EXPECTED: with TEXT appended to FILE, the laws of GROUP are broken and a line
# "# FILE...EXPECTED" says so.
seed()
{
    local group=$1 file=$WORK/tree/$2 text=$3 expected=$4 rc=0 saved='' label=${3##*"$SPDX\n"}
    if [ -e "$file" ]; then
        saved=$WORK/saved
        cp "$file" "$saved"
    fi
    mkdir -p "$(dirname "$file")"
    printf '%b\n' "$text" >>"$file"
    bash "$HERE/law.sh" "$WORK/tree" "$group" >"$WORK/out" 2>&1 || rc=$?
    [ $rc = 1 ] && grep -qE "^# $2.*$expected" "$WORK/out"
    verdict $? "$group: $2 with ${label:0:70}"
    if [ -n "$saved" ]; then mv "$saved" "$file"; else rm -f "$file"; fi
}

mkdir "$WORK/tree"
(cd "$ROOT" && tar -c --exclude=./.git --exclude=./build --exclude='./build-*' --exclude=./.cache .) | tar -x -C "$WORK/tree"

seed includes proto/seed.h "$SPDX\n#include \"daemon/common/log.h\"" "proto must not include daemon/common/log.h"
seed includes proto/seed.h "$SPDX\n#include <unistd.h>" "does without <unistd.h>"
seed includes client-lib/src/seed.c "$SPDX\n#include \"daemon/common/frame.h\"" "client-lib/src must not include"
seed includes client-lib/src/seed.c "$SPDX\n#include \"../../daemon/common/frame.h\"" "client-lib/src must not include"
seed includes client-lib/ctl/seed.c "$SPDX\n#include \"proto/envelope.h\"" "client-lib/ctl must not include proto/envelope.h"
seed includes client-lib/include/odeon/seed.h "$SPDX\n#include \"proto/envelope.h\"" "client-lib/include must not include"
seed includes daemon/common/seed.c "$SPDX\n#include \"daemon/engine/engine.h\"" "daemon/common must not include"
seed includes daemon/engine/seed.c "$SPDX\n#include <odeon/plugin.h>" "daemon/engine must not include client-lib/include/odeon/plugin.h"
seed includes daemon/engine/seed.c "$SPDX\n  #  include <hwloc.h>" "does without <hwloc.h>"
seed includes daemon/executor/seed.c "$SPDX\n#include <odeon/client.h>" "daemon/executor must not include client-lib/include/odeon/client.h"
seed includes daemon/supervisor/seed.c "$SPDX\n#include \"daemon/engine/engine.h\"" "daemon/supervisor must not include daemon/engine/engine.h"
seed includes daemon/supervisor/seed.c "$SPDX\n#include <odeon/plugin.h>" "daemon/supervisor must not include"
seed includes daemon/supervisor/seed.c "$SPDX\n#include <dlfcn.h>" "does without <dlfcn.h>"
seed includes daemon/common/seed.c "$SPDX\n#include \"seed_that_is_not_there.h\"" "no file of the project"
# the first one of a circle is named
printf '%s\n#include "seed_a.h"\n' "$SPDX" >"$WORK/tree/daemon/common/seed_b.h"
seed includes daemon/common/seed_a.h "$SPDX\n#include \"seed_b.h\"" "seed_b.h -> daemon/common/seed_a.h"
grep -q '^# daemon/common/seed_.*-> daemon/common/seed_' "$WORK/out"
verdict $? "includes: a circle of two headers is named"
rm "$WORK/tree/daemon/common/seed_b.h"
seed includes daemon/engine/segment.c "#include \"daemon/engine/turn.h\"" "segment is a lower layer than turn"
seed includes daemon/engine/seed_new.c "$SPDX\n#include \"daemon/engine/queue.h\"" "has no place in the order"
seed headers daemon/common/seed.h "$SPDX\nstatic inline uint64_t seed(void)\n{\n    return 0;\n}" "uint64_t"
seed headers client-lib/include/odeon/seed.h "$SPDX\n#pragma once\nint seed(int class);" "error"
seed size daemon/common/seed.c "$(printf 'int seed_%d;\\n' $(seq 801))" "more than 800"
seed top helpers "$SPDX" "not one of"
seed top seed.txt "a note" "not one of"
seed licence daemon/common/seed.c "int seed;" "SPDX"
seed licence tests/seed.sh "#!/bin/bash\n\ntrue\n# SPDX-License-Identifier: Apache-2.0" "SPDX"
seed machine docs/seed.md "see /""home/somebody/odeon" "machine"
seed machine tests/seed.sh "wget http://deb.""debian.org/debian" "machine"
seed machine proto/seed.h "/* measured on 10"".1.2.3 */" "machine"
# shellcheck disable=SC2016 # the seed's variable
seed shell tests/seed.sh '#!/bin/bash\ncd $1' "SC2"

mkdir "$WORK/build"
printf '%s\n' 'add_test(a "x")' \
    'set_tests_properties(a PROPERTIES LABELS "unit;cpu-9;alone" X "1")' \
    'add_test(b "x")' 'set_tests_properties(b PROPERTIES LABELS "other")' \
    'add_test(c "x")' 'set_tests_properties(c PROPERTIES LABELS "unit;cpu-9" TIMEOUT "9")' \
    >"$WORK/build/CTestTestfile.cmake"
bash "$HERE/law.sh" --build "$WORK/build" "$WORK/tree" tests >"$WORK/out" 2>&1
[ $? = 1 ] && [ "$(grep -c '^# b: ' "$WORK/out")" = 3 ] && ! grep -q '^# a: ' "$WORK/out"
verdict $? "tests: one without a suite and a limit is named"
[ "$(grep -c '^# c: TIMEOUT' "$WORK/out")" = 1 ]
verdict $? "tests: a limit in wall time is named"

echo "1..$COUNT"
[ $BROKEN = 0 ]
