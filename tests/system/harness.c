/* SPDX-License-Identifier: Apache-2.0 */
/* See harness.h. */
#include "tests/system/harness.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/run/scratch.h"

enum { SERVICES_MAX = 8, WORDS_MAX = 64 };

/* What atexit() cleans up: copies, since a test that fails leaves its own behind on a stack that is
 * no more. */
static struct service running[SERVICES_MAX];

int64_t time_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void pause_briefly(void)
{
    nanosleep(&(struct timespec){ .tv_nsec = 500000 }, NULL);
}

static void remove_dir(const char *dir)
{
    DIR *entries = opendir(dir);

    if (!entries)
        return;
    for (struct dirent *entry; (entry = readdir(entries)) != NULL;)
        /* `.` and `..` are directories: nothing happens */
        unlinkat(dirfd(entries), entry->d_name, 0);
    closedir(entries);
    rmdir(dir);
}

static void print_log(const struct service *service)
{
    char *log = service_read_log(service);
    size_t n = strlen(log), shown = 6000;

    fprintf(stderr, "--- log of odeond%s\n%s---\n", n > shown ? " (its end)" : "",
            n > shown ? log + n - shown : log);
    free(log);
}

static void end_at_exit(void)
{
    for (unsigned i = 0; i < SERVICES_MAX; i++)
        if (running[i].pid > 0) {
            struct service service = running[i];

            print_log(&service); /* a test that went well ends its service by itself */
            service.figures = NULL;
            service_end(&service);
        }
}

static void remember(const struct service *service)
{
    static bool registered;

    if (!registered)
        atexit(end_at_exit);
    registered = true;
    for (unsigned i = 0; i < SERVICES_MAX; i++)
        if (running[i].pid == 0) {
            running[i] = *service;
            return;
        }
    fail_msg("more than %d services", SERVICES_MAX);
}

static void forget(pid_t pid)
{
    for (unsigned i = 0; i < SERVICES_MAX; i++)
        if (running[i].pid == pid)
            running[i].pid = 0;
}

