/* SPDX-License-Identifier: Apache-2.0 */
/* What an actor that monitors another one, or a client, is told when that ends; and who has spawned
 * an actor that cannot begin, whether it monitors that or not. Whoever declares its interface
 * includes this and has the message in it:
 *
 *     ODEON_INTERFACE(broker, order, odeon_down);
 *
 * `ref` is who has ended, `monitor` what odeon_monitor() gave, 0: nothing, it is a child's, and
 * `reason` says why (enum odeon_reason): ODEON_REASON_FINISHED, its behaviour said so; _STOPPED,
 * somebody else did; _INIT_FAILED, _ATTEMPTS, _SUSPECTED, it could not begin; _QUARANTINED, its
 * type is not run for the time being; _BEGUN_ANEW, it lost its state with an executor, and the same
 * reference is another life, which this monitor does not watch (that a child cannot begin that one
 * is told with `monitor` 0, perhaps sooner); _NOT_RESUMED, it ended with an executor; _CLIENT_GONE,
 * it was a client; _NO_SUCH_ACTOR, it ended so long ago that nobody knows. The service alone sends
 * it: from anybody else it is refused.
 *
 * A client that monitors (odeon_port_monitor(), <odeon/client.h>) gets the same struct, as a
 * delivery of type ODEON_MSG_DOWN; `monitor` is its own id then.
 */
#ifndef ODEON_MONITOR_H
#define ODEON_MONITOR_H

#include <odeon/message.h>

#ifdef __cplusplus
struct odeon_down {
    odeon_ref ref;
    uint64_t monitor;
    uint32_t reason, reserved;
};
#else
ODEON_MESSAGE(odeon_down, 1, {
    odeon_ref ref;
    uint64_t monitor;
    uint32_t reason;
    uint32_t reserved;
});
#endif

#endif
