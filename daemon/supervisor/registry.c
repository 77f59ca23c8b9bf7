/* SPDX-License-Identifier: Apache-2.0 */
/* The registry; the interface is in registry.h, the layout and registry_layout.G1 to
 * registry_layout.G6.
 *
 * Release stores order what a successor sees: it is another process, which begins after this one's
 * end, so the order of this thread's stores is all that counts, and nobody reads beside it.
 */
#include <errno.h>
#include <odeon/version.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "daemon/common/check.h"
#include "daemon/common/memfd.h"
#include "daemon/supervisor/crash_point.h"
#include "daemon/supervisor/registry.h"

static void registry_set_state(_Atomic uint32_t *state, enum registry_state to)
{
    CRASH_POINT();
    /* registry_layout.G2, read by the next odeond */
    atomic_store_explicit(state, to, memory_order_release);
    CRASH_POINT();
}

static uint32_t registry_get_state(const _Atomic uint32_t *state)
{
    return atomic_load_explicit(state, memory_order_acquire); /* registry_layout.G2 */
}

static int registry_map_file(struct registry_file *file)
{
    void *map =
        mmap(NULL, sizeof(struct registry), PROT_READ | PROT_WRITE, MAP_SHARED, file->fd, 0);

    if (map == MAP_FAILED)
        return -errno;
    file->map = map;
    return 0;
}

/* No build has started on it since its own settings were kept that knows nothing of them: one that
 * knows takes `own_epoch` along, first of all. The exception: one that knows is killed between the
 * two stores of its start, and the next to start is one that does not: that one's start looks like
 * the second store, and what had been read before it counts once more. */
static bool registry_has_own(const struct registry_header *header)
{
    uint32_t own = atomic_load_explicit(&header->own_epoch, memory_order_acquire),
             now = (uint32_t)atomic_load_explicit(&header->epoch, memory_order_relaxed);

    return own != 0 && own - now <= 1;
}

static void registry_begin_epoch(struct registry *map)
{
    uint64_t next = atomic_load_explicit(&map->header.epoch, memory_order_relaxed) + 1;

    if (registry_has_own(&map->header))
        atomic_store_explicit(&map->header.own_epoch, (uint32_t)next, memory_order_release);
    atomic_store_explicit(&map->header.epoch, next, memory_order_release);
    snprintf(map->header.service, sizeof(map->header.service), "%s", ODEON_VERSION);
}

int registry_make(struct registry_file *file, uint64_t instance)
{
    struct registry *map;
    int r;

    *file = (struct registry_file){ .fd = memfd_make_sealed("odeon-registry",
                                                            sizeof(struct registry)) };
    if (file->fd < 0)
        return file->fd;
    r = registry_map_file(file);
    if (r == 0 && instance == 0 && getrandom(&instance, sizeof(instance), 0) != sizeof(instance))
        r = -EIO;
    if (r < 0) {
        registry_close(file);
        return r;
    }
    map = file->map;
    map->header.instance = instance | 1; /* 0 says that there is none */
    map->header.version = REGISTRY_VERSION;
    map->header.layout_hash = REGISTRY_LAYOUT_HASH;
    registry_begin_epoch(map);
    check("registry_layout.G1",
          atomic_load_explicit(&map->header.magic, memory_order_relaxed) == 0);
    atomic_store_explicit(&map->header.magic, REGISTRY_MAGIC, memory_order_release);
    return 0;
}

static int registry_refuse(struct registry_file *file, char *text, const char *why)
{
    snprintf(text, REGISTRY_TEXT_MAX, "%s", why);
    registry_close(file);
    return -EPROTO;
}

static bool registry_is_of_layout(const struct registry_header *head)
{
    return head->version == REGISTRY_VERSION && head->layout_hash == REGISTRY_LAYOUT_HASH;
}

/* False: it is none. */
static bool registry_read_header(int fd, struct registry_header *head)
{
    return pread(fd, head, sizeof(*head), 0) == (ssize_t)sizeof(*head) &&
           atomic_load_explicit(&head->magic, memory_order_relaxed) == REGISTRY_MAGIC;
}

bool registry_is_of_crash(int fd)
{
    struct registry_header head;

    return registry_read_header(fd, &head) && registry_is_of_layout(&head) &&
           atomic_load_explicit(&head.settled, memory_order_relaxed) &&
           !atomic_load_explicit(&head.clean, memory_order_relaxed) && registry_has_own(&head);
}

