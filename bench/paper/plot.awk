# SPDX-License-Identifier: Apache-2.0
# One figure as SVG, from the lines of a run of the suite: awk -v name=executor -v title=...
# -f ../svg.awk -f plot.awk LINES > executor.svg
#
# Left: over the number of cores, the service's policy and no stealing, and the baseline with and
# without stealing. Right: every policy with the largest number of cores, and the baseline as lines
# across. Less is better in both.
#   name    benchmark        title   above the figure
#   ours    field of a line that is drawn (ns_per_msg), theirs: the baseline's (baseline_ns)
#   kind    time (of nanoseconds) or memory (of KiB): chooses the unit
# Exit status 3: no line of this benchmark.

# The step of an axis to `most` that has about five.
function nice_step(most,    power, unit)
{
    if (most <= 0)
        return 1
    power = 10 ^ int(log(most / 5) / log(10) + 100 - 99.999999) # floor
    if (power * 10 <= most / 5)
        power *= 10
    unit = most / 5 / power
    return power * (unit <= 1 ? 1 : unit <= 2 ? 2 : unit <= 5 ? 5 : 10)
}

function number(v)
{
    return v >= 100 ? sprintf("%.0f", v) : v >= 10 ? sprintf("%.1f", v) : sprintf("%.2f", v)
}

function tick(v)
{
    return sprintf("%.10g", v)
}

# Remembers a value of the left panel.
function point(series, cores, value)
{
    value /= scale
    over[series, cores] = value
    if (value > most_over)
        most_over = value
}

BEGIN {
    if (ours == "")
        ours = "ns_per_msg"
    if (theirs == "")
        theirs = "baseline_ns"
    n_series = split("policy none baseline baseline_off", series_names, " ")
    colour["policy"] = "#0072b2"; colour["none"] = "#56b4e9"
    colour["baseline"] = "#d55e00"; colour["baseline_off"] = "#e69f00"
    label["none"] = "Odeon, no stealing"; label["baseline"] = "baseline, stealing"
    label["baseline_off"] = "baseline, no stealing"
}

/^bench=/ && field("bench") == name && field(ours) != "" {
    n_lines++
    lines[n_lines] = $0
    v = field(ours) + 0
    t = field(theirs) + 0
    if (v > highest)
        highest = v
    if (t > highest)
        highest = t
    if (field("cores") + 0 > last)
        last = field("cores") + 0
}

/^default_policy=/ {
    default_policy = field("default_policy") "/" field("default_mode")
}

function gather(    i, p, c)
{
    scale = 1
    unit = kind == "memory" ? "KiB" : "ns a message"
    if (name == "matrix")
        unit = "ns a row"
    if (highest >= 10000) {
        scale = kind == "memory" ? 1024 : 1000
        sub(/^KiB/, "MiB", unit)
        sub(/^ns/, "µs", unit)
    }
    for (i = 1; i <= n_lines; i++) {
        $0 = lines[i]
        p = field("policy")
        if (field("mode") != "-")
            p = p "/" field("mode")
        c = field("cores") + 0
        if (!(c in is_core)) {
            is_core[c] = 1
            cores[++n_cores] = c
        }
        if (p == "none") {
            point("none", c, field(ours))
            point("baseline_off", c, field(theirs))
        } else if (p == default_policy || !(("policy", c) in over)) {
            point("policy", c, field(ours))
            point("baseline", c, field(theirs))
            label["policy"] = "Odeon, " p
        }
        if (c == last) {
            bars[++n_bars] = p
            bar[n_bars] = field(ours) / scale
            spread[n_bars] = field("spread")
            # the main comparison comes first
            if (!((p == "none" ? "baseline_off" : "baseline") in across))
                across[p == "none" ? "baseline_off" : "baseline"] = field(theirs) / scale
            if (bar[n_bars] > most_bar)
                most_bar = bar[n_bars]
            if (field(theirs) / scale > most_bar)
                most_bar = field(theirs) / scale
        }
    }
}

