/* SPDX-License-Identifier: Apache-2.0 */
/* An odeon-exporter for a test, and a client that speaks HTTP to it by hand.
 *
 * Used by the thread that runs the tests; what cannot be done fails the test that runs.
 */
#pragma once

#include "tests/system/harness.h"
#include "tests/system/user.h"

#define SCRAPE_TOKEN "a-token-of-this-test-alone"

struct exporter {
    pid_t pid;
    unsigned short port; /* of 127.0.0.1 */
};

/* A private exporter of the service's figures, at a port that is free; `user` NULL: the test's own;
 * `more` words, up to NULL. With SCRAPE_TOKEN for its token. */
struct exporter exporter_start(const struct service *service, const struct user *user,
                               const char *const *more);
/* By SIGTERM; its exit status. */
int exporter_stop(struct exporter *exporter);
/* One that does not start: its exit status, and what it printed. */
int exporter_refused(const char *const *words, char *text, size_t size);

/* A connection; -1: none can be made. */
int scrape_connect(const struct exporter *exporter);
/* Sends what there is, and reads up to the end of the connection; the caller frees it. NULL: the
 * connection was ended before all was there. */
char *scrape_raw(const struct exporter *exporter, const char *request, size_t n);
/* GET `path` with further header lines ("X: y\r\n" each), that are answered with this status; the
 * whole answer, which the caller frees. */
char *scrape_get(const struct exporter *exporter, const char *path, const char *headers,
                 int status);
/* The metrics; `token`: with the token. The caller frees it. */
char *scrape_metrics(const struct exporter *exporter, bool token);
/* A metric's value in such an answer; -1: it is not there. `name` has its labels. */
double scrape_value(const char *answer, const char *name);
/* The sum over all labels of a metric. */
double scrape_sum(const char *answer, const char *name);
/* Of the next scrape. */
double scrape_now(const struct exporter *exporter, const char *name);
