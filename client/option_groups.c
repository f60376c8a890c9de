/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Options that do not stand on their command's own page of help.
 */
#include "client/option_table.h"

enum option_group option_group(const struct option_row *row)
{
    static const unsigned char groups[N_OPTIONS] = {
        [OPT_DEVICE] = GROUP_COMMON,       [OPT_SOCKET] = GROUP_COMMON,
        [OPT_TIMEOUT] = GROUP_COMMON,      [OPT_LOG_LEVEL] = GROUP_COMMON,
        [OPT_HELP] = GROUP_COMMON,         [OPT_GPU_DEBUG] = GROUP_DEVELOPER,
        [OPT_NO_TUNE] = GROUP_DEVELOPER,   [OPT_TUNE_FORCE] = GROUP_DEVELOPER,
        [OPT_CONFIG] = GROUP_DEVELOPER,    [OPT_LOOKAHEAD] = GROUP_DEVELOPER,
        [OPT_DEPTH] = GROUP_DEVELOPER,     [OPT_VARIANT] = GROUP_KERNELS,
        [OPT_KERNEL_SIZE] = GROUP_KERNELS, [OPT_KERNEL_FORMAT] = GROUP_KERNELS,
        [OPT_TAPS] = GROUP_KERNELS,        [OPT_ROUNDS] = GROUP_KERNELS,
        [OPT_CSV] = GROUP_KERNELS,         [OPT_LIST] = GROUP_KERNELS,
    };
    return (enum option_group)groups[row->id];
}

bool option_group_used(unsigned command, enum option_group group)
{
    for (unsigned i = 0; i < n_option_rows; i++)
        if ((option_rows[i].commands & command) && option_group(&option_rows[i]) == group)
            return true;
    return false;
}
