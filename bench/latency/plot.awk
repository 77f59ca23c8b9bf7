# SPDX-License-Identifier: Apache-2.0
# One figure as SVG, from the lines of run.sh: awk -v pattern=... -v x=duration_us -v title=...
# -f ../svg.awk -f plot.awk LINES > step.svg
#
#   pattern  which lines: a regular expression; except: and which of them not
#   x        curves over this field, which is a number; "": a row for each line, with marks
#   title    above the figure      x_label  below it
#
# Times are in microseconds, on a scale of powers of ten; less is better. Full lines and marks are
# the service's, hollow ones with broken lines the ruler's. Exit status 3: no such line.

BEGIN {
    n_series = split("p50 p99 p999 most", series, " ")
    colour["p50"] = "#0072b2"; colour["p99"] = "#009e73"; colour["p999"] = "#e69f00"
    colour["most"] = "#d55e00"
    label["p50"] = "p50"; label["p99"] = "p99"; label["p999"] = "p99.9"; label["most"] = "most"
    n_sides = 2
    sides[1] = ""
    sides[2] = "ruler_"
    least_time = 1e18
    least_x = 1e18
}

function wanted()
{
    return $0 ~ pattern && !(except != "" && $0 ~ except) && field("n") > 0 &&
        (x == "" || field(x) ~ /^[0-9.]+$/)
}

wanted() {
    n_lines++
    if (x != "")
        at[n_lines] = field(x) + 0
    else
        name[n_lines] = describe()
    if (x != "" && at[n_lines] < least_x)
        least_x = at[n_lines]
    if (x != "" && at[n_lines] > most_x)
        most_x = at[n_lines]
    for (side = 1; side <= n_sides; side++)
        for (s = 1; s <= n_series; s++)
            remember(sides[side] series[s], field(sides[side] series[s] "_us"))
}

function remember(key, value)
{
    if (value == "" || value + 0 <= 0)
        return
    time[n_lines, key] = value + 0
    if (value + 0 < least_time)
        least_time = value + 0
    if (value + 0 > most_time)
        most_time = value + 0
}

# What a row is called: the benchmark, and what tells it from the others.
function describe(    what, keys, n, i)
{
    what = substr(field("bench"), length("latency_") + 1)
    n = split("part duration_us work place slow_us rate actors workers queues disturb set", keys,
        " ")
    for (i = 1; i <= n; i++)
        if (field(keys[i]) != "")
            what = what (i > 1 || what != "" ? ", " : "") shown(keys[i], field(keys[i]))
    return what
}

function shown(key, value)
{
    if (key ~ /_us$/)
        return value " us"
    if (key == "rate")
        return value "/s"
    if (key ~ /^(actors|workers)$/)
        return value " " (value == 1 ? substr(key, 1, length(key) - 1) : key)
    if (key == "queues")
        return value " queues"
    return value
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

# "1 us", "10 ms"
function spell(power)
{
    return power < 3 ? 10 ^ power " us" : power < 6 ? 10 ^ (power - 3) " ms" : 10 ^ (power - 6) " s"
}

function height(value)
{
    return top + tall * (1 - (decade(value) - low) / (high - low))
}

function across(value)
{
    return left + wide * (decade(value) - low) / (high - low)
}

function mark(px, py, hollow, key, value,    base)
{
    base = key
    sub(/^ruler_/, "", base)
    printf "<g><title>%s%s: %.1f us</title>", hollow ? "ruler, " : "", label[base], value
    printf "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" fill=\"%s\"", px, py,
        hollow ? "#ffffff" : colour[base]
    printf " stroke=\"%s\" stroke-width=\"2\"/></g>\n", colour[base]
}

function legend(y,    s, px)
{
    for (s = 1; s <= n_series; s++) {
        px = left + (s - 1) * 110
        line(px, y - 4, px + 26, y - 4, colour[series[s]], 2, "")
        text(px + 32, y, "start", 12, "#333333", label[series[s]])
    }
    px = left + n_series * 110
    line(px, y - 4, px + 26, y - 4, "#333333", 2, "5 4")
    text(px + 32, y, "start", 12, "#333333", "the ruler")
}

function open_figure(total)
{
    printf "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"900\" height=\"%d\"", total
    printf " viewBox=\"0 0 900 %d\" font-family=\"sans-serif\">\n", total
    printf "<rect width=\"900\" height=\"%d\" fill=\"#ffffff\"/>\n", total
    text(450, 26, "middle", 17, "#000000", title)
}

# Where a value of x lies; powers of ten are apart by as much each, a single one is in the middle.
function column(value)
{
    if (most_x == least_x)
        return left + wide / 2
    return left + wide * (0.05 + 0.9 * decade(value / least_x) / decade(most_x / least_x))
}

function draw_curve(side, key,    i, px, py, last_x, last_y, from)
{
    for (i = 1; i <= n_lines; i++) {
        if (!((i, key) in time))
            continue
        px = column(at[i])
        py = height(time[i, key])
        if (from)
            line(last_x, last_y, px, py, colour[series[s]], 2, side > 1 ? "5 4" : "")
        last_x = px
        last_y = py
        from = 1
    }
    for (i = 1; i <= n_lines; i++)
        if ((i, key) in time)
            mark(column(at[i]), height(time[i, key]), side > 1, key, time[i, key])
}

function draw_curves(    p, i, side)
{
    left = 90; top = 80; wide = 770; tall = 300
    open_figure(440)
    legend(58)
    for (p = low; p <= high; p++) {
        line(left, height(10 ^ p), left + wide, height(10 ^ p), "#dddddd", 1, "")
        text(left - 8, height(10 ^ p) + 4, "end", 12, "#333333", spell(p))
    }
    for (i = 1; i <= n_lines; i++)
        text(column(at[i]), top + tall + 18, "middle", 12, "#333333", at[i])
    text(left + wide / 2, top + tall + 40, "middle", 13, "#333333", x_label)
    for (side = n_sides; side >= 1; side--)
        for (s = 1; s <= n_series; s++)
            draw_curve(side, sides[side] series[s])
}

function draw_rows(    p, i, side, py)
{
    left = 360; top = 80; wide = 500; tall = 26 * n_lines
    open_figure(top + tall + 50)
    legend(58)
    for (p = low; p <= high; p++) {
        line(across(10 ^ p), top, across(10 ^ p), top + tall, "#dddddd", 1, "")
        text(across(10 ^ p), top + tall + 18, "middle", 12, "#333333", spell(p))
    }
    for (i = 1; i <= n_lines; i++) {
        py = top + 26 * (i - 0.5)
        text(left - 10, py + 4, "end", 11, "#333333", name[i])
        if (((i, "p50") in time) && ((i, "most") in time))
            line(across(time[i, "p50"]), py, across(time[i, "most"]), py, "#999999", 1, "")
        for (side = n_sides; side >= 1; side--)
            for (s = 1; s <= n_series; s++)
                if ((i, sides[side] series[s]) in time)
                    mark(across(time[i, sides[side] series[s]]), py, side > 1,
                        sides[side] series[s], time[i, sides[side] series[s]])
    }
}

END {
    if (n_lines == 0 || most_time == 0)
        exit 3
    low = floor(decade(least_time))
    high = floor(decade(most_time)) + 1
    if (x != "")
        draw_curves()
    else
        draw_rows()
    print "</svg>"
}
