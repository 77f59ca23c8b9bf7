/* SPDX-License-Identifier: Apache-2.0 */
/* odeon-exporter: the service's figures over HTTP. */
#include "client-lib/ctl/streams.h"
#include "client-lib/exporter/exporter.h"

int main(int argc, char **argv)
{
    streams_keep();
    return exporter_main(argc, argv);
}
