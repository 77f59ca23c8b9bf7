/* SPDX-License-Identifier: Apache-2.0 */
/* Sealed memory files. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* A memfd of `size` bytes, mode 0600, sealed against shrinking, growing and further seals. The
 * descriptor, or negative errno. */
int memfd_make_sealed(const char *name, uint64_t size);
/* A second descriptor on the same file, open for reading only. */
int memfd_reopen_read_only(int fd);
/* Copies a regular file of at most `limit` bytes into a memfd sealed against everything, writes
 * included (MFD_EXEC where the kernel knows it). The descriptor, or negative errno (-EFBIG: larger
 * than the limit). */
int memfd_copy_file(int fd, uint64_t limit);
/* 0, or -EBADFD when `fd` is not a memfd sealed against shrinking and growing with at least `size`
 * bytes. */
int memfd_check(int fd, uint64_t size);
