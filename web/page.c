/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The page: one file, which the build embeds. Nothing else may run in it: its policy names the
 * hashes of its own script and style.
 */
#include "web/handlers.h"
#include "web/http_reply.h"
#include "web/page_policy.h"

extern const char page_html[];
extern const unsigned page_html_size;

enum MHD_Result page_get(struct http_request *r)
{
    char policy[PAGE_POLICY];
    page_policy(page_html, page_html_size, policy);
    return http_reply_with(r, MHD_HTTP_OK, "text/html; charset=utf-8", page_html, page_html_size,
                           "Content-Security-Policy", policy);
}
