/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Graphs of media controllers: ways through those of vimc, of a Raspberry Pi's receiver, of an
 * image processor with two sensors; loops, and descriptions that contradict themselves.
 */
#include "camera/media_graph.h"

#include <linux/media-bus-format.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { ON = MEDIA_LNK_FL_ENABLED, FIXED = MEDIA_LNK_FL_IMMUTABLE };
enum { SENSOR = MEDIA_ENT_F_CAM_SENSOR, VIDEO = MEDIA_ENT_F_IO_V4L, OTHER = 0 };

/* A description under construction; numbers are unique, as the kernel's are. */
struct builder {
    struct media_v2_entity entities[MEDIA_ENTITIES];
    struct media_v2_interface interfaces[MEDIA_INTERFACES];
    struct media_v2_pad pads[MEDIA_PADS];
    struct media_v2_link links[MEDIA_LINKS];
    struct media_description d;
    uint32_t number, minor;
};

static struct builder built;
static struct media_graph graph;
static struct media_plan plan;
static char why[MEDIA_WHY];

static void start(void)
{
    built = (struct builder){.number = 1};
    built.d = (struct media_description){
        built.entities, built.interfaces, built.pads, built.links, 0, 0, 0, 0};
}

/* Returns its number. directions: of its pads, '<' for a sink, '>' for a source. */
static uint32_t entity(const char *name, uint32_t function, const char *directions)
{
    struct media_v2_entity *e = &built.entities[built.d.n_entities++];
    struct media_v2_interface *n = &built.interfaces[built.d.n_interfaces++];
    struct media_v2_link *l = &built.links[built.d.n_links++];
    e->id = built.number++;
    e->function = function;
    snprintf(e->name, sizeof(e->name), "%s", name);
    n->id = built.number++;
    n->intf_type = function == VIDEO ? MEDIA_INTF_T_V4L_VIDEO : MEDIA_INTF_T_V4L_SUBDEV;
    n->devnode.major = 81;
    n->devnode.minor = built.minor++;
    *l = (struct media_v2_link){built.number++, n->id, e->id, 1u << 28 | ON, {0}};
    for (uint32_t i = 0; directions[i]; i++)
        built.pads[built.d.n_pads++] =
            (struct media_v2_pad){built.number++,
                                  e->id,
                                  directions[i] == '<' ? MEDIA_PAD_FL_SINK : MEDIA_PAD_FL_SOURCE,
                                  i,
                                  {0}};
    return e->id;
}

static uint32_t pad_number(uint32_t id, uint32_t index)
{
    for (uint32_t i = 0; i < built.d.n_pads; i++)
        if (built.pads[i].entity_id == id && built.pads[i].index == index)
            return built.pads[i].id;
    return 0;
}

static void connect(uint32_t from, uint32_t from_pad, uint32_t to, uint32_t to_pad, uint32_t flags)
{
    built.links[built.d.n_links++] = (struct media_v2_link){
        built.number++, pad_number(from, from_pad), pad_number(to, to_pad), flags, {0}};
}

/* Builds the graph and plans the way to the video node called name. */
static int plan_to(const char *name, const char *sensor)
{
    assert_int_equal(media_graph_build(&built.d, &graph, why), 0);
    for (uint32_t i = 0; i < graph.n_entities; i++)
        if (!strcmp(graph.entities[i].name, name)) {
            const struct media_entity *e = &graph.entities[i];
            int video = media_graph_video(&graph, e->major, e->minor);
            assert_int_equal(video, i);
            return media_plan_make(&graph, (uint32_t)video, sensor, &plan, why);
        }
    fail();
    return 0;
}

/* "Sensor A > Debayer A > ..." */
static const char *way(void)
{
    static char text[1024];
    text[0] = 0;
    for (uint32_t i = 0; i < plan.n_hops; i++) {
        size_t n = strlen(text);
        snprintf(text + n, sizeof(text) - n, "%s%s", i ? " > " : "",
                 graph.entities[plan.hops[i].entity].name);
    }
    return text;
}

static const char *link_text(const struct media_link *l)
{
    static char text[200];
    snprintf(text, sizeof(text), "%s > %s", graph.entities[graph.pads[l->source].entity].name,
             graph.entities[graph.pads[l->sink].entity].name);
    return text;
}

