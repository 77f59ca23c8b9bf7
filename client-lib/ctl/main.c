/* SPDX-License-Identifier: Apache-2.0 */
/* odeonctl: looking at the service and steering it. */
#include "client-lib/ctl/ctl.h"
#include "client-lib/ctl/streams.h"

#include <locale.h>

int main(int argc, char **argv)
{
    streams_keep();
    (void)setlocale(LC_CTYPE, ""); /* widths of names in tables; numbers keep their C form */
    return ctl_main(argc, argv);
}
