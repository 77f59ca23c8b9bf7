/* SPDX-License-Identifier: Apache-2.0 */
/* Static probes for tracers (USDT): places that have a name in the program's file, so that bpftrace
 * or perf finds them. Each is an instruction that does nothing, and a note that nobody loads; where
 * <sys/sdt.h> was missing when this was compiled there is not even that. docs/observing.md has a
 * table of them.
 *
 * probe.PR1  What a probe says stands in a register or in memory already: nothing is computed for
 *     it. None is behind each message.
 */
#pragma once

/* 0: there are none, whatever headers there are. */
#ifndef ODEON_PROBES
#define ODEON_PROBES 1
#endif

#if ODEON_PROBES && defined(__has_include)
#if __has_include(<sys/sdt.h>)
#define SDT_USE_VARIADIC 1
#include <sys/sdt.h>
#define PROBE(name_, ...) STAP_PROBEV(odeon, name_, __VA_ARGS__)
#endif
#endif
#ifndef PROBE
#define PROBE(...) ((void)0)
#endif
