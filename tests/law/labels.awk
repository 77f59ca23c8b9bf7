# SPDX-License-Identifier: Apache-2.0
# The labels of rules. Called by law.sh on C files, models and pages.
#
# A rule is declared in a comment, at the beginning of a line, as "MODULE.K1  text" with two blanks
# behind it; MODULE is the stem of the file. Anywhere else in a comment or a page, MODULE.K1 cites
# it. A rule of the same name without its module cites nothing. "module.K1" is a placeholder.
#
# With -v bare=1, for trees from before that, a label without a module is one of its file.
#
# Prints "declared<tab>LABEL<tab>FILE<tab>LINE", "cited<tab>...", "bare<tab>..."; "checked<tab>..."
# for a string that is a label, and "runs<tab>..." if it is a check's; for names in brackets
# "mutant<tab>NAME<tab>FILE<tab>LINE<tab>RULE", RULE being the one whose paragraph it is in.

function tell(kind, label) { print kind "\t" label "\t" FILENAME "\t" FNR "\t" rule }

BEGIN { rule_begins = "^([a-z_]+[.])" (bare ? "?" : "") "[A-Z][A-Z]?[0-9][0-9]?  +[^ ]" }

FNR == 1 {
    page = FILENAME ~ /\.md$/
    inside = 0
    rule = ""
    stem = FILENAME
    sub(/.*\//, "", stem)
    sub(/\.[a-z]+$/, "", stem)
}

# What of the line is comment: all of it, the part from "/*" on, or none. A string is no comment,
# but a check() in it cites.
{
    text = $0
    if (!page && !inside) {
        code = text
        while (match(code, /"([^"\\]|\\.)*"/)) {
            literal = substr(code, RSTART, RLENGTH)
            if (literal ~ /^"[a-z_]+\.[A-Z][A-Z]?[0-9][0-9]?"$/) {
                tell("checked", substr(literal, 2, length(literal) - 2))
                if (substr(code, 1, RSTART - 1) ~ /(^|[^a-z_])(engine_)?check\($/)
                    tell("runs", substr(literal, 2, length(literal) - 2))
            }
            blank = sprintf("%" RLENGTH "s", "")
            code = substr(code, 1, RSTART - 1) blank substr(code, RSTART + RLENGTH)
        }
        at = index(code, "/*")
        line_comment = index(code, "//")
        if (line_comment && (!at || line_comment < at)) text = substr(text, line_comment)
        else if (at) { text = substr(text, at); inside = 1 }
        else next
    }
    if (inside && text ~ /\*\/[^*]*$/) inside = 0
    head = text
    sub(/^ *(\/\*+|\*|--)? */, "", head)
    sub(/^.*\/\*/, "", head)
    if (head ~ /^ *(\/|\*\/)? *$/) rule = ""
    if (!page && match(head, rule_begins)) {
        label = head
        sub(/ .*/, "", label)
        if (label !~ /\./) label = stem "." label
        tell("declared", label)
        rule = label
        if (substr(label, 1, length(stem) + 1) != stem ".") tell("foreign", label)
        sub(/[a-z_]+\.[A-Z][A-Z]?[0-9][0-9]?/, "", text)
    }
    rest = text
    while (match(rest, /(^|[^A-Za-z0-9_.\/\[-])[a-z_]+\.[A-Z][A-Z]?[0-9][0-9]?([^A-Za-z0-9_]|$)/)) {
        label = substr(rest, RSTART, RLENGTH)
        gsub(/^[^a-z_]+|[^A-Z0-9]+$/, "", label)
        tell("cited", label)
        # Only the label goes, so that the next one may stand behind a single character.
        at = index(rest, label)
        rest = substr(rest, 1, at - 1) "-" substr(rest, at + length(label))
    }
    gsub(/L[123] caches?/, "", rest)
    while (match(rest, /(^|[^A-Za-z0-9_.\/\[-])[A-Z][A-Z]?[0-9][0-9]?([^A-Za-z0-9_-]|$)/)) {
        label = substr(rest, RSTART, RLENGTH)
        gsub(/[^A-Z0-9]/, "", label)
        tell("bare", label)
        at = index(rest, label)
        rest = substr(rest, 1, at - 1) "-" substr(rest, at + length(label))
    }
    rest = text
    while (match(rest, /\[[A-Z][A-Z0-9]*_[A-Z0-9_]+(, [A-Z][A-Z0-9_]+)*/)) {
        n = split(substr(rest, RSTART + 1, RLENGTH - 1), name, ", ")
        # An array's bound is no mutant.
        for (i = 1; i <= n; i++) if (name[i] !~ /^ODEON_|_MAX$/) tell("mutant", name[i])
        rest = substr(rest, RSTART + RLENGTH)
    }
    if (!page && !inside) rule = ""
}
