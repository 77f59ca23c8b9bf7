/* SPDX-License-Identifier: Apache-2.0 */
/* The files that loaded plugins came from. */
#include "client-lib/ctl/doctor/doctor.h"
#include "client-lib/ctl/elf_view.h"

#include <odeon/plugin.h>

#include <errno.h>
#include <string.h>

static void doctor_look_at_plugin(struct doctor *doctor, const struct odeon_plugin_info *plugin)
{
    char why[ELF_VIEW_WHY], mend[512];
    struct elf_view view;
    Elf64_Shdr section;
    int r = elf_view_open(&view, plugin->path, why);

    if (r == -EACCES || r == -EPERM)
        return; /* the service may read it, this user may not */
    snprintf(mend, sizeof(mend), "odeonctl plugin check %s", plugin->path);
    if (r < 0) {
        doctor_find(doctor, HARM_NOTE, "plugin-file", mend,
                    "plugin %s was loaded from %s, which cannot be read any more: a new odeond "
                    "would not find it",
                    plugin->name, plugin->path);
        elf_view_close(&view); /* what is no shared object has been read all the same */
        return;
    }
    if (!elf_view_section(&view, SHT_NOTE, ".note.gnu.build-id", &section))
        doctor_find(doctor, HARM_NOTE, "build-id", "link it with -Wl,--build-id",
                    "plugin %s has no build id: a core file of it cannot be told from another "
                    "build's",
                    plugin->name);
    elf_view_close(&view);
}

void doctor_look_at_plugins(struct doctor *doctor)
{
    uint64_t after = 0;
    bool more = true;

    while (more) {
        struct odeon_list *list = NULL;
        int r = odeon_plugin_list(doctor->ctl->client, after, 0, &list);

        if (r < 0) {
            doctor_skip(doctor, "plugins", r);
            return;
        }
        for (size_t i = 0; i < list->n; i++)
            doctor_look_at_plugin(doctor, (const struct odeon_plugin_info *)list->rows + i);
        after = list->next;
        more = list->more && list->n > 0;
        odeon_list_free(list);
    }
}
