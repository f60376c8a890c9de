/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Properties of the elements that are texts. They are set before the element reads anything.
 */
#ifndef PELTON_TEXT_PROPERTY_H
#define PELTON_TEXT_PROPERTY_H

#include <gst/gst.h>

static inline void text_install(GObjectClass *object, guint id, const char *name, const char *blurb)
{
    g_object_class_install_property(
        object, id,
        g_param_spec_string(name, name, blurb, NULL,
                            G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | GST_PARAM_MUTABLE_READY));
}

#endif
