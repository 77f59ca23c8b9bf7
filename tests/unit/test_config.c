/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/common/config: lines, sections, numbers, and the words in which mistakes are reported. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/common/config.h"

static const char *const sections[] = { "one", "two", NULL };

struct seen {
    char text[512];
};

static int note(void *userdata, unsigned line, const char *section, const char *key,
                const char *value, char *text)
{
    struct seen *seen = userdata;
    size_t used = strlen(seen->text);

    if (strcmp(key, "unknown") == 0)
        return -ENOENT;
    if (strcmp(key, "bad") == 0) {
        snprintf(text, CONFIG_TEXT_MAX, "bad: '%.20s' will not do", value);
        return -EINVAL;
    }
    snprintf(seen->text + used, sizeof(seen->text) - used, "%u:%s/%s=%s;", line, section, key,
             value);
    return 0;
}

static int read_text(const char *content, size_t size, struct seen *seen, char *text)
{
    *seen = (struct seen){ 0 };
    text[0] = '\0';
    return config_read_text("file", content, size, sections, note, seen, text);
}

static void test_lines(void **state)
{
    const char content[] =
        "# comment\n\n a = 1 \n[one]\r\n\tb=2=3\n; other\n[ two ]\nc.d_e-f =\nlast = \"x y\"";
    char text[CONFIG_TEXT_MAX];
    struct seen seen;

    (void)state;
    assert_int_equal(read_text(content, strlen(content), &seen, text), 0);
    assert_string_equal(seen.text, "3:/a=1;5:one/b=2=3;8:two/c.d_e-f=;9:two/last=\"x y\";");
    assert_int_equal(read_text("", 0, &seen, text), 0);
    /* some editors write one; nobody sees it, least of all in a message about it */
    assert_int_equal(read_text("\xef\xbb\xbf[one]\na = 1\n", 15, &seen, text), 0);
    assert_string_equal(seen.text, "2:one/a=1;");
    assert_int_equal(read_text("\xef\xbb\xbf", 3, &seen, text), 0);
    assert_int_equal(read_text("a = 1\n\xef\xbb\xbf[one]\n", 15, &seen, text), -EINVAL);
}

static void test_mistakes(void **state)
{
    static const struct {
        const char *content, *text;
    } cases[] = {
        { "a=1\nnonsense\n", "file:2: expected key = value, a [section] or a comment: 'nonsense'" },
        { "[three]\n", "file:1: unknown section [three]" },
        { "[one\n", "file:1: a section is written [name]" },
        { "[one] x\n", "file:1: a section is written [name]" },
        { "= 1\n", "file:1: '' is not a key: letters, digits, '-', '_' and '.'" },
        { "a b = 1\n", "file:1: 'a b' is not a key: letters, digits, '-', '_' and '.'" },
        { "\n\nunknown = 1\n", "file:3: unknown key 'unknown'" },
        { "bad = value\n", "file:1: bad: 'value' will not do" },
    };
    char text[CONFIG_TEXT_MAX];
    struct seen seen;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_true(read_text(cases[i].content, strlen(cases[i].content), &seen, text) < 0);
        assert_string_equal(text, cases[i].text);
    }
}

/* What another reader of such files takes for something else: docs/why/2026-11-22-by-hand.md. */
static void test_a_line_means_one_thing(void **state)
{
    const char content[] = "[one]\nrun = /srv/a ;b\nworkers = 2\n  throughput = 16\nx = 1 # two\n";
    char text[CONFIG_TEXT_MAX], section[128];
    struct seen seen;

    (void)state;
    assert_int_equal(read_text(content, strlen(content), &seen, text), 0);
    assert_string_equal(seen.text,
                        "2:one/run=/srv/a ;b;3:one/workers=2;4:one/throughput=16;5:one/x=1 # two;");
    assert_true(read_text("[one]\na:b\n", 10, &seen, text) < 0);
    memset(section, 's', sizeof(section));
    memcpy(section, "[one", 4);
    memcpy(section + 120, "]\na=1\n", 7);
    assert_true(read_text(section, 127, &seen, text) < 0);
    assert_non_null(strstr(text, "unknown section [ones"));
}

static void test_hostile_lines(void **state)
{
    char text[CONFIG_TEXT_MAX], *line = malloc(CONFIG_LINE_MAX + 16);
    struct seen seen;

    (void)state;
    assert_int_equal(read_text("a=\0b\n", 5, &seen, text), -EINVAL);
    memset(line, 'x', CONFIG_LINE_MAX + 16);
    assert_int_equal(read_text(line, CONFIG_LINE_MAX, &seen, text), -E2BIG);
    assert_non_null(strstr(text, "file:1: the line is longer"));
    /* long, but only wrong */
    assert_int_equal(read_text(line, CONFIG_LINE_MAX - 1, &seen, text), -EINVAL);
    free(line);
}

