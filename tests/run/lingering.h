/* SPDX-License-Identifier: Apache-2.0 */
/* A descriptor whose last close waits. */
#pragma once

/* A TCP socket that lingers for an hour with what its peer does not read. `*ret_peer` is that, the
 * caller's as well; closing it ends the wait. -1: there is no TCP here. Any thread. */
int lingering_socket(int *ret_peer);
