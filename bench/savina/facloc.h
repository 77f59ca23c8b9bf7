/* SPDX-License-Identifier: Apache-2.0 */
/* Points and lists of them, for facloc.c. A list belongs to one actor at a time. */
#ifndef FACLOC_H
#define FACLOC_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

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

#endif
