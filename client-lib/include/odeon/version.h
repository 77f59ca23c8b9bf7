/* SPDX-License-Identifier: Apache-2.0 */
/* Versions of the interfaces. The library's soname changes with the major number, a plugin's ABI
 * has numbers of its own. */
#ifndef ODEON_VERSION_H
#define ODEON_VERSION_H

#define ODEON_VERSION_MAJOR 0
#define ODEON_VERSION_MINOR 1
#define ODEON_VERSION_PATCH 0
#define ODEON_VERSION       "0.1.0"

#define ODEON_PLUGIN_ABI_MAJOR 2 /* differs: refused */
#define ODEON_PLUGIN_ABI_MINOR 6 /* of the plugin greater than of the host: refused */

#endif
