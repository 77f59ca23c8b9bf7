/* SPDX-License-Identifier: Apache-2.0 */
/* What an actor that asks is told when nobody answers. Whoever declares its interface includes this
 * and has the message in it:
 *
 *     ODEON_INTERFACE(broker, order, price, odeon_no_answer);
 *
 * `token` is what odeon_ask() gave; `reason` says why (enum odeon_reason): ODEON_REASON_DEADLINE,
 * nobody has answered in time; ODEON_REASON_NO_SUCH_ACTOR, who was asked has ended; or why the
 * question was refused: ODEON_REASON_NOT_ACCEPTED, _ATTEMPTS (its handler faulted), _QUARANTINED,
 * ... The service alone sends it: from anybody else it is refused.
 */
#ifndef ODEON_ASK_H
#define ODEON_ASK_H

#include <odeon/message.h>

#ifdef __cplusplus
struct odeon_no_answer {
    uint64_t token;
    uint32_t reason, reserved;
};
#else
ODEON_MESSAGE(odeon_no_answer, 1, {
    uint64_t token;
    uint32_t reason;
    uint32_t reserved;
});
#endif

#endif
