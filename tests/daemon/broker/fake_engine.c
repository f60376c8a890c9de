/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A test double of session.h: counted frames in a real sealed pool, without Vulkan and FFmpeg. The
 * bytes of the source are a script of "key=value", separated by white space:
 *
 *   frames=N width=W height=H slots=N interval=ms   N gray frames, pel value = sequence & 255
 *   epoch=N          a new format every N frames
 *   paint=N          writes only the first N rows of each frame, so large frames cost little
 *   gop=N            a stretch begins every N frames (parts of a file)
 *   entropy=MS       the GPU has entropy-decoded every frame, in so many milliseconds
 *   crash=N hang=N   the process dies, or stands still, before frame N
 *   fail=CODE at=N   ends with that failure before frame N
 *   unsupported=1    refused at once
 *   lost=N           GPU lost before frame N
 *
 * A URI in place of a descriptor is itself the script. A device has the name that was asked for.
 * The device "none" does not exist; "crash" makes the process die; "slow:MS" takes
 * so many milliseconds to open. libavcodec is there if it is named. FAKE_DEVICES in the environment
 * lists the devices of the machine by their UUIDs, with commas between them.
 */
#include "daemon/stretch_table.h"
#include "daemon/worker/session.h"
#include "daemon/worker/source/lavc_decoder.h"
#include "gpu/engine/driver_cache.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { DEVICES_MOST = 16 };

struct gpu {
    struct gpu_device_info info;
};

struct engine {
    uv_loop_t *loop;
    struct session *sessions;
    void (*closed)(void *ctx);
    void *closed_ctx;
    struct gpu *gpu;
};

struct script {
    long frames, width, height, slots, interval, epoch, paint, gop, entropy, crash, hang, fail, at,
        unsupported, lost;
};

struct session {
    struct session *next;
    struct engine *engine;
    const struct feed_callbacks *callbacks;
    void *ctx;
    uv_timer_t timer;
    struct script script;
    char name[128];
    bool probe_only, opened, announced, closing;
    uint64_t sequence, resume, max_frames;
    uint32_t part, parts;
    struct stretch_table *table;
    enum pelton_transport transport;
    uint32_t epoch, generation;
    uint32_t held[64]; /* generation of each slot in a reader's hands, 0 free */
    uint8_t *memory;
    uint64_t slot_size;
    struct pelton_failure failure;
    struct pelton_stats stats;
};

bool driver_cache_guard(void)
{
    return false;
}

bool lavc_decoder_exists(void)
{
    return true;
}

const char *lavc_decoder_name(void)
{
    return "libavcodec";
}

int gpu_open(const struct gpu_params *params, struct gpu **out)
{
    if (params->device && strcmp(params->device, "none") == 0) {
        params->log(params->log_ctx, 0, "no device matches \"none\"");
        return GPU_ERR_NO_DEVICE;
    }
    if (params->device && strcmp(params->device, "crash") == 0)
        raise(SIGKILL);
    if (params->device && strncmp(params->device, "slow:", 5) == 0)
        uv_sleep((unsigned)atoi(params->device + 5));
    struct gpu *g = calloc(1, sizeof(*g));
    if (!g)
        return GPU_ERR_NOMEM;
    snprintf(g->info.name, sizeof(g->info.name), "%.60s", params->device ? params->device : "fake");
    strcpy(g->info.uuid, "00000000-0000-0000-0000-000000000001");
    strcpy(g->info.driver, "fake engine");
    g->info.software = g->info.usable = true;
    *out = g;
    return 0;
}

void gpu_close(struct gpu *g)
{
    free(g);
}

/* Whoever leaves has no memory left to look at. */
void gpu_leave(struct gpu *g)
{
}

void engine_leave(struct engine *e)
{
}

int engine_create(uv_loop_t *loop, const struct engine_params *params, struct engine **out)
{
    struct engine *e = calloc(1, sizeof(*e));
    if (!e)
        return PELTON_ERR_NOMEM;
    e->loop = loop;
    e->gpu = params->gpu;
    *out = e;
    return 0;
}

void engine_share_cores(struct engine *e, unsigned engines)
{
}

int engine_need_gpu(struct engine *e)
{
    return 0;
}

