# SPDX-License-Identifier: Apache-2.0
# One figure as SVG, from lines of run.sh and compare.sh: awk -v kind=makespan -v cores=2
# -v title=... -v label=... -f ../svg.awk -f plot.awk LINES... > makespan_2.svg
#
#   kind   makespan: ms by policy; ratio: that beside the policy that is named `default`, or, where
#          there is none, longest-victim/keep, which is the default; caf: ratios of compare.sh;
#          place: makespan of the lines that have a placement
#   cores  of which number of workers the lines must be
#
# A row for each program (or placement), a mark for each policy and mode, on a scale of powers of
# ten; less is better. A policy has a shape, and so has the mode: hollow is `visit`. Exit status 3:
# no such line.

BEGIN {
    n_policies = split("none random round-robin longest-victim fullest locality share", policies,
        " ")
    for (i = 1; i <= n_policies; i++)
        shape_of[policies[i]] = i
    shape_of["default"] = shape_of["longest-victim"]
    least = 1e18
}

/^nodes=/ { nodes = substr($0, index($0, "=") + 1) + 0 }

kind == "caf" && /^bench=savina_compare_mean / && field("cores") == cores {
    mean = field("geometric_mean")
}

/^bench=savina_/ && field("cores") == cores && field("check") == "ok" { take() }

function take(    row, policy, value)
{
    if (kind == "caf") {
        if (field("bench") == "savina_compare")
            remember(field("program"), "CAF", field("ratio"))
        return
    }
    row = substr(field("bench"), length("savina_") + 1)
    policy = field("policy")
    value = field("ms")
    if (policy == "" || value == "" || (kind == "place") != (field("place") != ""))
        return
    if (kind == "place")
        row = field("place") ", " field("job")
    if (policy == "default" && kind != "place")
        base[row] = value + 0
    if (policy == "longest-victim/keep" && !(row in base))
        base[row] = value + 0
    remember(row, policy, value)
}

function remember(row, policy, value)
{
    if (value + 0 <= 0)
        return
    if (!(row in number))
        names[number[row] = ++n_rows] = row
    if (!(policy in has)) {
        has[policy] = 1
        series[++n_series] = policy
    }
    at[row, policy] = value + 0
}

# Each value, now that all bases are known; -1: there is none.
function value_of(row, policy)
{
    if (!((row, policy) in at))
        return -1
    if (kind != "ratio")
        return at[row, policy]
    return row in base ? at[row, policy] / base[row] : -1
}

function decade(value)
{
    return log(value) / log(10)
}

function floor(value,    whole)
{
    whole = int(value)
    return whole > value ? whole - 1 : whole
}

function across(value)
{
    return left + wide * (decade(value) - low) / (high - low)
}

function closed(points, fill)
{
    printf "<polygon points=\"%s\" fill=\"%s\" stroke=\"#222222\" stroke-width=\"1.3\"/>\n", points,
        fill
}

# The mark of a policy: shape by its name, filling by its mode.
function mark(x, y, policy, title,    shape, fill, name)
{
    name = policy
    sub(/\/.*/, "", name)
    shape = shape_of[name]
    fill = policy ~ /\/visit$/ ? "#ffffff" : policy == "default" ? "#000000" : "#999999"
    printf "<g><title>%s</title>\n", title
    if (shape == 1)
        line(x - 5, y, x + 5, y, "#222222", 3, "")
    else if (shape == 2)
        closed(sprintf("%.1f,%.1f %.1f,%.1f %.1f,%.1f", x, y - 6, x + 5, y + 4, x - 5, y + 4), fill)
    else if (shape == 3)
        closed(sprintf("%.1f,%.1f %.1f,%.1f %.1f,%.1f", x, y + 6, x + 5, y - 4, x - 5, y - 4), fill)
    else if (shape == 4)
        printf "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4.5\" fill=\"%s\" stroke=\"#222222\"/>\n", x, y,
            fill
    else if (shape == 5)
        closed(sprintf("%.1f,%.1f %.1f,%.1f %.1f,%.1f %.1f,%.1f", x - 4, y - 4, x + 4, y - 4, x + 4,
            y + 4, x - 4, y + 4), fill)
    else if (shape == 6)
        closed(sprintf("%.1f,%.1f %.1f,%.1f %.1f,%.1f %.1f,%.1f", x, y - 6, x + 6, y, x, y + 6,
            x - 6, y), fill)
    else {
        line(x - 4, y - 4, x + 4, y + 4, "#222222", fill == "#ffffff" ? 1 : 2.5, "")
        line(x - 4, y + 4, x + 4, y - 4, "#222222", fill == "#ffffff" ? 1 : 2.5, "")
    }
    print "</g>"
}

