/* SPDX-License-Identifier: Apache-2.0 */
/* An executor of another build, as far as odeond can tell: it answers Start in a version of the
 * protocol of its own, and touches nothing. What it is asked on its command line the one of this
 * build answers.
 *
 * The environment says what it does (child.h passes it on): OTHER_PROTOCOL is its version;
 * OTHER_ANSWER is `ready`, which it then stays, or `refuse`, upon which it ends. */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/common/frame.h"
#include "proto/control.pb-c.h"

enum { CONTROL_FD = 3, REFUSED = 5 };

static int other_executor_answer(uint64_t command)
{
    const char *version = getenv("OTHER_PROTOCOL"), *answer = getenv("OTHER_ANSWER");
    Odeon__Report report = ODEON__REPORT__INIT;
    Odeon__Ok ok = ODEON__OK__INIT;
    bool ready = answer && strcmp(answer, "ready") == 0;

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
            status = other_executor_answer(command->id);
        odeon__command__free_unpacked(command, NULL);
        frame_fini(&frame);
    }
    return status;
}
