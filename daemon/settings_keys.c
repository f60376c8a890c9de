/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The table of keys: see settings_keys.h.
 */
#include "daemon/settings_keys.h"

#include "daemon/config_print.h"
#include "daemon/sandbox.h"
#include "proto/near_name.h"
#include "proto/option_help.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum key_kind { KIND_TEXT, KIND_NUMBER, KIND_BOOL, KIND_ENTROPY };

/* Values of KIND_ENTROPY, in the order of enum engine_entropy. */
static const char *const entropy_words[] = {"auto", "cpu", "gpu", "both"};

struct settings_key {
    const char *name;
    enum key_kind kind;
    size_t offset; /* in struct settings */
    uint64_t min, max, preset;
    const char *help;
};

#define AT(member) offsetof(struct settings, member)

static const struct settings_key keys[] = {
    {"device", KIND_TEXT, AT(engine.device), 0, 0, 0,
     "auto, gpu, cpu, libavcodec, part of a name, or a UUID; all, or several with commas"},
    {"libavcodec", KIND_BOOL, AT(engine.libavcodec), 0, 1, 1,
     "without a GPU, auto decodes with libavcodec; false: with the software device"},
    {"threads", KIND_NUMBER, AT(engine.threads), 0, 1024, 0, "codec threads; 0: one per CPU"},
    {"lookahead", KIND_NUMBER, AT(engine.lookahead), 0, 4096, 0,
     "pictures in flight per stream; 0: by memory"},
    {"tune", KIND_BOOL, AT(engine.tune), 0, 1, 1,
     "use the kernels that pelton tune measured; false: choose by kind of device"},
    {"live_clocks", KIND_BOOL, AT(engine.live_clocks), 0, 1, 1,
     "live streams keep a GPU's clocks up between pictures"},
    {"entropy", KIND_ENTROPY, AT(engine.entropy), 0, 3, 0,
     "who entropy-decodes: auto, cpu, gpu, both; auto: both for files, after a second, on discrete "
     "GPUs with enough memory"},
    {"entropy_memory", KIND_NUMBER, AT(engine.entropy_memory), 0, 1u << 20, 0,
     "MiB of GPU memory for entropy-decoded pictures; 0: by the GPU's memory"},
    {"expected", KIND_NUMBER, AT(engine.expected), 0, 1u << 30, 0,
     "MiB of video that will be decoded in all; 0: unknown. For little the GPU decodes no entropy"},
    {"memory", KIND_NUMBER, AT(engine.memory), 0, 1u << 30, 0,
     "MiB that a worker may hold, of the GPU's memory and of the host's each; 0: by what is free"},
    {"memory.device", KIND_NUMBER, AT(engine.memory_device), 0, 1u << 30, 0,
     "the same of the GPU's memory alone"},
    {"memory.host", KIND_NUMBER, AT(engine.memory_host), 0, 1u << 30, 0,
     "the same of the host's memory alone"},
    {"gpu_motion", KIND_BOOL, AT(engine.gpu_motion), 0, 1, 1,
     "a GPU that entropy-decodes files also derives their motion"},
    {"warm_up", KIND_BOOL, AT(engine.warm_up), 0, 1, 1,
     "open the device and compile at the start; false: for the first stream"},
    {"validation", KIND_BOOL, AT(engine.validation), 0, 1, 0, "Vulkan validation layer"},
    {"timestamps", KIND_BOOL, AT(engine.timestamps), 0, 1, 0, "GPU times of each pass"},
    {"gpu_debug", KIND_BOOL, AT(engine.gpu_debug), 0, 1, 0,
     "log the values that shaders write; slow"},
    {"encoding.width", KIND_NUMBER, AT(encoding.width), 0, 4096, 0,
     "most columns of a camera's frames that the daemon encodes; 0: 1920 on a GPU, else 320"},
    {"encoding.height", KIND_NUMBER, AT(encoding.height), 0, 4096, 0,
     "most rows of them; 0: 1080 on a GPU, else 180"},
    {"encoding.quality", KIND_NUMBER, AT(encoding.quality), 0, 51, 26,
     "their quality, as pelton encode -crf has it: less is better"},
    {"encoding.bit_rate", KIND_NUMBER, AT(encoding.bit_rate), 0, 1u << 20, 4000,
     "kbit/s that they never pass; 0: without limit"},
    {"encoding.key_ms", KIND_NUMBER, AT(encoding.key_ms), 100, 600000, 2000,
     "from a key picture of theirs to the next"},
    {"clients", KIND_NUMBER, AT(limits.clients), 1, 10000, 1024, "most connections"},
    {"clients_per_uid", KIND_NUMBER, AT(limits.clients_per_uid), 1, 10000, 128,
     "most connections of one user"},
    {"streams", KIND_NUMBER, AT(limits.streams), 1, 10000, 64, "most open streams"},
    {"resting", KIND_NUMBER, AT(limits.resting), 0, 10000, 4096,
     "most streams that do not count as open: ended ones, and files whose reader holds all frames"},
    {"hello_ms", KIND_NUMBER, AT(timing.hello_ms), 10, 600000, 5000,
     "time for a client to say hello"},
    {"ping_ms", KIND_NUMBER, AT(timing.ping_ms), 10, 600000, 5000, "silence before a ping"},
    {"dead_ms", KIND_NUMBER, AT(timing.dead_ms), 10, 3600000, 15000,
     "silence before a client with streams is cut"},
    {"worker_dead_ms", KIND_NUMBER, AT(timing.worker_dead_ms), 10, 3600000, 60000,
     "silence before a worker is killed"},
    {"restarts", KIND_NUMBER, AT(limits.restarts), 0, 16, 3,
     "worker restarts in restart_window_ms"},
    {"restart_window_ms", KIND_NUMBER, AT(limits.restart_window_ms), 1, 86400000, 300000,
     "see restarts"},
    {"access_unit", KIND_NUMBER, AT(limits.access_unit), 4096, 1u << 30, 8 << 20,
     "most bytes of an access unit; large pictures may have more"},
    {"nal_unit", KIND_NUMBER, AT(limits.nal_unit), 4096, 1u << 30, 4 << 20,
     "most bytes of a NAL unit; large pictures may have more"},
    {"picture", KIND_NUMBER, AT(limits.picture), 1, 139264, 139264,
     "most macroblocks of a picture"},
    {"kept_units", KIND_NUMBER, AT(limits.kept_units), 4096, 1u << 30, 16 << 20,
     "most bytes that a live H.264 source keeps, from its last key picture on, for new readers"},
    {"stream_memory", KIND_NUMBER, AT(limits.stream_memory), 1, 1u << 30, 16 << 20,
     "most KiB of frames that a stream holds in host memory"},
    {"stream_device_memory", KIND_NUMBER, AT(limits.stream_device), 1, 1u << 30, 16 << 20,
     "the same in device memory"},
    {"client_memory", KIND_NUMBER, AT(limits.client_memory), 1, 1u << 30, 64 << 20,
     "most KiB of frames that all streams of a connection hold in host memory"},
    {"client_device_memory", KIND_NUMBER, AT(limits.client_device), 1, 1u << 30, 64 << 20,
     "the same in device memory"},
    {"log_lines", KIND_NUMBER, AT(limits.log_lines), 1, 1000000, 10,
     "most lines of one kind in a second of the log; more are counted"},
    {"allow_paths", KIND_TEXT, AT(limits.allow_paths), 0, 0, 0,
     "folders that clients may name, with ':' between them"},
    {"sandbox", KIND_BOOL, AT(limits.sandbox), 0, 1, SANDBOX_PRESET,
     "the processes give up rights after their start: docs/privileges.md"},
    {"debug.batch", KIND_NUMBER, AT(debug.batch), 0, 4096, 0,
     "most pictures of a GPU batch; 0: by device"},
    {"debug.wavefront", KIND_NUMBER, AT(debug.wavefront), 0, 255, 0,
     "kind of wavefront; 0: by device"},
    {"debug.arena", KIND_NUMBER, AT(debug.arena), 0, 2, 0,
     "the GPU fetches records itself; 0: on hardware, 1: never, 2: always"},
    {"debug.encoder", KIND_NUMBER, AT(debug.encoder), 0, 2, 0,
     "who encodes cameras; 0: the GPU on hardware, 1: the CPU, 2: the device"},
    {"debug.idle_ms", KIND_NUMBER, AT(debug.idle_ms), 1, 86400000, 9000,
     "idleness before memory is given back"},
    {"debug.share_kib", KIND_NUMBER, AT(debug.share_kib), 0, UINT32_MAX, 8192,
     "KiB of a file that are left when a further device takes part"},
    {"debug.share_ms", KIND_NUMBER, AT(debug.share_ms), 0, UINT32_MAX, 700,
     "from the begin of a file until a further device is opened for it"},
    {"debug.shuffle_seed", KIND_NUMBER, AT(debug.shuffle_seed), 0, UINT64_MAX, 0,
     "decode slices in a random order"},
    {"debug.delay_seed", KIND_NUMBER, AT(debug.delay_seed), 0, UINT64_MAX, 0,
     "threads of the worker sleep at random before they take its lock"},
    {"debug.bare", KIND_BOOL, AT(debug.bare), 0, 1, 0,
     "no robust buffer access, and canaries round the GPU's memory; slow"},
    {"debug.split", KIND_TEXT, AT(debug.split), 0, 0, 0,
     "numbers of who entropy-decodes, as batches=4,choice=2 (docs/design/entropy-gpu.md)"},
    {"debug.tune_force", KIND_TEXT, AT(debug.tune_force), 0, 0, 0,
     "family=variant: use this kernel, whatever was measured"},
};

