/* SPDX-License-Identifier: Apache-2.0 */
/* Standard streams that are closed where a program begins. One thread, before all else. */
#pragma once

/* A closed one's number would be that of the next file or connection, and what is printed would be
 * written into it. It is kept from them; whoever uses the stream still gets EBADF. */
void streams_keep(void);
