#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# selftest.sh - proves that law.sh sees: seeds one violation after the other into a copy of the
# tree, and wants each named.
#
#   selftest.sh SOURCE
#
# A seed is a line of text appended to a file (made if missing) of the copy; laws that look at each
# file by itself are shown a tree of a few files, so that each proof is short. Prints TAP.
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

TREE=$WORK/tree

# seed GROUP FILE TEXT EXPECTED: with TEXT appended to FILE, the laws of GROUP are broken and a line
# "# FILE...EXPECTED" says so.
seed()
{
    local group=$1 file=$TREE/$2 text=$3 expected=$4 rc=0 saved='' label=${3##*"$SPDX\n"}
    if [ -e "$file" ]; then
        saved=$WORK/saved
        cp "$file" "$saved"
    fi
    mkdir -p "$(dirname "$file")"
    printf '%b\n' "$text" >>"$file"
    bash "$HERE/law.sh" "$TREE" "$group" >"$WORK/out" 2>&1 || rc=$?
    [ $rc = 1 ] && grep -qE "^# $2.*$expected" "$WORK/out"
    verdict $? "$group: $2 with ${label:0:70}"
    if [ -n "$saved" ]; then mv "$saved" "$file"; else rm -f "$file"; fi
}

# A tree without a seed keeps the laws of its groups.
clean()
{
    bash "$HERE/law.sh" "$TREE" "$@" >"$WORK/out" 2>&1
    verdict $? "$*: kept by $(basename "$TREE") as it is"
}

mkdir "$WORK/tree"
(cd "$ROOT" && tar -c --exclude=./.git --exclude=./build --exclude='./build-*' \
    --exclude=./.cache .) | tar -x -C "$WORK/tree"

include() { printf '%s\n#include %s' "$SPDX" "$1"; }
must_not() { seed includes "$1" "$(include "$2")" "must not include ${3-}"; }
must_not proto/seed.h '"daemon/common/log.h"' daemon/common/log.h
must_not client-lib/src/seed.c '"daemon/common/frame.h"'
must_not client-lib/src/seed.c '"../../daemon/common/frame.h"'
must_not client-lib/ctl/seed.c '"proto/envelope.h"' proto/envelope.h
must_not client-lib/include/odeon/seed.h '"proto/envelope.h"'
must_not daemon/common/seed.c '"daemon/engine/engine.h"'
must_not daemon/engine/seed.c '<odeon/plugin.h>' client-lib/include/odeon/plugin.h
must_not daemon/executor/seed.c '<odeon/client.h>' client-lib/include/odeon/client.h
must_not daemon/supervisor/seed.c '"daemon/engine/engine.h"' daemon/engine/engine.h
must_not daemon/supervisor/seed.c '<odeon/plugin.h>'
seed includes proto/seed.h "$(include '<unistd.h>')" "does without <unistd.h>"
seed includes proto/fields_fill.c "$(include '<unistd.h>')" "does without <unistd.h>"
seed includes proto/seed.c "$(include '<stdlib.h>')" "does without <stdlib.h>"
seed includes daemon/engine/seed.c "$SPDX\n  #  include <hwloc.h>" "does without <hwloc.h>"
seed includes daemon/supervisor/seed.c "$(include '<dlfcn.h>')" "does without <dlfcn.h>"
seed includes daemon/common/seed.c "$(include '"seed_not_there.h"')" "no file of the project"
# the first one of a circle is named
printf '%s\n#include "seed_a.h"\n' "$SPDX" >"$WORK/tree/daemon/common/seed_b.h"
seed includes daemon/common/seed_a.h "$(include '"seed_b.h"')" \
    "seed_b.h -> daemon/common/seed_a.h"
grep -q '^# daemon/common/seed_.*-> daemon/common/seed_' "$WORK/out"
verdict $? "includes: a circle of two headers is named"
rm "$WORK/tree/daemon/common/seed_b.h"
# two modules that include each other's header, each in its source
cp "$WORK/tree/daemon/supervisor/client.c" "$WORK/saved"
echo '#include "daemon/supervisor/commands.h"' >>"$WORK/tree/daemon/supervisor/client.c"
bash "$HERE/law.sh" "$WORK/tree" includes >"$WORK/out" 2>&1
grep -q '^# daemon/supervisor/\(client -> .*commands\|commands -> .*client\)' "$WORK/out"
verdict $? "includes: a circle of modules is named"
mv "$WORK/saved" "$WORK/tree/daemon/supervisor/client.c"
cp "$WORK/tree/client-lib/src/port.c" "$WORK/saved"
echo '#include "client-lib/src/connect.h"' >>"$WORK/tree/client-lib/src/port.c"
bash "$HERE/law.sh" "$WORK/tree" includes >"$WORK/out" 2>&1
grep -q '^# client-lib/src/\(connect -> .*port\|port -> .*connect\)' "$WORK/out"
verdict $? "includes: a circle of libodeon's modules is named"
mv "$WORK/saved" "$WORK/tree/client-lib/src/port.c"
cp "$WORK/tree/daemon/executor/ports.c" "$WORK/saved"
echo '#include "daemon/executor/start.h"' >>"$WORK/tree/daemon/executor/ports.c"
bash "$HERE/law.sh" "$WORK/tree" includes >"$WORK/out" 2>&1
grep -q '^# daemon/executor/\(ports -> .*start\|start -> .*ports\)' "$WORK/out"
verdict $? "includes: a circle of the executor's modules is named"
mv "$WORK/saved" "$WORK/tree/daemon/executor/ports.c"
seed includes daemon/engine/segment/segment.c "#include \"daemon/engine/run/turn.h\"" \
    "segment/segment is a lower layer than run/turn"
seed includes daemon/engine/seed_new.c "$(include '"daemon/engine/segment/queue.h"')" \
    "has no place in the order"
seed top helpers "$SPDX" "not one of"
seed top seed.txt "a note" "not one of"
seed licence daemon/common/seed.c "int seed;" "SPDX"
seed licence bench/seed.hpp "int seed;" "SPDX"
seed licence tests/seed.sh "#!/bin/bash\n\ntrue\n# SPDX-License-Identifier: Apache-2.0" "SPDX"
seed machine docs/seed.md "see /""home/somebody/odeon" "machine"
seed machine tests/seed.sh "wget http://deb.""debian.org/debian" "machine"
seed machine proto/seed.h "/* measured on 10"".1.2.3 */" "machine"
seed tables docs/operations.md "\n| a | b |\n| --- | --- |\n| c |" "1 cells under a head of 2"
seed pages docs/tour.md "$(yes word | head -n 4000 | fmt -w 90)" "[0-9]* words"
seed width tests/law/pending.txt "width LICENSE" "LICENSE is not needed"

seed atomics daemon/common/seed.c "$SPDX\nstatic _Atomic int seed_word;" "seed_word is not there"
seed sizes docs/seed.md "struct segment_queue, 127 bytes" "segment_queue is 128, not 127"
seed sizes docs/seed.md '```\nstruct segment_queue, 128 bytes\n 3 sel\n```' \
    "sel of struct segment_queue is 4, not 3"
seed stats docs/statistics.md '| `seed_figure` | seeds | |' "there is no seed_figure"
cp "$TREE/proto/stats.def" "$WORK/stats.def"
echo 'STAT(seed_figure, "seeds")' >>"$TREE/proto/stats.def"
bash "$HERE/law.sh" "$TREE" stats >"$WORK/out" 2>&1
[ $? = 1 ] && grep -q '^# docs/statistics.md: no row has seed_figure$' "$WORK/out"
verdict $? "stats: proto/stats.def with a figure that the page does not have"
mv "$WORK/stats.def" "$TREE/proto/stats.def"
seed proofs tests/model/run.sh 'breaks safety quick watch -DWATCH_SEED' \
    "8 rows break watch, .* 7 mutants"
seed proofs tests/model/README.md '| `seed_model` | 1 | |' "there is no model seed_model"
seed proofs tests/sim/README.md '| seed | broken rule |\n| --- | --- |\n| `seed_bug` | none |' \
    "there is no seed_bug"
seed proofs tests/crashpoints/main.c "/* SEED_OF(seed_bug, */" \
    "seed_bug has no row on"
# A test that is built nowhere: one that is new, one of a function's calls, one of a loop's words;
# what only a comment names, is not named.
seed built tests/unit/test_engine_seed.c "$SPDX" "no CMake file of tests/unit names it"
seed built tests/rig/test_seed.sh "# SPDX-License-Identifier: Apache-2.0" "no CMake file"
unnamed()
{
    cp "$TREE/$1" "$WORK/saved"
    sed -i "$2" "$TREE/$1"
    bash "$HERE/law.sh" "$TREE" built >"$WORK/out" 2>&1
    [ $? = 1 ] && [ "$(grep -c '^# ' "$WORK/out")" = 1 ] && grep -q "^# $3: no CMake" "$WORK/out"
    verdict $? "built: $3 that $1 does not name"
    mv "$WORK/saved" "$TREE/$1"
}
unnamed tests/unit/engine.cmake 's/^add_engine_test(loud /# &/' tests/unit/test_engine_loud.c
unnamed tests/hostile/CMakeLists.txt 's/ pipe busy)/ pipe)/' tests/hostile/test_busy.c
unnamed tests/system/CMakeLists.txt 's/ test_exporter\.c / /' tests/system/test_exporter.c
seed cited docs/engine/seed.md 'see `gulp_seed_not_there`' "no C file has gulp_seed_not_there"
# A module that the map does not name, and one that it names and is not there.
echo "$SPDX" >"$TREE/daemon/common/seed_module.c"
mv "$TREE/proto/bounds.h" "$WORK/bounds.h"
bash "$HERE/law.sh" "$TREE" map >"$WORK/out" 2>&1
[ $? = 1 ] && grep -q '^# .*: daemon/common has a module .* name: seed_module$' "$WORK/out"
verdict $? "map: daemon/common with a module that it does not name"
grep -q '^# .*: there is no bounds in proto$' "$WORK/out"
verdict $? "map: proto without a module that it names"
mv "$WORK/bounds.h" "$TREE/proto/bounds.h"
rm "$TREE/daemon/common/seed_module.c"

# What looks at one file after the other.
TREE=$WORK/few
mkdir -p "$TREE"/{daemon/common,docs,client-lib/include/odeon,tests/law}
printf '%s\n%s\n' "$SPDX" 'int few;' >"$TREE/daemon/common/few.c"
cp "$ROOT/.clang-format" "$TREE"
FORMATTED=(readable size functions names width tables)
clang-format --version 2>/dev/null | grep -q 'version 14\.' && FORMATTED+=(format)
clean "${FORMATTED[@]}" headers shell
seed headers daemon/common/seed.h "$SPDX\nstatic inline uint64_t seed(void)\n{\n    return 0;\n}" \
    "uint64_t"
seed headers client-lib/include/odeon/seed.h "$SPDX\n#pragma once\nint seed(int class);" "error"
seed size daemon/common/seed.c "$(printf 'int seed_%d;\\n' $(seq 801))" "more than 800"
# shellcheck disable=SC2016 # the seed's variable
seed shell tests/seed.sh '#!/bin/bash\ncd $1' "SC2"
seed readable daemon/common/few.c 'int \x80;' "not UTF-8"
ln -s nowhere "$TREE/daemon/common/seed.c"
bash "$HERE/law.sh" "$TREE" readable >"$WORK/out" 2>&1
[ $? = 1 ] && grep -q '^# daemon/common/seed.c: cannot be read: it leads nowhere' "$WORK/out"
verdict $? "readable: a link that leads nowhere is named"
rm "$TREE/daemon/common/seed.c"
function_of() { printf '%s\nstatic int few_seed(int a)\n{\n%s\n}' "$SPDX" "$1"; }
seed functions daemon/common/few_a.c "$(function_of "$(printf '    a++;\\n%.0s' $(seq 57))")\n" \
    "few_seed has 61 lines"
seed functions daemon/common/few_a.c "$(function_of '    if (a)
        while (a)
            if (a)
                do {
                    if (a)
                        a--;
                } while (a);')" "few_seed is nested 5 levels deep"
seed functions daemon/common/few_a.c "$SPDX\nint few_seed(void)\n{\n    return 0;" \
    "cannot be read: a function without an end"
seed functions bench/few.hpp "$(function_of "$(printf '    a++;\\n%.0s' $(seq 57))")\n" \
    "few_seed has 61 lines"
seed names daemon/common/few_tables.c \
    "$SPDX\nstatic int table_one(void)\n{\n}\nstatic int few_tables_do(void)\n{\n}
static int seed_it(void)\n{\n}" "seed_it does not carry"
if [ "${FORMATTED[-1]}" = format ]; then
    seed format daemon/common/few.c "int  seed;" "clang-format"
    seed format bench/few.hpp "int  seed;" "clang-format"
fi
hundred=$(printf 'é%.0s' {1..100})
seed width daemon/common/few.c "/* $hundred */" "106 columns"
seed width docs/few.md "$hundred\n| $hundred |\nhttps://$hundred\n$hundred." "4: 101 columns"
seed tables docs/few.md "| a | b |\n| --- | --- |\n| $(seq -s ' ' 21) | c |" "21 words in a cell"
seed tables docs/few.md "| a |\n| --- |\n| b |\n\n| c |\n| d |" "cut off from their table"

seed labels daemon/common/few.c "/* few.K1  One.\n * few.K1  Again. */" "few.K1 is declared at"
seed labels daemon/common/few.c "/* other.K1  One. */" "other.K1 is not a rule of this file"
seed labels daemon/common/few.c "/* few.K1  One.\n *\n * See K1. */" "K1: of which module"
seed labels docs/few.md "See few.K9." "few.K9 is declared nowhere"
seed labels daemon/common/few.c "void f(void)\n{\n    check(\"few.K8\", 1);\n}" "few.K8 is declared"
seed labels daemon/common/few.c "/* As the model says [FEW_WRONG]. */" "FEW_WRONG. is no mutant"

# Rules: one that a test shows, one of a model, one with a check.
mkdir -p "$TREE"/tests/{model,unit}
printf '%b\n' "$SPDX\n/* rule.K1  One.\n * rule.K2  Two [RULE_WRONG].\n * rule.K3  Three.\n */" \
    >"$TREE/daemon/common/rule.h"
printf '%b\n' "$SPDX\nvoid f(void)\n{\n    check(\"rule.K3\", 1);\n}" \
    >"$TREE/daemon/common/rule.c"
echo '#ifdef RULE_WRONG' >"$TREE/tests/model/rule.pml"
echo 'static void test_one(void **state)' >"$TREE/tests/unit/test_rule.c"
echo 'rule.K1  shown unit/rule one' >"$TREE/tests/law/unchecked.txt"
clean rules
seed rules daemon/common/rule.h "/* rule.K4  Four.\n *\n * As [RULE_WRONG] says. */" \
    "rule.K4 has neither check nor model"
seed rules daemon/common/rule.h "/* rule.K4  Four. */\nconst char *k = \"rule.K4\";" \
    "rule.K4 has neither check nor model"
seed rules tests/law/unchecked.txt "rule.K2  unseen: it is in a model" "rule.K2: .* not needed"
seed rules tests/law/unchecked.txt "rule.K3  unseen: it has a check" "rule.K3: .* not needed"
seed rules tests/law/unchecked.txt "rule.K9  unseen: nobody knows it" "rule.K9: is no rule"
seed rules tests/law/unchecked.txt "rule.K1  unseen: said once more" "rule.K1: stands here twice"
# A reason, and what is wrong with it.
reason()
{
    echo "rule.K1${1:+  $1}" >"$TREE/tests/law/unchecked.txt"
    bash "$HERE/law.sh" "$TREE" rules >"$WORK/out" 2>&1
    [ $? = 1 ] && grep -q "^# tests/law/unchecked.txt:1: rule.K1: $2" "$WORK/out"
    verdict $? "rules: '$1' is no reason"
}
reason "" "has no reason"
reason "because" "has no reason"
reason "shown unit/gone one" "there is no test unit/gone"
reason "shown unit/rule" "which test of unit/rule"
reason "shown unit/rule one two: both" "unit/rule has no test two"
reason "built daemon/common/gone.c: a static_assert" "there is no file"
reason "built daemon/common/rule.c: somehow" "built: by what"
reason "unseen: hard" "unseen: why"
rm -r "$TREE"/tests/{model,unit} "$TREE"/daemon/common/rule.[ch] "$TREE/tests/law/unchecked.txt"

# Figures of a tree that is small enough to count by hand: two circles with a module between them, a
# struct with seven fields that two modules use and one with six that three use, one field of it by
# all three; two checks, an assert, three rules of which one has neither.
TREE=$WORK/figures/daemon/few
mkdir -p "$TREE" "$WORK/figures/tests/model"
source_of() { printf '%b\n' "$SPDX" "$2" >"$TREE/$1"; }
source_of a.h '/* a.K1  One.\n * a.K2  Two.\n * a.K3  Three [A_WRONG].\n */
struct some { int one, two; char three[2 * 2]; void (*four)(int a, int b);
    struct { int five; }; union { int x, y; } six; };
struct more { int a, b, c, d, e, f, g; };'
source_of a.c '#include "a.h"\n#include "b.h"\n#include "d.h"
void f(struct some *some, struct more *more)\n{
    check("a.K1", some->one + some->two + more->a);\n    assert(1);\n}'
source_of b.h ''
source_of b.c '#include "b.h"\n#include "a.h"
int g(struct some *it, struct more *more)\n{\n    return it->one + more->b;\n}'
source_of c.c '#include "a.h"
int h(struct some all[2])\n{\n    engine_check("a.K1", all);\n    return all[1].one + all[0].two;\n}
/* not of that type: other->one */'
source_of d.h '#include "e.h"'
source_of e.h ''
source_of e.c '#include "e.h"\n#include "g.h"'
source_of g.h '#include "e.h"'
echo '#ifdef A_WRONG' >"$WORK/figures/tests/model/few.pml"
bash "$HERE/figures.sh" "$WORK/figures" >"$WORK/out" 2>&1
grep -qE '^\| figures \| [0-9]+ \| 9 \| .* \| 3 \| 5/5/5 \| 0 \|' "$WORK/out"
verdict $? "figures: files, functions, and lines of a function"
grep -qF '| 4 | some 6 | 1 | 2 | 1 | 3 | 1 |' "$WORK/out"
verdict $? "figures: circles, the largest struct, checks, asserts and rules"

mkdir "$WORK/build"
printf '%s\n' 'add_test(a "x")' \
    'set_tests_properties(a PROPERTIES LABELS "unit;cpu-9;alone" X "1")' \
    'add_test(b "x")' 'set_tests_properties(b PROPERTIES LABELS "other")' \
    'add_test(c "x")' 'set_tests_properties(c PROPERTIES LABELS "unit;cpu-9" TIMEOUT "9")' \
    >"$WORK/build/CTestTestfile.cmake"
bash "$HERE/law.sh" --build "$WORK/build" "$WORK/few" tests >"$WORK/out" 2>&1
[ $? = 1 ] && [ "$(grep -c '^# b: ' "$WORK/out")" = 3 ] && ! grep -q '^# a: ' "$WORK/out"
verdict $? "tests: one without a suite and a limit is named"
[ "$(grep -c '^# c: TIMEOUT' "$WORK/out")" = 1 ]
verdict $? "tests: a limit in wall time is named"

echo "1..$COUNT"
[ $BROKEN = 0 ]