static void test_files(void **state)
{
    char path[] = "/tmp/odeon-test-config-XXXXXX", text[CONFIG_TEXT_MAX] = "";
    int fd = mkstemp(path);
    struct seen seen = { 0 };

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "[one]\na=1\n", 10), 10);
    assert_int_equal(config_read_file(path, sections, note, &seen, text), 0);
    assert_string_equal(seen.text, "2:one/a=1;");
    assert_int_equal(ftruncate(fd, CONFIG_FILE_MAX + 1), 0);
    assert_int_equal(config_read_file(path, sections, note, &seen, text), -EFBIG);
    /* the largest that there can be is read, to its end: a hole is no text */
    assert_int_equal(ftruncate(fd, CONFIG_FILE_MAX), 0);
    assert_int_not_equal(config_read_file(path, sections, note, &seen, text), -EFBIG);
    close(fd);
    unlink(path);
    /* nobody is waited for who would write */
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(config_read_file(path, sections, note, &seen, text), -EINVAL);
    assert_non_null(strstr(text, "not a regular file"));
    unlink(path);
    assert_int_equal(config_read_file(path, sections, note, &seen, text), -ENOENT);
    assert_non_null(strstr(text, path));
    assert_int_equal(config_read_file("/tmp", sections, note, &seen, text), -EINVAL);
    assert_string_equal(text, "/tmp: not a regular file");
}

static void test_split(void **state)
{
    const char *value;
    char key[8];

    (void)state;
    assert_int_equal(config_split("a-b=c=d", key, sizeof(key), &value), 0);
    assert_string_equal(key, "a-b");
    assert_string_equal(value, "c=d");
    assert_int_equal(config_split("ab=", key, sizeof(key), &value), 0);
    assert_string_equal(value, "");
    assert_int_equal(config_split("ab", key, sizeof(key), &value), -EINVAL);
    assert_int_equal(config_split("=b", key, sizeof(key), &value), -EINVAL);
    assert_int_equal(config_split("a b=c", key, sizeof(key), &value), -EINVAL);
    assert_int_equal(config_split("12345678=c", key, sizeof(key), &value), -EINVAL);
    assert_int_equal(config_split("1234567=c", key, sizeof(key), &value), 0);
}

static void test_numbers(void **state)
{
    uint64_t n = 0;

    (void)state;
    assert_int_equal(config_parse_u64("0", 0, 10, &n), 0);
    assert_int_equal(n, 0);
    assert_int_equal(config_parse_u64("18446744073709551615", 0, UINT64_MAX, &n), 0);
    assert_true(n == UINT64_MAX);
    assert_int_equal(config_parse_u64("18446744073709551616", 0, UINT64_MAX, &n), -ERANGE);
    assert_int_equal(config_parse_u64("11", 0, 10, &n), -ERANGE);
    assert_int_equal(config_parse_u64("1", 2, 10, &n), -ERANGE);
    for (const char *const *bad =
             (const char *const[]){ "", "-1", "+1", " 1", "1 ", "1x", "x", "1K", NULL };
         *bad; bad++)
        assert_int_equal(config_parse_u64(*bad, 0, 10, &n), -EINVAL);
    assert_int_equal(config_parse_bytes("4k", 0, UINT64_MAX, &n), 0);
    assert_int_equal(n, 4096);
    assert_int_equal(config_parse_bytes("3M", 0, UINT64_MAX, &n), 0);
    assert_int_equal(n, 3 << 20);
    assert_int_equal(config_parse_bytes("2G", 0, UINT64_MAX, &n), 0);
    assert_true(n == UINT64_C(2) << 30);
    assert_int_equal(config_parse_bytes("5", 0, UINT64_MAX, &n), 0);
    assert_int_equal(n, 5);
    assert_int_equal(config_parse_bytes("1K", 1024, 1024, &n), 0);
    assert_int_equal(config_parse_bytes("1K", 1025, 4096, &n), -ERANGE);
    assert_int_equal(config_parse_bytes("1K", 0, 1023, &n), -ERANGE);
    assert_int_equal(config_parse_bytes("18446744073709551615K", 0, UINT64_MAX, &n), -ERANGE);
    assert_int_equal(config_parse_bytes("1KB", 0, UINT64_MAX, &n), -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_a_line_means_one_thing),
        cmocka_unit_test(test_hostile_lines),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_split),
        cmocka_unit_test(test_numbers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
