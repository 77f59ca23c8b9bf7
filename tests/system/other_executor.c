/* SPDX-License-Identifier: Apache-2.0 */
/* An executor of another build, as far as odeond can tell: it answers Start in a version of the
 * protocol of its own, and touches nothing. What it is asked on its command line the one of this
 * build answers.
 *
 * The environment says what it does (child.h passes it on): OTHER_PROTOCOL is its version;
 * OTHER_ANSWER is `ready`, which it then stays; `refuse`, upon which it ends; or `ports`: it takes
 * the ports that it is given, says so in the log, and never becomes ready; and says there when it
 * is told that the death before is explained. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/common/frame.h"
#include "proto/control.pb-c.h"
#include "proto/reference.h"

enum { CONTROL_FD = 3, REFUSED = 5 };

static bool other_executor_does(const char *what)
{
    const char *answer = getenv("OTHER_ANSWER");

    return answer && strcmp(answer, what) == 0;
}

static int other_executor_answer(uint64_t command, const Odeon__Start *start)
{
    const char *version = getenv("OTHER_PROTOCOL");
    Odeon__Report report = ODEON__REPORT__INIT;
    Odeon__Ok ok = ODEON__OK__INIT;
    bool ready = other_executor_does("ready");

    if (other_executor_does("ports")) {
        if (start->death_explained)
            fprintf(stderr, "other executor %d looks for no suspects\n", (int)getpid());
        fprintf(stderr, "other executor %d waits for %u ports\n", (int)getpid(), start->ports);
        return 0;
    }
    report.id = command;
    report.protocol = version ? (uint32_t)strtoul(version, NULL, 10) : 0;
    if (ready) {
        report.body_case = ODEON__REPORT__BODY_READY;
        report.ready = &ok;
    } else {
        report.error = -EPROTO;
        report.text = (char *)"these are its own words";
    }
    if (frame_send(CONTROL_FD, &report.base, NULL, 0) < 0)
        return 1;
    return ready ? 0 : REFUSED;
}

/* As if the port were there. */
static int other_executor_take_port(const Odeon__Command *command)
{
    Odeon__Report report = ODEON__REPORT__INIT;
    Odeon__RefReply port = ODEON__REF_REPLY__INIT;

    report.id = command->id;
    report.body_case = ODEON__REPORT__BODY_PORT;
    report.port = &port;
    port.ref = actor_ref_make((uint32_t)command->port_add->port_id, 1);
    if (frame_send(CONTROL_FD, &report.base, NULL, 0) < 0)
        return 1;
    fprintf(stderr, "other executor %d has port %llu\n", (int)getpid(),
            (unsigned long long)command->port_add->port_id);
    return 0;
}

int main(int argc, char **argv)
{
    static struct frame frame;
    int status = 0;

    if (argc > 1 && strncmp(argv[1], "--print", 7) == 0) {
        execv(TEST_EXECUTOR, argv);
        return 1;
    }
    while (status == 0 && frame_receive(CONTROL_FD, &frame) > 0) {
        Odeon__Command *command = odeon__command__unpack(NULL, frame.size, frame.data);

        if (!command)
            return 1;
        if (command->body_case == ODEON__COMMAND__BODY_START)
            status = other_executor_answer(command->id, command->start);
        else if (command->body_case == ODEON__COMMAND__BODY_PORT_ADD &&
                 other_executor_does("ports"))
            status = other_executor_take_port(command);
        odeon__command__free_unpacked(command, NULL);
        frame_fini(&frame);
    }
    return status;
}