const struct gpu_device_info *engine_device(const struct engine *e)
{
    return &e->gpu->info;
}

void engine_pools_returned(struct engine *e, uint32_t stream, bool all)
{
}

void engine_live(struct engine *e, struct live_usage *out)
{
    *out = (struct live_usage){0};
}

void engine_refused(struct engine *e, uint64_t out[H264_LIMITS])
{
    memset(out, 0, H264_LIMITS * sizeof(*out));
}

void engine_memory(struct engine *e, struct pelton_stats *out)
{
    out->worker_host[PELTON_MEMORY_HEAP] = sizeof(*e);
}

bool engine_expects_little(uint64_t bytes, unsigned threads)
{
    return false;
}

uint32_t engine_entropy_pictures(struct engine *e)
{
    return 0;
}

int gpu_list(struct gpu_device_info **out, size_t *count)
{
    const char *names = getenv("FAKE_DEVICES");
    struct gpu_device_info *list = calloc(DEVICES_MOST, sizeof(*list));
    size_t n = 0;
    if (!names)
        names = "00000000-0000-0000-0000-000000000001,00000000-0000-0000-0000-000000000002";
    while (*names && n < DEVICES_MOST) {
        size_t length = strcspn(names, ",");
        strcpy(list[n].name, n ? "other" : "fake");
        snprintf(list[n].uuid, sizeof(list[n].uuid), "%.*s", (int)length, names);
        list[n++].usable = true;
        names += length + (names[length] == ',');
    }
    *out = list;
    *count = n;
    return 0;
}

/* ---- the script ---- */

static void script_parse(struct session *s, char *text)
{
    struct script *p = &s->script;
    *p = (struct script){.frames = 10,
                         .width = 64,
                         .height = 48,
                         .slots = 4,
                         .gop = 1,
                         .crash = -1,
                         .hang = -1,
                         .at = -1,
                         .lost = -1};
    const struct {
        const char *name;
        long *value;
    } keys[] = {{"frames", &p->frames}, {"width", &p->width},
                {"height", &p->height}, {"slots", &p->slots},
                {"gop", &p->gop},       {"crash", &p->crash},
                {"hang", &p->hang},     {"interval", &p->interval},
                {"epoch", &p->epoch},   {"fail", &p->fail},
                {"at", &p->at},         {"unsupported", &p->unsupported},
                {"lost", &p->lost},     {"entropy", &p->entropy},
                {"paint", &p->paint}};
    char *save = NULL;
    for (char *word = strtok_r(text, " \n", &save); word; word = strtok_r(NULL, " \n", &save)) {
        for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
            size_t n = strlen(keys[i].name);
            if (strncmp(word, keys[i].name, n) == 0 && word[n] == '=')
                *keys[i].value = atol(word + n + 1);
        }
    }
}

static void script_read(struct session *s, int fd, const char *uri)
{
    char text[512] = "";
    if (uri) {
        snprintf(text, sizeof(text), "%s", uri);
    } else {
        ssize_t n = read(fd, text, sizeof(text) - 1);
        text[n > 0 ? n : 0] = 0;
        close(fd);
    }
    if (!strchr(text, '=')) {
        s->failure.code = PELTON_ERR_INPUT;
        snprintf(s->failure.cause, sizeof(s->failure.cause), "%s: no video in it", s->name);
        strcpy(s->failure.hint, "give a script");
    }
    script_parse(s, text);
}

/* ---- the pool ---- */

static void pool_drop(struct session *s)
{
    if (s->memory) {
        munmap(s->memory, s->slot_size * (size_t)s->script.slots);
        s->memory = NULL;
    }
}

