/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Inside the broker. It owns sockets, subscribers and pools; it never parses video and never loads
 * a driver. Everything runs on one loop thread.
 */
#ifndef PELTON_BROKER_H
#define PELTON_BROKER_H

#include "daemon/broker/reader_pool.h"
#include "daemon/broker/quarantine.h"
#include "daemon/broker/restart.h"
#include "daemon/channel.h"
#include "daemon/settings.h"

#include <sys/types.h>

struct broker;
struct client;
struct worker;

/* ---- streams: one open source with its one subscriber, or a probe ---- */

struct pending_frame {
    struct pending_frame *next;
    struct broker_pool *pool;
    Pelton__FrameReady msg;
    Pelton__Camera camera; /* where msg has one */
    int64_t trace[PELTON_TRACE_POINTS];
    uint8_t side[]; /* its side data */
};

enum stream_state {
    STREAM_QUEUED,  /* waits for its worker, or for one to be chosen */
    STREAM_WAITING, /* its source is to be opened again at retry_ms */
    STREAM_OPEN,    /* the worker has it under the number wid */
    STREAM_ENDED    /* the worker has finished; kept for its totals until the client closes it */
};

struct stream {
    struct stream *next;
    struct broker *broker;
    struct client *client;
    uint32_t object_id, open_request; /* of the client */
    uint64_t id;                      /* unlike any other's */
    bool probe, replied, eos_sent;
    enum stream_state state;
    struct worker *worker; /* chosen once, when devices are known; NULL before */
    uint32_t wid; /* new for each worker, so that late messages of an old one find nothing */

    /* source (source.c) */
    ProtobufCMessage *body; /* Open or Probe, owned */
    Pelton__Open *open;     /* in body */
    int fd;                 /* -1: by URI, or a pipe that has been handed on */
    bool has_fd, resumable;
    off_t start_offset;

    /* that it is counted as a reader of (named.c); NULL: none, or not any more */
    struct named_source *named;
    bool live;       /* opened again when it ends or fails (reconnect.c) */
    size_t own_blur; /* values of open->blur that the client has asked for */
    uint64_t opened_ms, wait_ms, retry_ms;
    uint64_t sequence_base; /* of the worker's numbers, which begin anew each time */
    uint64_t moved_base;    /* the same where its address has changed */

    /* delivery (stream.c) */
    struct broker_pool *pools; /* newest first */
    struct pending_frame *head, **tail;
    uint32_t n_pending, last_epoch;
    uint64_t credit; /* UINT64_MAX: lossless */
    uint64_t next_sequence, dropped_client, sent;
    int64_t age_ns;       /* of the last frame when it was sent */
    double tick_s, due_s; /* of the present format; when max_fps allows the next frame */
    bool timed, left_out; /* due_s stands; the base view was left out */
    char pix_fmt[16];
    uint32_t width, height;
    /* source, decoder: of workers that died, of the present one */
    uint64_t dropped_base[2], dropped_last[2];
    bool discont;
    struct pelton_failure end;
    struct pelton_stats totals; /* as the worker has said last */

    /* deaths (recovery.c) */
    unsigned strikes;
    uint64_t death_sequence, restarts;
    struct pelton_failure lost; /* code not 0: why its worker had to go */
};

/* NULL: out of memory. body (of f's type) becomes the stream's. */
struct stream *stream_create(struct client *c, const struct frame *f, ProtobufCMessage *body);
void stream_free(struct stream *s); /* tells the worker; takes it off the broker's list */
struct stream *stream_find(struct broker *b, const struct client *c, uint32_t object_id);
struct stream *stream_find_wid(struct worker *w, uint32_t wid);
const char *stream_name(const struct stream *s);
void stream_info(struct stream *s, const Pelton__Info *info);
/* false: the worker broke the protocol */
bool stream_format(struct stream *s, Pelton__FormatChanged *m, int memfd);
bool stream_frame(struct stream *s, const Pelton__FrameReady *m); /* the same */
void stream_release(struct stream *s, const Pelton__Release *m);
/* slots that the worker is asked for; 0: its choice */
uint32_t stream_pool_depth(const struct stream *s);
void stream_credit(struct stream *s, uint32_t count);
/* Eos, or the answer to Open, once pending frames are gone. A probe, and a stream that was never
 * opened, is freed by it. */
