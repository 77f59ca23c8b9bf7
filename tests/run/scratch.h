/* SPDX-License-Identifier: Apache-2.0 */
/* Folders for tests that are gone some time after their test, however that ends.
 *
 * A process locks the folders that it makes; a kill unlocks them. Before a process makes its first
 * one, it removes those beside it that nobody has locked.
 *
 * scratch.S1  Only what is called odeon-test.*, is a folder, belongs to this user and can be locked
 *     is removed, under that lock.
 * scratch.S2  A folder may be found between its making and its locking.  It is looked for once more
 *     when it is locked, and if it has gone another one is made.
 * scratch.S3  Programs that are started do not inherit the lock; a fork without exec does, and so
 *     keeps its parent's folder.
 *
 * Any thread.
 */
#pragma once

/* As mkdtemp(); `path` is PARENT/odeon-test.…XXXXXX. The lock is held until the process ends, even
 * if the folder is removed before. */
char *scratch_make(char *path);
/* Removes what is stale in this folder; how many that were. */
unsigned scratch_sweep(const char *parent);