# Where the marks' meanings stand: five in a row.
function legend(y,    s, x)
{
    for (s = 1; s <= n_series; s++) {
        x = 40 + (s - 1) % 5 * 168
        mark(x, y + 20 * int((s - 1) / 5) - 4, series[s], series[s])
        text(x + 12, y + 20 * int((s - 1) / 5), "start", 12, "#222222", series[s])
    }
}

function scale(    r, s, v)
{
    for (r = 1; r <= n_rows; r++)
        for (s = 1; s <= n_series; s++) {
            v = value_of(names[r], series[s])
            if (v <= 0)
                continue
            n_marks++
            if (v < least)
                least = v
            if (v > most)
                most = v
        }
    if (kind == "ratio" || kind == "caf") { # the line of what is compared with is in the figure
        if (least > 1)
            least = 1
        if (most < 1)
            most = 1
    }
    if (n_marks == 0)
        exit 3
    low = floor(decade(least * 0.98))
    high = floor(decade(most * 1.02)) + 1
    if (kind == "ratio") { # most are near one
        low = decade(least * 0.95)
        high = decade(most * 1.05)
    }
    if (kind == "caf") # room for the figures beside the bars
        high = decade(most * 2)
}

function spell(value)
{
    return sprintf("%.10g", value)
}

function grid(    p, m, v, bottom)
{
    bottom = top + tall
    for (p = floor(low); p <= high; p++)
        for (m = 1; m < 10; m++) {
            v = m * 10 ^ p
            if (decade(v) < low - 1e-9 || decade(v) > high + 1e-9)
                continue
            if (m > 1 && high - low > 2.5)
                continue
            line(across(v), top, across(v), bottom, m == 1 ? "#bbbbbb" : "#e4e4e4", 1, "")
            if (m == 1 || m == 2 || m == 5 || high - low < 0.5)
                text(across(v), bottom + 18, "middle", 12, "#222222", spell(v))
        }
    if (kind == "ratio" || kind == "caf")
        line(across(1), top, across(1), bottom, "#222222", 1.5, "6 3")
}

# Of caf: a bar from one to the ratio, with the ratio beside it.
function bar(y, value,    x)
{
    x = across(value)
    printf "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"12\" fill=\"%s\"", \
        value < 1 ? x : across(1), y - 6, value < 1 ? across(1) - x : x - across(1),
        value <= 1 ? "#999999" : "#444444"
    print " stroke=\"#222222\"/>"
    text(value < 1 ? x - 5 : x + 5, y + 4, value < 1 ? "end" : "start", 11, "#222222",
        sprintf(value < 0.01 ? "%.2g" : "%.3f", value))
}

function draw(    r, s, y, v, head)
{
    left = 190; wide = 640
    head = kind == "caf" ? 0 : 20 * int((n_series + 4) / 5)
    top = 62 + head
    tall = 22 * n_rows
    printf "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"900\" height=\"%d\"", top + tall + 70
    printf " viewBox=\"0 0 900 %d\" font-family=\"sans-serif\">\n", top + tall + 70
    printf "<rect width=\"900\" height=\"%d\" fill=\"#ffffff\"/>\n", top + tall + 70
    text(450, 26, "middle", 17, "#000000", title)
    if (kind != "caf")
        legend(56)
    grid()
    for (r = 1; r <= n_rows; r++) {
        y = top + 22 * (r - 0.5)
        line(left, y, left + wide, y, "#eeeeee", 1, "")
        text(left - 10, y + 4, "end", 12, "#222222", names[r])
        for (s = 1; s <= n_series; s++) {
            v = value_of(names[r], series[s])
            if (v > 0 && kind == "caf")
                bar(y, v)
            else if (v > 0)
                mark(across(v), y, series[s], names[r] ", " series[s] ": " spell(v))
        }
    }
    text(left + wide / 2, top + tall + 40, "middle", 13, "#222222", label)
    if (kind == "caf" && mean != "")
        text(left + wide / 2, top + tall + 60, "middle", 12, "#222222", "geometric mean: " mean)
    if (kind != "caf" && nodes == 1)
        text(left + wide / 2, top + tall + 60, "middle", 12, "#222222",
            "one memory node: locality has only caches to go by, and visit no memory to go home to")
    print "</svg>"
}

END {
    if (n_marks == "" && n_rows == 0)
        exit 3
    scale()
    draw()
}