int registry_open(struct registry_file *file, int fd, char *text)
{
    struct registry_header head;
    char why[256];
    int r;

    *file = (struct registry_file){ .fd = fd };
    if (!registry_read_header(fd, &head))
        return registry_refuse(file, text, "what the service manager kept as 'registry' is none");
    if (!registry_is_of_layout(&head)) {
        snprintf(why, sizeof(why),
                 "the kept registry is of layout %u (%016llx), written by odeond %.31s; this "
                 "odeond, %s, has layout "
                 "%u (%016llx)",
                 head.version, (unsigned long long)head.layout_hash, head.service, ODEON_VERSION,
                 (unsigned)REGISTRY_VERSION, (unsigned long long)REGISTRY_LAYOUT_HASH);
        return registry_refuse(file, text, why);
    }
    if (memfd_check(fd, sizeof(struct registry)) < 0)
        return registry_refuse(file, text, "the kept registry is shorter than its layout");
    r = registry_map_file(file);
    if (r < 0) {
        registry_close(file);
        return r;
    }
    registry_begin_epoch(file->map);
    return 0;
}

void registry_close(struct registry_file *file)
{
    if (file->map)
        munmap(file->map, sizeof(struct registry));
    if (file->fd >= 0)
        close(file->fd);
    *file = (struct registry_file){ .fd = -1 };
}

/* ---- clients */

static struct registry_client *registry_find_client(const struct registry_file *file, uint64_t id)
{
    for (uint32_t i = 0; file->map && i < ODEON_CLIENTS_MAX; i++)
        if (registry_get_state(&file->map->clients[i].state) != REGISTRY_FREE &&
            file->map->clients[i].id == id)
            return &file->map->clients[i];
    return NULL;
}

static struct registry_client *registry_find_free_client(const struct registry_file *file)
{
    for (uint32_t i = 0; i < ODEON_CLIENTS_MAX; i++)
        if (registry_get_state(&file->map->clients[i].state) == REGISTRY_FREE)
            return &file->map->clients[i];
    return NULL;
}

int registry_put_client(struct registry_file *file, const struct registry_client *client)
{
    struct registry_client *entry;

    if (!file->map)
        return 0;
    entry = registry_find_client(file, client->id);
    if (!entry)
        entry = registry_find_free_client(file);
    if (!entry)
        return -ENOSPC;
    entry->id = client->id;
    entry->uid = client->uid;
    entry->gid = client->gid;
    entry->pid = client->pid;
    memcpy(entry->token, client->token, sizeof(entry->token));
    memcpy(entry->name, client->name, sizeof(entry->name));
    memcpy(entry->library, client->library, sizeof(entry->library));
    registry_set_state(&entry->state, REGISTRY_OPEN);
    return 0;
}

void registry_free_client(struct registry_file *file, uint64_t id)
{
    struct registry_client *entry = registry_find_client(file, id);

    if (entry)
        registry_set_state(&entry->state, REGISTRY_FREE);
}

bool registry_has_client(const struct registry_file *file, uint64_t id)
{
    return registry_find_client(file, id) != NULL;
}

void registry_note_client_id(struct registry_file *file, uint64_t id)
{
    if (file->map)
        atomic_store_explicit(&file->map->header.last_client, id, memory_order_relaxed);
}

/* ---- ports */

void registry_put_port(struct registry_file *file, uint32_t index, const struct registry_port *port)
{
    struct registry_port *entry;

    if (!file->map)
        return;
    entry = &file->map->ports[index];
    check("registry_layout.G2", registry_get_state(&entry->state) == REGISTRY_FREE);
    entry->generation = port->generation;
    entry->client = port->client;
    entry->pipe = port->pipe;
    entry->submission_bytes = port->submission_bytes;
    entry->delivery_bytes = port->delivery_bytes;
    entry->ref = 0;
    entry->actors_max = 0;
    entry->overflow = port->overflow;
    entry->uid = port->uid;
    entry->may_not_stop = port->may_not_stop;
    entry->backlog_bytes = port->backlog_bytes;
    memcpy(entry->token, port->token, sizeof(entry->token));
    registry_set_state(&entry->state, REGISTRY_OPENING);
}

void registry_set_port(struct registry_file *file, uint32_t index, enum registry_state state)
{
    uint32_t is = file->map ? registry_get_state(&file->map->ports[index].state) : (uint32_t)state;

    if (is == (uint32_t)state)
        return;
    check("registry_layout.G3", is != REGISTRY_FREE);
    check("registry_layout.G7",
          state != REGISTRY_OPEN ||
              atomic_load_explicit(&file->map->header.settled, memory_order_relaxed));
    registry_set_state(&file->map->ports[index].state, state);
}

