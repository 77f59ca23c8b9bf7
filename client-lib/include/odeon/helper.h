/* SPDX-License-Identifier: Apache-2.0 */
/* libodeon: requests that do not block, for programs with an event loop.
 *
 * Posting and receiving never block, and a port has a descriptor to poll. What does block are
 * requests: connecting, finding and making actors, opening ports, all of <odeon/admin.h>. A helper
 * makes them in a thread of its own, one behind the other, and has a descriptor that becomes
 * readable when some have ended:
 *
 *     static int find(void *of)                    in the helper's thread
 *     {
 *         struct mine *mine = of;
 *         return odeon_actor_find(mine->client, "counter", &mine->counter);
 *     }
 *     static void found(void *of, int result, const char *text)      in the loop's
 *     ...
 *     odeon_helper_call(helper, find, found, mine);
 *
 * The helper's thread has all signals blocked. fork(): a helper does not survive into a child,
 * where its calls return -ECHILD, and odeon_helper_free() frees its memory and calls nobody.
 */
#ifndef ODEON_HELPER_H
#define ODEON_HELPER_H

#include <odeon/message.h>

#ifdef __cplusplus
extern "C" {
#endif

struct odeon_helper;

/* What is to be done, in the helper's thread: it may make any call of the library that its program
 * may make in another thread, and blocks as long as that does. Returns 0 or more, or a negative
 * errno. */
typedef int odeon_helper_work(void *userdata);
/* It has been done, with `result`; `text`: what odeon_error_text() said there, of a negative one,
 * else "". Called once for each, by odeon_helper_dispatch() or odeon_helper_free(), in the order in
 * which they were asked for. */
typedef void odeon_helper_done(void *userdata, int result, const char *text);

/* Starts the thread. -ENOMEM, -EMFILE, -EAGAIN: no memory, descriptor or thread. Any thread. */
ODEON_API int odeon_helper_new(struct odeon_helper **ret_helper);
/* Waits for what is under way, as long as that takes; what had not begun is not done (-ECANCELED).
 * Calls `done` for all of these and for those that ended before, in this thread; not from there.
 * NULL is fine. Returns NULL. */
ODEON_API struct odeon_helper *odeon_helper_free(struct odeon_helper *helper);
/* Readable while something has ended that odeon_helper_dispatch() has not told of. Only for poll():
 * the helper owns it. */
ODEON_API int odeon_helper_fd(const struct odeon_helper *helper);
/* Asks for it, and returns at once. `userdata` stays the caller's, and must live until `done`;
 * `done` NULL: nobody is told. Any thread, `work` and `done` of this helper included. -EBUSY: 1,024
 * have been asked for and not been told of. -ECANCELED, from those two: odeon_helper_free() has
 * begun. What is refused is not done, and `done` is not called for it. */
ODEON_API int odeon_helper_call(struct odeon_helper *helper, odeon_helper_work *work,
                                odeon_helper_done *done, void *userdata);
/* Calls `done` for what has ended, without waiting: how many. One thread at a time, and not from
 * `done`. */
ODEON_API int odeon_helper_dispatch(struct odeon_helper *helper);

#ifdef __cplusplus
}
#endif

#endif
