/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The tokens that requests show: see web_tokens.h.
 */
#include "web/web_tokens.h"

#include <errno.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HASH = 32, FILE_MOST = 128 * 1024 };

struct token_row {
    unsigned char hash[HASH];
    enum token_right right;
};

struct token_list {
    struct token_row rows[TOKENS_MOST];
    unsigned n;
};

struct web_tokens {
    pthread_mutex_t lock;
    struct token_list list;
};

struct web_tokens *web_tokens_new(void)
{
    struct web_tokens *t = calloc(1, sizeof(*t));
    if (t)
        pthread_mutex_init(&t->lock, NULL);
    return t;
}

void web_tokens_free(struct web_tokens *t)
{
    free(t);
}

/* ---- reading ---- */

static int line_refuse(char why[TOKENS_WHY], unsigned number, const char *what)
{
    snprintf(why, TOKENS_WHY, "line %u: %s", number, what);
    return -1;
}

/* One line of size bytes. No message shows a token. */
static int line_read(const char *line, size_t size, unsigned number, struct token_list *out,
                     char why[TOKENS_WHY])
{
    size_t word = size ? strcspn(line, " \t\n") : 0;
    enum token_right right = word == 4 && !memcmp(line, "read", 4)      ? TOKEN_READ
                             : word == 7 && !memcmp(line, "control", 7) ? TOKEN_CONTROL
                                                                        : TOKEN_NONE;
    if (size == 0 || line[0] == '#')
        return 0;
    if (right == TOKEN_NONE || word >= size)
        return line_refuse(why, number, "expected \"read TOKEN\" or \"control TOKEN\"");
    const char *token = line + word + 1;
    size_t length = size - word - 1;
    if (length < TOKEN_LEAST || length > TOKEN_MOST)
        return line_refuse(why, number, "a token has 16 to 256 characters");
    for (size_t i = 0; i < length; i++)
        if (token[i] <= ' ' || token[i] >= 127 || strchr("\",;\\", token[i]))
            return line_refuse(why, number, "a token has letters, digits and -._~+/= alone");
    if (out->n == TOKENS_MOST)
        return line_refuse(why, number, "more than 256 tokens");
    struct token_row *row = &out->rows[out->n++];
    row->right = right;
    return gnutls_hash_fast(GNUTLS_DIG_SHA256, token, length, row->hash) < 0
               ? line_refuse(why, number, "no hash")
               : 0;
}

int web_tokens_parse(struct web_tokens *t, const char *text, char why[TOKENS_WHY])
{
    struct token_list *list = calloc(1, sizeof(*list));
    unsigned number = 0;
    int rc = list ? 0 : line_refuse(why, 0, "no memory");
    for (const char *line = text; rc == 0 && *line;) {
        size_t size = strcspn(line, "\n");
        bool carriage = size && line[size - 1] == '\r';
        rc = line_read(line, size - carriage, ++number, list, why);
        line += size + (line[size] == '\n');
    }
    if (rc == 0 && list->n == 0)
        rc = line_refuse(why, number, "no token stands there");
    if (rc == 0) {
        pthread_mutex_lock(&t->lock);
        t->list = *list;
        pthread_mutex_unlock(&t->lock);
    }
    free(list);
    return rc;
}

int web_tokens_read(struct web_tokens *t, const char *file, char why[TOKENS_WHY])
{
    char path[1024], reason[TOKENS_WHY];
    FILE *f = fopen(credential_path(file, path, sizeof(path)), "re");
    char *text = f ? calloc(1, FILE_MOST) : NULL;
    if (!text) {
        snprintf(why, TOKENS_WHY, "%.160s: %s", file, strerror(f ? ENOMEM : errno));
        if (f)
            fclose(f);
        return -1;
    }
    size_t n = fread(text, 1, FILE_MOST - 1, f);
    bool whole = feof(f) && !memchr(text, 0, n);
    fclose(f);
    snprintf(reason, sizeof(reason), "no text, or more than 128 KiB");
    int rc = whole ? web_tokens_parse(t, text, reason) : -1;
    if (rc < 0)
        snprintf(why, TOKENS_WHY, "%.100s: %.140s", file, reason);
    gnutls_memset(text, 0, FILE_MOST);
    free(text);
    return rc;
}

const char *credential_path(const char *name, char *buffer, size_t size)
{
    const char *folder = getenv("CREDENTIALS_DIRECTORY");
    if (folder && !strchr(name, '/') && snprintf(buffer, size, "%s/%s", folder, name) < (int)size &&
        access(buffer, F_OK) == 0)
        return buffer;
    snprintf(buffer, size, "%s", name);
    return buffer;
}

/* ---- asking ---- */

bool web_tokens_any(struct web_tokens *t)
{
    pthread_mutex_lock(&t->lock);
    bool any = t->list.n > 0;
    pthread_mutex_unlock(&t->lock);
    return any;
}

enum token_right web_tokens_right(struct web_tokens *t, const char *token, size_t size)
{
    unsigned char hash[HASH];
    unsigned found = TOKEN_NONE;
    if (gnutls_hash_fast(GNUTLS_DIG_SHA256, token, size, hash) < 0)
        return TOKEN_NONE;
    pthread_mutex_lock(&t->lock);
    for (unsigned i = 0; i < t->list.n; i++) {
        unsigned equal = gnutls_memcmp(t->list.rows[i].hash, hash, HASH) == 0;
        found |= equal * (unsigned)t->list.rows[i].right;
    }
    pthread_mutex_unlock(&t->lock);
    return found >= TOKEN_CONTROL ? TOKEN_CONTROL : (enum token_right)found;
}