enum { KEYS = sizeof(keys) / sizeof(*keys) };

size_t settings_key_count(void)
{
    return KEYS;
}

const char *settings_key_name(size_t key)
{
    return keys[key].name;
}

static void key_store(const struct settings_key *k, struct settings *s, uint64_t value)
{
    char *field = (char *)s + k->offset;
    if (k->kind == KIND_BOOL)
        *(bool *)field = value != 0;
    else
        *(uint64_t *)field = value;
}

void settings_keys_preset(struct settings *s)
{
    for (size_t i = 0; i < KEYS; i++)
        if (keys[i].kind != KIND_TEXT)
            key_store(&keys[i], s, keys[i].preset);
}

static bool parse_number(const struct settings_key *k, const char *text, uint64_t *out)
{
    if (k->kind == KIND_BOOL && (strcmp(text, "true") == 0 || strcmp(text, "false") == 0)) {
        *out = text[0] == 't';
        return true;
    }
    char *end;
    errno = 0;
    uint64_t value = strtoull(text, &end, 0);
    if (errno || end == text || *end || text[0] == '-' || value < k->min || value > k->max)
        return false;
    *out = value;
    return true;
}

static bool parse_entropy(const char *text, uint64_t *out)
{
    for (size_t i = 0; i < sizeof(entropy_words) / sizeof(*entropy_words); i++) {
        if (strcmp(text, entropy_words[i]) == 0) {
            *out = i;
            return true;
        }
    }
    return false;
}

