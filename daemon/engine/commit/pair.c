/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/commit/pair.h"

#if defined(__aarch64__)

#include <asm/hwcap.h>
#include <sys/auxv.h>

bool pair_is_one_access;

void pair_probe(void)
{
    pair_is_one_access = getauxval(AT_HWCAP) & HWCAP_USCAT;
}

#else

void pair_probe(void)
{
}

#endif
