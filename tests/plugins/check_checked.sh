#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check_checked.sh ODEONCTL INCLUDE COMPILER SOURCE...
# What `odeonctl plugin check` says of plugins that are made for it. Each SOURCE says in EXPECT
# lines what of it (verdict, space, a text of the finding), and in FLAGS lines what it is compiled
# with besides; one without EXPECT lines is a good one. A cut or spoilt file does no harm.
set -u
odeonctl=$1 include=$2 cc=$3
shift 3
failed=0
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT

wrong() # NAME TEXT
{
    echo "FAIL $1: $2"
    failed=1
}

for source in "$@"; do
    name=$(basename "$source" .c)
    flags=$(sed -n 's/.*FLAGS: //p' "$source")
    # shellcheck disable=SC2086 # several words
    if ! "$cc" -std=gnu17 -O2 -fPIC -shared -w -I"$include" -o "$dir/$name.so" "$source" \
        $flags; then
        wrong "$name" "does not compile"
        continue
    fi
    "$odeonctl" plugin check "$dir/$name.so" --json >"$dir/json" 2>"$dir/log"
    code=$?
    sed -n 's/.*EXPECT: //p' "$source" >"$dir/expected"
    grep -q '^refused ' "$dir/expected"
    wanted=$((1 - $?))
    [ "$code" -eq "$wanted" ] || wrong "$name" "exit status $code, $wanted was expected"
    grep -o '"verdict":' "$dir/json" | grep -c . >"$dir/found" || true
    [ "$(cat "$dir/found")" -eq "$(grep -c . "$dir/expected")" ] ||
        wrong "$name" "says $(cat "$dir/found") things: $(cat "$dir/json")"
    while read -r verdict text; do
        grep -F "\"verdict\":\"$verdict\",\"finding\":\"" "$dir/json" | grep -qF -- "$text" ||
            wrong "$name" "does not say '$verdict ... $text': $(cat "$dir/json")"
    done <"$dir/expected"
    echo "ok   $name: $(cat "$dir/found") findings"
done
# What was shipped without its symbols says the same of itself.
strip -o "$dir/stripped.so" "$dir/kept.so"
"$odeonctl" plugin check "$dir/stripped.so" | grep -q 'thing keeps a pointer' ||
    wrong stripped "says something else"

# The good one is good for a reader, too; what is no shared object is refused with a reason.
"$odeonctl" plugin check "$dir/good.so" | grep -q 'nothing would be refused' ||
    wrong good "is not called good"
echo "int main(void) { return 0; }" >"$dir/program.c"
"$cc" -o "$dir/program" "$dir/program.c"
"$odeonctl" plugin check "$dir/program" | grep -q 'refused.*-shared' ||
    wrong program "is let through"
"$odeonctl" plugin check "$dir/program.c" | grep -q 'refused.*ELF' || wrong text "is let through"
"$odeonctl" plugin check "$dir" | grep -q 'refused.*regular' || wrong folder "is let through"
"$odeonctl" plugin check "$dir/nowhere" >/dev/null 2>&1
[ $? -eq 1 ] || wrong nowhere "is let through"

# answers FILE: something is said of it, whatever it is, and neither a signal nor a sanitizer ends
# it.
answers()
{
    "$odeonctl" plugin check "$1" >"$dir/said" 2>"$dir/log"
    [ $? -lt 2 ] && ! grep -qE 'Sanitizer|runtime error' "$dir/log" && cat "$dir/said" "$dir/log" |
        grep -q .
}

# Cut at each of some places, and with bytes of its heads and tables spoilt.
size=$(wc -c <"$dir/good.so")
n=0
while [ "$n" -lt 96 ]; do
    head -c $((size * n / 96)) "$dir/good.so" >"$dir/spoilt"
    answers "$dir/spoilt" || wrong cut "at $((size * n / 96)) of $size bytes: $(cat "$dir/log")"
    cp "$dir/good.so" "$dir/spoilt"
    # the first 192 bytes, and as many before the end, where the table of sections is
    for at in $((n * 2)) $((size - 1 - n * 7)); do
        printf '\377\377' | dd of="$dir/spoilt" bs=1 seek="$at" conv=notrunc 2>/dev/null
    done
    answers "$dir/spoilt" || wrong spoilt "at $((n * 2)): $(cat "$dir/log")"
    n=$((n + 1))
done
[ $failed -eq 0 ] && echo "ok   $n cut and $n spoilt files"
exit $failed
