/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The tokens that requests show. Their hashes are kept, and compared in constant time, all of them
 * each time. So neither a token nor its length follows from how long an answer takes.
 *
 * Thread: any.
 */
#ifndef PELTON_WEB_TOKENS_H
#define PELTON_WEB_TOKENS_H

#include <stdbool.h>
#include <stddef.h>

enum { TOKEN_LEAST = 16, TOKEN_MOST = 256, TOKENS_MOST = 256, TOKENS_WHY = 256 };

enum token_right { TOKEN_NONE, TOKEN_READ, TOKEN_CONTROL };

struct web_tokens;

struct web_tokens *web_tokens_new(void); /* without any; NULL: no memory */
void web_tokens_free(struct web_tokens *t);
/* Reads a file in place of what there was. Lines are "read TOKEN", "control TOKEN", empty, or begin
 * with #. 0, or -1 with the reason: then the old ones stay. */
int web_tokens_read(struct web_tokens *t, const char *file, char why[TOKENS_WHY]);
/* The same from text. */
int web_tokens_parse(struct web_tokens *t, const char *text, char why[TOKENS_WHY]);
bool web_tokens_any(struct web_tokens *t);
enum token_right web_tokens_right(struct web_tokens *t, const char *token, size_t size);

/* The path of a file that is named by an option: a name without slashes is looked for among
 * systemd's credentials first. Returns buffer. */
const char *credential_path(const char *name, char *buffer, size_t size);

#endif
