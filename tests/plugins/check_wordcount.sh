#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check_wordcount.sh CLIENT PLUGIN
# The word counter against coreutils, on texts made to be difficult: CLIENT is linked to inproc.c,
# so no service is needed.
set -u
client=$1
plugin=$2
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
failed=0

# letters N: a word of N letters without end of line
letters() { head -c "$1" /dev/zero | tr '\0' "${2:-a}"; }

: >"$dir/empty"
printf '1234 !?\n\n' >"$dir/no-words"
printf 'one' >"$dir/one-word"
printf 'The the THE\nand And\n' >"$dir/case"
printf 'caf\303\251 na\303\257ve\000zero\377end' >"$dir/bytes"
# long words around the size of a chunk, at its beginning, across its end, at the end of the file
for n in 24574 24575 24576 24577 49152 100000; do
    { letters $n; printf ' x '; letters $n B; printf ' '; letters $n; } >"$dir/long-$n"
    { printf 'begin '; letters $n; } >"$dir/long-last-$n"
done
# every position of a word against the end of a chunk
awk 'BEGIN {
    for (i = 0; i < 60000; i++) {
        s = "w"
        for (j = 0; j < i % 13; j++) s = s sprintf("%c", 97 + (i + j) % 26)
        printf "%s%s", s, (i % 7 == 0) ? "\n" : " "
    } }' >"$dir/positions"
# many words, equal counts: the order of equals
awk 'BEGIN {
    for (i = 0; i < 40000; i++) {
        n = i
        s = ""
        do { s = s sprintf("%c", 97 + n % 26); n = int(n / 26) } while (n > 0)
        print s
        if (i % 3 == 0) print s
    } }' >"$dir/many"

for file in "$dir"/*; do
    for options in "" "--shards 1 --splitters 1 --window 1" \
        "--shards 28 --splitters 7 --window 3 --top 100000"; do
        name=$(basename "$file")
        # shellcheck disable=SC2086
        if ! "$client" "$file" --plugin "$plugin" --check $options >"$dir/out" 2>"$dir/err" ||
            ! grep -q 'check: equal' "$dir/err" ||
            ! grep -q 'inproc: 0 actors left' "$dir/err"; then
            echo "FAIL $name $options"
            cat "$dir/err"
            failed=1
        fi
    done
    rm -f "$dir/out" "$dir/err"
    echo "ok   $name"
done

# The lines are those of the pipeline, to the byte.
"$client" "$dir/many" --top 50 --plugin "$plugin" 2>/dev/null >"$dir/ours"
tr -cs 'A-Za-z' '\n' <"$dir/many" | tr A-Z a-z | grep -v '^$' | LC_ALL=C sort | uniq -c |
    LC_ALL=C sort -k1,1nr -k2,2 | head -n 50 >"$dir/theirs"
if ! cmp "$dir/ours" "$dir/theirs"; then
    echo "FAIL the lines differ"
    failed=1
fi

# A crash in the middle: the counters lose what they have; that must be said, not printed.  (Lost
# memory is a leak here.)
ASAN_OPTIONS=detect_leaks=0 INPROC_CRASH=30 "$client" "$dir/many" \
    --plugin "$plugin" >"$dir/ours" 2>"$dir/err"
code=$?
if [ $code -ne 5 ] || [ -s "$dir/ours" ] || ! grep -q 'the result is incomplete' "$dir/err"; then
    echo "FAIL after a crash: exit $code"
    cat "$dir/err"
    failed=1
else
    echo "ok   crash: $(grep incomplete "$dir/err")"
fi

# Mistakes of the user.
expect() { # CODE ARGUMENTS
    code=$1
    shift
    "$client" "$@" --plugin "$plugin" >/dev/null 2>"$dir/err"
    r=$?
    if [ $r -ne "$code" ] || ! [ -s "$dir/err" ]; then
        echo "FAIL $* gives $r, not $code"
        failed=1
    fi
}
expect 1 "$dir"
expect 1 "$dir/missing"
expect 2 "$dir/many" --top 0
expect 2 "$dir/many" --shards 29
expect 2 "$dir/many" --window x
expect 2 - --check
expect 2
"$client" "$dir/many" --plugin "$dir/many" >/dev/null 2>&1
[ $? -eq 1 ] || { echo "FAIL a plugin that is none"; failed=1; }
"$client" "$dir/case" --plugin "$plugin" --json 2>/dev/null |
    grep -q '"top":\[{"word":"the","count":3},{"word":"and","count":2}\]' ||
    { echo "FAIL json"; failed=1; }
printf 'a b a' | "$client" - --plugin "$plugin" 2>/dev/null | head -1 | grep -q '^      2 a$' || {
    echo "FAIL stdin"
    failed=1
}
exit $failed
