/* SPDX-License-Identifier: Apache-2.0 */
/* EXPECT: a plugin includes <odeon/plugin.h>
 * A source file that is both: the two headers use some names for different things. */
#include <odeon/client.h>
#ifndef CORRECT
#include <odeon/plugin.h>
#endif
