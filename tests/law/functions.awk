# SPDX-License-Identifier: Apache-2.0
# The functions of C files, as the formatter lays them out. Called by law.sh and figures.sh.
#
# Prints for each function "FILE<tab>LINE<tab>NAME<tab>static or extern<tab>LINES<tab>LEVELS": LINES
# from the first line of its head to the closing brace, LEVELS how deep its deepest statement with a
# block of its own is nested. What it cannot follow is "FILE<tab>LINE<tab>unread<tab>why".
#
# A head begins in the first column, and "{" and "}" stand alone there: that much of the layout is
# given by .clang-format. A statement's level is its indentation, four columns each; lines that only
# continue an expression do not begin with a keyword and do not look like a macro with a block.

function identifier(head,    s, at, name) {
    s = head
    while (match(s, /__attribute__ *\(\(/)) {
        at = index(substr(s, RSTART), "))")
        if (!at) return ""
        s = substr(s, 1, RSTART - 1) substr(s, RSTART + at + 1)
    }
    at = index(s, "(")
    if (!at) return ""
    s = substr(s, 1, at - 1)
    sub(/ +$/, "", s)
    return match(s, /[A-Za-z_][A-Za-z0-9_]*$/) ? substr(s, RSTART, RLENGTH) : ""
}

function finish_file() {
    if (inside) print name_of_file "\t" begun "\tunread\ta function without an end"
    inside = 0
    head = ""
}

FNR == 1 { finish_file(); name_of_file = FILENAME; comment = 0; continued = 0 }

# Comments of several lines, and directives with their continuations, hold no code.
comment { if (/\*\//) comment = 0; next }
continued { continued = /\\$/; next }
/^ *#/ { continued = /\\$/; next }
/^ *\/\*/ { comment = !/\*\//; next }

inside && /^\}/ {
    print FILENAME "\t" begun "\t" name "\t" kind "\t" FNR - begun + 1 "\t" levels
    inside = 0
    head = ""
    next
}

inside {
    if (/^ +(if|for|while|switch|do|else|\} else)( |$)/ ||
        (/^ +[a-z_]+\(.*\) \{$/ && gsub(/\(/, "(") == gsub(/\)/, ")"))) {
        match($0, /^ +/)
        if (int(RLENGTH / 4) > levels) levels = int(RLENGTH / 4)
    }
    next
}

/^\{$/ {
    name = identifier(head)
    if (name == "") { print FILENAME "\t" FNR "\tunread\ta block without a name before it"; next }
    inside = 1
    levels = 0
    kind = head ~ /(^| )static / ? "static" : "extern"
    next
}

# A head: from a line that begins in the first column; what has ended before is no part of it.
/^[A-Za-z_]/ && !open_head { head = ""; begun = FNR }
/^$/ || /[;}]$/ || /^[A-Za-z_]+:$/ { head = ""; open_head = 0; next }
{ if (head == "") begun = FNR; head = head " " $0; open_head = 1 }
/^[A-Za-z_].*\)$/ { open_head = 0 }

END { finish_file() }
