/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Whether this program works, and whether it can serve: for supervisors and load balancers.
 */
#include "web/daemon_watch.h"
#include "web/handlers.h"
#include "web/http_reply.h"
#include "web/web.h"

#include <string.h>

enum MHD_Result healthz_get(struct http_request *r)
{
    static const char good[] = "ok\n";
    return http_reply(r, MHD_HTTP_OK, "text/plain; charset=utf-8", good, strlen(good));
}

enum MHD_Result readyz_get(struct http_request *r)
{
    struct watched_daemon d;
    daemon_watch_state(r->web->watch, &d);
    if (!d.connected)
        return http_fail(r, MHD_HTTP_SERVICE_UNAVAILABLE,
                         d.hint[0] ? d.hint : "systemctl status peltond", "no daemon: %s", d.cause);
    static const char good[] = "ready\n";
    return http_reply(r, MHD_HTTP_OK, "text/plain; charset=utf-8", good, strlen(good));
}
