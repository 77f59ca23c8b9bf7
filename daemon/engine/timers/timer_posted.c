/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/timers/timer_posted.h"

#include "daemon/common/clock.h"

void timer_posted_take_when(struct segment_timer *timer, struct envelope *message)
{
    const uint64_t *word = envelope_payload_behind(message, message->prefix & (PREFIX_AFTER - 1u));
    uint64_t when = *word, when_ns = when & ~ENVELOPE_AFTER_BOOT;
    bool by_boot_time = when & ENVELOPE_AFTER_BOOT;
    uint64_t now_ns = by_boot_time ? clock_boot_ns() : clock_now_ns();
    timer->clock = by_boot_time ? TIMER_CLOCK_BOOT : TIMER_CLOCK_MONOTONIC;
    /* libodeon posts none that is later; timer_posted.TP3 */
    timer->deadline_ns = when_ns > now_ns + ODEON_DELAY_MAX_NS ? now_ns + ODEON_DELAY_MAX_NS
                         : when_ns < now_ns                    ? now_ns
                                                               : when_ns;
    message->prefix = (uint8_t)((message->prefix & ~(unsigned)PREFIX_AFTER) | PREFIX_KIND);
    envelope_word_put(message, PREFIX_KIND, envelope_kind_timer(0));
}
