/* SPDX-License-Identifier: Apache-2.0 */
/* The plugin `savina`: its types. Each program has a file of its own. */
#include "program.h"

ODEON_DECLARE_TYPE(savina_pingpong);
ODEON_DECLARE_TYPE(pingpong_pong);
ODEON_DECLARE_TYPE(pingpong_ping);
ODEON_DECLARE_TYPE(savina_count);
ODEON_DECLARE_TYPE(count_counter);
ODEON_DECLARE_TYPE(count_producer);
ODEON_DECLARE_TYPE(savina_fjthrput);
ODEON_DECLARE_TYPE(fjthrput_actor);
ODEON_DECLARE_TYPE(savina_fjcreate);
ODEON_DECLARE_TYPE(fjcreate_actor);
ODEON_DECLARE_TYPE(savina_threadring);
ODEON_DECLARE_TYPE(threadring_actor);
ODEON_DECLARE_TYPE(savina_chameneos);
ODEON_DECLARE_TYPE(chameneos_creature);
ODEON_DECLARE_TYPE(chameneos_mall);
ODEON_DECLARE_TYPE(savina_big);
ODEON_DECLARE_TYPE(big_sink);
ODEON_DECLARE_TYPE(big_actor);
ODEON_DECLARE_TYPE(savina_fib);
ODEON_DECLARE_TYPE(fib_actor);

ODEON_PLUGIN("savina", "1.0.0", ODEON_TYPE(savina_pingpong), ODEON_TYPE(pingpong_pong),
             ODEON_TYPE(pingpong_ping), ODEON_TYPE(savina_count), ODEON_TYPE(count_counter),
             ODEON_TYPE(count_producer), ODEON_TYPE(savina_fjthrput), ODEON_TYPE(fjthrput_actor),
             ODEON_TYPE(savina_fjcreate), ODEON_TYPE(fjcreate_actor), ODEON_TYPE(savina_threadring),
             ODEON_TYPE(threadring_actor), ODEON_TYPE(savina_chameneos),
             ODEON_TYPE(chameneos_creature), ODEON_TYPE(chameneos_mall), ODEON_TYPE(savina_big),
             ODEON_TYPE(big_sink), ODEON_TYPE(big_actor), ODEON_TYPE(savina_fib),
             ODEON_TYPE(fib_actor));
