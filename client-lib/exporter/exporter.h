/* SPDX-License-Identifier: Apache-2.0 */
/* The program: its parts together, and its loop. */
#pragma once

/* Until SIGTERM or SIGINT; the exit status. */
int exporter_main(int argc, char **argv);
