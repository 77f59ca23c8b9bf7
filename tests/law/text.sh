# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# The laws of text: what can be read, width, tables, functions, names, layout. Part of law.sh, whose
# variables and functions it uses.
MOST_COLUMNS=100 MOST_CELL_WORDS=20 MOST_LINES=60 MOST_LEVELS=4 FORMATTER=14
MOST_PAGE_WORDS=3200

# What is data, and nobody's text: topologies, dashboards, inputs of the fuzzers, the licence.
DATA='^LICENSE$|\.xml$|/dashboard\.json$|^tests/fuzz/corpus/|\.(svg|png|gz|bin|so)$'

# The wide lines of the standard input's files, "FILE<tab>message". Characters count, not bytes.
wide_lines()
{
    xargs -d '\n' -r awk -v most=$MOST_COLUMNS '
        length($0) <= most { next }
        {
            # What is not a table row may be an address alone on its line.
            if (FILENAME ~ /\.md$/ && (/^ *\|/ || /^ *(- |\[[^]]*\]: *)?<?https?:[^ ]*$/)) next
            characters = $0
            gsub(/[\200-\277]/, "", characters)
            if (length(characters) > most)
                print FILENAME "\t" FILENAME ":" FNR ": " length(characters) " columns"
        }'
}

check_width()
{
    grep -vE "$DATA" "$WORK/files" | wide_lines >"$WORK/found"
    pending width
    law "no line is wider than $MOST_COLUMNS columns" "$WORK/found"
}

check_tables()
{
    grep '\.md$' "$WORK/files" | xargs -d '\n' -r awk -v most=$MOST_CELL_WORDS \
        -f "$HERE/tables.awk" >"$WORK/all"
    grep -v "$TAB.*words in a cell" "$WORK/all" >"$WORK/found"
    pending tables
    law "every row of a table has the columns of its head" "$WORK/found"
    grep "$TAB.*words in a cell" "$WORK/all" >"$WORK/found"
    pending cells
    law "no cell of a table has more than $MOST_CELL_WORDS words" "$WORK/found"
}

# Records of what was decided are as long as they are: nobody reads them one after the other.
check_pages()
{
    grep -E '^(README|docs/.*)\.md$' "$WORK/files" | grep -v '^docs/why/' |
        xargs -d '\n' -r wc -w | awk -v most=$MOST_PAGE_WORDS '
        $2 != "total" && $1 > most { print $2 "\t" $2 ": " $1 " words" }' >"$WORK/found"
    pending pages
    law "no page of docs has more than $MOST_PAGE_WORDS words" "$WORK/found"
}

# "FILE LINE NAME static|extern LINES LEVELS" of each function: see functions.awk.
list_functions()
{
    [ -e "$WORK/functions" ] || grep -E '\.([ch]|[ch]pp)$' "$WORK/files" |
        xargs -d '\n' awk -f "$HERE/functions.awk" >"$WORK/functions"
}

check_functions()
{
    list_functions
    awk -F '\t' '$3 == "unread" { print $1 "\t" $1 ":" $2 ": cannot be read: " $4 }' \
        "$WORK/functions" >"$WORK/found"
    pending unread
    law "every function can be told from the layout" "$WORK/found"
    awk -F '\t' -v most=$MOST_LINES '$5 > most {
        print $1 "\t" $1 ":" $2 ": " $3 " has " $5 " lines" }' "$WORK/functions" >"$WORK/found"
    pending lines
    law "no function has more than $MOST_LINES lines" "$WORK/found"
    awk -F '\t' -v most=$MOST_LEVELS '$6 > most {
        print $1 "\t" $1 ":" $2 ": " $3 " is nested " $6 " levels deep" }' \
        "$WORK/functions" >"$WORK/found"
    pending levels
    law "no function is nested deeper than $MOST_LEVELS levels" "$WORK/found"
}

# A static function begins with a word of its file's name, or with several that follow each other
# there, in the singular or the plural: `turn_place` in turn.c, `command_list` in commands_actor.c.
check_names()
{
    list_functions
    awk -F '\t' '
        function begins(name, words) { return name == words || index(name, words "_") == 1 }
        function carries(name, stem,    n, part, i, j, words) {
            n = split(stem, part, "_")
            for (i = 1; i <= n; i++) {
                words = ""
                for (j = i; j <= n; j++) {
                    words = words (words == "" ? "" : "_") part[j]
                    if (begins(name, words) || begins(name, words "s")) return 1
                    if (words ~ /s$/ && begins(name, substr(words, 1, length(words) - 1))) return 1
                    if (words ~ /ies$/ && begins(name, substr(words, 1, length(words) - 3) "y"))
                        return 1
                }
            }
            return 0
        }
        $4 == "static" && $1 ~ /^(daemon|client-lib)\/.*\.c$/ {
            stem = $1
            sub(/.*\//, "", stem)
            sub(/\.c$/, "", stem)
            if (!carries($3, stem))
                print $1 "\t" $1 ":" $2 ": " $3 " does not carry the name of its file"
        }' "$WORK/functions" >"$WORK/found"
    pending names
    law "static functions of the product carry the name of their file" "$WORK/found"
}

# Other versions of the formatter lay out differently, so that only one can judge.
check_format()
{
    local version text="every C file is laid out by clang-format"
    version=$(clang-format --version 2>/dev/null | sed -nE 's/.*version ([0-9]+)\..*/\1/p')
    if [ "$version" != $FORMATTER ]; then
        COUNT=$((COUNT + 1))
        echo "ok $COUNT - $text # SKIP clang-format is ${version:-missing}, not $FORMATTER"
        return
    fi
    grep -E '\.([ch]|[ch]pp)$' "$WORK/files" |
        xargs -d '\n' -r -n 40 -P "$(nproc)" clang-format --dry-run -Werror \
            --ferror-limit=1 >"$WORK/formatter" 2>&1
    sed -nE 's/^([^ :]+):([0-9]+):[0-9]+: (error|warning): (.*)/\1\t\1:\2: \4/p' \
        "$WORK/formatter" | sort >"$WORK/found"
    if [ ! -s "$WORK/found" ]; then
        grep -E 'No such file|Invalid|Permission|rror' "$WORK/formatter" |
            sed 's/^/clang-format\t/' >"$WORK/found"
    fi
    pending format
    law "$text" "$WORK/found"
}