void service_configure(const struct service *service, const char *text)
{
    char path[96];
    int fd;

    snprintf(path, sizeof(path), "%s/conf", service->dir);
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

void service_make_dir(struct service *service)
{
    const char *parent = getenv("TMPDIR");

    /* a slow machine may take as long for a request as for anything */
    (void)setenv("ODEON_TIMEOUT_MS", SERVICE_TIMEOUT_MS, 0);
    *service = (struct service){ .own_dir = true };
    if (!parent || strlen(parent) > 24) /* a socket's path is short */
        parent = "/tmp";
    snprintf(service->dir, sizeof(service->dir), "%s/odeon-test.XXXXXX", parent);
    if (!scratch_make(service->dir))
        fail_msg("%s: %s", service->dir, strerror(errno));
    snprintf(service->socket, sizeof(service->socket), "%s/control.sock", service->dir);
    snprintf(service->stats, sizeof(service->stats), "%s/stats", service->dir);
    snprintf(service->log, sizeof(service->log), "%s/log", service->dir);
    service_configure(service, "");
}

static bool become_user(const struct service *service)
{
    const struct rlimit limit = { service->descriptors, service->descriptors };

    return service->uid == 0 || (setrlimit(RLIMIT_NOFILE, &limit) == 0 && setgroups(0, NULL) == 0 &&
                                 setresgid(service->uid, service->uid, service->uid) == 0 &&
                                 setresuid(service->uid, service->uid, service->uid) == 0);
}

static void __attribute__((noreturn))
become_odeond(const struct service *service, char **words, pid_t parent)
{
    int log = open(service->log, O_WRONLY | O_CREAT | O_APPEND, 0600),
        null = open("/dev/null", O_RDONLY);

    if (log >= 0 && null >= 0 && dup2(log, 1) >= 0 && dup2(log, 2) >= 0 && dup2(null, 0) >= 0 &&
        become_user(service) && prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == parent)
        execv(words[0], words);
    _exit(126);
}

void service_spawn(struct service *service, const char *const *arguments)
{
    char config[96];
    char *words[WORDS_MAX] = { (char *)TEST_ODEOND, (char *)"--foreground", (char *)"--runtime-dir",
                               service->dir,        (char *)"--config",     config };
    pid_t parent = getpid();
    unsigned n = 6;

    /* empty: not what is installed on this machine */
    snprintf(config, sizeof(config), "%s/conf", service->dir);

    for (; arguments && *arguments; arguments++) {
        assert_true(n < WORDS_MAX - 1);
        words[n++] = (char *)*arguments;
    }
    service->pid = fork();
    assert_true(service->pid >= 0);
    if (service->pid == 0)
        become_odeond(service, words, parent);
    remember(service);
}

static bool has_ended(const struct service *service, siginfo_t *ret_how)
{
    *ret_how = (siginfo_t){ 0 };
    return waitid(P_PID, (id_t)service->pid, ret_how, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           ret_how->si_pid == service->pid;
}

/* Ready: a client is admitted and the state is what it says. */
static bool is_ready(struct service *service)
{
    struct odeon_status *status = NULL;
    struct odeon_client *client = NULL;
    bool ready = false;

    if (odeon_client_connect(service->socket, "harness", &client) < 0)
        return false;
    if (odeon_service_status(client, &status) == 0) {
        ready = strcmp(status->state, "running") == 0;
        odeon_result_free(status);
    }
    odeon_client_disconnect(client);
    return ready;
}

void service_wait_ready(struct service *service)
{
    int64_t end = time_ns() + SECONDS(PATIENCE_S);
    siginfo_t how;

    while (!is_ready(service)) {
        if (has_ended(service, &how)) {
            print_log(service);
            fail_msg("odeond has ended instead of becoming ready: %s %d",
                     how.si_code == CLD_EXITED ? "status" : "signal", how.si_status);
        }
        if (time_ns() > end) {
            print_log(service);
            fail_msg("odeond has not become ready within %d s", PATIENCE_S);
        }
        pause_briefly();
    }
}

void service_start(struct service *service, const char *const *arguments)
{
    service_make_dir(service);
    service_spawn(service, arguments);
    service_wait_ready(service);
}

int service_wait_end(struct service *service)
{
    int status = 0;
    siginfo_t how;

    if (!wait_until(has_ended(service, &how))) {
        print_log(service);
        fail_msg("odeond has not ended within %d s", PATIENCE_S);
    }
    assert_int_equal(waitpid(service->pid, &status, 0), service->pid);
    forget(service->pid);
    service->pid = 0;
    return status;
}

int service_stop(struct service *service, int signal)
{
    assert_int_equal(kill(service->pid, signal), 0);
    return service_wait_end(service);
}

void service_end(struct service *service)
{
    if (service->pid > 0) {
        forget(service->pid);
        kill(service->pid, SIGKILL);
        while (waitpid(service->pid, NULL, 0) < 0 && errno == EINTR)
            ;
        service->pid = 0;
    }
    service->figures = odeon_stats_close(service->figures);
    if (service->own_dir)
        remove_dir(service->dir);
}

struct odeon_client *service_connect(const struct service *service, const char *name)
{
    struct odeon_client *client = NULL;
    int r = odeon_client_connect(service->socket, name, &client);

    if (r < 0)
        fail_msg("connecting: %s", odeon_error_text());
    return client;
}

struct odeon_port *port_open_or_fail(struct odeon_client *client, uint64_t submission_bytes,
                                     uint64_t delivery_bytes, bool pipe)
{
    struct odeon_port_options options = { .struct_size = sizeof(options),
                                          .pipe = pipe,
                                          .submission_bytes = submission_bytes,
                                          .delivery_bytes = delivery_bytes };
    struct odeon_port *port = NULL;

    if (odeon_port_open(client, &options, &port) < 0)
        fail_msg("opening a port: %s", odeon_error_text());
    return port;
}

uint32_t message_id(struct odeon_client *client, const struct odeon_message_type *type)
{
    uint32_t id = 0;

    if (odeon_message_id(client, type, &id) < 0)
        fail_msg("message type %s: %s", type->name, odeon_error_text());
    return id;
}

odeon_ref spawn(struct odeon_client *client, const char *type, const char *name, const void *args,
                size_t args_size)
{
    odeon_ref ref = ODEON_NOBODY;

    if (odeon_actor_spawn(client, type, name, args, args_size, &ref) < 0)
        fail_msg("spawning %s: %s", type, odeon_error_text());
    assert_true(ref != ODEON_NOBODY);
    return ref;
}

void load_plugin(struct odeon_client *client, const char *path)
{
    if (odeon_plugin_load(client, path) < 0)
        fail_msg("loading %s: %s", path, odeon_error_text());
}

void *service_map_page(const struct service *service, char *ret_path, size_t path_size, size_t size)
{
    void *page;
    int fd;

    assert_in_range(snprintf(ret_path, path_size, "%s/page", service->dir), 1, path_size - 1);
    fd = open(ret_path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, (off_t)size), 0);
    page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_true(page != MAP_FAILED);
    close(fd);
    return page;
}

char *service_read_log(const struct service *service)
{
    int fd = open(service->log, O_RDONLY | O_CLOEXEC);
    struct stat st = { 0 };
    char *text;
    ssize_t n = 0;

    if (fd >= 0 && fstat(fd, &st) < 0)
        st.st_size = 0;
    text = calloc(1, (size_t)st.st_size + 1);
    if (text && fd >= 0)
        n = read(fd, text, (size_t)st.st_size);
    if (fd >= 0)
        close(fd);
    if (!text || n < 0)
        abort();
    return text;
}

unsigned service_log_count(const struct service *service, const char *text)
{
    char *log = service_read_log(service);
    unsigned n = 0;

    for (const char *at = log; (at = strstr(at, text)) != NULL; at += strlen(text))
        n++;
    free(log);
    return n;
}

void service_expect_told_once(const struct service *service, const char *text, int64_t since_ns)
{
    unsigned times = service_log_count(service, text);

    assert_in_range(times, 1, 1 + (time_ns() - since_ns) / SECONDS(60));
}

bool service_log_has(const struct service *service, const char *text)
{
    return service_log_count(service, text) > 0;
}

static struct odeon_stats *open_figures(struct service *service)
{
    if (!service->figures && odeon_stats_open(service->stats, &service->figures) < 0)
        fail_msg("statistics: %s", odeon_error_text());
    return service->figures;
}

uint64_t service_figure(struct service *service, const char *name)
{
    struct odeon_stats *stats = open_figures(service);

    for (size_t i = 0; i < odeon_stats_n(stats); i++)
        if (strcmp(odeon_stats_name(stats, i), name) == 0)
            return (uint64_t)odeon_stats_value(stats, -1, i);
    fail_msg("no statistic is called %s", name);
    return 0;
}

struct odeon_stats_service service_state(struct service *service)
{
    struct odeon_stats_service state = { .struct_size = sizeof(state) };

    assert_int_equal(odeon_stats_service(open_figures(service), &state), 0);
    return state;
}

pid_t service_executor(struct service *service)
{
    pid_t pid = (pid_t)service_state(service).executor_pid;

    assert_true(pid > 0);
    return pid;
}

static bool another_serves(struct service *service, pid_t former)
{
    struct odeon_stats_service state = service_state(service);

    return state.executor_pid != 0 && (pid_t)state.executor_pid != former &&
           strcmp(state.state_name, "running") == 0;
}

void service_wait_executor(struct service *service, pid_t former)
{
    if (!wait_until(another_serves(service, former))) {
        print_log(service);
        fail_msg("no other executor than %d has come", (int)former);
    }
}

void service_kill_executor(struct service *service)
{
    pid_t executor = service_executor(service);

    assert_int_equal(kill(executor, SIGKILL), 0);
    service_wait_executor(service, executor);
}

int ctl(const struct service *service, char *output, size_t size, const char *format, ...)
{
    char arguments[1024], command[2048];
    size_t n = 0;
    va_list args;
    int status;
    FILE *pipe;

    va_start(args, format);
    vsnprintf(arguments, sizeof(arguments), format, args);
    va_end(args);
    snprintf(command, sizeof(command), "exec '%s' --socket '%s' %s 2>&1", TEST_ODEONCTL,
             service->socket, arguments);
    pipe = popen(command, "re");
    assert_non_null(pipe);
    output[0] = '\0';
    for (int c; (c = fgetc(pipe)) != EOF;)
        if (n < size - 1) {
            output[n++] = (char)c;
            output[n] = '\0';
        }
    status = pclose(pipe);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

int executor_set(struct odeon_client *client, const char *const *keys, const char *const *values,
                 size_t n)
{
    int r;

    (void)wait_until((r = odeon_executor_set(client, keys, values, n, NULL)) != -EBUSY ||
                     !strstr(odeon_error_text(), "did not stop within"));
    return r;
}

int ctl_set(const struct service *service, char *output, size_t size, const char *settings)
{
    int status;

    (void)wait_until((status = ctl(service, output, size, "executor set %s", settings)) == 0 ||
                     !strstr(output, "did not stop within"));
    return status;
}

int unload_plugin(struct odeon_client *client, const char *name)
{
    int r;

    (void)wait_until((r = odeon_plugin_unload(client, name)) != -EBUSY ||
                     !strstr(odeon_error_text(), "a handler has been running for long"));
    return r;
}

/* The fields of /proc/PID/stat behind the command's name. */
static bool read_stat(pid_t pid, char *ret_state, uint64_t *ret_ticks)
{
    char path[64], text[1024], *at;
    unsigned long user = 0, kernel = 0;
    ssize_t n;
    int fd;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    n = read(fd, text, sizeof(text) - 1);
    close(fd);
    text[n > 0 ? n : 0] = '\0';
    at = strrchr(text, ')');
    if (!at || sscanf(at + 1, " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", ret_state,
                      &user, &kernel) != 3)
        return false;
    *ret_ticks = user + kernel;
    return true;
}

uint64_t process_cpu_ns(pid_t pid)
{
    uint64_t ticks = 0;
    char state;

    return read_stat(pid, &state, &ticks)
               ? ticks * (UINT64_C(1000000000) / (uint64_t)sysconf(_SC_CLK_TCK))
               : 0;
}

bool process_lives(pid_t pid)
{
    uint64_t ticks;
    char state = 0;

    return read_stat(pid, &state, &ticks) && state != 'Z';
}

bool process_stands(pid_t pid)
{
    char path[64], line[512];
    bool stand = true;
    DIR *threads;

    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    threads = opendir(path);
    assert_non_null(threads);
    for (struct dirent *entry; (entry = readdir(threads)) != NULL;) {
        char state_path[400], *at;
        FILE *file;

        if (!isdigit((unsigned char)entry->d_name[0]))
            continue;
        snprintf(state_path, sizeof(state_path), "%s/%s/stat", path, entry->d_name);
        file = fopen(state_path, "re");
        if (!file)
            continue;
        at = fgets(line, sizeof(line), file) ? strrchr(line, ')') : NULL;
        stand &= at && at[2] == 'T';
        fclose(file);
    }
    closedir(threads);
    return stand;
}

void process_stop(pid_t pid)
{
    assert_int_equal(kill(pid, SIGSTOP), 0);
    assert_true(wait_until(process_stands(pid)));
}

unsigned process_descriptors(pid_t pid)
{
    char path[64];
    unsigned n = 0;
    DIR *entries;

    snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
    entries = opendir(path);
    assert_non_null(entries);
    while (readdir(entries))
        n++;
    closedir(entries);
    return n;
}

static int compare_double(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

double median_of(double *values, int n)
{
    qsort(values, (size_t)n, sizeof(*values), compare_double);
    return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}
