#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The library's surface: what the public headers declare is exported, nothing else is, and each
# header stands alone.
#   test_api_symbols.sh SOURCE_ROOT LIBRARY CC [CXX]
set -u
root=$1 library=$2 cc=$3 cxx=${4:-}
include=$root/client-lib/include
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
passed=0 failed=0

result() { # STATUS NAME
    if [ "$1" -eq 0 ]; then
        passed=$((passed + 1)) && echo "[       OK ] $2"
    else
        failed=$((failed + 1)) && echo "[  FAILED  ] $2"
    fi
}

# Functions marked ODEON_API, however the lines are broken.
cat "$include/odeon/client.h" "$include/odeon/admin.h" "$include/odeon/stats.h" \
    "$include/odeon/observe.h" \
    "$include/odeon/codec.h" "$include/odeon/names.h" "$include/odeon/helper.h" | grep -v '^#' |
    tr '\n' ' ' |
    grep -o 'ODEON_API [^(;]*(' | sed 's/($//; s/.*[ *]//' | sort -u >"$scratch/declared"
nm -D --defined-only "$library" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' |
    sort -u >"$scratch/exported"
sed -n '/global:/,/local:/p' "$root/client-lib/libodeon.map" |
    sed -n 's/^ *\(odeon_[a-z_]*\);$/\1/p' | sort >"$scratch/mapped"

[ "$(wc -l <"$scratch/declared")" -gt 30 ]
result $? "the headers declare functions"
diff "$scratch/declared" "$scratch/exported" >&2
result $? "what is declared is exported, and nothing else"
diff "$scratch/declared" "$scratch/mapped" >&2
result $? "the symbol map names what is declared"
nm -D --defined-only "$library" |
    awk '$2 != "A" && $3 !~ /@@ODEON_0$/ { print; bad = 1 } END { exit bad }' >&2
result $? "every symbol has its version"
! objdump -R "$library" | grep ' odeon_' >&2
result $? "no call of its own goes by way of the program"
objdump -p "$library" | grep -q 'SONAME *libodeon\.so\.0$'
result $? "the soname is libodeon.so.0"

for header in client admin stats observe codec message names version helper plugin; do
    printf '#include <odeon/%s.h>\nextern int nothing_else;\n' "$header" >"$scratch/alone.c"
    # a plugin's macros are for GNU C; the plain layer is what every compiler must take
    flags="-std=c11 -pedantic-errors -Wall -Wextra -Werror"
    $cc $flags -I"$include" -fsyntax-only "$scratch/alone.c" >&2
    result $? "<odeon/$header.h> alone, C11"
    if [ -n "$cxx" ]; then
        cp "$scratch/alone.c" "$scratch/alone.cc"
        $cxx -std=c++17 -pedantic-errors -Wall -Wextra -Werror -I"$include" \
            -fsyntax-only "$scratch/alone.cc" >&2
        result $? "<odeon/$header.h> alone, C++17"
    fi
done

# One manner: odeon_<noun>_<verb>; odeon_strerror() is called as what everybody knows.
nouns='actor|client|dead_letter|error|executor|group|helper|layout|list|memory|message|monitor'
nouns="$nouns|observe|outcome|payload|plugin|port|queue|reason|ref|result|service|stats|text"
nouns="$nouns|timer|type|user"
grep -vE "^odeon_(($nouns)_[a-z_]+|strerror)\$" "$scratch/declared" >&2
[ $? -eq 1 ]
result $? "every name begins with its noun"

echo "[==========] $((passed + failed)) test(s) run."
echo "[  PASSED  ] $passed test(s)."
[ "$failed" -eq 0 ] || echo "[  FAILED  ] $failed test(s)."
[ "$failed" -eq 0 ]
