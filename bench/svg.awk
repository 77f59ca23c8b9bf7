# SPDX-License-Identifier: Apache-2.0
# What the figures of the suites share: fields of a line of results, and pieces of SVG. To be given
# to awk before the program that draws.

function field(key,    i, n, words)
{
    n = split($0, words, " ")
    for (i = 1; i <= n; i++)
        if (index(words[i], key "=") == 1)
            return substr(words[i], length(key) + 2)
    return ""
}

function text(x, y, anchor, size, colour, what)
{
    gsub(/&/, "\\&amp;", what)
    gsub(/</, "\\&lt;", what)
    printf "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" font-size=\"%d\"", x, y, anchor, size
    printf " fill=\"%s\">%s</text>\n", colour, what
}

function line(x1, y1, x2, y2, colour, width, dash)
{
    printf "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"", x1, y1, x2, y2
    printf " stroke=\"%s\" stroke-width=\"%s\"%s/>\n", colour, width,
        dash != "" ? " stroke-dasharray=\"" dash "\"" : ""
}
