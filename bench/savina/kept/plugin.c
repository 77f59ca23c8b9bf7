/* SPDX-License-Identifier: Apache-2.0 */
/* The plugin `savina-kept`: two programs of the suite whose results survive kills. */
#include "kept.h"

ODEON_DECLARE_TYPE(savina_keptbank);
ODEON_DECLARE_TYPE(keptbank_account);
ODEON_DECLARE_TYPE(savina_keptbuffer);
ODEON_DECLARE_TYPE(keptbuffer_producer);
ODEON_DECLARE_TYPE(keptbuffer_consumer);

ODEON_PLUGIN("savina-kept", "1.0.0", ODEON_TYPE(savina_keptbank), ODEON_TYPE(keptbank_account),
             ODEON_TYPE(savina_keptbuffer), ODEON_TYPE(keptbuffer_producer),
             ODEON_TYPE(keptbuffer_consumer));
