/* SPDX-License-Identifier: Apache-2.0 */
/* The registry: what an odeond leaves to the next one. A memory file that the service manager
 * keeps, together with the descriptors that it speaks of; docs/operations/persistence.md lists
 * their names.
 *
 * One writer, the odeond that runs; nobody else maps it. Everything in it is plain numbers and
 * text: a descriptor goes by its name in the store. A process may end between any two stores, and
 * what it had stored is there, in its order.
 *
 * registry_layout.G1  `magic` is stored last when the registry is made.  Another version or hash:
 *     another layout, nothing in it is read.
 * registry_layout.G2  An entry means something while its state is not REGISTRY_FREE: stored last
 *     when the entry is made, first when it goes.
 * registry_layout.G3  A port's descriptors, and its client's, are in the store for certain
 *     (BARRIER) before its entry is made, its entry is made before an executor hears of it, and it
 *     is REGISTRY_OPEN before its client does.  So descriptors without an entry are nobody's, and a
 *     port that is REGISTRY_OPENING has no client that knows it.
 * registry_layout.G4  A port's entry goes before its descriptors leave the store.  Its generation
 *     stays: the next port there has another.
 * registry_layout.G5  Settings lie here twice; `settings_copy` says which copy counts, by one
 *     store.  A copy has those in force, and behind them those of the configuration as it was last
 *     read: what a reload finds other than that is what has been edited. Beside both it has
 *     odeond's own as they were last read, with numbers for the names of users and groups; they
 *     always have room, so that no right that a reload took comes back for want of it.
 * registry_layout.G6  A plugin that the entry of another one says it replaces does not count: its
 *     file has been read anew, and it goes when that is in force.  Two that have a path in common
 *     and do not say so were loaded one after the other from there. Nor does one count of whose
 *     name there is a later one.
 * registry_layout.G7  Until it is settled, plugins and settings are not recorded and no client has
 *     a port: a successor begins anew, with the same instance, so that clients that are connected
 *     already go on.
 * registry_layout.G8  `actors_made` is 0 from before the state is in force (`clean` 0), and from
 *     before a reload asks for the first one, until all actors that the configuration names have
 *     been found, made or refused. A successor after a crash asks for them again where it is 0.
 * registry_layout.G9  `configured` is a plugin's place, too: REGISTRY_CONFIGURED says that it
 *     stands for a line of the configuration, the bits above which of the lines has its path, from
 *     1. 0 there: a build has stored it that did not say; their serials are in the lines' order.
 *     What was loaded by hand has 0 in all, also from a line's path: such a build takes anything
 *     else for a line's. Its place is looked up.
 */
#pragma once

#include <assert.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdint.h>

#include "bounds.h"

#define REGISTRY_MAGIC   UINT64_C(0x6f64656f6e726731) /* "odeonrg1" */
#define REGISTRY_VERSION 2                            /* 1: that of 0.1 */

enum {
    REGISTRY_TOKEN_BYTES = 16,
    REGISTRY_PATH_BYTES = 4096,
    REGISTRY_SETTINGS_BYTES = 49152,
    REGISTRY_OWN_BYTES = 16380,
};

enum registry_state {
    REGISTRY_FREE = 0,
    REGISTRY_OPEN = 1,    /* of clients and plugins: in use */
    REGISTRY_OPENING = 2, /* a port whose client has not got it yet */
    REGISTRY_CLOSING = 3, /* a port that an executor drains */
};

struct registry_client {
    _Atomic uint32_t state;
    uint32_t uid, gid, pid; /* as the kernel said */
    uint64_t id;
    uint8_t token[REGISTRY_TOKEN_BYTES];
    char name[ODEON_NAME_MAX + 1];
    char library[32];
};

struct registry_port {
    _Atomic uint32_t state;
    uint32_t generation;
    uint64_t client;
    uint32_t pipe; /* 1: it has one */
    uint64_t submission_bytes, delivery_bytes;
    uint64_t ref; /* 0: no executor has said it yet */
    uint32_t actors_max;
    uint32_t overflow; /* enum port_overflow */
    uint32_t uid;      /* whose account pays for it; its client may have gone */
    uint32_t may_not_stop;
    uint64_t backlog_bytes;
    uint8_t token[REGISTRY_TOKEN_BYTES];
};

enum { REGISTRY_CONFIGURED = 1, REGISTRY_LINE_SHIFT = 1 };

struct registry_plugin {
    _Atomic uint32_t state;
    uint32_t serial;               /* of its descriptor, plugin-SERIAL */
    uint32_t configured;           /* REGISTRY_CONFIGURED, and the line (registry_layout.G9) */
    uint32_t replaces;             /* a serial; 0: none (registry_layout.G6) */
    char name[ODEON_NAME_MAX + 1]; /* "" until it was loaded once */
    char path[REGISTRY_PATH_BYTES];
};

/* Keys and values, each ended by a NUL: `n` in force, and behind them, up to `bytes`, those of the
 * configuration (a build that knew nothing of these has left none). */
struct registry_settings {
    uint32_t n, bytes;
    char text[REGISTRY_SETTINGS_BYTES];
    /* odeond's own, written alike. A build that knew nothing of them counted these bytes to `text`:
     * where `bytes` is more than `text` has, it has written that, and there are none. */
    uint32_t own_bytes;
    char own[REGISTRY_OWN_BYTES];
};
_Static_assert(sizeof(struct registry_settings) == 8 + 65536, "as before there were own ones");

struct registry_header {
    _Atomic uint64_t magic;
    uint32_t version;
    /* `epoch` of the last odeond that kept its own settings here, or one more while it starts; so
     * those count of which no build has started since that knows nothing of them, but for one that
     * starts behind a kill in the middle of that. 0: none, or an orderly end has begun */
    _Atomic uint32_t own_epoch;
    uint64_t layout_hash;
    uint64_t instance;      /* random: names this state, so that nobody takes another's for it */
    _Atomic uint64_t epoch; /* odeonds that have started on it */
    /* ids and serials up to here have been given out */
    _Atomic uint64_t last_client;
    _Atomic uint32_t last_plugin;
    /* 1: an executor has been ready with this state (registry_layout.G7) */
    _Atomic uint32_t settled;
    /* 1: the last odeond whose state was in force ended because it was told to */
    _Atomic uint32_t clean;
    _Atomic uint32_t settings_copy;
    _Atomic uint32_t actors_made; /* registry_layout.G8 */
    char service[32];             /* version of the last odeond, for people */
};

struct registry {
    struct registry_header header;
    struct registry_settings settings[2];
    struct registry_client clients[ODEON_CLIENTS_MAX];
    struct registry_port ports[ODEON_PORTS_MAX];
    struct registry_plugin plugins[ODEON_PLUGINS_MAX];
};

#define REGISTRY_LAYOUT_HASH                                                                       \
    (REGISTRY_VERSION * UINT64_C(1000003) ^ sizeof(struct registry) << 1 ^                         \
     (uint64_t)sizeof(struct registry_client) << 32 ^                                              \
     (uint64_t)sizeof(struct registry_port) << 40 ^                                                \
     (uint64_t)sizeof(struct registry_plugin) << 48)
