/* SPDX-License-Identifier: Apache-2.0 */
/* A libodeon without a service behind it, for the tests of odeonctl: answers what a test puts here,
 * notes what was asked. fake_odeon.c has what the others share, and the service's own figures; each
 * other fake_*.c the calls of one noun. A test links them all.
 *
 * One thread.  fake_reset() before each test.
 */
#pragma once

#include <odeon/admin.h>
#include <odeon/observe.h>
#include <odeon/stats.h>

#include "proto/reference.h"

enum { FAKE_ACTORS = 600, FAKE_PAYLOAD_MAX = 256, FAKE_WORKERS = 2, FAKE_FIGURES = 9 };
enum { FAKE_UNKNOWN_TYPE = 404, FAKE_TYPE = 100 };
#define FAKE_GONE (UINT64_C(4) << 32 | ACTOR_REF_OWN | 404) /* no such actor */

struct fake {
    /* answers */
    int connect_result, call_result; /* of odeon_client_connect(); of everything else */
    const char *text;                /* odeon_error_text() */
    size_t n_actors, n_letters;
    uint32_t letter_message; /* the type of the letter 12; 0: as of an older service */
    const char *client_name;
    int ports_untold;   /* as without an executor */
    int traffic_untold; /* as of an older service */
    const char *message_fields, *args_fields;
    uint32_t args_size;
    int type_unloaded;
    int knows_types;           /* "counter" alone; else any name is one */
    const char *receiver_type; /* of the actor that is shown */
    int accepts_other;         /* that actor takes the second of fake_accepts alone */
    int accepts_nothing;       /* ... or none: its plugin is not loaded */
    int show_result;           /* of showing an actor */
    uint32_t message_size;
    int message_tail, message_by_user;
    int show_message_result; /* of asking for one by its id */
    unsigned newer; /* versions of the message that others than the type "counter" accept */
    const char *answer_name, *answer_fields;
    uint32_t answer_size;
    int answer_tail;
    int64_t answer, call_timeout_ns;
    int outcome; /* of a call */
    /* of a port that listens: how many deliveries come, of which type, and then the result */
    unsigned n_deliveries;
    uint32_t delivery_type;
    const void *delivery;
    size_t delivery_size;
    int receive_result, signal;
    uint64_t dropped;
    int stats_result;
    uint32_t supervisor_pid, executor_pid;
    unsigned replaced_at; /* the so many-th time that its status is asked for, it is another one */
    bool by_clock;        /* looks at what actors do say how long it was */
    const char *state;
    double value[FAKE_FIGURES];
    double growth; /* added to each count by each snapshot */
    int pages_go_round;
    uint64_t more_queues; /* pages of queues behind the first */
    int list_result;      /* of listing queues, clients and memory */
    /* what was asked */
    /* n_leaked: results that have not been freed */
    unsigned n_connects, n_disconnects, n_pages, n_leaked;
    unsigned n_lists; /* of queues, clients and memory */
    unsigned n_statuses;
    unsigned n_shown; /* messages that were asked for by their ids */
    char path[256], type_filter[64], spawned_type[64], spawned_name[64];
    char settings[256]; /* "a=1;b=2;" */
    size_t n_ids;       /* of dead letters; 0: all */
    uint64_t last_id;
    odeon_ref replay_to;
    char kind_filter[32];
    struct odeon_spawn_where where;
    odeon_ref to;
    uint32_t type; /* of what was sent: FAKE_TYPE and its version; 0: sent by its name */
    char message[64], port_name[64];
    unsigned char payload[FAKE_PAYLOAD_MAX];
    size_t payload_size;
    int how;
    uint64_t trace; /* of what was posted */
    /* and of what has been run: ids of the three messages that there are */
    uint64_t traced[3];
    bool at_least;   /* the second and the third of them */
    unsigned reason; /* why the last of them was not run */
    bool of_types;   /* each of another type, instead of two that everybody knows */
};
extern struct fake fake;
extern const char *const fake_accepts[2]; /* of the type "counter" */

void fake_reset(void);
/* Of a result, which is counted until it is freed; of a list of so many rows of a size. */
void *fake_alloc(size_t size);
struct odeon_list *fake_list(size_t n, size_t size);
/* What odeon_error_text() says from now on, until a call says something else. */
void fake_say(const char *text);