bool registry_has_port(const struct registry_file *file, uint32_t index)
{
    return file->map && registry_get_state(&file->map->ports[index].state) != REGISTRY_FREE;
}

void registry_set_port_ref(struct registry_file *file, uint32_t index, uint64_t ref,
                           uint32_t actors_max)
{
    if (!file->map)
        return;
    file->map->ports[index].ref = ref;
    file->map->ports[index].actors_max = actors_max;
}

/* ---- plugins */

static struct registry_plugin *registry_find_plugin(const struct registry_file *file,
                                                    uint32_t serial)
{
    for (uint32_t i = 0; file->map && i < ODEON_PLUGINS_MAX; i++)
        if (registry_get_state(&file->map->plugins[i].state) != REGISTRY_FREE &&
            file->map->plugins[i].serial == serial)
            return &file->map->plugins[i];
    return NULL;
}

uint32_t registry_next_plugin(struct registry_file *file)
{
    return file->map ? atomic_fetch_add_explicit(&file->map->header.last_plugin, 1,
                                                 memory_order_relaxed) +
                           1
                     : 0;
}

int registry_put_plugin(struct registry_file *file, uint32_t serial, const char *name,
                        const char *path, uint32_t configured, uint32_t replaces)
{
    if (!file->map)
        return 0;
    if (strlen(path) >= REGISTRY_PATH_BYTES)
        return -ENAMETOOLONG;
    for (uint32_t i = 0; i < ODEON_PLUGINS_MAX; i++) {
        struct registry_plugin *entry = &file->map->plugins[i];

        if (registry_get_state(&entry->state) != REGISTRY_FREE)
            continue;
        entry->serial = serial;
        entry->configured = configured;
        entry->replaces = replaces;
        snprintf(entry->name, sizeof(entry->name), "%s", name ? name : "");
        snprintf(entry->path, sizeof(entry->path), "%s", path);
        registry_set_state(&entry->state, REGISTRY_OPEN);
        return 0;
    }
    return -ENOSPC;
}

/* The name serves who unloads by name; one that is half written does no harm but that. */
void registry_set_plugin_name(struct registry_file *file, uint32_t serial, const char *name)
{
    struct registry_plugin *entry = registry_find_plugin(file, serial);

    if (entry)
        snprintf(entry->name, sizeof(entry->name), "%s", name);
}

/* One store: the place before it, or the one behind it. */
void registry_set_plugin_configured(struct registry_file *file, uint32_t serial,
                                    uint32_t configured)
{
    struct registry_plugin *entry = registry_find_plugin(file, serial);

    if (entry)
        entry->configured = configured;
}

void registry_free_plugin(struct registry_file *file, uint32_t serial)
{
    struct registry_plugin *entry = registry_find_plugin(file, serial);

    if (entry)
        registry_set_state(&entry->state, REGISTRY_FREE);
}

/* ---- settings */

/* Words, each ended by a NUL. */
struct registry_text {
    char *text;
    size_t size, bytes;
};

static int registry_append(struct registry_text *to, const char *word)
{
    size_t bytes = strlen(word) + 1;

    if (bytes > to->size - to->bytes)
        return -ENOSPC;
    memcpy(to->text + to->bytes, word, bytes);
    to->bytes += bytes;
    return 0;
}

static int registry_append_list(struct registry_text *to, const struct setting_list *settings)
{
    for (size_t i = 0; i < settings->n; i++)
        if (registry_append(to, settings->list[i].key) < 0 ||
            registry_append(to, settings->list[i].value) < 0)
            return -ENOSPC;
    return 0;
}

/* The copy that does not count, and may be written. */
static struct registry_settings *registry_spare(const struct registry_file *file, uint32_t *ret)
{
    *ret = !atomic_load_explicit(&file->map->header.settings_copy, memory_order_relaxed);
    return &file->map->settings[*ret];
}

static void registry_set_own_epoch(struct registry_header *header, uint32_t to)
{
    atomic_store_explicit(&header->own_epoch, to, memory_order_release);
}

/* registry_layout.G5: from here on the copy counts, all of it. */
static void registry_finish_copy(struct registry_file *file, uint32_t copy,
                                 const struct setting_list *own)
{
    struct registry_settings *settings = &file->map->settings[copy];
    struct registry_text to = { .text = settings->own, .size = sizeof(settings->own) };
    struct registry_header *header = &file->map->header;
    int r = registry_append_list(&to, own);
    bool known = own->n > 0 && !file->own_forgotten;

    check("registry_layout.G5", r == 0);
    settings->own_bytes = (uint32_t)to.bytes;
    /* at no time does a copy count that has none while `own_epoch` says that there are some */
    if (!known)
        registry_set_own_epoch(header, 0);
    CRASH_POINT();
    atomic_store_explicit(&header->settings_copy, copy, memory_order_release);
    CRASH_POINT();
    if (known)
        registry_set_own_epoch(
            header, (uint32_t)atomic_load_explicit(&header->epoch, memory_order_relaxed));
}

