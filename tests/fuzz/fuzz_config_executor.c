/* SPDX-License-Identifier: Apache-2.0 */
/* See fuzz_config.h. */
#include "tests/fuzz/fuzz_config.h"

#include "daemon/executor/cpu_list.h"
#include "daemon/executor/settings.h"
#include "tests/fuzz/fuzz.h"

enum { PAIRS_MAX = 256 };

static struct setting_pair pairs[PAIRS_MAX];
static size_t n_pairs;

void fuzz_config_set(const char *key, const char *value)
{
    FUZZ_EXPECT(n_pairs < PAIRS_MAX);
    pairs[n_pairs++] = (struct setting_pair){ key, value };
}

void fuzz_config_end(void)
{
    struct explain explain;
    struct settings settings;
    struct engine_config config = { 0 };
    const struct settings_machine machine = { .cores = 2,
                                              .threads = 4,
                                              .address_bytes = UINT64_C(1) << 46 };
    int r;

    explain_init(&explain);
    settings_init(&settings, 2);
    r = settings_read_start(&settings, pairs, n_pairs, &machine, &explain);
    FUZZ_EXPECT(r <= 0 && (r == 0 || explain.text[0] != '\0'));
    for (size_t i = 0; i < explain.length; i++) /* explain.E3 */
        FUZZ_EXPECT((unsigned char)explain.text[i] >= 0x20 && explain.text[i] != 0x7f);
    if (r == 0) {
        settings_get_config(&settings, &config);
        FUZZ_EXPECT(config.n_workers >= 1 &&
                    config.workers_max + config.detached_max <= ODEON_WORKERS_MAX);
    }
    n_pairs = 0;
}
