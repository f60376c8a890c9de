/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The pelton command: parse, run one command, print its one failure.
 */
#include "client/option_table.h"
#include "client/ui.h"
#include "proto/start_trace.h"

#include <errno.h>
#include <libavutil/log.h>
#include <stdio.h>
#include <string.h>

/* Warnings of libavformat are details; our failures name the cause. */
static void quiet_libraries(int log_level)
{
    av_log_set_level(log_level >= LOG_VERBOSE ? log_level : AV_LOG_QUIET);
}

int main(int argc, char **argv)
{
    struct client_options o;
    struct failure f = {0};
    start_trace_init("client");
    int rc = options_parse(argc, argv, &o, &f);
    if (rc == 0) {
        if (o.log_level >= LOG_DEBUG)
            start_trace_enable();
        start_trace("options are read");
        ui_init(o.log_level);
        quiet_libraries(o.log_level);
        if (o.help) {
            o.topic = o.command->name;
            o.command = command_find("help");
        }
        rc = o.command->run(&o, &f);
    }
    if (fflush(stdout) != 0 && rc == 0)
        rc = fail_errno(&f, X_OTHER, errno, "standard output");
    failure_print(&f);
    start_trace("end");
    return rc;
}
