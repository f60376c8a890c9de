/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Questions about the daemon: its device, all devices, a camera's controls, our version.
 */
#include "proto/libpelton_sizes.h"
#include "proto/libpelton_stream.h"

#include <stdlib.h>
#include <string.h>

enum { DEVICE_MS = 60000 /* opening a device may compile its shaders */ };

const char *pelton_version(void)
{
    return PELTON_VERSION;
}

int pelton_fd(const struct pelton *conn)
{
    return conn->fd;
}

static int conn_ask_devices(struct pelton *conn, bool current, int64_t deadline,
                            ProtobufCMessage **out)
{
    Pelton__Devices ask = PELTON__DEVICES__INIT;
    ask.current = current;
    return pelton_ask(conn, WIRE_DEVICES, 0, &ask.base, NULL, 0, WIRE_DEVICES_REPLY, deadline, out);
}

int pelton_device_sized(struct pelton *conn, struct pelton_device *out, size_t size)
{
    if (!conn->device_known) {
        ProtobufCMessage *body;
        int rc = conn_ask_devices(conn, true, pelton_deadline(DEVICE_MS), &body);
        if (rc < 0)
            return rc;
        const Pelton__DevicesReply *m = (const Pelton__DevicesReply *)body;
        bool valid = m->current >= 0 && (size_t)m->current < m->n_devices;
        if (valid) {
            wire_device_to(m->devices[m->current], &conn->device);
            conn->device_known = true;
        }
        wire_free(body);
        if (!valid) {
            return pelton_fail(conn, PELTON_ERR_NO_DEVICE, "run pelton doctor",
                               "the daemon has opened no device");
        }
    }
    PELTON_GIVE(out, size, &conn->device);
    return PELTON_OK;
}

int pelton_devices_sized(struct pelton *conn, int timeout_ms, struct pelton_device **out,
                         size_t size, size_t *count)
{
    struct pelton_device device;
    ProtobufCMessage *body;
    int rc = conn_ask_devices(conn, false, pelton_deadline(timeout_ms), &body);
    if (rc < 0)
        return rc;
    const Pelton__DevicesReply *m = (const Pelton__DevicesReply *)body;
    char *list = calloc(m->n_devices + 1, size);
    if (list) {
        for (size_t i = 0; i < m->n_devices; i++) {
            wire_device_to(m->devices[i], &device);
            PELTON_GIVE(list + i * size, size, &device);
        }
        *count = m->n_devices;
        *out = (struct pelton_device *)list;
    }
    wire_free(body);
    return list ? PELTON_OK : pelton_fail(conn, PELTON_ERR_NOMEM, "", "out of memory");
}

static int controls_take(struct pelton *conn, struct pelton_control *out,
                         const struct pelton_control *in, uint32_t n, size_t size)
{
    if (n > PELTON_MAX_CONTROLS)
        return pelton_fail(conn, PELTON_ERR_USAGE, "", "more controls than there can be");
    for (uint32_t i = 0; i < n; i++) {
        if (!PELTON_TAKE(&out[i], (const char *)in + i * size, size)) {
            return pelton_fail(conn, PELTON_ERR_USAGE, "install a libpelton as new as the program",
                               "a control is unknown to libpelton " PELTON_VERSION);
        }
        if (out[i].n > PELTON_CONTROL_VALUES) {
            return pelton_fail(conn, PELTON_ERR_USAGE, "", "%.31s: more values than there can be",
                               out[i].name);
        }
    }
    return PELTON_OK;
}

int pelton_controls_sized(struct pelton_stream *s, int timeout_ms, const struct pelton_control *set,
                          uint32_t n_set, struct pelton_control *out, uint32_t most, size_t size,
                          uint32_t *n_out)
{
    Pelton__Controls ask = PELTON__CONTROLS__INIT;
    struct pelton_control all[PELTON_MAX_CONTROLS];
    struct wire_controls controls;
    ProtobufCMessage *body;
    if (s->ended)
        return pelton_fail(s->conn, PELTON_ERR_USAGE, "", "the stream has ended");
    int rc = controls_take(s->conn, all, set, n_set, size);
    if (rc < 0)
        return rc;
    wire_controls_from(all, n_set, &controls);
    ask.n_set = n_set;
    ask.set = controls.list;
    rc = pelton_ask(s->conn, WIRE_CONTROLS, s->id, &ask.base, NULL, 0, WIRE_CONTROLS_REPLY,
                    pelton_deadline(timeout_ms), &body);
    if (rc < 0)
        return rc;
    const Pelton__ControlsReply *m = (const Pelton__ControlsReply *)body;
    uint32_t n = m->n_controls < most ? (uint32_t)m->n_controls : most;
    rc = wire_controls_to(m->controls, m->n_controls, all);
    for (uint32_t i = 0; i < n && rc == 0; i++)
        PELTON_GIVE((char *)out + i * size, size, &all[i]);
    *n_out = rc == 0 ? n : *n_out;
    wire_free(body);
    return rc == 0 ? PELTON_OK
                   : pelton_fail(s->conn, PELTON_ERR_PROTOCOL, "",
                                 "the daemon named more controls than there can be");
}
