/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What the trees of the three formats mean. Coefficients stand in the same order in all of them: k1
 * k2 p1 p2 [k3 [k4 k5 k6]] and k1 k2 k3 k4 for the fisheye.
 */
#include "camera/calibration.h"
#include "camera/calibration_tree.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_COEFFICIENTS = 14, LARGEST_FILE = 1 << 20 };

static int fail(char why[CALIBRATION_WHY], int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static int fail(char why[CALIBRATION_WHY], int code, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(why, CALIBRATION_WHY, format, arguments);
    va_end(arguments);
    return code;
}

const char *calibration_format_name(enum calibration_format format)
{
    return format == CALIBRATION_ROS      ? "ROS camera_info"
           : format == CALIBRATION_OPENCV ? "OpenCV"
                                          : "Kalibr";
}

const char *calibration_model_name(enum isp_lens_model model)
{
    return model == ISP_LENS_NONE      ? "none"
           : model == ISP_LENS_FISHEYE ? "Kannala-Brandt fisheye"
                                       : "Brown-Conrady";
}

/* The first of names (separated by blanks) that the map has. */
static const struct tree_node *find_any(const struct tree_node *map, const char *names)
{
    char name[64];
    int used;
    while (sscanf(names, "%63s%n", name, &used) == 1) {
        const struct tree_node *found = tree_find(map, name);
        if (found)
            return found;
        names += used;
    }
    return NULL;
}

/* A matrix may be a map with the member data, or the numbers themselves. */
static int matrix_numbers(const struct tree_node *node, double *out, int most)
{
    const struct tree_node *data = tree_find(node, "data");
    return tree_numbers(data ? data : node, out, most);
}

static int read_size(const struct tree_node *map, const char *width, const char *height,
                     const char *both, struct calibration *c, char why[CALIBRATION_WHY])
{
    double size[2] = {0, 0};
    const struct tree_node *w = find_any(map, width), *h = find_any(map, height),
                           *pair = find_any(map, both);
    bool good = true;
    if (w || h)
        good = tree_numbers(w, &size[0], 1) == 1 && tree_numbers(h, &size[1], 1) == 1;
    else if (pair)
        good = matrix_numbers(pair, size, 2) == 2;
    else
        return CALIBRATION_OK;
    for (int i = 0; i < 2; i++)
        good &= size[i] >= 1 && size[i] <= 65536 && size[i] == floor(size[i]);
    if (!good)
        return fail(why, CALIBRATION_ERR_INPUT, "the picture's size is missing or senseless");
    c->width = (uint32_t)size[0];
    c->height = (uint32_t)size[1];
    return CALIBRATION_OK;
}

static int check_pinhole(const struct isp_pinhole *p, const char *name, char why[CALIBRATION_WHY])
{
    if (!(p->fx > 0) || !(p->fy > 0) || p->fx > 1e6 || p->fy > 1e6 || fabs(p->cx) > 1e6 ||
        fabs(p->cy) > 1e6)
        return fail(why, CALIBRATION_ERR_INPUT,
                    "%s: focal length %g, %g with centre %g, %g makes no sense", name, p->fx, p->fy,
                    p->cx, p->cy);
    return CALIBRATION_OK;
}

/* A camera matrix of 3 x 3 numbers, or a projection of 3 x 4: columns says which. */
static int read_matrix(const struct tree_node *node, int columns, const char *name,
                       struct isp_pinhole *out, char why[CALIBRATION_WHY])
{
    double m[12];
    if (matrix_numbers(node, m, 3 * columns) != 3 * columns)
        return fail(why, CALIBRATION_ERR_INPUT, "%s: not a matrix of 3 x %d numbers", name,
                    columns);
    if (fabs(m[1]) > 1e-6 * fabs(m[0]))
        return fail(why, CALIBRATION_ERR_UNSUPPORTED, "%s: skew %g is not supported", name, m[1]);
    *out = (struct isp_pinhole){m[0], m[columns + 1], m[2], m[columns + 2]};
    return check_pinhole(out, name, why);
}

static int set_lens(struct isp_lens *lens, enum isp_lens_model model, const double *k, int count,
                    char why[CALIBRATION_WHY])
{
    bool all_zero = true;
    for (int i = 0; i < count; i++)
        all_zero &= k[i] == 0;
    if (model == ISP_LENS_FISHEYE && count != 4)
        return fail(why, CALIBRATION_ERR_INPUT, "a fisheye has 4 coefficients, not %d", count);
    if (model == ISP_LENS_BROWN_CONRADY && count != 4 && count != 5 && count != 8 && count != 12 &&
        count != 14 && !(all_zero && count < 4))
        return fail(why, CALIBRATION_ERR_INPUT, "Brown-Conrady has 4, 5 or 8 coefficients, not %d",
                    count);
    for (int i = 8; i < count; i++)
        if (k[i] != 0)
            return fail(why, CALIBRATION_ERR_UNSUPPORTED,
                        "thin prism and tilted sensor coefficients (the %d behind the 8th) are not "
                        "supported",
                        count - 8);
    lens->model = model == ISP_LENS_BROWN_CONRADY && all_zero ? ISP_LENS_NONE : model;
    for (int i = 0; i < count && i < 8; i++)
        lens->coefficients[i] = k[i];
    return CALIBRATION_OK;
}

static int read_coefficients(const struct tree_node *node, enum isp_lens_model model,
                             struct isp_lens *lens, char why[CALIBRATION_WHY])
{
    double k[MOST_COEFFICIENTS];
    int count = matrix_numbers(node, k, MOST_COEFFICIENTS);
    if (count < 0)
        return fail(why, CALIBRATION_ERR_INPUT,
                    "the distortion coefficients are missing, or no numbers");
    return set_lens(lens, model, k, count, why);
}

struct model_name {
    const char *name;
    enum isp_lens_model model;
};

static int find_model(const struct tree_node *node, const struct model_name *names, size_t count,
                      enum isp_lens_model *out, char why[CALIBRATION_WHY])
{
    if (!node || node->kind != TREE_SCALAR)
        return fail(why, CALIBRATION_ERR_INPUT, "the distortion model is missing");
    for (size_t i = 0; i < count; i++) {
        if (!strcmp(node->text, names[i].name)) {
            *out = names[i].model;
            return CALIBRATION_OK;
        }
    }
    return fail(why, CALIBRATION_ERR_UNSUPPORTED, "the distortion model \"%.60s\" is unknown",
                node->text);
}

/* wiki.ros.org/camera_calibration_parsers; REP 104 for the names of models; also
 * sensor_msgs/CameraInfo printed as YAML. */
static int read_ros(const struct tree_node *root, struct calibration *c, char why[CALIBRATION_WHY])
{
    static const struct model_name models[] = {{"plumb_bob", ISP_LENS_BROWN_CONRADY},
                                               {"rational_polynomial", ISP_LENS_BROWN_CONRADY},
                                               {"equidistant", ISP_LENS_FISHEYE},
                                               {"fisheye", ISP_LENS_FISHEYE},
                                               {"", ISP_LENS_NONE},
                                               {"none", ISP_LENS_NONE}};
    enum isp_lens_model model = ISP_LENS_NONE;
    c->format = CALIBRATION_ROS;
    int err = find_model(tree_find(root, "distortion_model"), models,
                         sizeof(models) / sizeof(models[0]), &model, why);
    if (err == CALIBRATION_OK)
        err = read_size(root, "image_width width", "image_height height", "", c, why);
    if (err == CALIBRATION_OK)
        err = read_matrix(find_any(root, "camera_matrix K"), 3, "camera_matrix", &c->lens.camera,
                          why);
    if (err == CALIBRATION_OK && model != ISP_LENS_NONE)
        err = read_coefficients(find_any(root, "distortion_coefficients D"), model, &c->lens, why);
    const struct tree_node *p = find_any(root, "projection_matrix P");
    if (err < 0 || !p)
        return err;
    double zero[12];
    int count = matrix_numbers(p, zero, 12);
    if (count == 12 && zero[0] == 0) /* not calibrated */
        return CALIBRATION_OK;
    c->has_projection = true;
    return read_matrix(p, 4, "projection_matrix", &c->projection, why);
}

static int read_opencv(const struct tree_node *root, struct calibration *c,
                       char why[CALIBRATION_WHY])
{
    double fisheye = 0;
    const struct tree_node *flag = find_any(root, "fisheye_model fisheye");
    c->format = CALIBRATION_OPENCV;
    if (flag && tree_numbers(flag, &fisheye, 1) != 1)
        return fail(why, CALIBRATION_ERR_INPUT, "fisheye_model is no number");
    int err = read_size(root, "image_width", "image_height", "image_size", c, why);
    if (err == CALIBRATION_OK)
        err = read_matrix(find_any(root, "camera_matrix K intrinsic_matrix M1"), 3, "camera_matrix",
                          &c->lens.camera, why);
    if (err == CALIBRATION_OK)
        err = read_coefficients(
            find_any(root, "distortion_coefficients dist_coeffs dist_coefs D D1"),
            fisheye != 0 ? ISP_LENS_FISHEYE : ISP_LENS_BROWN_CONRADY, &c->lens, why);
    return err;
}

/* github.com/ethz-asl/kalibr/wiki/yaml-formats */
static int read_kalibr(const struct tree_node *camera, struct calibration *c,
                       char why[CALIBRATION_WHY])
{
    static const struct model_name models[] = {{"radtan", ISP_LENS_BROWN_CONRADY},
                                               {"equidistant", ISP_LENS_FISHEYE},
                                               {"none", ISP_LENS_NONE}};
    const struct tree_node *kind = tree_find(camera, "camera_model");
    enum isp_lens_model model = ISP_LENS_NONE;
    double k[4];
    c->format = CALIBRATION_KALIBR;
    if (!kind || kind->kind != TREE_SCALAR)
        return fail(why, CALIBRATION_ERR_INPUT, "camera_model is missing");
    if (strcmp(kind->text, "pinhole") != 0)
        return fail(why, CALIBRATION_ERR_UNSUPPORTED, "the camera model \"%.60s\" is unknown",
                    kind->text);
    int err = find_model(tree_find(camera, "distortion_model"), models, 3, &model, why);
    if (err == CALIBRATION_OK)
        err = read_size(camera, "", "", "resolution", c, why);
    if (err < 0)
        return err;
    if (tree_numbers(tree_find(camera, "intrinsics"), k, 4) != 4)
        return fail(why, CALIBRATION_ERR_INPUT, "intrinsics are not four numbers");
    c->lens.camera = (struct isp_pinhole){k[0], k[1], k[2], k[3]};
    err = check_pinhole(&c->lens.camera, "intrinsics", why);
    if (err < 0 || model == ISP_LENS_NONE)
        return err;
    return read_coefficients(find_any(camera, "distortion_coeffs distortion_coefficients"), model,
                             &c->lens, why);
}

static int read_tree(const struct tree_node *root, unsigned camera, struct calibration *c,
                     char why[CALIBRATION_WHY])
{
    char name[32];
    snprintf(name, sizeof(name), "cam%u", camera);
    if (root->kind != TREE_MAP)
        return fail(why, CALIBRATION_ERR_INPUT, "not a calibration: no names in it");
    const struct tree_node *chained = tree_find(root, name);
    if (chained)
        return read_kalibr(chained, c, why);
    if (tree_find(root, "cam0") || camera)
        return fail(why, CALIBRATION_ERR_INPUT, "there is no camera %u in it", camera);
    if (tree_find(root, "camera_model"))
        return read_kalibr(root, c, why);
    if (tree_find(root, "distortion_model"))
        return read_ros(root, c, why);
    if (find_any(root, "camera_matrix K intrinsic_matrix M1"))
        return read_opencv(root, c, why);
    return fail(why, CALIBRATION_ERR_INPUT,
                "neither ROS camera_info nor OpenCV nor Kalibr: there is no camera_matrix or cam0");
}

/* A file that begins with '<', in UTF-8 or UTF-16. */
static bool text_is_xml(const char *text, size_t size)
{
    static const struct {
        const char *bytes;
        size_t size;
    } starts[] = {{"<", 1}, {"\xef\xbb\xbf<", 4}, {"\xfe\xff\0<", 4}, {"\xff\xfe<", 3}};
    for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
        if (size >= starts[i].size && !memcmp(text, starts[i].bytes, starts[i].size))
            return true;
    return false;
}

int calibration_parse(const void *data, size_t size, unsigned camera, struct calibration *out,
                      char why[CALIBRATION_WHY])
{
    const char *text = data;
    struct calibration c = {.format = CALIBRATION_ROS};
    size_t at = 0;
    while (at < size && strchr(" \t\r\n", text[at]) && text[at])
        at++;
    if (size > LARGEST_FILE)
        return fail(why, CALIBRATION_ERR_INPUT, "more than 1 MiB is no calibration");
    struct tree_node *root = text_is_xml(text + at, size - at)
                                 ? tree_from_xml(text + at, size - at, why, CALIBRATION_WHY)
                                 : tree_from_yaml(text, size, why, CALIBRATION_WHY);
    if (!root)
        return CALIBRATION_ERR_INPUT;
    int err = read_tree(root, camera, &c, why);
    tree_free(root);
    if (err == CALIBRATION_OK)
        *out = c;
    return err;
}

int calibration_load(const char *path, unsigned camera, struct calibration *out,
                     char why[CALIBRATION_WHY])
{
    FILE *f = fopen(path, "rb");
    if (!f)
        return fail(why, CALIBRATION_ERR_INPUT, "%s", strerror(errno));
    char *data = malloc(LARGEST_FILE + 1);
    int err = data ? CALIBRATION_OK : fail(why, CALIBRATION_ERR_NOMEM, "out of memory");
    size_t size = data ? fread(data, 1, LARGEST_FILE + 1, f) : 0;
    if (err == CALIBRATION_OK && ferror(f))
        err = fail(why, CALIBRATION_ERR_INPUT, "%s", strerror(errno));
    fclose(f);
    if (err == CALIBRATION_OK)
        err = calibration_parse(data, size, camera, out, why);
    free(data);
    return err;
}

static void scale_pinhole(struct isp_pinhole *p, double s)
{
    p->fx *= s;
    p->fy *= s;
    p->cx = (p->cx + 0.5) * s - 0.5;
    p->cy = (p->cy + 0.5) * s - 0.5;
}

int calibration_scale(struct calibration *c, uint32_t width, uint32_t height,
                      char why[CALIBRATION_WHY])
{
    if (!c->width || !c->height) {
        c->width = width;
        c->height = height;
        return CALIBRATION_OK;
    }
    if (!width || !height || (uint64_t)c->width * height != (uint64_t)c->height * width)
        return fail(
            why, CALIBRATION_ERR_SIZE,
            "the calibration is for %u x %u, the pictures have %u x %u: another aspect ratio",
            c->width, c->height, width, height);
    double s = (double)width / c->width;
    scale_pinhole(&c->lens.camera, s);
    scale_pinhole(&c->projection, s);
    c->width = width;
    c->height = height;
    return CALIBRATION_OK;
}
