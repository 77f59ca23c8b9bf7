/* SPDX-License-Identifier: Apache-2.0 */
/* EXPECT: a behaviour index beyond 254
 * 256 messages in an interface; 255 are the most. */
#include <odeon/plugin.h>

#define FIVE(m)        m##0, m##1, m##2, m##3, m##4
#define TWENTY_FIVE(m) FIVE(m##0), FIVE(m##1), FIVE(m##2), FIVE(m##3), FIVE(m##4)
#define HUNDRED(m)     TWENTY_FIVE(m##a), TWENTY_FIVE(m##b), TWENTY_FIVE(m##c), TWENTY_FIVE(m##d)
#ifdef CORRECT
ODEON_INTERFACE(many, HUNDRED(x), HUNDRED(y), TWENTY_FIVE(z), TWENTY_FIVE(u), FIVE(v));
#else
ODEON_INTERFACE(many, HUNDRED(x), HUNDRED(y), TWENTY_FIVE(z), TWENTY_FIVE(u), FIVE(v), one_more);
#endif