void stream_end(struct stream *s, const struct pelton_failure *failure);
void stream_fail(struct stream *s, int code, const char *hint, const char *cause, ...)
    __attribute__((format(printf, 4, 5)));
void stream_state(struct stream *s, Pelton__SourceState__State state, const char *cause);
/* those of the worker's session that is over: the next one counts from 0 */
void stream_keep_drops(struct stream *s);
void stream_withdraw(struct stream *s); /* from its worker, which is told */

/* ---- sources (source.c) ---- */

/* Whether this client may open that, and what is needed to open it again. 0, or a code with the
 * failure filled. */
int source_admit(struct stream *s, struct frame *f, struct pelton_failure *failure);
/* The descriptor to send to a worker, at the position where the source starts; *owned: close it
 * after sending. -1: none. */
int source_descriptor(struct stream *s, bool *owned);
void source_sent(struct stream *s);
/* to what the source is now; negative: it cannot */
int source_move(struct stream *s, const struct named_source *n);

/* ---- sources that the configuration names (named.c, reload.c) ---- */

struct named_source {
    struct named_source *next;
    struct broker *broker;
    char name[64];
    char *uri; /* with credentials */
    uint32_t readers;
    Pelton__SourceState__State state;
    char cause[256];
    char codec[32], format[64]; /* since it was open last; empty: it was not */
    uint32_t width, height;
    Pelton__Rational frame_rate;
    int64_t since_ns;
    uint32_t n_blur;
    struct pelton_rect blur[PELTON_MAX_BLURS]; /* what of it nobody gets to see */
};
/* not in the list yet; NULL: out of memory */
struct named_source *named_create(struct broker *b, const struct configured_source *from);
void named_free(struct named_source *n);
bool named_init(struct broker *b);
void named_end(struct broker *b);
struct named_source *named_find(const struct broker *b, const char *name);
void named_join(struct stream *s, struct named_source *n);
/* end NULL: the reader has closed it */
void named_leave(struct stream *s, const struct pelton_failure *end);
void named_info(struct stream *s, const Pelton__Info *info);
void named_state(struct stream *s, Pelton__SourceState__State state, const char *cause);
int64_t monotonic_ns(void);
void named_tell(const struct named_source *n, bool removed); /* whoever watches */
void named_list(struct client *c, uint32_t request_id);
void named_watch(struct client *c, uint32_t request_id, bool stop);

/* status.c; all: of every user */
void status_send(struct client *c, uint32_t request_id, bool all);

/* Reads the configuration again. 0 with the counts, or -1 with the reason, and nothing has changed.
 */
int reload(struct broker *b, struct pelton_reloaded *out, char why[256]);

/* ---- network sources that come back (reconnect.c) ---- */

bool reconnect_address(const char *uri);
/* false: this stream ends */
bool reconnect_later(struct stream *s, const struct pelton_failure *failure);
void reconnect_check(struct broker *b, uint64_t now_ms);

/* ---- clients (client.c, requests.c) ---- */

struct client {
    struct client *next;
    struct broker *broker;
    struct channel ch;
    uint64_t accepted_ms;
    uid_t uid;
    pid_t pid;
    bool hello, is_private, closing, watches;
    char name[64];
};
int client_accept(struct broker *b, int fd, bool is_private); /* fd becomes the client's */
void client_close(struct client *c, const char *reason); /* reason NULL: nothing to say any more */
void client_error(struct client *c, uint32_t request_id, uint32_t object_id,
                  const struct pelton_failure *failure, bool retryable);
void client_request(struct client *c, struct frame *f); /* every message after the hello */
void clients_check(struct broker *b, uint64_t now_ms);

/* ---- questions passed on to the worker (ask.c) ---- */

struct ask {
    struct ask *next;
    struct client *client;
    struct stream *stream;                   /* of Stats and Controls, NULL for Devices */
    ProtobufCMessage *controls;              /* of Controls, owned */
    uint32_t client_request, worker_request; /* worker_request 0: not sent yet */
    bool current;
};
void ask_stats(struct stream *s, uint32_t client_request);
/* takes it over */
void ask_controls(struct stream *s, uint32_t client_request, ProtobufCMessage *controls);
void ask_devices(struct client *c, uint32_t client_request, bool current);
void asks_send(struct broker *b); /* those whose worker runs */
void asks_answer(struct worker *w, const struct frame *f, ProtobufCMessage *body);
void asks_stream_ended(struct stream *s);
void asks_worker_lost(struct worker *w);
/* those that wait for a worker */
void asks_refuse(struct broker *b, const struct pelton_failure *failure);
void asks_forget(struct broker *b, const struct client *c, const struct stream *s); /* of either */
void stream_send_stats(struct stream *s, uint32_t client_request);

