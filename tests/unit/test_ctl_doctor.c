/* SPDX-License-Identifier: Apache-2.0 */
/* What odeonctl doctor makes of files of the kernel, which a test writes, and of a library without
 * a service. */
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client-lib/ctl/doctor/doctor.h"
#include "tests/run/scratch.h"
#include "tests/unit/ctl_run.h"

static char root[64];
static struct doctor doctor;

static void put(const char *path, const char *text)
{
    char name[256];
    FILE *file;

    snprintf(name, sizeof(name), "%s%s", root, path);
    for (char *slash = strchr(name + strlen(root) + 1, '/'); slash;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        assert_true(mkdir(name, 0700) == 0 || errno == EEXIST);
        *slash = '/';
    }
    file = fopen(name, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static void put_link(const char *path, const char *target)
{
    char name[256];

    snprintf(name, sizeof(name), "%s%s", root, path);
    (void)unlink(name);
    assert_int_equal(symlink(target, name), 0);
}

static void forget(void)
{
    for (size_t i = 0; i < doctor.n; i++) {
        free(doctor.findings[i].what);
        free(doctor.findings[i].mend);
    }
    free(doctor.findings);
    doctor = (struct doctor){ .supervisor_pid = 10, .executor_pid = 11, .workers = 4 };
}

static const struct finding *found(const char *about)
{
    size_t i = 0;

    while (i < doctor.n && strcmp(doctor.findings[i].about, about) != 0)
        i++;
    if (i == doctor.n)
        fail_msg("nothing is found about %s", about);
    return &doctor.findings[i];
}

static int begin(void **state)
{
    (void)state;
    forget();
    strcpy(root, "/tmp/odeon-test.doctor-XXXXXX");
    return scratch_make(root) ? 0 : -1;
}

static int end(void **state)
{
    char command[128];

    (void)state;
    forget();
    snprintf(command, sizeof(command), "rm -rf '%s'", root);
    return system(command);
}

static void put_well(void)
{
    put("/proc/11/status",
        "Name:\todeon-executor\nCpus_allowed_list:\t0-2,7\nVmSwap:\t       0 kB\n");
    put("/proc/10/limits",
        "Limit                     Soft Limit           Hard Limit           Units\n"
        "Max core file size        unlimited            unlimited            bytes\n"
        "Max open files            16384                16384                files\n");
    put("/proc/10/cgroup", "0::/system.slice/odeond.service\n");
    put_link("/proc/10/exe", "/usr/libexec/odeon/odeond");
    put("/sys/kernel/mm/transparent_hugepage/shmem_enabled",
        "always within_size [advise] never deny force\n");
}

static void test_a_machine_without_fault(void **state)
{
    (void)state;
    put_well();
    doctor_look_at_machine(&doctor, root);
    for (size_t i = 0; i < doctor.n; i++)
        fail_msg("%s: %s", doctor.findings[i].about, doctor.findings[i].what);
}

static void test_what_is_wrong_with_a_machine(void **state)
{
    (void)state;
    put_well();
    put("/proc/11/status", "Cpus_allowed_list:\t1,4-5\nVmSwap:\t    2048 kB\n");
    put("/proc/10/limits", "Max core file size        0                    0         bytes\n"
                           "Max open files            1024                 4096      files\n");
    put("/proc/10/cgroup", "0::/user.slice/session-1.scope\n");
    put_link("/proc/10/exe", "/usr/libexec/odeon/odeond (deleted)");
    put("/sys/kernel/mm/transparent_hugepage/shmem_enabled", "always advise [never] deny\n");
    doctor_look_at_machine(&doctor, root);
    assert_int_equal(doctor.n, 7);
    assert_string_equal(found("processors")->what,
                        "4 workers share the 3 processors that the service may use");
    assert_string_equal(found("processors")->mend, "odeonctl executor set workers=3");
    assert_non_null(strstr(found("swap")->what, "2.0 MiB"));
    assert_int_equal(found("descriptors")->harm, HARM_BAD);
    assert_non_null(strstr(found("descriptors")->what, "1024"));
    assert_int_equal(found("core")->harm, HARM_NOTE);
    assert_int_equal(found("by-hand")->harm, HARM_NOTE);
    assert_int_equal(found("replaced")->harm, HARM_NOTE);
    assert_int_equal(found("huge-pages")->harm, HARM_NOTE);
}

/* Empty, cut, and nonsense: nothing is found, nothing breaks. */
static void test_files_that_make_no_sense(void **state)
{
    static const char *const texts[] = { "",
                                         "\n",
                                         "Cpus_allowed_list:",
                                         "Cpus_allowed_list:\t-,9-1",
                                         "VmSwap:\tmuch\nMax open files",
                                         "Max open files -1" };

    (void)state;
    doctor_look_at_machine(&doctor, root); /* none is there */
    assert_int_equal(doctor.n, 0);
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        put("/proc/11/status", texts[i]);
        put("/proc/10/limits", texts[i]);
        put("/sys/kernel/mm/transparent_hugepage/shmem_enabled", texts[i]);
        doctor_look_at_machine(&doctor, root);
        assert_int_equal(doctor.n, 0);
    }
}

static void test_findings_of_a_service(void **state)
{
    (void)state;
    fake.n_letters = 3;
    fake.client_name = "red\033[31m\xc2\x9b";
    fake.state = "running";
    assert_int_equal(run("doctor|x"), CTL_USAGE);
    (void)run("doctor");
    check_has(out, "dead letters wait");
    check_has(out, "plugin counter was loaded from /x/counter.so, which cannot be read any more");
    assert_null(strchr(out, '\033'));
    (void)run("doctor|--json");
    check_has(out, "{\"harm\":\"note\",\"about\":\"dead-letters\",");
    fake.connect_result = -ECONNREFUSED;
    assert_int_equal(run("doctor"), CTL_ILL);
    check_has(out, "broken: cannot reach the service: nobody listens at");
    fake.connect_result = -EACCES;
    (void)run("doctor");
    check_has(out, "note: cannot reach the service: you may not use");
    assert_string_equal(err, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_machine_without_fault, begin, end),
        cmocka_unit_test_setup_teardown(test_what_is_wrong_with_a_machine, begin, end),
        cmocka_unit_test_setup_teardown(test_files_that_make_no_sense, begin, end),
        cmocka_unit_test_setup_teardown(test_findings_of_a_service, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
