/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of others as a terminal may get them (ctl.C2). No state, any thread. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

/* Control characters, those of one byte and those that UTF-8 writes in two, become '?'; line feeds
 * stay where `lines`. */
void printable_put(FILE *out, const char *text, bool lines);
