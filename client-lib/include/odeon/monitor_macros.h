/* SPDX-License-Identifier: Apache-2.0 */
/* The short spelling of monitors, for C. Included by <odeon/plugin.h>; what the calls do stands
 * there, at struct odeon_host.
 *
 *     uint64_t monitor;
 *     int r = odeon_monitor(ctx, &monitor, worker);
 *
 *     ODEON_RECEIVE(broker, odeon_down)
 *     {
 *         if (msg->monitor == self->monitor)  ... the worker has ended: msg->reason
 *         return ODEON_NODELETE;
 *     }
 *
 * A service that is older than this: -ENOSYS.
 */
#ifndef ODEON_MONITOR_MACROS_H
#define ODEON_MONITOR_MACROS_H

#ifndef ODEON_PLUGIN_MACROS_H
#error "include <odeon/plugin.h>"
#endif

/* `ret_` NULL: what would end the monitor is not needed. */
#define odeon_monitor(ctx_, ret_, to_)     odeon_monitor_((ctx_), (ret_), ODEON_REF_(to_))
#define odeon_monitor_any(ctx_, ret_, to_) odeon_monitor_((ctx_), (ret_), (to_))

static inline ODEON_UNUSED_ int odeon_has_monitors_(const struct odeon_context *ctx)
{
    return ctx->host->struct_size >= offsetof(struct odeon_host, demonitor) + sizeof(void *);
}

static inline ODEON_UNUSED_ int odeon_monitor_(struct odeon_context *ctx, uint64_t *ret,
                                               odeon_ref ref)
{
    uint64_t monitor = 0;
    return odeon_has_monitors_(ctx) ? (ctx->host->monitor)(ctx, ref, ret ? ret : &monitor)
                                    : -ENOSYS;
}

static inline ODEON_UNUSED_ int odeon_demonitor(struct odeon_context *ctx, uint64_t monitor)
{
    return odeon_has_monitors_(ctx) ? (ctx->host->demonitor)(ctx, monitor) : -ENOSYS;
}

#endif
