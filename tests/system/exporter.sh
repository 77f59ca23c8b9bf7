#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# exporter.sh PART SOURCE ODEOND EXPORTER ODEONCTL PLUGIN
# A service, an exporter, and what is made for them (docs/examples/prometheus, the web page).
#
#   names    rules and dashboard name metrics that there are, and rules are what promtool takes,
#            where it is installed
#   scraper  promtool has nothing to say of the metrics as text; a Prometheus, which asks for
#            OpenMetrics, has the service's figures, also behind a kill of the executor
#
#   page     a browser shows the page with live figures, with the token those that have names, too,
#            and has nothing to say of its policy
#   picture  the page with a shop's sales (docs/tour.md) on it becomes docs/page.png; PLUGIN is the
#            shop's. No test: it is run by hand when the page has changed
#
# Prints TAP. Exit status 77: what the part needs is not installed.
set -uo pipefail
PART=$1 SOURCE=$2 ODEOND=$3 EXPORTER=$4 ODEONCTL=$5 PLUGIN=$6
EXAMPLES=$SOURCE/docs/examples/prometheus
TOKEN=a-token-of-this-test-alone
# shellcheck source=tests/rig/tap.sh
. "$SOURCE/tests/rig/tap.sh"
declare -A TOOLS=([names]='' [scraper]='prometheus promtool' [page]=chromium [picture]=chromium)
for tool in ${TOOLS[$PART]}; do
    command -v "$tool" >/dev/null || { echo "skipped: there is no $tool"; exit 77; }
done
work_alone
export ODEON_SOCKET=$WORK/odeon/control.sock ODEON_TIMEOUT_MS=300000
export LC_ALL=C

# http PORT PATH [HEADER]: the body of the answer.
http()
{
    exec 4<>"/dev/tcp/127.0.0.1/$1" || return 1
    printf 'GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n%s\r\n' "$2" \
        "${3:+$3$'\r\n'}" >&4
    sed '1,/^\r*$/d' <&4
    exec 4>&-
}
metrics()
{
    http "$PORT" /metrics "Authorization: Bearer $TOKEN"
}
port_of()
{
    sed -nE 's/.*listening on 127\.0\.0\.1:([0-9]+)$/\1/p' "$WORK/exporter.log" | grep .
}
start_service()
{
    "$ODEOND" --foreground --runtime-dir "$WORK/odeon" --config "$WORK/conf" --plugin "$PLUGIN" \
        --set workers=2 --set affinity=none --set actors=1024 --set queues-per-worker=2 \
        >"$WORK/odeond.log" 2>&1 &
    PIDS+=($!)
}
service_answers()
{
    "$ODEONCTL" status || { cat "$WORK/odeond.log"; return 1; }
}
start_exporter()
{
    (umask 077 && echo "$TOKEN" >"$WORK/token")
    "$EXPORTER" --listen 127.0.0.1:0 --stats "$WORK/odeon/stats" --socket "$ODEON_SOCKET" \
        --token-file "$WORK/token" 2>"$WORK/exporter.log" &
    PIDS+=($!)
    eventually 60 port_of >/dev/null
    PORT=$(port_of)
}
has_type()
{
    "$ODEONCTL" actor call total counter_add amount=1 weight=1 >/dev/null 2>&1
    "$ODEONCTL" actor call total counter_get >/dev/null &&
        metrics | grep '^odeon_type_run_seconds_bucket{type="counter"'
}

# ---- names

