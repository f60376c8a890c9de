/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The functions of pelton.h as the library has them: with the caller's size of each structure. C
 * and C++ programs call those of pelton.h; other languages call these. pelton.h says what each
 * does, and includes this header.
 *
 * A size is sizeof of the structure as the caller knows it. The library reads and writes no byte
 * beyond it. Bytes that it gives beyond its own knowledge are zero. Bytes that it is given beyond
 * its own knowledge must be zero, else the answer is PELTON_ERR_USAGE. Elements of a list are
 * `size` bytes apart.
 */
#ifndef PELTON_SIZED_H
#define PELTON_SIZED_H

PELTON_API int pelton_spawn_sized(const struct pelton_spawn_params *params, size_t size,
                                  int timeout_ms, struct pelton **out);
PELTON_API int pelton_device_sized(struct pelton *conn, struct pelton_device *out, size_t size);
PELTON_API int pelton_devices_sized(struct pelton *conn, int timeout_ms, struct pelton_device **out,
                                    size_t size, size_t *count);
PELTON_API int pelton_open_sized(struct pelton *conn, const struct pelton_open_params *params,
                                 size_t params_size, int timeout_ms, struct pelton_info *info,
                                 size_t info_size, struct pelton_stream **out);
PELTON_API int pelton_open_start_sized(struct pelton *conn, const struct pelton_open_params *params,
                                       size_t size, struct pelton_stream **out);
PELTON_API int pelton_open_wait_sized(struct pelton_stream *stream, int timeout_ms,
                                      struct pelton_info *info, size_t size);
/* sei NULL: the information only */
PELTON_API int pelton_probe_sized(struct pelton *conn, const struct pelton_open_params *params,
                                  size_t params_size, int timeout_ms, struct pelton_info *info,
                                  size_t info_size, struct pelton_probe_sei *sei, size_t sei_size);
PELTON_API int pelton_next_sized(struct pelton_stream *stream, int timeout_ms,
                                 struct pelton_frame *out, size_t size);
/* Frames are `size` bytes apart. */
PELTON_API int pelton_next_batch_sized(struct pelton_stream *stream, int timeout_ms,
                                       struct pelton_frame *out, uint32_t room, size_t size);
PELTON_API int pelton_device_memory_sized(const struct pelton_stream *stream,
                                          const struct pelton_frame *frame,
                                          struct pelton_device_memory *out, size_t size);
PELTON_API int pelton_stats_sized(struct pelton_stream *stream, int timeout_ms,
                                  struct pelton_stats *out, size_t size);
PELTON_API void pelton_stats_add_sized(struct pelton_stats *sum, const struct pelton_stats *more,
                                       size_t size);
/* out has room for `most` controls; further ones are left out. */
PELTON_API int pelton_controls_sized(struct pelton_stream *stream, int timeout_ms,
                                     const struct pelton_control *set, uint32_t n_set,
                                     struct pelton_control *out, uint32_t most, size_t size,
                                     uint32_t *n_out);
PELTON_API int pelton_sources_sized(struct pelton *conn, int timeout_ms, struct pelton_source **out,
                                    size_t size, size_t *count);
PELTON_API int pelton_sources_next_sized(struct pelton *conn, int timeout_ms,
                                         struct pelton_source *out, size_t size);
/* out has room for `most` controls; further ones are left out. */
PELTON_API uint32_t pelton_source_controls_sized(const struct pelton *conn,
                                                 struct pelton_control *out, uint32_t most,
                                                 size_t size);
PELTON_API int pelton_reload_sized(struct pelton *conn, int timeout_ms, struct pelton_reloaded *out,
                                   size_t size);
PELTON_API int pelton_status_sized(struct pelton *conn, int timeout_ms, struct pelton_status *out,
                                   size_t size, struct pelton_stream_status **streams,
                                   size_t stream_size, size_t *count);

/* ---- the functions of pelton.h ---- */

static inline int pelton_spawn(const struct pelton_spawn_params *params, int timeout_ms,
                               struct pelton **out)
{
    return pelton_spawn_sized(params, sizeof(*params), timeout_ms, out);
}

static inline int pelton_device(struct pelton *conn, struct pelton_device *out)
{
    return pelton_device_sized(conn, out, sizeof(*out));
}

