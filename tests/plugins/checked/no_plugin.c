/* SPDX-License-Identifier: Apache-2.0 */
/* EXPECT: refused it exports no symbol odeon_plugin_descriptor
 * A shared object that is no plugin. */
int thing(void);
int thing(void)
{
    return 1;
}
