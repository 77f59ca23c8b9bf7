/* SPDX-License-Identifier: Apache-2.0 */
/* odeonctl doctor: everything that is wrong or slow here, in the order of harm, each with what
 * mends it. */
#include "client-lib/ctl/doctor/doctor.h"
#include "client-lib/ctl/output.h"
#include "client-lib/ctl/printable.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static const char *const harm_names[] = {
    [HARM_BROKEN] = "broken", [HARM_BAD] = "bad", [HARM_SLOW] = "slow", [HARM_NOTE] = "note"
};

void doctor_find(struct doctor *doctor, enum harm harm, const char *about, const char *mend,
                 const char *format, ...)
{
    struct finding *more = reallocarray(doctor->findings, doctor->n + 1, sizeof(*more));
    char *what = NULL;
    va_list args;

    if (more)
        doctor->findings = more;
    va_start(args, format);
    if (vasprintf(&what, format, args) < 0)
        what = NULL;
    va_end(args);
    mend = strdup(mend);
    if (!more || !what || !mend) {
        free(what);
        free((char *)mend);
        doctor->failed = true;
        return;
    }
    more[doctor->n++] =
        (struct finding){ .harm = harm, .about = about, .what = what, .mend = (char *)mend };
}

void doctor_skip(struct doctor *doctor, const char *what, int error)
{
    const char *why = odeon_error_text();

    doctor_find(doctor, HARM_NOTE, "not-looked-at",
                ctl_exit_of(error) == CTL_VERSION
                    ? "use the odeonctl that belongs to the running service"
                    : "run odeonctl doctor as the user of the service, or as root",
                "%s: not looked at: %s", what, why && *why ? why : odeon_strerror(error));
}

/* Who may not use the socket cannot tell whether anything is wrong behind it. */
static void doctor_tell_unreachable(struct doctor *doctor, int code, const char *why)
{
    if (code == CTL_REFUSED)
        doctor_find(doctor, HARM_NOTE, "not-looked-at",
                    "run odeonctl doctor as the user of the service, or as root", "%s", why);
    else
        doctor_find(doctor, HARM_BROKEN, "unreachable",
                    code == CTL_VERSION ? "systemctl restart odeond" : "systemctl start odeond",
                    "%s", why);
}

/* The connection's own words, which go to standard error otherwise, are the finding. */
static bool doctor_connect(struct doctor *doctor)
{
    FILE *err = doctor->ctl->err;
    char *text = NULL, *at;
    size_t size;
    int code;

    doctor->ctl->err = open_memstream(&text, &size);
    if (!doctor->ctl->err) {
        doctor->ctl->err = err;
        doctor->failed = true;
        return false;
    }
    code = ctl_connect(doctor->ctl);
    fclose(doctor->ctl->err);
    doctor->ctl->err = err;
    if (code) {
        at = strncmp(text, "odeonctl: ", 10) == 0 ? text + 10 : text;
        at[strcspn(at, "\n")] = '\0';
        doctor_tell_unreachable(doctor, code, at);
    }
    free(text);
    return code == 0;
}

/* ctl.C2: names of clients, types and plugins are in these texts. */
static void doctor_print_for_people(struct ctl *ctl, const struct doctor *doctor)
{
    for (size_t i = 0; i < doctor->n; i++) {
        const struct finding *f = &doctor->findings[i];

        fprintf(ctl->out, "%s%s%s: ", output_bold(ctl, true), harm_names[f->harm],
                output_bold(ctl, false));
        printable_put(ctl->out, f->what, false);
        fputs("\n    ", ctl->out);
        printable_put(ctl->out, f->mend, false);
        fputc('\n', ctl->out);
    }
    if (doctor->n == 0)
        fprintf(ctl->out, "Nothing is wrong that can be seen from here.\n");
}

static void doctor_print_json(struct ctl *ctl, const struct doctor *doctor)
{
    struct json json;

    json_begin_document(&json, ctl->out);
    json_begin_array(&json, "findings");
    for (size_t i = 0; i < doctor->n; i++) {
        json_begin_object(&json, NULL);
        json_string(&json, "harm", harm_names[doctor->findings[i].harm]);
        json_string(&json, "about", doctor->findings[i].about);
        json_string(&json, "what", doctor->findings[i].what);
        json_string(&json, "mend", doctor->findings[i].mend);
        json_end_object(&json);
    }
    json_end_array(&json);
    json_end_document(&json);
}

/* Those that do the same harm stay in the order in which they were found. */
static void doctor_sort(struct doctor *doctor)
{
    for (size_t i = 1; i < doctor->n; i++) {
        struct finding moved = doctor->findings[i];
        size_t at = i;

        for (; at > 0 && doctor->findings[at - 1].harm > moved.harm; at--)
            doctor->findings[at] = doctor->findings[at - 1];
        doctor->findings[at] = moved;
    }
}

int ctl_doctor(struct ctl *ctl)
{
    struct doctor doctor = { .ctl = ctl };
    int code;

    if (doctor_connect(&doctor)) {
        doctor_look_at_service(&doctor);
        doctor_look_at_plugins(&doctor);
    }
    doctor_look_at_counters(&doctor);
    doctor_look_at_machine(&doctor, "");
    doctor_sort(&doctor);
    if (ctl->json)
        doctor_print_json(ctl, &doctor);
    else
        doctor_print_for_people(ctl, &doctor);
    code = doctor.n && doctor.findings[0].harm <= HARM_BAD ? CTL_ILL : CTL_DONE;
    if (doctor.failed)
        code = ctl_fail(ctl, CTL_REFUSED, "not all is told: no memory. Free memory and try again");
    for (size_t i = 0; i < doctor.n; i++) {
        free(doctor.findings[i].what);
        free(doctor.findings[i].mend);
    }
    free(doctor.findings);
    return code;
}