/* A build before there were own settings may have written text where they lie by now; this one
 * writes none so long. It stays as it is until other settings take its place. */
static bool registry_has_long_text(const struct registry_settings *copy)
{
    return copy->bytes > sizeof(copy->text);
}

void registry_put_own(struct registry_file *file, const struct setting_list *own)
{
    struct registry_settings *copy;
    uint32_t spare;

    if (!file->map)
        return;
    copy = registry_spare(file, &spare);
    if (registry_has_long_text(&file->map->settings[!spare]))
        return;
    memcpy(copy, &file->map->settings[!spare], offsetof(struct registry_settings, own_bytes));
    registry_finish_copy(file, spare, own);
}

void registry_forget_own(struct registry_file *file)
{
    file->own_forgotten = true;
    if (!file->map)
        return;
    CRASH_POINT();
    registry_set_own_epoch(&file->map->header, 0);
    CRASH_POINT();
}

int registry_put_settings(struct registry_file *file, const struct setting_list *in_force,
                          const struct setting_list *configured, const struct setting_list *own)
{
    struct registry_settings *copy;
    struct registry_text to;
    uint32_t spare;

    if (!file->map)
        return 0;
    copy = registry_spare(file, &spare);
    to = (struct registry_text){ .text = copy->text, .size = sizeof(copy->text) };
    if (registry_append_list(&to, in_force) < 0 || registry_append_list(&to, configured) < 0) {
        registry_put_own(file, own);
        return -ENOSPC;
    }
    copy->n = (uint32_t)in_force->n;
    copy->bytes = (uint32_t)to.bytes;
    registry_finish_copy(file, spare, own);
    return 0;
}

/* The next word of the text, or NULL at its end. */
static const char *registry_next_word(const struct registry_text *from, size_t *at)
{
    size_t bytes = from->bytes < from->size ? from->bytes : from->size, length;
    const char *word = from->text + *at;

    if (*at >= bytes)
        return NULL;
    length = strnlen(word, bytes - *at);
    if (length == bytes - *at)
        return NULL;
    *at += length + 1;
    return word;
}

/* 1: one more is in the list; 0: the text has no more; negative errno. */
static int registry_next_setting(const struct registry_text *from, size_t *at,
                                 struct setting_list *settings)
{
    const char *key = registry_next_word(from, at),
               *value = key ? registry_next_word(from, at) : NULL;
    int r = value ? setting_list_set(settings, key, value) : -EPROTO;

    if (!key && *at >= from->bytes)
        return 0;
    return r < 0 ? r : 1;
}

static struct registry_settings *registry_counting(const struct registry_file *file)
{
    return &file->map->settings[atomic_load_explicit(&file->map->header.settings_copy,
                                                     memory_order_acquire) &
                                1];
}

int registry_get_settings(const struct registry_file *file, struct setting_list *in_force,
                          struct setting_list *configured)
{
    struct registry_settings *copy;
    struct registry_text from;
    size_t at = 0;
    int r = 1;

    if (!file->map)
        return 0;
    copy = registry_counting(file);
    from = (struct registry_text){ (char *)copy + offsetof(struct registry_settings, text),
                                   sizeof(copy->text), copy->bytes };
    if (registry_has_long_text(copy))
        from.size = sizeof(*copy) - offsetof(struct registry_settings, text);
    for (uint32_t i = 0; i < copy->n; i++) {
        r = registry_next_setting(&from, &at, in_force);
        if (r <= 0)
            return r < 0 ? r : -EPROTO;
    }
    while (r > 0)
        r = registry_next_setting(&from, &at, configured);
    return r;
}

int registry_get_own(const struct registry_file *file, struct setting_list *own)
{
    struct registry_settings *copy;
    struct registry_text from;
    size_t at = 0;
    int r = 1;

    if (!file->map || !registry_has_own(&file->map->header))
        return 0;
    copy = registry_counting(file);
    if (registry_has_long_text(copy))
        return 0;
    from = (struct registry_text){ copy->own, sizeof(copy->own), copy->own_bytes };
    while (r > 0)
        r = registry_next_setting(&from, &at, own);
    return r;
}
