# SPDX-License-Identifier: Apache-2.0
# The tables of Markdown pages. Called by law.sh with -v most=(words that a cell may have).
#
# Prints "FILE<tab>violation". A table is a run of lines that begin with "|", outside of fences: a
# head, a line of dashes, rows; all have the same number of cells. A bar behind a backslash
# divides nothing; in a code span, it does.

# The cells of a line into cell[1..]; their number.
function divide(line,    n, i, c, text) {
    sub(/^ *\|/, "", line)
    sub(/ *$/, "", line)
    n = 0
    text = ""
    for (i = 1; i <= length(line); i++) {
        c = substr(line, i, 1)
        if (c == "\\" && substr(line, i + 1, 1) == "|") { text = text "\\|"; i++; continue }
        if (c == "|") { cell[++n] = text; text = "" } else text = text c
    }
    if (text != "") { open_row = 1; cell[++n] = text } else open_row = 0
    return n
}

function words(text,    n, i, part, count) {
    # The target of a link is no word of the cell.
    gsub(/\]\([^)]*\)/, "]", text)
    n = split(text, part, " ")
    count = 0
    for (i = 1; i <= n; i++) if (part[i] ~ /[A-Za-z0-9]/) count++
    return count
}

function tell(what) { print FILENAME "\t" FILENAME ":" FNR ": " what }

function end_of_table() {
    if (row == 1) print table_file "\t" table_file ":" table_line ": a head without rows"
    row = 0
}

FNR == 1 { end_of_table(); fence = 0; blank = 0 }
/^ *```/ { end_of_table(); fence = !fence; next }
fence { next }
!/^ *\|/ { if (row && !/^ *$/) end_of_table(); else if (row) { end_of_table(); was = 1; next }
           was = 0; next }
{
    n = divide($0)
    if (open_row) tell("a row that does not end with \"|\"")
    row++
    if (row == 1) {
        head = n
        table_file = FILENAME
        table_line = FNR
    } else if (row == 2) {
        if ($0 !~ /^[ |:-]+$/ || $0 !~ /-/) {
            tell(was ? "rows that an empty line has cut off from their table" : \
                 "a table without a line of dashes under its head")
            row = 3
            head = n
        }
    }
    if (n != head) tell(n " cells under a head of " head)
    for (i = 1; i <= n; i++)
        if (words(cell[i]) > most) tell(words(cell[i]) " words in a cell")
    if (row > 1) was = 0
}
END { end_of_table() }
