/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The plugin "pelton" of GStreamer. The elements have rank MARGINAL: a pipeline has them where it
 * names them, since they need a daemon.
 */
#include "gstreamer/decoder_element.h"
#include "gstreamer/source_element.h"

static gboolean plugin_init(GstPlugin *plugin)
{
    return gst_element_register(plugin, "peltonsrc", GST_RANK_NONE, pelton_src_get_type()) &&
           gst_element_register(plugin, "peltondec", GST_RANK_MARGINAL, pelton_dec_get_type());
}

#define PACKAGE "pelton"
GST_PLUGIN_DEFINE(GST_VERSION_MAJOR, GST_VERSION_MINOR, pelton,
                  "Cameras and H.264 on the GPU by a pelton daemon", plugin_init, PELTON_VERSION,
                  "BSD", "pelton", "https://pelton.invalid/")
