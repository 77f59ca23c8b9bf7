/* SPDX-License-Identifier: Apache-2.0 */
/* The loop of `odeonctl top` (program.h). */
#include "client-lib/ctl/top/program.h"
#include "client-lib/ctl/ctl.h"
#include "client-lib/ctl/top/asker.h"
#include "client-lib/ctl/top/browse.h"
#include "client-lib/ctl/top/draw.h"
#include "client-lib/ctl/top/screen.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

struct program {
    struct browse browse;
    struct asker *asker;
    int signals;     /* a signalfd */
    sigset_t before; /* the mask */
    int ended_by;    /* a signal; 0: none */
    bool unicode;
};

bool program_can_run(const struct ctl *ctl)
{
    const char *term = getenv("TERM");

    return ctl->terminal && ctl->out == stdout && isatty(STDIN_FILENO) == 1 && term && *term &&
           strcmp(term, "dumb") != 0;
}

/* ---- signals ---- */

static int program_block_signals(struct program *program)
{
    static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT, SIGWINCH };
    sigset_t set;

    sigemptyset(&set);
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
        sigaddset(&set, signals[i]);
    sigprocmask(SIG_BLOCK, &set, &program->before);
    program->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return program->signals < 0 ? -errno : 0;
}

static void program_set_back_signals(struct program *program)
{
    if (program->signals >= 0)
        close(program->signals);
    sigprocmask(SIG_SETMASK, &program->before, NULL);
}

/* Stands still until it is in the foreground again, with the terminal as it was. */
static void program_stand_still(void)
{
    sigset_t stop, before;

    screen_leave();
    sigemptyset(&stop);
    sigaddset(&stop, SIGTSTP);
    sigprocmask(SIG_UNBLOCK, &stop, &before);
    (void)raise(SIGTSTP);
    sigprocmask(SIG_SETMASK, &before, NULL);
    screen_return();
}

static void program_take_signals(struct program *program)
{
    struct signalfd_siginfo info;

    while (read(program->signals, &info, sizeof(info)) == (ssize_t)sizeof(info))
        switch (info.ssi_signo) {
        case SIGTSTP:
            program_stand_still();
            break;
        case SIGCONT: /* also of who was stopped without a question */
            screen_return();
            break;
        case SIGWINCH:
            screen_resize();
            break;
        default:
            program->ended_by = (int)info.ssi_signo;
            break;
        }
}

/* ---- keys and looks ---- */

/* False: nobody will ever press a key again. */
static bool program_take_keys(struct program *program, short events)
{
    wint_t key;
    int n = 0;

    if (!events)
        return true;
    if (events & (POLLERR | POLLHUP | POLLNVAL))
        return false;
    if (ioctl(STDIN_FILENO, FIONREAD, &n) < 0 || n == 0)
        return false;
    while (!program->browse.is_over && screen_key(&key))
        browse_press(&program->browse, key);
    return true;
}

static void program_draw(struct program *program)
{
    struct draw draw = { .browse = &program->browse, .unicode = program->unicode };
    struct frame frame;
    unsigned lines, columns;

    screen_size(&lines, &columns);
    frame_init(&frame, lines, columns);
    draw.frame = &frame;
    draw_all(&draw);
    screen_show(&frame);
    frame_fini(&frame);
}

static void program_loop(struct program *program)
{
    struct pollfd looks[3] = { { .fd = STDIN_FILENO, .events = POLLIN },
                               { .fd = asker_fd(program->asker), .events = POLLIN },
                               { .fd = program->signals, .events = POLLIN } };

    while (!program->browse.is_over && !program->ended_by) {
        struct look *look;

        program_draw(program);
        if (poll(looks, 3, -1) < 0)
            continue; /* EINTR */
        program_take_signals(program);
        if (program->ended_by)
            return;
        if (!program_take_keys(program, looks[0].revents))
            return;
        look = looks[1].revents ? asker_take(program->asker) : NULL;
        if (look)
            browse_take(&program->browse, look);
        asker_wish(program->asker, program->browse.at.view, program->browse.is_paused);
    }
}

/* ---- all of it ---- */

static int program_begin(struct program *program, struct ctl *ctl,
                         const struct program_options *options)
{
    if (program_block_signals(program) < 0)
        return ctl_fail(ctl, CTL_REFUSED, "cannot begin: no descriptor for signals (%s)",
                        strerror(errno));
    /* Who waits for a service that does not answer is told so soon, also while it connects. */
    (void)setenv("ODEON_TIMEOUT_MS", "2000", 0);
    if (!screen_open())
        return ctl_fail(ctl, CTL_USAGE,
                        "the terminal '%s' is not known here. Set TERM, or write --batch",
                        getenv("TERM"));
    program->asker = asker_start(ctl, options->seconds, options->view);
    if (program->asker)
        return 0;
    screen_close();
    return ctl_fail(ctl, CTL_REFUSED,
                    "cannot begin: no memory, or no thread. Free memory and try "
                    "again");
}

int program_run(struct ctl *ctl, const struct program_options *options)
{
    struct program program = { .signals = -1, .unicode = screen_is_unicode() };
    int code = program_begin(&program, ctl, options);

    if (!code) {
        browse_init(&program.browse, options->view, options->by, options->seconds);
        program_loop(&program);
        screen_close();
        asker_stop(program.asker);
        browse_fini(&program.browse);
    }
    program_set_back_signals(&program);
    if (program.ended_by)
        (void)raise(program.ended_by);
    return code;
}