static inline int pelton_devices(struct pelton *conn, int timeout_ms, struct pelton_device **out,
                                 size_t *count)
{
    return pelton_devices_sized(conn, timeout_ms, out, sizeof(**out), count);
}

static inline void pelton_open_params_init(struct pelton_open_params *out)
{
    memset(out, 0, sizeof(*out));
    out->fd = -1;
}

static inline int pelton_open(struct pelton *conn, const struct pelton_open_params *params,
                              int timeout_ms, struct pelton_info *info, struct pelton_stream **out)
{
    return pelton_open_sized(conn, params, sizeof(*params), timeout_ms, info, sizeof(*info), out);
}

static inline int pelton_open_start(struct pelton *conn, const struct pelton_open_params *params,
                                    struct pelton_stream **out)
{
    return pelton_open_start_sized(conn, params, sizeof(*params), out);
}

static inline int pelton_open_wait(struct pelton_stream *s, int timeout_ms,
                                   struct pelton_info *info)
{
    return pelton_open_wait_sized(s, timeout_ms, info, sizeof(*info));
}

static inline int pelton_probe_sei(struct pelton *conn, const struct pelton_open_params *params,
                                   int timeout_ms, struct pelton_info *info,
                                   struct pelton_probe_sei *sei)
{
    return pelton_probe_sized(conn, params, sizeof(*params), timeout_ms, info, sizeof(*info), sei,
                              sizeof(*sei));
}

static inline int pelton_probe(struct pelton *conn, const struct pelton_open_params *params,
                               int timeout_ms, struct pelton_info *info)
{
    return pelton_probe_sei(conn, params, timeout_ms, info, NULL);
}

static inline int pelton_next(struct pelton_stream *stream, int timeout_ms,
                              struct pelton_frame *out)
{
    return pelton_next_sized(stream, timeout_ms, out, sizeof(*out));
}

static inline int pelton_next_batch(struct pelton_stream *stream, int timeout_ms,
                                    struct pelton_frame *out, uint32_t room)
{
    return pelton_next_batch_sized(stream, timeout_ms, out, room, sizeof(*out));
}

static inline int pelton_device_memory(const struct pelton_stream *stream,
                                       const struct pelton_frame *frame,
                                       struct pelton_device_memory *out)
{
    return pelton_device_memory_sized(stream, frame, out, sizeof(*out));
}

static inline int pelton_stats(struct pelton_stream *stream, int timeout_ms,
                               struct pelton_stats *out)
{
    return pelton_stats_sized(stream, timeout_ms, out, sizeof(*out));
}

static inline void pelton_stats_add(struct pelton_stats *sum, const struct pelton_stats *more)
{
    pelton_stats_add_sized(sum, more, sizeof(*sum));
}

static inline int pelton_controls(struct pelton_stream *stream, int timeout_ms,
                                  const struct pelton_control *set, uint32_t n_set,
                                  struct pelton_control out[PELTON_MAX_CONTROLS], uint32_t *n_out)
{
    return pelton_controls_sized(stream, timeout_ms, set, n_set, out, PELTON_MAX_CONTROLS,
                                 sizeof(*out), n_out);
}

static inline int pelton_sources(struct pelton *conn, int timeout_ms, struct pelton_source **out,
                                 size_t *count)
{
    return pelton_sources_sized(conn, timeout_ms, out, sizeof(**out), count);
}

static inline int pelton_sources_next(struct pelton *conn, int timeout_ms,
                                      struct pelton_source *out)
{
    return pelton_sources_next_sized(conn, timeout_ms, out, sizeof(*out));
}

static inline uint32_t pelton_source_controls(const struct pelton *conn,
                                              struct pelton_control out[PELTON_MAX_CONTROLS])
{
    return pelton_source_controls_sized(conn, out, PELTON_MAX_CONTROLS, sizeof(*out));
}

static inline int pelton_reload(struct pelton *conn, int timeout_ms, struct pelton_reloaded *out)
{
    return pelton_reload_sized(conn, timeout_ms, out, sizeof(*out));
}

static inline int pelton_status(struct pelton *conn, int timeout_ms, struct pelton_status *out,
                                struct pelton_stream_status **streams, size_t *count)
{
    return pelton_status_sized(conn, timeout_ms, out, sizeof(*out), streams, sizeof(**streams),
                               count);
}

#endif
