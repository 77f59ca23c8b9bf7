/* SPDX-License-Identifier: Apache-2.0 */
/* The short spelling of groups, for C. Included by <odeon/plugin.h>; what the calls do stands
 * there, at struct odeon_host.
 *
 *     int r = odeon_join(ctx, "prices");             in init, mostly
 *     odeon_leave(ctx, "prices");
 *     r = odeon_publish(ctx, "prices", price, .item = 7, .amount = 3);
 *
 * A service that is older than this: -ENOSYS.
 */
#ifndef ODEON_GROUP_MACROS_H
#define ODEON_GROUP_MACROS_H

#ifndef ODEON_PLUGIN_MACROS_H
#error "include <odeon/plugin.h>"
#endif

#define odeon_publish(ctx_, group_, message_, ...)                                                 \
    ODEON_FILLED_(message_,                                                                        \
                  odeon_publish_((ctx_), (group_), odeon_message_of(message_)->id, &odeon_filled_, \
                                 sizeof(odeon_filled_)),                                           \
                  __VA_ARGS__)
#define odeon_publish_signal(ctx_, group_, message_)                                               \
    (ODEON_ASSERT_SIGNAL_(message_),                                                               \
     odeon_publish_((ctx_), (group_), odeon_message_of(message_)->id, NULL, 0))

static inline ODEON_UNUSED_ int odeon_has_groups_(const struct odeon_context *ctx)
{
    return ctx->host->struct_size >= offsetof(struct odeon_host, publish) + sizeof(void *);
}

static inline ODEON_UNUSED_ int odeon_join(struct odeon_context *ctx, const char *group)
{
    return odeon_has_groups_(ctx) ? (ctx->host->join)(ctx, group) : -ENOSYS;
}

static inline ODEON_UNUSED_ int odeon_leave(struct odeon_context *ctx, const char *group)
{
    return odeon_has_groups_(ctx) ? (ctx->host->leave)(ctx, group) : -ENOSYS;
}

static inline ODEON_UNUSED_ int odeon_publish_(struct odeon_context *ctx, const char *group,
                                               uint32_t type, const void *data, size_t size)
{
    return odeon_has_groups_(ctx) ? (ctx->host->publish)(ctx, group, type, data, size, NULL, 0)
                                  : -ENOSYS;
}

#endif
