#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# test_ci.sh ROOT: .ci/run that is ended by a signal ends what it runs, and says so by its status.
# Another test.sh stands in for what takes minutes. Prints TAP.
set -uo pipefail
ROOT=$(realpath -e "${1-}") || exit 2
WORK=$(mktemp -d) || exit 2
trap 'rm -rf "$WORK"' EXIT
export WORK
# shellcheck source=tests/run/is.sh
. "$(dirname "$0")/is.sh"

mkdir "$WORK/.ci"
cp "$ROOT/.ci/run" "$WORK/.ci/run"
# As test.sh does it: what it runs is in the background, and ended by its traps.
cat >"$WORK/test.sh" <<'END'
#!/bin/bash
end()
{
    trap '' TERM
    kill -TERM "$child"
    wait
    echo ended >"$WORK/ended"
    exit 143
}
trap end TERM
sleep 3600 &
child=$!
echo "$$ $child $PPID" >"$WORK/runs.new"
mv "$WORK/runs.new" "$WORK/runs"
wait
END
chmod +x "$WORK/test.sh"

# try SIGNAL STATUS: in the background of a script SIGINT would be ignored.
try()
{
    local rc=0 pid script child timeout left=''
    rm -f "$WORK/ended" "$WORK/runs"
    env --default-signal=INT,TERM bash "$WORK/.ci/run" >"$WORK/log" 2>&1 </dev/null &
    pid=$!
    while [ ! -e "$WORK/runs" ] && kill -0 $pid; do sleep 0.01; done
    read -r script child timeout <"$WORK/runs"
    # before it waits, timeout may not know whom it has started
    until grep -q '^State:.S' "/proc/$timeout/status"; do sleep 0.01; done
    kill -s "$1" $pid
    wait $pid || rc=$?
    is "$1: its status" "$rc" "$2"
    is "$1: what test.sh did" "$(cat "$WORK/ended" 2>&1)" ended
    for pid in "$script" "$child"; do
        if kill -0 "$pid" 2>/dev/null; then
            left="$left $pid"
            kill -KILL "$pid"
        fi
    done
    is "$1: processes that are left" "$left" ''
}

try TERM 143
try INT 130
echo "1..$COUNT"
[ $BROKEN = 0 ]