function draw_cores(x, y, w, h,
    step, top, v, i, j, s, px, py, from, last_x, last_y, column, shown)
{
    step = nice_step(most_over)
    top = step * int(most_over / step + 1)
    for (v = 0; v <= top * 1.0001; v += step) {
        py = y + h - h * v / top
        line(x, py, x + w, py, "#dddddd", 1, "")
        text(x - 8, py + 4, "end", 12, "#333333", tick(v))
    }
    line(x, y, x, y + h, "#333333", 1, "")
    line(x, y + h, x + w, y + h, "#333333", 1, "")
    for (j = 1; j <= n_cores; j++) {
        column[j] = x + w * (j - 0.5) / n_cores
        text(column[j], y + h + 18, "middle", 12, "#333333", cores[j])
    }
    text(x + w / 2, y + h + 38, "middle", 13, "#333333", "workers, each on a core of its own")
    printf "<text transform=\"translate(%.1f,%.1f) rotate(-90)\"", x - 52, y + h / 2
    printf " text-anchor=\"middle\" font-size=\"13\" fill=\"#333333\">%s</text>\n", unit
    for (i = 1; i <= n_series; i++) {
        s = series_names[i]
        from = 0
        for (j = 1; j <= n_cores; j++) {
            if (!((s, cores[j]) in over))
                continue
            px = column[j]
            py = y + h - h * over[s, cores[j]] / top
            if (from)
                line(last_x, last_y, px, py, colour[s], 2, s ~ /none|off/ ? "6 4" : "")
            printf "<g><title>%s, %d: %s %s</title>", label[s], cores[j],
                number(over[s, cores[j]]), unit
            printf "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4.5\" fill=\"%s\"", px, py,
                s ~ /none|off/ ? "#ffffff" : colour[s]
            printf " stroke=\"%s\" stroke-width=\"2\"/></g>\n", colour[s]
            last_x = px
            last_y = py
            from = 1
        }
        if (from) {
            py = y - 58 + 18 * int((shown % 4) / 2)
            px = x + (shown % 2) * (w / 2 + 10)
            line(px, py - 4, px + 26, py - 4, colour[s], 2, s ~ /none|off/ ? "6 4" : "")
            text(px + 32, py, "start", 12, "#333333", label[s])
            shown++
        }
    }
}

function draw_policies(x, y, w, h,    step, top, v, i, px, py, room, c, s)
{
    step = nice_step(most_bar)
    top = step * int(most_bar / step + 1)
    for (v = 0; v <= top * 1.0001; v += step) {
        px = x + w * v / top
        line(px, y, px, y + h, "#dddddd", 1, "")
        text(px, y + h + 18, "middle", 12, "#333333", tick(v))
    }
    text(x + w / 2, y + h + 38, "middle", 13, "#333333",
        unit ", " last (last == 1 ? " worker" : " workers"))
    room = h / n_bars
    for (i = 1; i <= n_bars; i++) {
        py = y + room * (i - 1) + room * 0.15
        c = bars[i] == "none" ? colour["none"] : colour["policy"]
        printf "<g><title>%s: %s %s, spread %s</title>", bars[i], number(bar[i]), unit, spread[i]
        printf "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"", x, py,
            w * bar[i] / top, room * 0.7
        printf " fill=\"%s\" fill-opacity=\"%s\"/></g>\n", c,
            bars[i] == default_policy ? "1" : "0.6"
        text(x - 8, py + room * 0.35 + 4, "end", 12, "#333333", bars[i])
        text(x + w * bar[i] / top + 5, py + room * 0.35 + 4, "start", 11, "#333333", number(bar[i]))
    }
    line(x, y, x, y + h, "#333333", 1, "")
    for (i = 1; i <= n_series; i++) {
        s = series_names[i]
        if (s in across)
            line(x + w * across[s] / top, y, x + w * across[s] / top, y + h, colour[s], 2,
                s == "baseline_off" ? "6 4" : "")
    }
}

END {
    if (n_lines == 0)
        exit 3
    gather()
    printf "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"1040\" height=\"460\""
    print " viewBox=\"0 0 1040 460\" font-family=\"sans-serif\">"
    print "<rect width=\"1040\" height=\"460\" fill=\"#ffffff\"/>"
    text(520, 26, "middle", 17, "#000000", title)
    draw_cores(80, 100, 380, 300)
    draw_policies(640, 100, 360, 300)
    print "</svg>"
}
