/* SPDX-License-Identifier: Apache-2.0 */
/* Plugins whose constructors or start do not return. The executor's control thread runs them, and
 * answers nobody meanwhile; an executor that has been at one for `plugin-load-ms` is ended, and the
 * next one comes up without that plugin, which is kept only when it is loaded.
 *
 * load_watch.L1  Who asked is told that it was the plugin, before the executor ends; others, that
 *     it was restarted (executor_link.E1).
 *     So is who has asked for the plugin at which an executor has died, as its own mark says.
 * load_watch.L2  What is measured is what a client has asked for and the executor is at: neither a
 *     start, whose plugins the service itself asks for, nor the plugins before it.
 *
 * Nothing runs while no plugin is loaded. Event loop thread only.
 */
#pragma once

struct seat;

void load_watch_init(struct seat *seat);
void load_watch_fini(struct seat *seat);
/* The executor has been asked to load one, or will be when it is there. */
void load_watch_begin(struct seat *seat);
/* The executor has ended, before its requests are told so (load_watch.L1). */
void load_watch_on_end(struct seat *seat, int wait_status);
/* One that a client has asked for has been answered: the next has its turn. */
void load_watch_note_answer(struct seat *seat);
