/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/common/memfd: what is sealed stays as it is. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/common/memfd.h"

static void test_sealed_memory(void **state)
{
    int fd = memfd_make_sealed("test", 8192);
    struct stat st;
    char *memory;

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal(st.st_size, 8192);
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    assert_int_equal(ftruncate(fd, 4096), -1);
    assert_int_equal(ftruncate(fd, 16384), -1);
    assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), -1); /* no further seals */
    memory = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_ptr_not_equal(memory, MAP_FAILED);
    memory[8191] = 'x';
    munmap(memory, 8192);
    assert_int_equal(memfd_check(fd, 8192), 0);
    assert_int_equal(memfd_check(fd, 1), 0);
    assert_int_equal(memfd_check(fd, 8193), -EBADFD);
    close(fd);
}

static void test_bad_sizes(void **state)
{
    (void)state;
    assert_int_equal(memfd_make_sealed("test", 0), -EINVAL);
    assert_int_equal(memfd_make_sealed("test", UINT64_MAX), -EINVAL);
}

static void test_read_only(void **state)
{
    int fd = memfd_make_sealed("test", 4096), reader;

    (void)state;
    assert_int_equal(pwrite(fd, "hello", 5, 0), 5);
    reader = memfd_reopen_read_only(fd);
    assert_true(reader >= 0);
    assert_int_equal(fcntl(reader, F_GETFL) & O_ACCMODE, O_RDONLY);
    assert_ptr_equal(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, reader, 0), MAP_FAILED);
    assert_int_equal(pwrite(reader, "x", 1, 0), -1);
    assert_int_equal(memfd_check(reader, 4096), 0);
    close(reader);
    close(fd);
    assert_int_equal(memfd_reopen_read_only(1000000), -ENOENT);
}

static int make_file(size_t size)
{
    int fd = open("/tmp", O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    for (size_t i = 0; i < size; i++)
        assert_int_equal(pwrite(fd, &(char){ (char)i }, 1, (off_t)i), 1);
    return fd;
}

static void test_copy(void **state)
{
    int file = make_file(70000), copy;
    char byte;

    (void)state;
    lseek(file, 1234, SEEK_SET); /* where the descriptor stands does not matter */
    copy = memfd_copy_file(file, 70000);
    assert_true(copy >= 0);
    assert_int_equal(lseek(copy, 0, SEEK_END), 70000);
    for (off_t i = 0; i < 70000; i += 999) {
        assert_int_equal(pread(copy, &byte, 1, i), 1);
        assert_int_equal(byte, (char)i);
    }
    assert_int_equal(pwrite(copy, "x", 1, 0), -1);
    assert_int_equal(ftruncate(copy, 0), -1);
    close(copy);
    assert_int_equal(memfd_copy_file(file, 69999), -EFBIG);
    close(file);
}

static void test_copy_of_what_is_no_file(void **state)
{
    int fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC), ends[2];

    (void)state;
    assert_int_equal(memfd_copy_file(fd, 1 << 20), -EISDIR);
    close(fd);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(memfd_copy_file(ends[0], 1 << 20), -EINVAL);
    close(ends[0]);
    close(ends[1]);
    fd = open("/tmp", O_WRONLY | O_TMPFILE | O_CLOEXEC, 0600);
    assert_int_equal(memfd_copy_file(fd, 1 << 20), -EBADF); /* cannot be read */
    close(fd);
    assert_int_equal(memfd_copy_file(-1, 1 << 20), -EBADF);
}

static void test_check_refuses(void **state)
{
    int file = make_file(4096), unsealed = memfd_create("test", MFD_ALLOW_SEALING | MFD_CLOEXEC);

    (void)state;
    assert_int_equal(ftruncate(unsealed, 4096), 0);
    assert_int_equal(memfd_check(file, 1), -EBADFD);
    assert_int_equal(memfd_check(unsealed, 1), -EBADFD);
    assert_int_equal(fcntl(unsealed, F_ADD_SEALS, F_SEAL_SHRINK), 0);
    assert_int_equal(memfd_check(unsealed, 1), -EBADFD); /* it could still grow */
    assert_int_equal(fcntl(unsealed, F_ADD_SEALS, F_SEAL_GROW), 0);
    assert_int_equal(memfd_check(unsealed, 1), 0);
    assert_int_equal(memfd_check(-1, 1), -EBADFD);
    close(unsealed);
    close(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sealed_memory),
        cmocka_unit_test(test_bad_sizes),
        cmocka_unit_test(test_read_only),
        cmocka_unit_test(test_copy),
        cmocka_unit_test(test_copy_of_what_is_no_file),
        cmocka_unit_test(test_check_refuses),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
