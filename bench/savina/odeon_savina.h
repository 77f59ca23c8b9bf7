/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of odeon-savina share. One thread. */
#ifndef ODEON_SAVINA_H
#define ODEON_SAVINA_H

#include <odeon/client.h>
#include <odeon/stats.h>

#include "savina.h"

enum { SAVINA_RUNS_MAX = 1000 };

struct savina_options {
    const char *name, *socket, *plugin;
    char **words; /* FIELD=VALUE */
    size_t n_words;
    uint32_t runs;
    uint64_t timeout_s; /* of one iteration, and of its check */
};

struct savina_session {
    struct odeon_client *client;
    struct odeon_port *port;
    struct odeon_stats *stats;
    void *args; /* that the program's head is made with */
    size_t args_size;
    uint32_t workers;
    uint32_t id_run, id_done, id_check, id_verdict;
    char why[256]; /* the last error; printed already */
};

struct savina_run_figure {
    uint64_t elapsed_ns, messages;
};

enum savina_exit { SAVINA_DONE = 0, SAVINA_FAILED = 1, SAVINA_USAGE = 2, SAVINA_UNREACHABLE = 3 };

/* Both return 0, or an exit code after having said why on stderr. Opening connects, loads the
 * plugin if the service does not know it, and fills in the program's arguments. */
int savina_session_open(struct savina_session *session, const struct savina_options *options);
/* One iteration and its check. */
int savina_session_run(struct savina_session *session, const struct savina_options *options,
                       struct savina_run_figure *ret);
void savina_session_close(struct savina_session *session);

#endif
