/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Messages to a client: see client_link.h.
 */
#include "daemon/broker/client_link.h"

void client_send(struct client *c, unsigned type, uint32_t request_id, uint32_t object_id,
                 const ProtobufCMessage *body)
{
    channel_send(&c->ch, type, request_id, object_id, body, NULL, 0);
}

void client_send_fd(struct client *c, unsigned type, uint32_t object_id,
                    const ProtobufCMessage *body, int fd)
{
    channel_send(&c->ch, type, 0, object_id, body, &fd, fd >= 0);
}

void client_error(struct client *c, uint32_t request_id, uint32_t object_id,
                  const struct pelton_failure *failure, bool retryable)
{
    Pelton__Error m = PELTON__ERROR__INIT;
    m.code = failure->code;
    m.message = (char *)failure->cause;
    m.hint = (char *)failure->hint;
    m.retryable = retryable;
    client_send(c, WIRE_ERROR, request_id, object_id, &m.base);
}

void client_close(struct client *c, const char *reason)
{
    if (c->closing)
        return;
    if (reason) {
        Pelton__Goodbye m = PELTON__GOODBYE__INIT;
        m.reason = (char *)reason;
        client_send(c, WIRE_GOODBYE, 0, 0, &m.base);
    }
    c->closing = true;
    channel_close(&c->ch);
    broker_changed(c->broker);
}