# Without what only templates of the texts have.
named()
{
    grep -hoE '\bodeon_[a-z0-9_]+' "$EXAMPLES/odeon.rules.yml" "$EXAMPLES/dashboard.json" | sort -u
}
all_there()
{
    metrics | sed -nE 's/^(odeon_[a-z0-9_]+).*/\1/p' | sort -u >"$WORK/there"
    named >"$WORK/named"
    [ "$(wc -l <"$WORK/named")" -gt 25 ] && ! comm -23 "$WORK/named" "$WORK/there" | grep .
}
promtool_takes_rules()
{
    promtool check rules "$EXAMPLES/odeon.rules.yml" &&
        promtool check config "$EXAMPLES/prometheus.yml"
}
# Names are text: nothing that makes HTML of a string.
page_is_careful()
{
    ! grep -nE 'innerHTML|outerHTML|insertAdjacent|document\.write|eval|Function\(|style=|https?:' \
        "$SOURCE"/client-lib/exporter/page/* | grep -v 'www.w3.org/2000/svg'
}
check_names()
{
    check "the page makes no HTML of strings, and names no other host" page_is_careful
    check "rules and dashboard name metrics that there are" all_there
    if command -v promtool >/dev/null; then
        check "promtool takes rules and configuration" promtool_takes_rules
    fi
}

# ---- a scraper

promtool_is_content()
{
    local said
    said=$(metrics | promtool check metrics 2>&1) || { echo "$said"; return 1; }
    [ -z "$said" ] || { echo "$said"; return 1; }
}
start_prometheus()
{
    cat >"$WORK/prometheus.yml" <<END
global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [$EXAMPLES/odeon.rules.yml]
scrape_configs:
  - job_name: odeon
    authorization: {credentials_file: $WORK/token}
    static_configs: [{targets: ['127.0.0.1:$PORT']}]
END
    prometheus --config.file="$WORK/prometheus.yml" --storage.tsdb.path="$WORK/data" \
        --web.listen-address="127.0.0.1:$SCRAPER" >"$WORK/prometheus.log" 2>&1 &
    PIDS+=($!)
    while kill -0 $! 2>/dev/null; do
        if prometheus_is_ready >/dev/null 2>&1; then return 0; fi
        sleep 0.1
    done
    return 1
}
prometheus_is_ready()
{
    http "$SCRAPER" /-/ready | grep -i ready || { tail "$WORK/prometheus.log"; return 1; }
}
# query EXPRESSION: the answer, whose values are strings.
query()
{
    http "$SCRAPER" "/api/v1/query?query=$1"
}
value_is()
{
    query "$1" | tee /dev/stderr | grep -E "\"value\":\[[0-9.]+,\"$2\"\]"
}
scraped_well()
{
    http "$SCRAPER" /api/v1/targets | tee /dev/stderr | grep '"health":"up"'
}
kill_executor()
{
    kill -9 "$("$ODEONCTL" --json status | grep -oE '"executor_pid": *[0-9]+' | grep -oE '[0-9]+$')"
}
check_scraper()
{
    check "promtool has nothing to say of the metrics" promtool_is_content
    # somebody else may have the port
    for SCRAPER in $((20000 + RANDOM % 10000)) $((30000 + RANDOM % 2000)) 19090; do
        ! start_prometheus || break
    done
    check "a Prometheus starts" prometheus_is_ready
    check "it scrapes well" eventually 60 scraped_well
    check "it knows that the service is up" eventually 60 value_is odeon_up 1
    check "it has the workers" eventually 60 value_is odeon_workers 2
    check "it has 16 buckets of a type" eventually 60 value_is \
        'count(odeon_type_run_seconds_bucket{type=%22counter%22})' 16
    check "the executor is killed" kill_executor
    check "it knows of the next one" eventually 60 value_is odeon_executor_restarts_total 1
    check "which is up" eventually 60 value_is odeon_up 1
    check "and none of its rules has failed" eventually 60 rules_are_well
}
rules_are_well()
{
    http "$SCRAPER" /api/v1/rules >"$WORK/rules"
    grep -o '"health":"ok"' "$WORK/rules" | wc -l | grep -x 13 &&
        ! grep '"health":"err"' "$WORK/rules"
}

# ---- a page

# browse NAME [OPTION...]: the page as it is some seconds of its own time later, in WORK/NAME.html,
# or wherever the options say.
browse()
{
    local name=$1
    shift
    [ $# -gt 0 ] || set -- --dump-dom
    HOME=$WORK chromium --headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage \
        --user-data-dir="$WORK/chromium" --enable-logging=stderr --virtual-time-budget=8000 \
        --disable-features=DisableLoadExtensionCommandLineSwitch \
        ${EXTENSION:+--load-extension="$EXTENSION"} "$@" "http://localhost:$PORT/" \
        >"$WORK/$name.html" 2>"$WORK/$name.log"
}
# shown NAME EXPRESSION: the page says so; looks again, as its figures come when they come.
shown()
{
    browse "$1" || { cat "$WORK/$1.log"; return 1; }
    tr -d '\n' <"$WORK/$1.html" | grep -E "$2" || { cat "$WORK/$1.html"; return 1; }
}
has_no_errors()
{
    [ -s "$WORK/$1.html" ] && ! grep -iE 'CONSOLE.*(refused|violat|error|policy)' "$WORK/$1.log"
}
has_no_names()
{
    ! grep -E 'class="token"|<td>counter|<svg' "$WORK/plain.html"
}
# What somebody would write into the page's field.
give_token()
{
    EXTENSION=$WORK/token-giver
    mkdir "$EXTENSION"
    cat >"$EXTENSION/manifest.json" <<END
{"manifest_version": 3, "name": "token", "version": "1", "content_scripts":
 [{"matches": ["http://localhost/*"], "js": ["token.js"], "run_at": "document_start"}]}
END
    echo "sessionStorage.setItem('odeon-token', '$TOKEN');" >"$EXTENSION/token.js"
}
check_page()
{
    local live='<span id="state"[^>]*>running</span>.*id="total-messages_processed">[1-9]'
    check "the page has live figures" eventually 60 shown plain "$live.*<meter"
    check "without the token no names" has_no_names
    check "its policy is kept" has_no_errors plain
    give_token
    check "with the token it has types" eventually 60 \
        shown named '<body class="token">.*<td>counter<'
    check "workers are drawn" eventually 60 shown named '<svg.*>worker 0</text>'
    check "so is who sends to whom" eventually 60 shown_while_calling
    check "its policy is kept all the same" has_no_errors named
}
# Flows are of the last seconds.
shown_while_calling()
{
    "$ODEONCTL" actor call total counter_add amount=1 weight=1 --timeout 1 >/dev/null 2>&1
    "$ODEONCTL" actor call total counter_get >/dev/null
    shown named '<path[^>]*class="flow"'
}

# ---- a picture

PICTURE_MOST=150000 # bytes
shop_opens()
{
    local till
    "$ODEONCTL" actor spawn shop_ledger --name ledger || return 1
    for till in 1 2 3 4; do
        "$ODEONCTL" actor spawn shop_till --name "till.$till" &&
            "$ODEONCTL" actor send "till.$till" shop_open us=$((till * 10)) every_us=10000 ||
            return 1
    done
    "$ODEONCTL" actor spawn shop_crowd --name crowd &&
        "$ODEONCTL" actor send crowd shop_come n=4 every_us=20000 till=2 &&
        "$ODEONCTL" actor send ledger shop_report pages=1
}
start_desk()
{
    "$ODEONCTL" listen desk >/dev/null 2>&1 &
    PIDS+=($!)
}
shop_sells()
{
    metrics | grep '^odeon_type_run_seconds_bucket{type="shop_ledger"'
}
take_picture()
{
    browse picture --hide-scrollbars --window-size=1280,1010 --screenshot="$WORK/page.png" || return
    [ "$(stat -c %s "$WORK/page.png")" -le $PICTURE_MOST ] &&
        cp "$WORK/page.png" "$SOURCE/docs/page.png"
}
check_picture()
{
    give_token
    check "the page has all that the shop does" eventually 60 shown named '<path[^>]*class="flow"'
    check "it becomes a picture" take_picture
}

# What starts processes is not run by check, which would do it in a shell of its own.
: >"$WORK/conf" # not what is installed on this machine
start_service
check "a service starts" eventually 60 service_answers
if [ "$PART" = picture ]; then
    check "it has a shop" shop_opens
    start_desk
    start_exporter
    check "the exporter tells of types" eventually 60 shop_sells
else
    check "it has a counter" "$ODEONCTL" actor spawn counter --name total
    start_exporter
    check "the exporter tells of types" eventually 60 has_type
fi
"check_$PART"
echo "1..$COUNT"
[ $BROKEN = 0 ]