/* "-A > B +C > B" */
static const char *switches(void)
{
    static char text[1024];
    text[0] = 0;
    for (uint32_t i = 0; i < plan.n_switches; i++) {
        size_t n = strlen(text);
        snprintf(text + n, sizeof(text) - n, "%s%c%s", i ? " " : "",
                 plan.switches[i].enable ? '+' : '-',
                 link_text(&graph.links[plan.switches[i].link]));
    }
    return text;
}

/* As the driver vimc of Linux 6.1 makes it. */
static void build_vimc(void)
{
    start();
    uint32_t a = entity("Sensor A", SENSOR, ">"), b = entity("Sensor B", SENSOR, ">"),
             da = entity("Debayer A", OTHER, "<>"), db = entity("Debayer B", OTHER, "<>"),
             r0 = entity("Raw Capture 0", VIDEO, "<"), r1 = entity("Raw Capture 1", VIDEO, "<"),
             input = entity("RGB/YUV Input", SENSOR, ">"), scaler = entity("Scaler", OTHER, "<>"),
             rgb = entity("RGB/YUV Capture", VIDEO, "<");
    connect(a, 0, da, 0, ON | FIXED);
    connect(a, 0, r0, 0, ON | FIXED);
    connect(b, 0, db, 0, ON | FIXED);
    connect(b, 0, r1, 0, ON | FIXED);
    connect(da, 1, scaler, 0, ON);
    connect(db, 1, scaler, 0, 0);
    connect(input, 0, scaler, 0, 0);
    connect(scaler, 1, rgb, 0, ON | FIXED);
}

static void test_vimc(void **state)
{
    (void)state;
    build_vimc();
    assert_int_equal(plan_to("Raw Capture 0", ""), 0);
    assert_string_equal(way(), "Sensor A > Raw Capture 0");
    assert_string_equal(switches(), "-Debayer A > Scaler");
    assert_int_equal(plan.n_sides, 1);
    assert_string_equal(link_text(&graph.links[plan.sides[0]]), "Sensor A > Debayer A");
    assert_int_equal(plan_to("RGB/YUV Capture", ""), 0);
    assert_string_equal(way(), "Sensor A > Debayer A > Scaler > RGB/YUV Capture");
    assert_string_equal(switches(), "");
    assert_int_equal(plan.hops[1].sink, 2);
    assert_int_equal(plan.hops[1].source, 3);
    assert_int_equal(plan.hops[0].sink, -1);
    assert_int_equal(plan.hops[3].source, -1);
    assert_int_equal(plan_to("RGB/YUV Capture", "Sensor B"), 0);
    assert_string_equal(way(), "Sensor B > Debayer B > Scaler > RGB/YUV Capture");
    assert_string_equal(switches(), "-Debayer A > Scaler +Debayer B > Scaler");
    assert_int_equal(plan_to("RGB/YUV Capture", "RGB/YUV Input"), 0);
    assert_string_equal(switches(), "-Debayer A > Scaler +RGB/YUV Input > Scaler");
    assert_int_equal(plan_to("Raw Capture 1", "Sensor A"), MEDIA_NO_SENSOR);
    assert_string_equal(why, "no way from a sensor \"Sensor A\"; there is Sensor B");
}

/* As the receiver of a Raspberry Pi 5 (rp1-cfe): CSI-2 with a pad for each channel, a front end,
 * and video nodes that no sensor reaches. */
