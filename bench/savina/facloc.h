/* SPDX-License-Identifier: Apache-2.0 */
/* What the two files of facility location share: points and lists of them, of which each belongs to
 * one actor at a time, and the messages. */
#ifndef FACLOC_H
#define FACLOC_H

#include "program.h"

#include <math.h>
#include <stdlib.h>

struct facloc_point {
    double x, y;
};

struct facloc_box {
    double x1, y1, x2, y2;
};

struct facloc_list {
    uint64_t n, room;
    struct facloc_point *points;
};

/* Borders are inside. */
static inline bool facloc_is_inside(const struct facloc_box *box, struct facloc_point p)
{
    return box->x1 <= p.x && p.x <= box->x2 && box->y1 <= p.y && p.y <= box->y2;
}

static inline struct facloc_point facloc_centre(const struct facloc_box *box)
{
    return (struct facloc_point){ (box->x1 + box->x2) / 2, (box->y1 + box->y2) / 2 };
}

/* False: no memory. */
static inline bool facloc_append(struct facloc_list *list, struct facloc_point p)
{
    if (list->n == list->room) {
        uint64_t room = list->room > 0 ? 2 * list->room : 16;
        struct facloc_point *points = realloc(list->points, room * sizeof(points[0]));
        if (points == NULL)
            return false;
        list->points = points;
        list->room = room;
    }
    list->points[list->n++] = p;
    return true;
}

static inline bool facloc_copy(struct facloc_list *to, const struct facloc_list *from)
{
    *to = (struct facloc_list){ .n = from->n, .room = from->n };
    if (from->n == 0)
        return true;
    to->points = malloc(from->n * sizeof(to->points[0]));
    if (to->points != NULL)
        memcpy(to->points, from->points, from->n * sizeof(to->points[0]));
    return to->points != NULL;
}

static inline void facloc_clear(struct facloc_list *list)
{
    free(list->points);
    *list = (struct facloc_list){ .n = 0 };
}

static inline double facloc_nearest(const struct facloc_list *facilities, struct facloc_point p)
{
    double nearest = INFINITY;
    for (uint64_t i = 0; i < facilities->n; i++) {
        double distance = hypot(facilities->points[i].x - p.x, facilities->points[i].y - p.y);
        if (distance < nearest)
            nearest = distance;
    }
    return nearest;
}

enum facloc_position { FACLOC_TL, FACLOC_TR, FACLOC_BL, FACLOC_BR, FACLOC_ROOT };

ODEON_SIGNAL(facloc_next, 1);
ODEON_MESSAGE(facloc_customer, 1, {
    double x, y;
    odeon_ref producer;
});
ODEON_MESSAGE(facloc_facility, 1, {
    double x, y;
    uint32_t position; /* of the child that says so */
    uint32_t from_child;
});
ODEON_SIGNAL(facloc_exit, 1);
ODEON_MESSAGE(facloc_confirm, 1, { uint64_t facilities, customers, messages; });
ODEON_INTERFACE(facloc_producer, facloc_next);
ODEON_INTERFACE(facloc_quadrant, facloc_customer, facloc_facility, facloc_exit, facloc_confirm);

struct facloc_quadrant_args {
    odeon_ref parent; /* nobody: this is the root */
    struct facloc_box box;
    double threshold;
    uint32_t position;
    struct facloc_list facilities, customers; /* its own from now on */
};

#endif
