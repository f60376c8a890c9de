/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The server's certificate: see web_tls.h. A certificate that was replaced is kept for a while:
 * handshakes have begun with it, and none lasts as long (header_ms).
 */
#include "web/web_tls.h"

#include "daemon/monotonic.h"
#include "web/web_tokens.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHAIN = 8 };
#define KEPT_NS INT64_C(660000000000) /* longer than the longest header_ms */

struct tls_identity {
    gnutls_pcert_st chain[CHAIN];
    unsigned n;
    gnutls_privkey_t key;
    int64_t replaced_ns;
    struct tls_identity *older;
};

struct web_tls {
    pthread_mutex_t lock;
    char *certificate, *key; /* names of the files */
    struct tls_identity *now;
};

/* The server library gives its certificate callback no context. */
static struct web_tls *the_tls;

static void identity_free(struct tls_identity *i)
{
    for (unsigned n = 0; i && n < i->n; n++)
        gnutls_pcert_deinit(&i->chain[n]);
    if (i && i->key)
        gnutls_privkey_deinit(i->key);
    free(i);
}

static int identity_key(struct tls_identity *i, const char *file)
{
    char path[1024];
    gnutls_datum_t text = {0};
    int rc = gnutls_load_file(credential_path(file, path, sizeof(path)), &text);
    rc = rc < 0 ? rc : gnutls_privkey_init(&i->key);
    rc = rc < 0 ? rc : gnutls_privkey_import_x509_raw(i->key, &text, GNUTLS_X509_FMT_PEM, NULL, 0);
    if (text.data)
        gnutls_memset(text.data, 0, text.size);
    gnutls_free(text.data);
    return rc;
}

static int identity_chain(struct tls_identity *i, const char *file)
{
    char path[1024];
    gnutls_datum_t text = {0};
    unsigned n = CHAIN;
    int rc = gnutls_load_file(credential_path(file, path, sizeof(path)), &text);
    rc = rc < 0 ? rc
                : gnutls_pcert_list_import_x509_raw(i->chain, &n, &text, GNUTLS_X509_FMT_PEM,
                                                    GNUTLS_X509_CRT_LIST_FAIL_IF_UNSORTED);
    gnutls_free(text.data);
    i->n = rc < 0 ? 0 : n;
    return rc;
}

/* The key signs something that the certificate then verifies. */
static int identity_match(const struct tls_identity *i)
{
    const gnutls_datum_t text = {(unsigned char *)(uintptr_t) "pelton", 6};
    gnutls_datum_t signature = {0};
    gnutls_digest_algorithm_t digest;
    int rc = gnutls_pubkey_get_preferred_hash_algorithm(i->chain[0].pubkey, &digest, NULL);
    rc = rc < 0 ? rc : gnutls_privkey_sign_data(i->key, digest, 0, &text, &signature);
    gnutls_sign_algorithm_t how =
        gnutls_pk_to_sign(gnutls_pubkey_get_pk_algorithm(i->chain[0].pubkey, NULL),
                          rc < 0 ? GNUTLS_DIG_SHA256 : digest);
    rc = rc < 0 ? rc : gnutls_pubkey_verify_data2(i->chain[0].pubkey, how, 0, &text, &signature);
    gnutls_free(signature.data);
    return rc;
}

static struct tls_identity *identity_read(const struct web_tls *t, char why[TLS_WHY])
{
    struct tls_identity *i = calloc(1, sizeof(*i));
    const char *file = t->certificate;
    int rc = i ? identity_chain(i, file) : GNUTLS_E_MEMORY_ERROR;
    if (rc >= 0) {
        file = t->key;
        rc = identity_key(i, file);
    }
    if (rc >= 0 && identity_match(i) < 0) {
        snprintf(why, TLS_WHY, "%.200s: not the key of the certificate", file);
        identity_free(i);
        return NULL;
    }
    if (rc >= 0)
        return i;
    snprintf(why, TLS_WHY, "%.150s: %.80s", file, gnutls_strerror(rc));
    identity_free(i);
    return NULL;
}

/* ---- life ---- */

struct web_tls *web_tls_new(const char *certificate, const char *key, char why[TLS_WHY])
{
    struct web_tls *t = calloc(1, sizeof(*t));
    snprintf(why, TLS_WHY, "no memory");
    if (!t)
        return NULL;
    pthread_mutex_init(&t->lock, NULL);
    t->certificate = strdup(certificate);
    t->key = strdup(key);
    if (t->certificate && t->key)
        t->now = identity_read(t, why);
    if (t->now) {
        the_tls = t;
        return t;
    }
    web_tls_free(t);
    return NULL;
}

static void identities_free(struct tls_identity **first)
{
    while (*first) {
        struct tls_identity *i = *first;
        *first = i->older;
        identity_free(i);
    }
}

void web_tls_free(struct web_tls *t)
{
    if (!t)
        return;
    identities_free(&t->now);
    free(t->certificate);
    free(t->key);
    free(t);
}

int web_tls_reload(struct web_tls *t, char why[TLS_WHY])
{
    struct tls_identity *fresh = identity_read(t, why);
    int64_t now = monotonic_ns();
    if (!fresh)
        return -1;
    pthread_mutex_lock(&t->lock);
    t->now->replaced_ns = now;
    fresh->older = t->now;
    t->now = fresh;
    struct tls_identity **old = &fresh->older;
    while (*old && now - (*old)->replaced_ns < KEPT_NS)
        old = &(*old)->older;
    identities_free(old);
    pthread_mutex_unlock(&t->lock);
    return 0;
}

int web_tls_certificate(gnutls_session_t session, const struct gnutls_cert_retr_st *info,
                        gnutls_pcert_st **certificates, unsigned *n, gnutls_ocsp_data_st **ocsp,
                        unsigned *n_ocsp, gnutls_privkey_t *key, unsigned *flags)
{
    struct web_tls *t = the_tls;
    pthread_mutex_lock(&t->lock);
    *certificates = t->now->chain;
    *n = t->now->n;
    *key = t->now->key;
    pthread_mutex_unlock(&t->lock);
    *ocsp = NULL;
    *n_ocsp = 0;
    *flags = 0;
    return 0;
}
