/* SPDX-License-Identifier: Apache-2.0 */
/* The executor's half of the configuration's fuzzer, apart from odeond's. */
#pragma once

/* One setting, as odeond passes it on; and the check of all of them. */
void fuzz_config_set(const char *key, const char *value);
void fuzz_config_end(void);
