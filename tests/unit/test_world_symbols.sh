#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The surface of libodeon-test: what <odeon/test.h> declares is there, nothing else is, and the
# header stands alone.
#   test_world_symbols.sh SOURCE_ROOT ARCHIVE CC [CXX]
set -u
root=$1 archive=$2 cc=$3 cxx=${4:-}
include=$root/client-lib/include
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
count=0 failed=0

result() { # STATUS NAME
    count=$((count + 1))
    [ "$1" -eq 0 ] && echo "ok $count - $2" && return
    failed=$((failed + 1)) && echo "not ok $count - $2"
}

# Its functions begin with the library's name; what the text of comments names does not count.
sed 's|/\*.*\*/||; /^ *\/\*/,/\*\//d; /^#/d' "$include/odeon/test.h" | tr '\n' ' ' |
    grep -o 'odeon_test_[a-z_]*(' | tr -d '(' | sort -u >"$scratch/declared"
nm -g --defined-only "$archive" | awk 'NF == 3 { print $3 }' | sort -u >"$scratch/defined"
grep -v '^#' "$root/client-lib/test/libodeon-test.symbols" | sort -u >"$scratch/listed"
[ "$(wc -l <"$scratch/declared")" -gt 20 ]
result $? "the header declares functions"
diff "$scratch/declared" "$scratch/listed" >&2
result $? "the list of symbols names what is declared"
diff "$scratch/declared" "$scratch/defined" >&2
result $? "what is declared is there, and nothing else"

printf '#include <odeon/test.h>\nextern int nothing_else;\n' >"$scratch/alone.c"
$cc -std=c11 -pedantic-errors -Wall -Wextra -Werror -I"$include" -fsyntax-only \
    "$scratch/alone.c" >&2
result $? "<odeon/test.h> alone, C11"
if [ -n "$cxx" ]; then
    cp "$scratch/alone.c" "$scratch/alone.cc"
    $cxx -std=c++17 -pedantic-errors -Wall -Wextra -Werror -I"$include" -fsyntax-only \
        "$scratch/alone.cc" >&2
    result $? "<odeon/test.h> alone, C++17"
fi
echo "1..$count"
[ "$failed" -eq 0 ]
