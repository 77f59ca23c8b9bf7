/* SPDX-License-Identifier: Apache-2.0 */
/* odeon-exporter: the service's figures over HTTP. */
#include "client-lib/exporter/exporter.h"

int main(int argc, char **argv)
{
    return exporter_main(argc, argv);
}