static void test_receiver(void **state)
{
    (void)state;
    start();
    uint32_t sensor = entity("imx708 4-001a", SENSOR, ">"), csi = entity("csi2", OTHER, "<>>>>"),
             front = entity("pisp-fe", OTHER, "<<>>>"),
             ch0 = entity("rp1-cfe-csi2_ch0", VIDEO, "<"),
             ch1 = entity("rp1-cfe-csi2_ch1", VIDEO, "<"),
             fe = entity("rp1-cfe-fe_image0", VIDEO, "<"),
             stats = entity("rp1-cfe-fe_stats", VIDEO, "<"),
             config = entity("rp1-cfe-fe_config", VIDEO, ">");
    connect(sensor, 0, csi, 0, ON | FIXED);
    connect(csi, 1, ch0, 0, 0);
    connect(csi, 1, front, 0, 0);
    connect(csi, 2, ch1, 0, ON);
    connect(front, 2, fe, 0, 0);
    connect(front, 4, stats, 0, 0);
    connect(config, 0, front, 1, 0);
    assert_int_equal(plan_to("rp1-cfe-csi2_ch0", ""), 0);
    assert_string_equal(way(), "imx708 4-001a > csi2 > rp1-cfe-csi2_ch0");
    assert_string_equal(switches(), "-csi2 > rp1-cfe-csi2_ch1 +csi2 > rp1-cfe-csi2_ch0");
    assert_int_equal(graph.pads[plan.hops[1].source].index, 1);
    assert_int_equal(plan_to("rp1-cfe-fe_image0", "imx708 4-001a"), 0);
    assert_string_equal(way(), "imx708 4-001a > csi2 > pisp-fe > rp1-cfe-fe_image0");
    /* the node that feeds the front end's parameters is an origin, too, and no camera */
    assert_int_equal(plan_to("rp1-cfe-fe_image0", ""), 0);
    assert_string_equal(way(), "imx708 4-001a > csi2 > pisp-fe > rp1-cfe-fe_image0");
    assert_int_equal(plan_to("rp1-cfe-fe_config", ""), MEDIA_NO_SENSOR);
    assert_string_equal(why, "no sensor behind rp1-cfe-fe_config");
}

/* As an image processor with two sensors, neither connected (rkisp1). */
static void test_processor(void **state)
{
    (void)state;
    start();
    uint32_t a = entity("imx219 4-0010", SENSOR, ">"), b = entity("ov5647 4-0036", SENSOR, ">"),
             csi = entity("rkisp1_csi", OTHER, "<>"), isp = entity("rkisp1_isp", OTHER, "<<>>"),
             rm = entity("rkisp1_resizer_mainpath", OTHER, "<>"),
             rs = entity("rkisp1_resizer_selfpath", OTHER, "<>"),
             main_path = entity("rkisp1_mainpath", VIDEO, "<"),
             self_path = entity("rkisp1_selfpath", VIDEO, "<"),
             params = entity("rkisp1_params", VIDEO, ">"),
             stats = entity("rkisp1_stats", VIDEO, "<");
    connect(a, 0, csi, 0, 0);
    connect(b, 0, csi, 0, 0);
    connect(csi, 1, isp, 0, ON | FIXED);
    connect(isp, 2, rm, 0, ON);
    connect(isp, 2, rs, 0, ON);
    connect(rm, 1, main_path, 0, ON | FIXED);
    connect(rs, 1, self_path, 0, ON | FIXED);
    connect(params, 0, isp, 1, ON | FIXED);
    connect(isp, 3, stats, 0, ON | FIXED);
    assert_int_equal(plan_to("rkisp1_mainpath", ""), MEDIA_SEVERAL);
    assert_string_equal(why, "several sensors could be connected: imx219 4-0010, ov5647 4-0036");
    assert_int_equal(plan_to("rkisp1_mainpath", "ov5647 4-0036"), 0);
    assert_string_equal(way(),
                        "ov5647 4-0036 > rkisp1_csi > rkisp1_isp > rkisp1_resizer_mainpath > "
                        "rkisp1_mainpath");
    assert_string_equal(switches(),
                        "-rkisp1_isp > rkisp1_resizer_selfpath +ov5647 4-0036 > rkisp1_csi");
    built.links[built.d.n_entities].flags = ON; /* the first between pads */
    assert_int_equal(plan_to("rkisp1_selfpath", ""), 0);
    assert_string_equal(way(),
                        "imx219 4-0010 > rkisp1_csi > rkisp1_isp > rkisp1_resizer_selfpath > "
                        "rkisp1_selfpath");
}

static void test_immutable(void **state)
{
    (void)state;
    start();
    uint32_t a = entity("a", SENSOR, ">"), b = entity("b", SENSOR, ">"),
             bridge = entity("bridge", OTHER, "<>"), video = entity("video", VIDEO, "<");
    connect(a, 0, bridge, 0, ON | FIXED);
    connect(b, 0, bridge, 0, 0);
    connect(bridge, 1, video, 0, ON);
    assert_int_equal(plan_to("video", ""), 0);
    assert_string_equal(way(), "a > bridge > video");
    assert_int_equal(plan_to("video", "b"), MEDIA_IMMUTABLE);
    assert_string_equal(why, "the link from a to bridge is immutable");
    /* disabled for good: no way at all */
    built.links[built.d.n_links - 2].flags = FIXED;
    assert_int_equal(plan_to("video", "b"), MEDIA_NO_SENSOR);
}

