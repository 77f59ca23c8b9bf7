# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# numa_service.sh - the service inside the machine of numa.sh. Sourced by the tests that run there,
# behind tap.sh. Sets EXECUTOR, the number of the executor's process.
EXECUTOR='' LOG=/tmp/log
export ODEON_TIMEOUT_MS=300000 # as tests/run/patience.h

log_has()
{
    grep -E "$1" $LOG || { tail -n 20 $LOG; return 1; }
}

executor_find()
{
    EXECUTOR=$(./odeonctl --json status | grep -oE '"executor_pid": *[0-9]+' | grep -oE '[0-9]+$')
    [ -n "$EXECUTOR" ] && [ "$EXECUTOR" != 0 ]
}

executor_is_not()
{
    executor_find && [ "$EXECUTOR" != "$1" ]
}

# service_start PLUGIN SETTING...: small tables, so that little memory is touched that is no
# queue's.
service_start()
{
    local options=() setting plugin=$1
    shift
    for setting in actors=4096 limit-bytes=16M outbox-bytes=4M "$@"; do
        options+=(--set "$setting")
    done
    ./odeond --foreground --plugin "/rig/$plugin.so" "${options[@]}" >$LOG 2>&1 &
    echo $! >/tmp/service # this may be a shell below the one that stops it
    disown
    eventually 20 log_has 'workers, .* queues each' && eventually 20 executor_find
}

service_gone()
{
    ! kill -0 "$(cat /tmp/service)"
}

service_stop()
{
    kill "$(cat /tmp/service)" && eventually 20 service_gone
}
