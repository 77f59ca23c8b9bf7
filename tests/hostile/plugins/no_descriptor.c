/* SPDX-License-Identifier: Apache-2.0 */
/* A shared object, but no plugin. */
__attribute__((visibility("default"))) int no_descriptor_answer(void);

int no_descriptor_answer(void)
{
    return 42;
}