static const struct settings_key *key_find(const char *name, size_t length)
{
    for (size_t i = 0; i < KEYS; i++)
        if (strlen(keys[i].name) == length && strncmp(keys[i].name, name, length) == 0)
            return &keys[i];
    return NULL;
}

/* Of a dotted key its first word may be the wrong one. Where it is right, a key of that group. */
static const char *key_hint(const char *key, char out[96])
{
    static const char *const groups[][2] = {{"sources", "sources.NAME.uri"},
                                            {"listen", "listen.unix.path"},
                                            {"rights", "rights.read.groups"},
                                            {"debug", "debug.batch"},
                                            {"version", "version"}};
    char head[32];
    struct near_name near = near_name_of(key, strlen(key));
    for (size_t i = 0; i < KEYS; i++)
        near_name_try_name(&near, keys[i].name);
    if (!near.best[0]) {
        snprintf(head, sizeof(head), "%.*s", (int)strcspn(key, "."), key);
        near = near_name_of(head, strlen(head));
        for (size_t i = 0; i < sizeof(groups) / sizeof(*groups); i++)
            near_name_try(&near, groups[i][0], strlen(groups[i][0]),
                          groups[i][strcmp(head, groups[i][0]) == 0]);
    }
    return near_name_also(&near, out, 96);
}

