/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the configuration again beside the event loop, in a thread of its own: its file may lie on
 * a file system that does not answer, and users and groups that it names are looked up wherever the
 * machine keeps them, which may be a server.
 *
 * config_reader.CR1  A reading is the thread's until it hands it over through the pipe, and the
 *     loop's from then on. One that is under way at the stop is nobody's: its thread goes with the
 *     process.
 * config_reader.CR2  Who asked is told once: by the reading, by the limit of time, or by the stop.
 * config_reader.CR3  There is one reading at a time, also behind the limit, so that a server that
 *     does not answer has one thread wait for it, however often it is asked for.
 *
 * Event loop thread only, but for what the thread does.
 */
#pragma once

#include <uv.h>

struct config;
struct options;

enum { CONFIG_READ_LIMIT_S = 20 };

/* `config` is the callee's, to be ended with config_fini() and free(); NULL with a negative
 * `result`, and why. */
typedef void (*config_reader_done)(void *userdata, struct config *config, int result,
                                   const char *text);

int config_reader_start(uv_loop_t *loop);
void config_reader_stop(void);
/* `options` are copied, but for the arguments of main(). 0: `done` is called later, never before
 * this returns. Negative errno, and why in text[OPTIONS_TEXT_MAX]: it is not. */
int config_reader_ask(const struct options *options, config_reader_done done, void *userdata,
                      char *text);
