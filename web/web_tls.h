/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The server's certificate. It can be read again while connections last: new ones get the new one.
 *
 * Thread: any.
 */
#ifndef PELTON_WEB_TLS_H
#define PELTON_WEB_TLS_H

#include <gnutls/abstract.h>
#include <gnutls/gnutls.h>
#include <stddef.h>

struct web_tls;

/* TLS 1.3 and nothing older. */
#define WEB_TLS_PRIORITIES "NORMAL:-VERS-ALL:+VERS-TLS1.3"

enum { TLS_WHY = 256 };

/* NULL: why says the reason. */
struct web_tls *web_tls_new(const char *certificate, const char *key, char why[TLS_WHY]);
void web_tls_free(struct web_tls *t); /* NULL allowed; no connection is left */
/* Reads both files again. 0, or -1 with the reason: then the old ones stay. */
int web_tls_reload(struct web_tls *t, char why[TLS_WHY]);
/* GnuTLS asks it at each handshake, for the one web_tls of the process. */
int web_tls_certificate(gnutls_session_t session, const struct gnutls_cert_retr_st *info,
                        gnutls_pcert_st **certificates, unsigned *n, gnutls_ocsp_data_st **ocsp,
                        unsigned *n_ocsp, gnutls_privkey_t *key, unsigned *flags);

#endif
