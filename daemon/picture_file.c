/* SPDX-License-Identifier: BSD-2-Clause
 *
 * See picture_file.h. libpng reads PNG files: the broker needs no codec for them.
 *
 * The failure modes are no file, one that is no PNG or is damaged, one that is too large, and no
 * memory. Sizes are checked before anything is decoded.
 */
#include "daemon/picture_file.h"

#include <errno.h>
#include <fcntl.h>
#include <png.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static FILE *picture_open(const char *folder, const char *name)
{
    char path[1024];
    struct stat st;
    const char *before = folder && name[0] != '/' ? folder : "";
    if (snprintf(path, sizeof(path), "%s%s", before, name) >= (int)sizeof(path)) {
        errno = ENAMETOOLONG;
        return NULL;
    }
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe without a writer */
    if (fd < 0)
        return NULL;
    bool plain = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
    FILE *file = plain && st.st_size <= PICTURE_BYTES ? fdopen(fd, "r") : NULL;
    if (!file) {
        close(fd);
        errno = plain ? EFBIG : EINVAL;
    }
    return file;
}

/* The header has been read. */
static struct still_picture *picture_decode(png_image *png, char why[CONFIG_WHY])
{
    const png_color black = {0, 0, 0};
    if (png->width > PICTURE_MOST || png->height > PICTURE_MOST) {
        snprintf(why, CONFIG_WHY, "%ux%u pixels, %d a side are the most", png->width, png->height,
                 PICTURE_MOST);
        return NULL;
    }
    png->format = PNG_FORMAT_RGB;
    struct still_picture *p = malloc(sizeof(*p) + PNG_IMAGE_SIZE(*png));
    if (!p) {
        snprintf(why, CONFIG_WHY, "out of memory");
        return NULL;
    }
    *p = (struct still_picture){.refs = 1, .width = png->width, .height = png->height};
    if (png_image_finish_read(png, &black, p->rgb, 0, NULL) && !(png->warning_or_error & 2))
        return p;
    snprintf(why, CONFIG_WHY, "a damaged PNG file: %.60s", png->message);
    free(p);
    return NULL;
}

struct still_picture *picture_read(const char *folder, const char *name, char why[CONFIG_WHY])
{
    png_image png = {.version = PNG_IMAGE_VERSION};
    struct still_picture *p = NULL;
    char cause[CONFIG_WHY] = "";
    FILE *file = picture_open(folder, name);
    if (!file)
        snprintf(cause, sizeof(cause), "%s",
                 errno == EINVAL  ? "no plain file"
                 : errno == EFBIG ? "more than 16 MiB"
                                  : strerror(errno));
    else if (!png_image_begin_read_from_stdio(&png, file))
        snprintf(cause, sizeof(cause), "no PNG file: %.60s", png.message);
    else
        p = picture_decode(&png, cause);
    png_image_free(&png);
    if (file)
        fclose(file);
    if (!p)
        snprintf(why, CONFIG_WHY, "placeholder=%.80s: %.120s", name, cause);
    return p;
}

struct still_picture *picture_ref(struct still_picture *p)
{
    if (p)
        p->refs++;
    return p;
}

void picture_unref(struct still_picture *p)
{
    if (p && --p->refs == 0)
        free(p);
}

bool picture_same(const struct still_picture *a, const struct still_picture *b)
{
    if (!a || !b)
        return a == b;
    return a->width == b->width && a->height == b->height &&
           memcmp(a->rgb, b->rgb, 3 * (size_t)a->width * a->height) == 0;
}
