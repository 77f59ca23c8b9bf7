#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tour.sh [SOURCES ODEOND ODEONCTL] - the commands of docs/tour.md, one after the other, against a
# service of its own, and what they print beside what the page says they print: line by line,
# whatever their order, but for numbers, times and references. What a command says besides is not
# looked at: some of it is of this machine.
# As a reader has it, without pipefail.
set -u -o errtrace
export LC_ALL=C
sources=$(realpath "${1:-.}") odeond=$(realpath "${2:-build/release/bin/odeond}")
odeonctl=$(realpath "${3:-build/release/bin/odeonctl}")
work=$(mktemp -d /tmp/odeon-tour.XXXXXX) || exit 1
export ODEON_SOCKET=$work/run/control.sock
COUNT=0 BROKEN=0 RC=0 service=''

# shellcheck disable=SC2317 # called by the trap
clean_up()
{
    [ -z "$service" ] || kill -KILL "$service" 2>/dev/null
    rm -rf "$work"
}
trap clean_up EXIT

check()
{
    local check_name=$1 # steps have variables of their own
    shift
    COUNT=$((COUNT + 1))
    # Not as a condition, in which no failure of a step's command would be seen.
    "$@" >"$work/said" 2>&1
    RC=$?
    if [ $RC = 0 ]; then
        echo "ok $COUNT - $check_name"
    else
        echo "not ok $COUNT - $check_name"
        sed 's/^/# /' "$work/said"
        BROKEN=1
    fi
}

# Numbers with their units, of any width of column.
alike()
{
    sed -E -e 's/[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z/TIME/g' \
        -e 's/[0-9]{2}:[0-9]{2}:[0-9.]+/TIME/' \
        -e 's/(^|[^0-9.])[0-9]+\.[0-9]+\.[0-9]+/\1REF/g' \
        -e 's/[0-9]+(\.[0-9]+)?( %| (ns|us|ms|s|k|M|B|KiB|MiB)\b)?/N/g' \
        -e 's/, (waited|sent) N//g' -e 's/, N of N//' -e 's/ w?N / N /g' -e 's/ +/ /g' \
        -e 's/^ //' -e 's/ $//' -e '/^$/d' "$1" | sort -u
}

step()
{
    local failed=''
    # In this shell, which knows what earlier steps have begun; any command that fails counts.
    trap 'failed=1; echo "failed: $BASH_COMMAND" >&2' ERR
    # shellcheck disable=SC1090 # of the page
    . "$work/steps/$1.sh" >"$work/printed" 2>&1
    trap - ERR
    cat "$work/printed"
    [ -z "$failed" ] || return 1
    [ -e "$work/steps/$1.out" ] || return 0
    alike "$work/printed" >"$work/printed.alike"
    grep -vx '\.\.\.' "$work/steps/$1.out" >"$work/wanted"
    alike "$work/wanted" >"$work/wanted.alike"
    comm -13 "$work/printed.alike" "$work/wanted.alike" | sed 's/^/not printed: /' >"$work/missing"
    cat "$work/missing"
    [ ! -s "$work/missing" ]
}

mkdir "$work/run" "$work/steps" "$work/bin"
ln -s "$odeonctl" "$work/bin/odeonctl"
printf '#!/bin/sh\necho "-I%s/client-lib/include"\n' "$sources" >"$work/bin/pkg-config"
chmod +x "$work/bin/pkg-config"
export PATH=$work/bin:$PATH
: >"$work/conf"
"$odeond" --foreground --runtime-dir "$work/run" --config "$work/conf" --set workers=2 \
    --set affinity=none --set restart-delay-max-ms=10 >"$work/log" 2>&1 &
service=$!
until odeonctl status >/dev/null 2>&1; do
    kill -0 "$service" || exit 1
    sleep 0.05
done
cd "$sources" || exit 1
awk -v dir="$work/steps" -f "$sources/tests/rig/steps.awk" "$sources/docs/tour.md"
# The plugin is made, and installed, where the test may write.
sed -i "s|-o shop.so|-o $work/shop.so|; s|^sudo install -Dm644 |&$work/|; \
    s|/usr/local/lib/odeon/|$work/lib/|; s|^sudo install|install|" "$work"/steps/*.sh
for tour_file in "$work"/steps/*.sh; do
    tour_step=$(basename "$tour_file" .sh)
    check "step $tour_step: $(tail -n 1 "$tour_file")" step "$tour_step"
done
check "the tour has steps" [ -e "$work/steps/05.sh" ]
echo "1..$COUNT"
[ $BROKEN = 0 ] || tail -n 20 "$work/log" | sed 's/^/# /'
exit $BROKEN
