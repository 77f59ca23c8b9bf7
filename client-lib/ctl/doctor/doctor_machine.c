/* SPDX-License-Identifier: Apache-2.0 */
/* The service's processes and their machine, by what the kernel tells about them. Files that may
 * not be read are left out; what they would say is no secret of the service. */
#include "client-lib/ctl/doctor/doctor.h"
#include "client-lib/ctl/output.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What the packaged unit has; a client takes some descriptors, a port seven more. */
enum { DOCTOR_FILES = 4096 };

/* A file of the kernel's, to be freed; NULL: it cannot be read. */
static char *doctor_read(const char *root, const char *path)
{
    char name[PATH_MAX], *text = NULL;
    size_t room = 0;
    FILE *file;

    snprintf(name, sizeof(name), "%s%s", root, path);
    file = fopen(name, "re");
    if (!file)
        return NULL;
    if (getdelim(&text, &room, '\0', file) < 0) {
        free(text);
        text = NULL;
    }
    fclose(file);
    return text;
}

static char *doctor_read_of_process(const char *root, uint32_t pid, const char *file)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%" PRIu32 "/%s", pid, file);
    return doctor_read(root, path);
}

/* Where the value of a line that begins with `key` begins; NULL: there is none. */
static const char *doctor_value(const char *text, const char *key)
{
    size_t n = strlen(key);

    for (const char *line = text; line && *line;) {
        const char *end = strchr(line, '\n');

        if (strncmp(line, key, n) == 0)
            return line + n + strspn(line + n, " \t");
        line = end ? end + 1 : NULL;
    }
    return NULL;
}

/* How many processors a list such as 0-3,8 names. */
static unsigned doctor_count_processors(const char *list)
{
    unsigned n = 0;

    while (*list >= '0' && *list <= '9') {
        char *end;
        unsigned long first = strtoul(list, &end, 10), last = first;

        if (*end == '-')
            last = strtoul(end + 1, &end, 10);
        n += last >= first ? (unsigned)(last - first + 1) : 0;
        list = *end == ',' ? end + 1 : end;
    }
    return n;
}

static void doctor_look_at_executor(struct doctor *doctor, const char *root)
{
    char *status = doctor_read_of_process(root, doctor->executor_pid, "status");
    const char *allowed = doctor_value(status, "Cpus_allowed_list:"),
               *swapped = doctor_value(status, "VmSwap:");
    unsigned processors = allowed ? doctor_count_processors(allowed) : 0;
    uint64_t swap = swapped ? strtoull(swapped, NULL, 10) * 1024 : 0;
    char bytes[OUTPUT_BYTES_TEXT], mend[64];

    if (processors > 0 && doctor->workers > processors) {
        snprintf(mend, sizeof(mend), "odeonctl executor set workers=%u", processors);
        doctor_find(doctor, HARM_SLOW, "processors", mend,
                    "%u workers share the %u processors that the service may use", doctor->workers,
                    processors);
    }
    if (swap > 0)
        doctor_find(doctor, HARM_SLOW, "swap", "MemorySwapMax=0 in the unit, or more memory",
                    "%s of the executor are swapped out", output_format_bytes(swap, bytes));
    free(status);
}

static void doctor_look_at_limits(struct doctor *doctor, const char *root)
{
    char *limits = doctor_read_of_process(root, doctor->supervisor_pid, "limits");
    const char *files = doctor_value(limits, "Max open files"),
               *core = doctor_value(limits, "Max core file size");

    if (files && *files >= '0' && *files <= '9' && strtoull(files, NULL, 10) < DOCTOR_FILES)
        doctor_find(doctor, HARM_BAD, "descriptors",
                    "LimitNOFILE=16384 in the unit, then systemctl restart odeond",
                    "the service may open %" PRIu64 " files: enough for few clients",
                    (uint64_t)strtoull(files, NULL, 10));
    if (core && strncmp(core, "0 ", 2) == 0)
        doctor_find(doctor, HARM_NOTE, "core", "LimitCORE=infinity in the unit",
                    "a handler that faults leaves no core file");
    free(limits);
}

/* A program that was replaced while it runs: what was installed is not what serves. */
static void doctor_look_at_program(struct doctor *doctor, const char *root)
{
    static const char gone[] = " (deleted)";
    char link[PATH_MAX], target[PATH_MAX];
    ssize_t n;

    snprintf(link, sizeof(link), "%s/proc/%" PRIu32 "/exe", root, doctor->supervisor_pid);
    n = readlink(link, target, sizeof(target) - 1);
    if (n < (ssize_t)sizeof(gone))
        return;
    target[n] = '\0';
    if (strcmp(target + n - (sizeof(gone) - 1), gone) == 0)
        doctor_find(doctor, HARM_NOTE, "replaced", "systemctl restart odeond",
                    "the program that runs has been replaced on the disk: what was installed does "
                    "not serve yet");
}

/* Only a manager that has given it a unit keeps its descriptors while odeond itself is started
 * anew. */
static void doctor_look_at_manager(struct doctor *doctor, const char *root)
{
    char *group = doctor_read_of_process(root, doctor->supervisor_pid, "cgroup");

    if (group && !strstr(group, ".service"))
        doctor_find(doctor, HARM_NOTE, "by-hand", "systemctl start odeond",
                    "odeond was started by hand: nobody keeps what waits when odeond itself "
                    "ends (the descriptor store)");
    free(group);
}

static void doctor_look_at_pages(struct doctor *doctor, const char *root)
{
    char *pages = doctor_read(root, "/sys/kernel/mm/transparent_hugepage/shmem_enabled");

    if (pages && (strstr(pages, "[never]") || strstr(pages, "[deny]")))
        doctor_find(doctor, HARM_NOTE, "huge-pages",
                    "echo advise > /sys/kernel/mm/transparent_hugepage/shmem_enabled",
                    "the kernel gives shared memory no huge pages: with very many actors, looking "
                    "one up takes longer");
    free(pages);
}

void doctor_look_at_machine(struct doctor *doctor, const char *root)
{
    if (doctor->executor_pid)
        doctor_look_at_executor(doctor, root);
    if (doctor->supervisor_pid) {
        doctor_look_at_limits(doctor, root);
        doctor_look_at_program(doctor, root);
        doctor_look_at_manager(doctor, root);
    }
    doctor_look_at_pages(doctor, root);
}
