/* SPDX-License-Identifier: Apache-2.0 */
/* Bars and lines of them (spark.h). */
#include "client-lib/ctl/top/spark.h"

#include <math.h>
#include <string.h>

enum { SPARK_LEVELS = 8 };
static const char *const spark_unicode[SPARK_LEVELS] = { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
static const char *const spark_ascii[SPARK_LEVELS] = { "_", ".", ":", "-", "=", "+", "*", "#" };

void spark_add(struct spark *spark, double value)
{
    if (spark->n == SPARK_LOOKS) {
        memmove(spark->value, spark->value + 1, (SPARK_LOOKS - 1) * sizeof(spark->value[0]));
        spark->n--;
    }
    spark->value[spark->n++] = value;
}

static bool spark_append(char *text, size_t size, size_t *used, const char *part)
{
    size_t n = strlen(part);

    if (*used + n + 1 > size)
        return false;
    memcpy(text + *used, part, n + 1);
    *used += n;
    return true;
}

unsigned spark_draw(const struct spark *spark, unsigned columns, bool unicode, char *text,
                    size_t size)
{
    unsigned first = spark->n > columns ? spark->n - columns : 0, drawn = 0;
    double most = 0;
    size_t used = 0;

    text[0] = '\0';
    for (unsigned i = first; i < spark->n; i++)
        if (spark->value[i] > most)
            most = spark->value[i];
    for (unsigned i = first; i < spark->n; i++) {
        double share = most > 0 ? spark->value[i] / most : 0;
        int level = isnan(spark->value[i]) ? 0 : (int)(share * (SPARK_LEVELS - 1) + 0.5);
        const char *part = unicode ? spark_unicode[level] : spark_ascii[level];

        if (!spark_append(text, size, &used, isnan(spark->value[i]) ? " " : part))
            break;
        drawn++;
    }
    return drawn;
}

void spark_bar(double share, unsigned columns, bool unicode, char *text, size_t size)
{
    double full = (share > 1 ? 1 : share > 0 ? share : 0) * columns;
    size_t used = 0;

    text[0] = '\0';
    for (unsigned i = 0; i < columns; i++) {
        const char *part = (double)i + 1 <= full + 0.25         ? unicode ? "█" : "|"
                           : unicode && (double)i + 0.5 <= full ? "▌"
                                                                : " ";

        if (!spark_append(text, size, &used, part))
            break;
    }
}