/* Bridges in a ring, and a way that is too long. */
static void test_loops(void **state)
{
    (void)state;
    start();
    uint32_t x = entity("x", OTHER, "<<>"), y = entity("y", OTHER, "<>"),
             z = entity("z", OTHER, "<>>"), video = entity("video", VIDEO, "<");
    connect(x, 2, y, 0, ON);
    connect(y, 1, z, 0, ON);
    connect(z, 1, x, 0, ON);
    connect(z, 2, video, 0, ON);
    assert_int_equal(plan_to("video", ""), MEDIA_NO_SENSOR);
    uint32_t sensor = entity("sensor", SENSOR, ">");
    connect(sensor, 0, x, 1, 0);
    assert_int_equal(plan_to("video", ""), 0);
    assert_string_equal(way(), "sensor > x > y > z > video");
    assert_string_equal(switches(), "-z > x +sensor > x");
    start();
    uint32_t last = entity("sensor", SENSOR, ">");
    for (int i = 0, pad = 0; i < MEDIA_HOPS; i++, pad = 1) {
        uint32_t next = entity("bridge", OTHER, "<>");
        connect(last, (uint32_t)pad, next, 0, ON);
        last = next;
    }
    video = entity("video", VIDEO, "<");
    connect(last, 1, video, 0, ON);
    assert_int_equal(plan_to("video", ""), MEDIA_TOO_LONG);
}

/* A receiver of HDMI has no sensor, and a function of its own. */
static void test_receiver_of_signals(void **state)
{
    (void)state;
    start();
    uint32_t hdmi = entity("tc358743 4-000f", MEDIA_ENT_F_VID_IF_BRIDGE, ">"),
             csi = entity("csi2", OTHER, "<>"), video = entity("video", VIDEO, "<"),
             alone = entity("alone", VIDEO, "<");
    connect(hdmi, 0, csi, 0, ON | FIXED);
    connect(csi, 1, video, 0, 0);
    (void)alone;
    assert_int_equal(plan_to("video", ""), 0);
    assert_string_equal(way(), "tc358743 4-000f > csi2 > video");
    assert_int_equal(plan_to("alone", ""), MEDIA_NO_SENSOR);
    assert_string_equal(why, "no sensor behind alone");
}

static int rebuild(void)
{
    why[0] = 0;
    return media_graph_build(&built.d, &graph, why);
}

static void test_contradictions(void **state)
{
    (void)state;
    build_vimc();
    built.entities[3].id = built.entities[2].id;
    assert_int_equal(rebuild(), -1);
    assert_string_equal(why, "its graph has two entities of one number");
    build_vimc();
    built.pads[4].entity_id = 9999;
    assert_int_equal(rebuild(), -1);
    build_vimc();
    built.pads[4].flags = MEDIA_PAD_FL_SINK | MEDIA_PAD_FL_SOURCE;
    assert_int_equal(rebuild(), -1);
    build_vimc();
    built.pads[4].index = UINT32_MAX;
    assert_int_equal(rebuild(), -1);
    assert_string_equal(why, "its graph has a pad of no entity or no direction");
    build_vimc();
    built.links[built.d.n_links - 1].sink_id = 9999;
    assert_int_equal(rebuild(), -1);
    build_vimc();
    built.links[built.d.n_links - 1].source_id = built.links[built.d.n_links - 1].sink_id;
    assert_int_equal(rebuild(), -1);
    assert_string_equal(why, "its graph has a link to nothing");
    build_vimc();
    built.links[0].source_id = 9999; /* of an interface */
    assert_int_equal(rebuild(), -1);
    build_vimc();
    built.d.n_links = UINT32_MAX;
    assert_int_equal(rebuild(), -1);
    assert_string_equal(why, "its graph is larger than any known one");
    build_vimc();
    memset(built.entities[0].name, 'x', sizeof(built.entities[0].name)); /* no end */
    assert_int_equal(rebuild(), 0);
    assert_int_equal(strlen(graph.entities[0].name), 63);
    assert_int_equal(media_plan_make(&graph, graph.n_entities, "", &plan, why), MEDIA_NO_SENSOR);
}