/* ---- the workers, one a device (worker_link.c, worker_messages.c, recovery.c) ---- */

enum { WORKERS_MAX = PELTON_MAX_DEVICES, DEVICE_NAME_BYTES = 64 };

struct worker {
    struct broker *broker;
    const char *device; /* its --device; NULL: what the -c values say */
    bool died;          /* and has not been restarted since */
    struct restart_policy restart;
    struct stream *trial; /* recovery.c */
    uint64_t trial_ms;

    /* of the present process: all that follows is cleared when one is started */
    uv_process_t process;
    struct channel ch;
    bool spawned;                        /* from worker_start to recovery_worker_gone */
    bool exited, reaped, channel_closed; /* what is over: the process, its handle, the channel */
    bool stopping;                       /* we asked it to end */
    uint64_t stop_ms, exit_ms;
    uint32_t question; /* of devices.c, not answered yet; 0: none */
    bool opened;       /* it has said so */
};
bool worker_running(const struct worker *w);
int worker_start(struct worker *w, struct pelton_failure *failure);
void worker_kill(struct worker *w, const char *why);
void worker_message(struct worker *w, struct frame *f);
void workers_stop(struct broker *b);
bool workers_spawned(const struct broker *b); /* any */
void workers_check(struct broker *b, uint64_t now_ms);
/* from worker_link, when process and channel have both ended */
void recovery_worker_gone(struct worker *w);
/* whether it runs, started where needed; what waits for one that cannot is refused */
bool recovery_have(struct worker *w);
/* w NULL: all that wait */
void recovery_refuse(struct broker *b, const struct worker *w,
                     const struct pelton_failure *failure);
/* hands what waits to the workers, starting them where needed */
void recovery_pump(struct broker *b);
void recovery_progress(struct stream *s); /* a frame came, or the stream ended */
void recovery_check(struct broker *b, uint64_t now_ms);

/* ---- devices (devices.c) ---- */

enum devices_state {
    DEVICES_WRONG,   /* the list cannot be used */
    DEVICES_LIST,    /* the first worker has to say which there are */
    DEVICES_OPENING, /* several: each worker has to open its own before any gets streams */
    DEVICES_READY
};
void devices_init(struct broker *b);
/* true: streams may be given out; false: recovery_pump is called then, or all is refused */
bool devices_need(struct broker *b);
/* true: it was our question */
bool devices_answer(struct worker *w, const struct frame *f, const ProtobufCMessage *body);
struct worker *devices_choose(const struct stream *s); /* for a new stream */

/* ---- the broker ---- */

struct broker {
    uv_loop_t loop;
    const struct settings *settings;
    uv_poll_t listener;
    uv_timer_t tick, watchdog;
    uv_signal_t sigterm, sigint, sighup;
    int listen_fd;
    bool closing, listening;
    char socket_path[108]; /* to unlink; empty: not ours */
    struct client *clients;
    unsigned n_clients, n_streams;
    struct stream *streams, **streams_tail; /* in the order of their opening */
    struct ask *asks;
    struct named_source *named;
    enum devices_state devices;
    char device_names[WORKERS_MAX][DEVICE_NAME_BYTES]; /* where there are several */
    struct worker workers[WORKERS_MAX];
    unsigned n_workers; /* at least 1 */
    struct quarantine quarantine;
    bool pumping; /* recovery.c */
    uint32_t last_wid, last_request;
    uint64_t last_stream, started_ms;
    bool device_known;
    struct pelton_device device; /* of the first worker; its name says how many more there are */
    char boot_id[40];
};
void broker_shutdown(struct broker *b);
void broker_try_finish(struct broker *b); /* when something that was in flight has ended */
void broker_tick(struct broker *b); /* keeps the timer running while there is something to watch */

int listener_open(struct broker *b);    /* 0, or an exit code with the reason logged */
void listener_resume(struct broker *b); /* after accepting had to pause */
void listener_close(struct broker *b);
void service_watchdog(uv_timer_t *timer); /* starts it where systemd asks for it */
void service_notify(const char *state);   /* sd_notify(3), where systemd asks for it */

#endif
