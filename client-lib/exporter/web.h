/* SPDX-License-Identifier: Apache-2.0 */
/* What is answered to a request.
 *
 * One thread.
 *
 * web.W1  Whether the service runs or not, metrics are answered with what is known.
 * web.W2  Answers that nobody reads are bounded in bytes of memory, all of them together. Beyond
 *     WEB_UNREAD_MOST, who has been reading longest is ended for each that is answered; where those
 *     who were ended have not gone yet, nobody is answered beyond WEB_UNREAD_LIMIT. So there is at
 *     most that and one answer more.
 */
#pragma once

#include <microhttpd.h>

#include "client-lib/exporter/asked.h"
#include "client-lib/exporter/door.h"
#include "client-lib/exporter/figures.h"
#include "client-lib/exporter/guard.h"
#include "client-lib/exporter/observed.h"
#include "client-lib/exporter/tally.h"

enum { WEB_UNREAD_MOST = 32 << 20, WEB_UNREAD_LIMIT = 2 * WEB_UNREAD_MOST };

struct web {
    const struct guard *guard;
    struct figures *figures;
    struct observed *observed;
    struct door *door;
    struct asked *asked;
    struct tally *tally;
    size_t unread; /* bytes that answers take that have not been sent as a whole */
};

/* What libmicrohttpd wants for MHD_AccessHandlerCallback and MHD_OPTION_NOTIFY_COMPLETED; `cls`:
 * the web. */
enum MHD_Result web_handle(void *cls, struct MHD_Connection *connection, const char *url,
                           const char *method, const char *version, const char *upload,
                           size_t *upload_size, void **request);
void web_completed(void *cls, struct MHD_Connection *connection, void **request,
                   enum MHD_RequestTerminationCode how);