static uint32_t draw(uint64_t *state, uint32_t below)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33) % below;
}

/* Whatever the graph, a plan is a way that its links allow. */
static void check_plan(uint32_t video)
{
    assert_true(plan.n_hops >= 2 && plan.n_hops <= MEDIA_HOPS);
    assert_int_equal(plan.hops[plan.n_hops - 1].entity, video);
    for (uint32_t i = 0; i < plan.n_hops; i++) {
        const struct media_hop *h = &plan.hops[i];
        for (uint32_t k = 0; k < i; k++)
            assert_int_not_equal(plan.hops[k].entity, h->entity);
        assert_true((h->sink < 0) == (i == 0) && (h->source < 0) == (i + 1 == plan.n_hops));
        assert_true(h->sink < 0 ||
                    (graph.pads[h->sink].entity == h->entity && graph.pads[h->sink].sink));
        assert_true(h->source < 0 ||
                    (graph.pads[h->source].entity == h->entity && !graph.pads[h->source].sink));
    }
    for (uint32_t i = 0; i < plan.n_switches; i++)
        assert_false(graph.links[plan.switches[i].link].immutable);
}

static void test_random(void **state)
{
    (void)state;
    const char *text = getenv("PELTON_SEED");
    uint64_t seed = text ? strtoull(text, NULL, 10) : 1, planned = 0;
    printf("seed %llu\n", (unsigned long long)seed);
    for (int turn = 0; turn < 3000; turn++) {
        static const char *const shapes[] = {"<>", "<<>", "<>>", ">", "<", ""};
        uint32_t n = 2 + draw(&seed, 12), ids[16];
        start();
        for (uint32_t i = 0; i < n; i++)
            ids[i] = entity("e",
                            i == 0           ? VIDEO
                            : draw(&seed, 4) ? OTHER
                                             : SENSOR,
                            i == 0 ? "<" : shapes[draw(&seed, 6)]);
        for (uint32_t i = draw(&seed, 30); i > 0 && built.d.n_pads; i--)
            built.links[built.d.n_links++] =
                (struct media_v2_link){built.number++,
                                       built.pads[draw(&seed, built.d.n_pads)].id,
                                       built.pads[draw(&seed, built.d.n_pads)].id,
                                       draw(&seed, 4),
                                       {0}};
        if (draw(&seed, 8) == 0)
            built.links[draw(&seed, built.d.n_links)].flags = draw(&seed, UINT32_MAX);
        (void)ids;
        /* links in a wrong direction are the most: they are dropped here, one by one */
        for (uint32_t i = n; i < built.d.n_links && rebuild() < 0;)
            built.links[i] = built.links[--built.d.n_links];
        if (rebuild() < 0)
            continue;
        int video = media_graph_video(&graph, 81, 0);
        if (video >= 0 && media_plan_make(&graph, (uint32_t)video, "", &plan, why) == 0) {
            check_plan((uint32_t)video);
            planned++;
        }
    }
    assert_true(planned > 30);
}

static void test_owner(void **state)
{
    (void)state;
    const bool none[3] = {false, false, false}, all[3] = {true, true, true},
               last[3] = {false, false, true}, middle[3] = {false, true, false};
    assert_int_equal(media_control_owner(none, 3, true), -1);
    assert_int_equal(media_control_owner(all, 3, true), 0);
    assert_int_equal(media_control_owner(all, 3, false), 2);
    assert_int_equal(media_control_owner(last, 3, true), 2);
    assert_int_equal(media_control_owner(middle, 3, false), 1);
    assert_int_equal(media_control_owner(all, 0, false), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vimc),           cmocka_unit_test(test_receiver),
        cmocka_unit_test(test_processor),      cmocka_unit_test(test_immutable),
        cmocka_unit_test(test_loops),          cmocka_unit_test(test_receiver_of_signals),
        cmocka_unit_test(test_contradictions), cmocka_unit_test(test_random),
        cmocka_unit_test(test_owner),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
