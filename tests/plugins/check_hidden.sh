#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check_hidden.sh COMPILER INCLUDE-DIR SOURCE...
# A program may have function-like macros that are called like functions of the host table:
# <tgmath.h> has log(), test frameworks have stop().  Each SOURCE, together a plugin that uses every
# macro, compiles behind <tgmath.h>, and behind a macro of each name in the table that nothing could
# compile with.
set -u
cc=$1
include=$2
shift 2
failed=0
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
names=$(sed -nE 's/^    .*\(\*([a-z_]+)\)\(struct odeon_context \*.*/\1/p' \
    "$include/odeon/plugin.h")
n=$(printf '%s\n' "$names" | grep -c .)
if [ "$n" -lt 10 ]; then
    echo "FAIL plugin.h: $n functions found in the host table, there are more"
    exit 1
fi
echo '#include <tgmath.h>' >"$dir/tgmath.h"
{
    for header in errno math signal stdarg stdbool stddef stdint stdio stdlib string unistd; do
        echo "#include <$header.h>"
    done
    printf '%s\n' "$names" | sed 's/.*/#define &(...) &_is_a_macro_of_the_program]/'
} >"$dir/names.h"

for source in "$@"; do
    for behind in tgmath names; do
        if "$cc" -std=gnu17 -Wall -Wextra -Werror -fsyntax-only -I"$include" \
            -include "$dir/$behind.h" "$source"; then
            echo "ok   $(basename "$source") behind $behind.h"
        else
            echo "FAIL $(basename "$source") behind $behind.h"
            failed=1
        fi
    done
done
# A call as authors write it without thinking of macros is seen.
cat >"$dir/careless.c" <<END
#include <odeon/plugin.h>
int careless(struct odeon_context *ctx);
int careless(struct odeon_context *ctx) { return ctx->host->stop(ctx, 0, 0); }
END
if "$cc" -std=gnu17 -fsyntax-only -I"$include" -include "$dir/names.h" "$dir/careless.c" \
    2>/dev/null; then
    echo "FAIL the macros of this test hide nothing"
    failed=1
fi
exit $failed
