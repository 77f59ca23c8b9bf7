/* SPDX-License-Identifier: Apache-2.0 */
/* What one look has found (look.h). */
#include "client-lib/ctl/top/look.h"

#include <stdlib.h>

struct look *look_free(struct look *look)
{
    if (look) {
        table_free(look->table);
        free(look->shares);
        free(look);
    }
    return NULL;
}
