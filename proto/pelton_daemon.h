/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The functions of pelton.h that speak of the daemon: its named sources, its state, its
 * configuration and its end. pelton.h includes this header, and says what holds for all functions.
 */
#ifndef PELTON_DAEMON_H
#define PELTON_DAEMON_H

/* ---- named sources of the daemon's configuration ---- */

/* The uri of a named source is "source:NAME". */
enum pelton_source_state {
    PELTON_SOURCE_CLOSED, /* nobody reads it */
    PELTON_SOURCE_OPENING,
    PELTON_SOURCE_RUNNING,
    PELTON_SOURCE_LOST,    /* it was running; cause says what happened */
    PELTON_SOURCE_BACKOFF, /* the daemon opens it again after a while; cause as before */
    PELTON_SOURCE_ENDED,   /* for its last reader; cause is empty where it ended regularly */
    PELTON_SOURCE_REMOVED  /* the configuration no longer names it (pelton_sources_next only) */
};
struct pelton_source {
    char name[64], uri[256]; /* without passwords */
    uint32_t readers;
    enum pelton_source_state state;
    char cause[256];
    /* The rest is from its last opening; empty and 0: it was never open. */
    char codec[32], format[64];
    uint32_t width, height;
    struct pelton_rational frame_rate;
    int64_t since_ns; /* CLOCK_MONOTONIC: in this state since then */
};
/* Lists at most 128 sources. The caller frees *out by free(). */
static inline int pelton_sources(struct pelton *conn, int timeout_ms, struct pelton_source **out,
                                 size_t *count);
/* Starts to watch. pelton_sources_next then gives each source once, and again after each change of
 * its state, readers or format. The number of sources has no limit. */
PELTON_API int pelton_sources_watch(struct pelton *conn, int timeout_ms);
/* Returns 1: *out is the next change. PELTON_ERR_TIMEOUT: nothing has changed yet. A caller who is
 * behind by more than 1,024 changes misses the oldest. */
static inline int pelton_sources_next(struct pelton *conn, int timeout_ms,
                                      struct pelton_source *out);

/* A client has set controls of a camera: that is a change, too. Fills out with all controls of the
 * source that pelton_sources_next gave last, and returns their number; 0: another change. */
static inline uint32_t pelton_source_controls(const struct pelton *conn,
                                              struct pelton_control out[PELTON_MAX_CONTROLS]);

/* ---- the daemon itself ---- */

struct pelton_reloaded {
    uint32_t added, removed, changed, kept; /* sources */
    char note[256]; /* settings that need a restart of the daemon; may be empty */
};
/* Makes the daemon read its configuration again, as SIGHUP does. Only root and the daemon's own
 * user may do this; others get PELTON_ERR_PERMISSION. PELTON_ERR_USAGE: the file is wrong at the
 * place that the failure names, and nothing has changed. */
static inline int pelton_reload(struct pelton *conn, int timeout_ms, struct pelton_reloaded *out);
/* Ends the daemon; the same rights. Returns when the daemon has closed the connection. */
PELTON_API int pelton_shutdown(struct pelton *conn, int timeout_ms);

struct pelton_stream_status {
    uint64_t id;                            /* unique since the daemon started */
    char name[128], source[64], client[64]; /* source: named in the configuration; empty: none */
    int32_t pid;
    uint32_t uid;
    enum pelton_source_state state;
    enum pelton_policy policy;
    uint32_t depth;
    uint32_t waiting, held, slots; /* frames that wait for a credit; slots in use; all slots */
    char pix_fmt[16];
    uint32_t width, height;
    uint64_t frames; /* sent */
    uint64_t dropped_source, dropped_decoder, dropped_client, restarts;
    int64_t age_ns;                /* from the reading of the last frame to its sending */
    uint64_t gpu_entropy_pictures; /* as in pelton_stats, at most a second old */
    double gpu_entropy;
    bool libavcodec; /* as in pelton_stats */
    uint8_t reserved[7];
};
/* A limit of the daemon. */
struct pelton_quota {
    char name[24]; /* of the setting, where there is one */
    uint64_t limit;
    int64_t used;     /* now; -1: that has no meaning */
    uint64_t refused; /* since the daemon started */
};
/* Rights that a process has given up. */
enum pelton_sandbox {
    PELTON_SANDBOX_CALLS = 1, /* a filter of system calls holds (seccomp) */
    PELTON_SANDBOX_FILES = 2, /* files and addresses are restricted (Landlock) */
    PELTON_SANDBOX_OFF = 4    /* by the configuration */
};
struct pelton_process {
    char device[64]; /* "": the daemon itself; else of a worker */
    int32_t pid;
    uint32_t sandbox; /* enum pelton_sandbox */
};
/* What a process has encoded for readers of access units. */
struct pelton_encoder_usage {
    uint64_t pictures, missed; /* missed: left out, as the encoder or its reader was busy */
    uint64_t bytes;
    uint64_t bit_rate; /* bits a second, of the last second */
    bool gpu;          /* the last picture was decided there, else on the CPU */
    uint8_t reserved[7];
};
enum { PELTON_QUOTAS_MOST = 32, PELTON_PROCESSES_MOST = 32 };
struct pelton_status {
    char server[64];
    char device[256]; /* name of the device in use, or of libavcodec; empty: none is open */
    bool software, reserved[3];
    uint32_t devices; /* that share the streams; 0: none is open */
    uint32_t n_streams, most_streams, n_clients, most_clients;
    uint64_t up_ms;
    bool libavcodec; /* as in pelton_device */
    uint8_t reserved_end[7];
    /* as in pelton_stats, of all workers, at most a second old */
    uint64_t worker_gpu[PELTON_MEMORY_MOST], worker_host[PELTON_MEMORY_MOST];
    uint32_t n_quotas, n_processes;
    struct pelton_quota quotas[PELTON_QUOTAS_MOST];
    struct pelton_process processes[PELTON_PROCESSES_MOST];
    /* of the same processes: frames of cameras */
    struct pelton_encoder_usage encoders[PELTON_PROCESSES_MOST];
    /* H.264 and JPEG files of streams that are encoded anew (pelton_open_params.encode) */
    struct pelton_encoder_usage transcoders[PELTON_PROCESSES_MOST];
    struct pelton_encoder_usage jpegs[PELTON_PROCESSES_MOST];
};
/* The state of the daemon and of its streams. Streams of other users are shown only to root and to
 * the daemon's own user. *streams holds *count entries, at most 128; the caller frees it by free().
 */
static inline int pelton_status(struct pelton *conn, int timeout_ms, struct pelton_status *out,
                                struct pelton_stream_status **streams, size_t *count);

#endif
