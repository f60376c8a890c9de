/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Answers. Each function sends one answer with the security headers that all answers have, and
 * returns the handler's result. A failure is JSON: {"error": cause, "hint": hint}.
 */
#ifndef PELTON_HTTP_REPLY_H
#define PELTON_HTTP_REPLY_H

#include "proto/json.h"
#include "web/http_request.h"

/* Copies the bytes. */
enum MHD_Result http_reply(struct http_request *r, unsigned status, const char *type,
                           const void *bytes, size_t size);
/* The same with one more header; NULL: none. */
enum MHD_Result http_reply_with(struct http_request *r, unsigned status, const char *type,
                                const void *bytes, size_t size, const char *header,
                                const char *value);
enum MHD_Result http_fail(struct http_request *r, unsigned status, const char *hint,
                          const char *cause, ...) __attribute__((format(printf, 4, 5)));

/* JSON is written to memory and then sent: begin, json_...(&out->json), end. */
struct http_json {
    struct json json;
    char *text;
    size_t size;
};
/* False: no memory; http_json_end then answers 500. */
bool http_json_begin(struct http_json *out);
enum MHD_Result http_json_end(struct http_request *r, unsigned status, struct http_json *out);

/* ---- bodies that go on (http_body.c) ---- */

enum { HTTP_PIECES = 3 };
/* Bytes to send, in this order. They stay valid until the next call. */
struct http_piece {
    const void *bytes;
    size_t size;
};
enum http_more {
    HTTP_PIECE,   /* pieces are set */
    HTTP_NOTHING, /* nothing came within HTTP_PATIENCE_MS: ask again */
    HTTP_END,     /* the body is complete */
    HTTP_ABORT    /* the body breaks off: the reader sees that it is incomplete */
};
enum { HTTP_PATIENCE_MS = 500 };

/* next waits at most HTTP_PATIENCE_MS. A piece that its reader does not take within stall_ms ends
 * the connection. free is called once, also where next never was. */
struct http_body {
    enum http_more (*next)(void *state, struct http_piece pieces[HTTP_PIECES]);
    void (*free)(void *state);
    void *state;
};
enum MHD_Result http_reply_body(struct http_request *r, const char *type,
                                const struct http_body *body);

#endif
