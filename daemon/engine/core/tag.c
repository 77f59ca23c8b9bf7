/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/core/tag.h"

#include "daemon/common/clock.h"

/* Not in line: those who write records without an id pay for nothing but the look. */
void tag_put(const struct worker *w, struct envelope *out, unsigned hops)
{
    envelope_word_put(out, PREFIX_TRACE, tag_of(w));
    envelope_word_put(out, PREFIX_ACCEPTED, envelope_accepted(clock_now_ns(), hops));
}
