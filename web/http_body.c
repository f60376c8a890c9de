/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Bodies that go on, in chunks. The connection's thread waits in the body's own next(). Between two
 * pieces it looks whether the reader is still there. The failure modes are a reader that is gone
 * or that takes nothing (http_connections.c cuts it), and a server that ends.
 */
#include "web/http_connections.h"
#include "web/http_headers.h"
#include "web/http_reply.h"
#include "web/web.h"

#include <stdlib.h>
#include <string.h>

enum { BLOCK = 64 * 1024 };

struct pumped_body {
    struct http_body body;
    struct web *web;
    struct http_connection *connection;
    struct http_piece pieces[HTTP_PIECES];
    unsigned at;   /* the piece that is being sent */
    size_t offset; /* in it */
};

static bool pieces_left(struct pumped_body *b)
{
    while (b->at < HTTP_PIECES && b->offset == b->pieces[b->at].size) {
        b->at++;
        b->offset = 0;
    }
    return b->at < HTTP_PIECES;
}

/* Waits for pieces. HTTP_PIECE: there are some. */
static enum http_more pieces_wait(struct pumped_body *b)
{
    enum http_more more = HTTP_NOTHING;
    http_connection_waits(b->connection);
    while (more == HTTP_NOTHING) {
        if (b->web->stopping || http_connection_gone(b->connection))
            return HTTP_ABORT;
        memset(b->pieces, 0, sizeof(b->pieces));
        more = b->body.next(b->body.state, b->pieces);
    }
    b->at = 0;
    b->offset = 0;
    http_connection_sends(b->connection);
    return more;
}

static ssize_t body_read(void *cls, uint64_t position, char *out, size_t most)
{
    struct pumped_body *b = cls;
    size_t n = 0;
    while (!pieces_left(b)) {
        enum http_more more = pieces_wait(b);
        if (more != HTTP_PIECE)
            return more == HTTP_END ? MHD_CONTENT_READER_END_OF_STREAM
                                    : MHD_CONTENT_READER_END_WITH_ERROR;
    }
    while (n < most && pieces_left(b)) {
        const struct http_piece *p = &b->pieces[b->at];
        size_t part = p->size - b->offset < most - n ? p->size - b->offset : most - n;
        memcpy(out + n, (const char *)p->bytes + b->offset, part);
        b->offset += part;
        n += part;
    }
    return (ssize_t)n;
}

static void body_free(void *cls)
{
    struct pumped_body *b = cls;
    b->body.free(b->body.state);
    free(b);
}

enum MHD_Result http_reply_body(struct http_request *r, const char *type,
                                const struct http_body *body)
{
    struct pumped_body *b = malloc(sizeof(*b));
    struct MHD_Response *response = NULL;
    if (b) {
        *b = (struct pumped_body){
            .body = *body, .web = r->web, .connection = r->connection, .at = HTTP_PIECES};
        response =
            MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK, body_read, b, body_free);
    }
    if (!response) {
        body->free(body->state);
        free(b);
        return http_fail(r, MHD_HTTP_INTERNAL_SERVER_ERROR, "free some memory", "no memory");
    }
    http_headers_common(response, type);
    r->replied = true;
    enum MHD_Result sent = MHD_queue_response(r->mhd, MHD_HTTP_OK, response);
    MHD_destroy_response(response);
    return sent;
}