static void pool_make(struct session *s)
{
    const struct script *p = &s->script;
    pool_drop(s);
    memset(s->held, 0, sizeof(s->held));
    s->epoch++;
    uint32_t stride = ((uint32_t)p->width + 255) & ~255u;
    s->slot_size = ((uint64_t)stride * (uint64_t)p->height + 4095) & ~(uint64_t)4095;
    struct feed_format f = {.epoch = s->epoch,
                            .slots = (uint32_t)p->slots,
                            .pix_fmt = "gray",
                            .width = (uint32_t)p->width,
                            .height = (uint32_t)p->height,
                            .planes = 1,
                            .slot_size = s->slot_size,
                            .stride = {stride},
                            .plane_width = {(uint32_t)p->width},
                            .plane_height = {(uint32_t)p->height},
                            .time_base = {1, 25},
                            .sar = {1, 1},
                            .memfd = -1,
                            .memfd_size = s->slot_size * (uint64_t)p->slots};
    if (s->transport != PELTON_NONE) {
        f.memfd = memfd_create("fake-pool", MFD_CLOEXEC | MFD_ALLOW_SEALING);
        if (f.memfd < 0 || ftruncate(f.memfd, (off_t)f.memfd_size) < 0)
            abort();
        s->memory = mmap(NULL, f.memfd_size, PROT_READ | PROT_WRITE, MAP_SHARED, f.memfd, 0);
        fcntl(f.memfd, F_ADD_SEALS,
              F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL);
    }
    s->callbacks->on_format(s->ctx, &f);
    if (f.memfd >= 0)
        close(f.memfd);
}

static int reader_slot(const struct session *s)
{
    for (int i = 0; i < s->script.slots; i++)
        if (s->held[i] == 0)
            return i;
    return -1;
}

/* ---- running ---- */

static void on_closed(uv_handle_t *handle)
{
    struct session *s = handle->data;
    struct engine *e = s->engine;
    struct session **link = &e->sessions;
    while (*link != s)
        link = &(*link)->next;
    *link = s->next;
    pool_drop(s);
    s->callbacks->on_end(s->ctx, &s->failure, &s->stats);
    stretch_table_unmap(s->table);
    free(s);
    if (e->closed && !e->sessions) {
        e->closed(e->closed_ctx);
        free(e);
    }
}

void session_close(struct session *s)
{
    if (!s->closing) {
        s->closing = true;
        uv_close((uv_handle_t *)&s->timer, on_closed);
    }
}

static void fail(struct session *s, int code, const char *cause)
{
    s->failure.code = code;
    snprintf(s->failure.cause, sizeof(s->failure.cause), "%s: %s", s->name, cause);
    strcpy(s->failure.hint, "as the script says");
    session_close(s);
}

static bool open_source(struct session *s)
{
    s->opened = true;
    if (s->failure.code) {
        session_close(s);
        return false;
    }
    struct pelton_info info = {.container = "script",
                               .codec = "fake",
                               .pix_fmt = "gray",
                               .width = (uint32_t)s->script.width,
                               .height = (uint32_t)s->script.height,
                               .time_base = {1, 25},
                               .frames = s->script.frames,
                               .supported = !s->script.unsupported};
    if (s->script.unsupported) {
        strcpy(info.unsupported_element, "fake_flag");
        strcpy(info.unsupported_what, "is set");
    }
    s->callbacks->on_info(s->ctx, &info, NULL);
    if (s->script.unsupported)
        fail(s, PELTON_ERR_UNSUPPORTED, "fake_flag is set");
    else if (s->probe_only)
        session_close(s);
    return !s->closing;
}

static void script_events(struct session *s)
{
    long n = (long)s->sequence;
    if (n == s->script.crash)
        raise(SIGKILL);
    while (n == s->script.hang)
        pause();
    if (n == s->script.lost)
        fail(s, PELTON_ERR_GPU_LOST, "the fake device is lost");
    else if (n == s->script.at)
        fail(s, (int)s->script.fail, "failed where it should");
    else if (n >= s->script.frames || (s->max_frames && s->sequence >= s->max_frames))
        session_close(s);
}

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Of this part. */
static bool last_frame(const struct session *s)
{
    uint64_t next = s->sequence + 1, gop = (uint64_t)s->script.gop,
             frames = (uint64_t)s->script.frames;
    if (s->parts > 1 && !s->table && next % gop == 0)
        next += gop * (s->parts - 1);
    return next >= frames;
}

