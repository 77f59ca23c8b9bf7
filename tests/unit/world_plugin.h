/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin whose ways are known, for the tests of <odeon/test.h>. */
#pragma once

#include <odeon/message.h>

ODEON_MESSAGE(tally_add, 1, { int64_t amount; });
ODEON_SIGNAL(tally_get, 1);
ODEON_MESSAGE(tally_value, 1, {
    uint8_t redelivered;
    uint8_t attempts;
    int64_t total;
});
ODEON_INTERFACE(tally, tally_add, tally_get);
ODEON_INTERFACE(kept_tally, tally_add, tally_get);
ODEON_INTERFACE(stopped_tally, tally_add, tally_get);

ODEON_MESSAGE(alarm_set, 1, {
    uint64_t delay_ns;
    uint64_t period_ns;
});
ODEON_MESSAGE(alarm_rang, 1, { uint64_t at_ns; });
ODEON_SIGNAL(alarm_due, 1);
ODEON_INTERFACE(alarm, alarm_set, alarm_due);

/* Passes a number on. */
ODEON_MESSAGE(relay_pass, 1, {
    odeon_ref to;
    odeon_ref port;
    int64_t number;
});
ODEON_INTERFACE(relay, relay_pass);
/* Tells a port what comes to it, in its order. */
ODEON_MESSAGE(listener_hears, 1, {
    odeon_ref port;
    int64_t number;
});
ODEON_INTERFACE(listener, listener_hears);

ODEON_SIGNAL(endless_go, 1);
ODEON_INTERFACE(endless, endless_go);

/* Answers with a tally_value: how often, since the plugin was mapped. */
ODEON_SIGNAL(census_count, 1);
ODEON_INTERFACE(census, census_count);

/* Tells a port the id of the trace that it runs in, and has the next one do so. */
ODEON_MESSAGE(tracer_tell, 1, {
    odeon_ref port;
    odeon_ref next;
});
ODEON_MESSAGE(tracer_told, 1, { uint64_t trace; });
ODEON_INTERFACE(tracer, tracer_tell);

ODEON_MESSAGE(deadly_end, 1, {
    uint8_t how;   /* 0: abort(), or `call`; 1: its stack; 2: exit(); 3: quick_exit() */
    uint64_t call; /* void (*)(void) of the same process */
});
ODEON_INTERFACE(deadly, deadly_end);
