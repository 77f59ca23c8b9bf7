/* SPDX-License-Identifier: Apache-2.0 */
/* How much memory answers may take that nobody reads. libmicrohttpd is made up here: it keeps what
 * it is given until a test says that it has been read. */
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "client-lib/exporter/web.h"

struct MHD_Response {
    void *bytes, *cls;
    MHD_ContentReaderFreeCallback free;
};

static struct MHD_Response given;
static unsigned status;
static struct figures figures;
static struct observed observed;
static struct asked asked;
static struct guard guard;
static struct tally tally;
static struct door door;
static struct web web;
static int ends[2];

/* ---- a library without connections */

struct MHD_Response *MHD_create_response_from_buffer(size_t size, void *buffer,
                                                     enum MHD_ResponseMemoryMode mode)
{
    (void)size;
    (void)mode;
    given = (struct MHD_Response){ .bytes = buffer };
    return &given;
}

/* By the linker: releases of the library do not agree on the buffer's type. */
struct MHD_Response *__wrap_MHD_create_response_from_buffer_with_free_callback_cls(
    size_t size, void *buffer, MHD_ContentReaderFreeCallback callback, void *cls);

struct MHD_Response *__wrap_MHD_create_response_from_buffer_with_free_callback_cls(
    size_t size, void *buffer, MHD_ContentReaderFreeCallback callback, void *cls)
{
    (void)size;
    given = (struct MHD_Response){ .bytes = buffer, .cls = cls, .free = callback };
    return &given;
}

enum MHD_Result MHD_add_response_header(struct MHD_Response *response, const char *header,
                                        const char *content)
{
    (void)response;
    (void)header;
    (void)content;
    return MHD_YES;
}

enum MHD_Result MHD_queue_response(struct MHD_Connection *connection, unsigned int code,
                                   struct MHD_Response *response)
{
    (void)connection;
    assert_ptr_equal(response, &given);
    status = code;
    return MHD_YES;
}

void MHD_destroy_response(struct MHD_Response *response)
{
    (void)response;
}

const char *MHD_lookup_connection_value(struct MHD_Connection *connection, enum MHD_ValueKind kind,
                                        const char *key)
{
    (void)connection;
    (void)kind;
    return strcmp(key, "Host") == 0 ? "localhost" : NULL;
}

const union MHD_ConnectionInfo *MHD_get_connection_info(struct MHD_Connection *connection,
                                                        enum MHD_ConnectionInfoType type, ...)
{
    (void)connection;
    (void)type;
    return NULL;
}

/* ---- */

static unsigned get(const char *url)
{
    size_t size = 0;
    void *request = NULL;

    status = 0;
    for (int i = 0; i < 2; i++)
        assert_int_equal(web_handle(&web, NULL, url, "GET", "HTTP/1.1", NULL, &size, &request),
                         MHD_YES);
    return status;
}

static void read_answer(void)
{
    if (given.free)
        given.free(given.cls);
    given.free = NULL;
}

static int begin(void **state)
{
    (void)state;
    tally = (struct tally){ .scrapes = 0 };
    figures_init(&figures, "/nowhere/stats");
    door_init(&door, &tally);
    web = (struct web){ .guard = &guard,
                        .figures = &figures,
                        .observed = &observed,
                        .door = &door,
                        .asked = &asked,
                        .tally = &tally };
    return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends);
}

static int end(void **state)
{
    (void)state;
    figures_fini(&figures);
    close(ends[0]);
    close(ends[1]);
    return 0;
}

/* Somebody who has been answered and reads. */
static void have_reader(void)
{
    door.connections[0] = (struct door_connection){ .phase = DOOR_ANSWERED, .fd = ends[0] };
}

static void test_all_of_an_answers_memory_is_counted(void **state)
{
    (void)state;
    assert_int_equal(get("/metrics"), MHD_HTTP_OK);
    assert_true(web.unread + 64 >= malloc_usable_size(given.bytes));
    read_answer();
    assert_int_equal(web.unread, 0);
}

static void test_unread_answers_have_a_bound(void **state)
{
    (void)state;
    have_reader();
    web.unread = WEB_UNREAD_MOST;
    assert_int_equal(get("/metrics"), MHD_HTTP_OK);
    read_answer();
    assert_false(door.connections[0].ended);

    web.unread = WEB_UNREAD_MOST + 1;
    assert_int_equal(get("/metrics"), MHD_HTTP_OK);
    read_answer();
    assert_true(door.connections[0].ended);
    /* there is nobody else whose end would make room */
    assert_int_equal(get("/metrics"), MHD_HTTP_SERVICE_UNAVAILABLE);
    assert_int_equal(tally.refused[TALLY_BUSY], 1);

    /* those who have been ended have not gone yet: as many may come at once as there are */
    have_reader();
    web.unread = WEB_UNREAD_LIMIT;
    assert_int_equal(get("/metrics"), MHD_HTTP_OK);
    read_answer();
    have_reader();
    web.unread = WEB_UNREAD_LIMIT + 1;
    assert_int_equal(get("/metrics"), MHD_HTTP_SERVICE_UNAVAILABLE);
    assert_int_equal(tally.refused[TALLY_BUSY], 2);
    assert_true(door.connections[0].ended); /* and yet one goes: the others may hold nothing each */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_all_of_an_answers_memory_is_counted, begin, end),
        cmocka_unit_test_setup_teardown(test_unread_answers_have_a_bound, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
