/* SPDX-License-Identifier: BSD-2-Clause
 *
 * All handlers of the route table (http_routes.c).
 */
#ifndef PELTON_WEB_HANDLERS_H
#define PELTON_WEB_HANDLERS_H

#include "web/http_request.h"

http_handler page_get;                                                         /* page.c */
http_handler healthz_get, readyz_get;                                          /* health.c */
http_handler api_sources_get, api_source_get;                                  /* api_sources.c */
http_handler stream_mjpeg_get, stream_y4m_get, stream_mkv_get, stream_nut_get; /* streams.c */
http_handler stream_h264_get, stream_mp4_get, stream_ts_get; /* encoded_streams.c */
http_handler snapshot_jpg_get, snapshot_png_get;             /* snapshot.c */
http_handler api_controls_get, api_controls_patch;           /* api_controls.c */
http_handler api_events_get;                                 /* event_stream.c */

http_handler session_post, session_delete; /* web_session.c */

http_handler metrics_get;         /* metrics.c */
http_handler api_stats_get;       /* api_stats.c */
http_handler api_description_get; /* api_description.c */

#endif
