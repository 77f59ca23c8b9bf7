#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check_headers.sh C|CXX COMPILER INCLUDE-DIR
# Every public header compiles alone, twice in a row, without a warning: in C17 and in C++17,
# strictly by the standard.  The macro
# headers are part of message.h and plugin.h, and C only.  All of them go together, too.
set -u
language=$1
compiler=$2
include=$3
warnings="-Wall -Wextra -Wpedantic -Wundef -Werror -fsyntax-only"
case $language in
C) flags="-std=c17 -Wstrict-prototypes -Wmissing-prototypes $warnings"; as=c ;;
CXX) flags="-std=c++17 $warnings"; as=c++ ;;
*) echo "first argument: C or CXX" >&2; exit 2 ;;
esac
failed=0
seen=0
all=

try() # NAME TEXT
{
    if printf '%b' "$2" | "$compiler" $flags -I"$include" -x $as -; then
        echo "ok   $1"
    else
        echo "FAIL $1"
        failed=1
    fi
}

for header in "$include"/odeon/*.h; do
    name=$(basename "$header")
    case $name in
    *_macros.h) continue ;;
    esac
    seen=$((seen + 1))
    all="$all#include <odeon/$name>\n"
    try "$name" "#include <odeon/$name>\n#include <odeon/$name>\nint main(void);\n"
done
try "all of them" "$all"
try "words" "${all}static inline const char *words(int n) { return n < 0 ? odeon_strerror(n)
    : odeon_reason_name((unsigned)n); }\nconst char *use(int n);\nconst char *use(int n)
    { return words(n); }\n"
if [ $seen -lt 4 ]; then
    echo "FAIL only $seen headers in $include/odeon"
    failed=1
fi
exit $failed