int settings_key_set(const char *arg, struct settings *s, char error[KEY_WHY])
{
    const char *equal = strchr(arg, '=');
    uint64_t number;
    if (!equal) {
        snprintf(error, KEY_WHY, "%.80s: expected key=value", arg);
        return -1;
    }
    const struct settings_key *k = key_find(arg, (size_t)(equal - arg));
    if (!k) {
        char key[64], also[96];
        snprintf(key, sizeof(key), "%.*s", (int)(equal - arg), arg);
        snprintf(error, KEY_WHY, "%.80s: no such key%s", arg, key_hint(key, also));
        return -1;
    }
    if (k->kind == KIND_TEXT) {
        *(const char **)((char *)s + k->offset) = equal + 1;
    } else if (k->kind == KIND_ENTROPY ? parse_entropy(equal + 1, &number)
                                       : parse_number(k, equal + 1, &number)) {
        key_store(k, s, number);
    } else if (k->kind == KIND_ENTROPY) {
        snprintf(error, KEY_WHY, "%.80s: expected auto, cpu, gpu or both", arg);
        return -1;
    } else {
        snprintf(error, KEY_WHY, "%.80s: expected a number from %llu to %llu", arg,
                 (unsigned long long)k->min, (unsigned long long)k->max);
        return -1;
    }
    return 0;
}

bool settings_key_differs(size_t key, const struct settings *a, const struct settings *b)
{
    const struct settings_key *k = &keys[key];
    const void *at = (const char *)a + k->offset, *bt = (const char *)b + k->offset;
    if (k->kind == KIND_TEXT) {
        const char *x = *(const char *const *)at, *y = *(const char *const *)bt;
        return strcmp(x ? x : "", y ? y : "") != 0;
    }
    return memcmp(at, bt, k->kind == KIND_BOOL ? sizeof(bool) : sizeof(uint64_t)) != 0;
}

void settings_keys_usage(void)
{
    for (size_t i = 0; i < KEYS; i++) {
        char text[256], preset[32] = "";
        if (keys[i].kind == KIND_NUMBER)
            snprintf(preset, sizeof(preset), " [%llu]", (unsigned long long)keys[i].preset);
        snprintf(text, sizeof(text), "%s%s", keys[i].help, preset);
        help_pair(keys[i].name, text);
    }
}

void settings_keys_list(FILE *to)
{
    static const char *const kinds[] = {"text", "number", "bool", "word"};
    for (size_t i = 0; i < KEYS; i++) {
        const struct settings_key *k = &keys[i];
        fprintf(to, "%s\t%s\t", k->name, kinds[k->kind]);
        if (k->kind == KIND_NUMBER)
            fprintf(to, "%llu\t%llu to %llu", (unsigned long long)k->preset,
                    (unsigned long long)k->min, (unsigned long long)k->max);
        else
            fprintf(to, "%s\t",
                    k->kind == KIND_BOOL      ? k->preset ? "true" : "false"
                    : k->kind == KIND_ENTROPY ? entropy_words[k->preset]
                                              : "");
        fprintf(to, "\t%s\n", k->help);
    }
}

void settings_keys_print(const struct settings *s, FILE *to)
{
    for (size_t i = 0; i < KEYS; i++) {
        const char *field = (const char *)s + keys[i].offset;
        const char *text = keys[i].kind == KIND_TEXT ? *(const char *const *)field : NULL;
        if (keys[i].kind == KIND_BOOL)
            fprintf(to, "%s: %s\n", keys[i].name, *(const bool *)field ? "true" : "false");
        else if (keys[i].kind == KIND_ENTROPY)
            fprintf(to, "%s: %s\n", keys[i].name, entropy_words[*(const uint64_t *)field]);
        else if (keys[i].kind == KIND_NUMBER)
            fprintf(to, "%s: %llu\n", keys[i].name, (unsigned long long)*(const uint64_t *)field);
        if (text) {
            fprintf(to, "%s: ", keys[i].name);
            config_print_value(text, to);
            fputc('\n', to);
        }
    }
}