static void announce(struct session *s, uint32_t slot)
{
    const struct script *p = &s->script;
    uint64_t stride = ((uint64_t)p->width + 255) & ~(uint64_t)255;
    uint64_t painted =
        p->paint > 0 && p->paint < p->height ? stride * (uint64_t)p->paint : s->slot_size;
    memset(s->memory + slot * s->slot_size, (int)(s->sequence & 255), painted);
    s->held[slot] = ++s->generation;
    struct feed_frame f = {.sequence = s->sequence,
                           .epoch = s->epoch,
                           .slot = slot,
                           .generation = s->generation,
                           .pts = (int64_t)s->sequence,
                           .dts = (int64_t)s->sequence,
                           .duration = 1,
                           .flags = (s->sequence == 0 ? PELTON_FRAME_KEY : 0) |
                                    (last_frame(s) ? PELTON_FRAME_LAST : 0),
                           .received_ns = now_ns(),
                           .decoded_ns = now_ns()};
    s->callbacks->on_frame(s->ctx, &f);
}

/* Whether another part has the next frame. A part joins where it comes to a stretch that is open.
 */
static bool is_left_out(const struct session *s)
{
    uint64_t stretch = s->sequence / (uint64_t)s->script.gop;
    if (s->parts < 2)
        return false;
    if (!s->table)
        return stretch % s->parts != s->part;
    if (stretch_table_owner(s->table, stretch) == STRETCH_NOBODY)
        stretch_table_join(s->table, s->part);
    return stretch_table_assign(s->table, stretch) != (int)s->part;
}

/* One frame; false where none can be made now. Those of other parts take no time: *made counts this
 * part's. */
static bool produce(struct session *s, int *made)
{
    script_events(s);
    if (s->closing)
        return false;
    bool left_out = is_left_out(s), wanted = s->sequence >= s->resume && !left_out;
    bool new_epoch = s->script.epoch && s->sequence % (uint64_t)s->script.epoch == 0;
    if (wanted && (!s->announced || new_epoch)) {
        s->announced = true;
        pool_make(s);
    }
    if (wanted && s->transport == PELTON_SHM) {
        int slot = reader_slot(s);
        if (slot < 0)
            return false;
        announce(s, (uint32_t)slot);
    }
    s->stats.frames += !left_out;
    s->stats.gpu_entropy_pictures += s->script.entropy > 0;
    s->stats.gpu_entropy += 1e-3 * (double)s->script.entropy;
    s->sequence++;
    *made += !left_out;
    return true;
}

static void on_timer(uv_timer_t *timer)
{
    struct session *s = timer->data;
    if (!s->opened && !open_source(s))
        return;
    for (int made = 0; made < (s->script.interval ? 1 : 8) && produce(s, &made);) {
    }
}

int session_open(struct engine *e, const struct pelton_open_params *params,
                 const struct session_extra *extra, const struct feed_callbacks *callbacks,
                 void *ctx, struct session **out)
{
    struct session *s = calloc(1, sizeof(*s));
    if (!s)
        return PELTON_ERR_NOMEM;
    s->engine = e;
    s->callbacks = callbacks;
    s->ctx = ctx;
    s->probe_only = extra->probe_only;
    s->resume = extra->resume_sequence;
    s->max_frames = params->max_frames;
    s->transport = params->bench.transport;
    s->part = extra->stretch.index;
    s->parts = extra->stretch.count;
    s->table = extra->table;
    snprintf(s->name, sizeof(s->name), "%s", params->name);
    script_read(s, params->fd, params->uri);
    if (s->script.gop < 1)
        s->script.gop = 1;
    if (s->script.slots < 1 || s->script.slots > 64)
        s->script.slots = 4;
    s->next = e->sessions;
    e->sessions = s;
    uv_timer_init(e->loop, &s->timer);
    s->timer.data = s;
    uv_timer_start(&s->timer, on_timer, 0, s->script.interval ? (uint64_t)s->script.interval : 1);
    *out = s;
    return 0;
}

void session_release(struct session *s, uint32_t epoch, uint32_t slot, uint32_t generation)
{
    if (epoch == s->epoch && slot < 64 && s->held[slot] == generation)
        s->held[slot] = 0;
}

void session_stats(struct session *s, struct pelton_stats *out)
{
    *out = s->stats;
}

void engine_close(struct engine *e, void (*closed)(void *ctx), void *ctx)
{
    if (!e->sessions) {
        free(e);
        closed(ctx);
        return;
    }
    e->closed = closed;
    e->closed_ctx = ctx;
    for (struct session *s = e->sessions; s; s = s->next)
        session_close(s);
}
