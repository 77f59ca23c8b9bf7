# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# The laws that compare documents with the tree: the map, the atomic words, sizes and offsets,
# counters, names. Part of law.sh, whose variables and functions it uses.
MAP=docs/architecture.md ORDERS=docs/memory-orders

# The map is the fence under "Where things live". A line in the first column names folders, one that
# is indented by at most four its modules, both up to the first two blanks in a row; what comes
# behind them, and lines that are indented further, explain. "NAME_*" stands for several modules.
# "daemon/engine/run/ turn" becomes "daemon/engine/run<tab>turn".
read_map()
{
    awk '
        /^## / { section = $0 == "## Where things live" }
        !section { next }
        /^```/ { fence++; next }
        fence != 1 || /^ *$/ || /^     / { next }
        {
            line = $0
            indented = sub(/^ +/, "", line)
            sub(/   *.*/, "", line)
            n = split(line, word, /[ ,]+/)
            if (!indented) folder = word[1]
            sub(/\/$/, "", folder)
            for (i = indented ? 1 : 2; i <= n; i++)
                if (word[i] != "") print folder "\t" word[i]
            if (!indented) print folder "\t."
        }' $MAP
}

# Modules are the stems of C files: "daemon/engine<tab>turn".
check_map()
{
    local text="the map of $MAP has every module, and nothing else"
    if [ ! -r $MAP ] || ! read_map >"$WORK/map" || [ ! -s "$WORK/map" ]; then
        echo "$MAP: cannot be read: no fence under \"Where things live\"" >"$WORK/found"
        law "$text" "$WORK/found"
        return
    fi
    sed -nE 's,^((proto|daemon|client-lib)(/.*)?)/([^/]+)\.(c|h|def|proto)$,\1\t\4,p' \
        "$WORK/files" | sort -u >"$WORK/modules"
    awk -F '\t' -v map=$MAP '
        FNR == NR { if ($2 == ".") folder[$1] = 1; else entry[++n] = $1 "\t" $2; next }
        {
            exists[$1 "\t" $2] = 1
            there[$1] = 1
            for (i = 1; i <= n; i++) {
                split(entry[i], part, "\t")
                pattern = part[2]
                gsub(/\*/, "[a-z0-9_]*", pattern)
                if (part[1] == $1 && $2 ~ "^" pattern "$") { used[i] = 1; next }
            }
            print map ": " $1 " has a module that it does not name: " $2
        }
        END {
            for (i = 1; i <= n; i++) if (!used[i]) {
                split(entry[i], part, "\t")
                print map ": there is no " part[2] " in " part[1]
            }
        }' "$WORK/map" "$WORK/modules" | sort >"$WORK/found"
    awk -F '\t' '$2 == "." { print $1 }' "$WORK/map" | while IFS= read -r folder; do
        [ -d "$folder" ] || echo "$MAP: there is no folder $folder"
    done >>"$WORK/found"
    law "$text" "$WORK/found"
}

check_atomics()
{
    local text="every atomic word is in $ORDERS.md or a page of its folder"
    grep -E '^(proto|daemon|client-lib)/.*\.(c|h)$' "$WORK/files" |
        xargs -d '\n' -r awk -f "$HERE/atomics.awk" >"$WORK/atomics"
    if ! cat $ORDERS.md $ORDERS/*.md >"$WORK/orders" 2>/dev/null; then
        echo "$ORDERS.md or $ORDERS/: cannot be read" >"$WORK/found"
    else
        awk -F '\t' '
            FNR == NR { n = split($0, word, /[^A-Za-z0-9_]+/)
                        for (i = 1; i <= n; i++) known[word[i]] = 1
                        next }
            $3 == "unread" { print $1 "\t" $1 ":" $2 ": cannot be read: an atomic of what name?" }
            $3 != "unread" && !($3 in known) { print $1 "\t" $1 ":" $2 ": " $3 " is not there" }
            ' "$WORK/orders" "$WORK/atomics" >"$WORK/found"
        pending atomics
    fi
    law "$text" "$WORK/found"
}

# What documents say of layouts, "FILE<tab>LINE<tab>STRUCT<tab>MEMBER or .<tab>NUMBER":
# "struct NAME, N bytes" and "`struct NAME` (N bytes)" anywhere; in a fence, the lines behind the
# former that begin with an offset and a member, up to an empty line.
read_layouts()
{
    grep '\.md$' "$WORK/files" | xargs -d '\n' -r awk '
        FNR == 1 { fence = 0 }
        /^ *```/ { fence = !fence; current = ""; next }
        /^ *$/ { current = "" }
        {
            text = $0
            gsub(/`/, "", text)
            while (match(text, /struct [a-z_0-9]+(,| \(|, of| has| is) *[0-9][0-9,]* bytes/)) {
                said = substr(text, RSTART, RLENGTH)
                text = substr(text, RSTART + RLENGTH)
                split(said, word, /[ ,(]+/)
                current = word[2]
                sub(/ bytes$/, "", said)
                sub(/.*[ (]/, "", said)
                gsub(/,/, "", said)
                print FILENAME "\t" FNR "\t" current "\t.\t" said
                headed = FNR
            }
        }
        fence && current != "" && FNR != headed && match($0, /^ *[0-9]+ +[a-z_]+/) {
            split(substr($0, RSTART, RLENGTH), word, " ")
            print FILENAME "\t" FNR "\t" current "\t" word[2] "\t" word[1]
        }'
}

check_sizes()
{
    local text="sizes and offsets in documents are the compiler's"
    local header file line struct member said what
    read_layouts >"$WORK/layouts"
    : >"$WORK/found"
    {
        echo '#include <stddef.h>'
        echo '#include <stdio.h>'
        cut -f 3 "$WORK/layouts" | sort -u | while IFS= read -r struct; do
            header=$(grep '\.h$' "$WORK/c_files" |
                xargs -d '\n' grep -lE "^struct $struct \{" /dev/null | head -n 1)
            [ -n "$header" ] && echo "#include \"$header\""
        done
        echo 'static void compare(size_t is, size_t said, const char *format)'
        echo '{ if (is != said) printf(format, is, said); }'
        echo 'int main(void)'
        echo '{'
        while IFS=$TAB read -r file line struct member said; do
            what="$member of struct $struct"
            [ "$member" = . ] && what="the size of struct $struct"
            said="$said, \"$file:$line: $what is %zu, not $said\\n\""
            echo "#line $line \"$file\""
            if [ "$member" = . ]; then
                echo "compare(sizeof(struct $struct), $said);"
            else
                echo "compare(offsetof(struct $struct, $member), $said);"
            fi
        done <"$WORK/layouts"
        echo '}'
    } >"$WORK/layouts.c"
    if ! "${CC:-cc}" -std=gnu17 -D_GNU_SOURCE -I . -I client-lib/include ${BUILD:+-I "$BUILD"} \
        -o "$WORK/layouts.program" "$WORK/layouts.c" >"$WORK/compiled" 2>&1; then
        sed -nE 's/^([^ :]+:[0-9]+):[0-9]+: error: (.*)/\1: cannot be compared: \2/p' \
            "$WORK/compiled" | sort -u >"$WORK/found"
        [ -s "$WORK/found" ] || cp "$WORK/compiled" "$WORK/found"
    else
        "$WORK/layouts.program" >"$WORK/found"
    fi
    if [ ! -s "$WORK/layouts" ]; then
        echo "docs: no size of a struct is said anywhere" >"$WORK/found"
    fi
    law "$text" "$WORK/found"
    echo "# compared: $(wc -l <"$WORK/layouts") sizes and offsets of" \
        "$(cut -f 3 "$WORK/layouts" | sort -u | wc -l) structs"
}

# The first column of the table: names in backquotes; one that begins with "_" has the beginning of
# the one before it ("`steals_core`, `_l2`").
read_described_stats()
{
    awk -F '|' '
        !/^\| `/ { next }
        {
            n = split($2, word, /[^a-z0-9_]+/)
            for (i = 1; i <= n; i++) {
                if (word[i] == "") continue
                name = word[i]
                if (name ~ /^_/) { stem = last; sub(/_[^_]*$/, "", stem); name = stem name }
                print name
                last = name
            }
        }' "$1"
}

check_stats()
{
    local text="every figure of proto/stats.def is on docs/statistics.md, and nothing else"
    local page=docs/statistics.md table=proto/stats.def
    sed -nE 's/^STAT(_DERIVED|_GAUGE)?\(([a-z0-9_]+),.*/\2/p' $table | sort -u >"$WORK/stats"
    if [ ! -s "$WORK/stats" ] || [ ! -r $page ]; then
        echo "$page: cannot be compared with $table" >"$WORK/found"
    else
        read_described_stats $page | sort -u >"$WORK/described"
        comm -23 "$WORK/stats" "$WORK/described" | sed "s|.*|$page: no row has &|" >"$WORK/found"
        comm -13 "$WORK/stats" "$WORK/described" |
            sed "s|.*|$page: there is no & in $table|" >>"$WORK/found"
    fi
    law "$text" "$WORK/found"
}

# What the pages on the engine call by a name of C, in backquotes, "FILE:LINE<tab>NAME".
read_cited_names()
{
    grep -E -e '^docs/(engine|memory-orders)(/[^/]*)?\.md$' \
        -e '^docs/(shared-memory|commit-protocol)\.md$' "$WORK/files" |
        xargs -d '\n' -r grep -noE '`[a-z][a-z0-9]*(_[a-z0-9]+)+[`(]' /dev/null |
        sed -E "s/^([^:]*:[0-9]+):.([a-z0-9_]*).*/\\1$TAB\\2/"
}

check_cited()
{
    read_cited_names >"$WORK/cited"
    cut -f 2 "$WORK/cited" | sort -u >"$WORK/cited_names"
    xargs -d '\n' grep -owhFf "$WORK/cited_names" /dev/null <"$WORK/c_files" |
        sort -u >"$WORK/there"
    awk -F '\t' '
        FNR == NR { there[$1] = 1; next }
        !($2 in there) { print $1 ": no C file has " $2 }
        ' "$WORK/there" "$WORK/cited" >"$WORK/found"
    if [ ! -s "$WORK/cited" ]; then
        echo "docs/engine: no page has a name of C" >"$WORK/found"
    fi
    law "what the pages on the engine name is in the sources" "$WORK/found"
}
