/* SPDX-License-Identifier: Apache-2.0 */
/* The client in a loop of GLib's: odeon-loop-glib SOCKET PLUGIN NUMBERS */
#include <stdio.h>
#include <stdlib.h>

#include <glib.h>

#include "summer.h"

/* A source has a turn before each sleep, so that nothing of the client's is left to do then. */
struct source {
    GSource base;
    struct summer *summer;
    GMainLoop *loop;
    gboolean port_is_watched;
};

static gboolean prepare(GSource *base, gint *timeout)
{
    struct source *source = (struct source *)base;

    if (summer_turn(source->summer)) {
        g_main_loop_quit(source->loop);
        *timeout = 0;
        return FALSE;
    }
    if (!source->port_is_watched && summer_port_fd(source->summer) >= 0) {
        g_source_add_unix_fd(base, summer_port_fd(source->summer), G_IO_IN);
        source->port_is_watched = TRUE;
    }
    *timeout = summer_timeout(source->summer);
    return FALSE;
}

/* It has woken the loop: that is all. */
static gboolean dispatch(GSource *base, GSourceFunc callback, gpointer data)
{
    (void)base, (void)callback, (void)data;
    return G_SOURCE_CONTINUE;
}

int main(int argc, char **argv)
{
    static GSourceFuncs functions = { .prepare = prepare, .dispatch = dispatch };
    struct summer summer = { 0 };
    struct source *source;

    if (argc != 4) {
        fputs("usage: odeon-loop-glib SOCKET PLUGIN NUMBERS\n", stderr);
        return 2;
    }
    summer.socket = argv[1];
    summer.plugin = argv[2];
    summer.numbers = strtoull(argv[3], NULL, 10);
    if (summer_begin(&summer) < 0)
        return 1;
    source = (struct source *)g_source_new(&functions, sizeof(*source));
    source->summer = &summer;
    source->loop = g_main_loop_new(NULL, FALSE);
    g_source_add_unix_fd(&source->base, summer_helper_fd(&summer), G_IO_IN);
    g_source_attach(&source->base, NULL);
    g_main_loop_run(source->loop);
    g_source_destroy(&source->base);
    g_source_unref(&source->base);
    g_main_loop_unref(source->loop);
    return summer_end(&summer);
}
