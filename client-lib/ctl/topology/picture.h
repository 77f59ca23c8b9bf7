/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of odeonctl topology as a picture (SVG): a frame for each node, in it one for each
 * cache of the third level, in that a box for each processor, dark where its worker is busy. Also
 * in grey. Stateless.
 */
#pragma once

#include "client-lib/ctl/topology/rows.h"

#include <stdio.h>

/* What has gone wrong in writing it says the stream. */
void picture_write(FILE *out, const struct rows *rows);
