/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Bindings and sizes of motion_fetch.comp, motion.comp and motion_check.comp, for C and GLSL.
 */
#ifndef PELTON_MOTION_ARGS_H
#define PELTON_MOTION_ARGS_H

#define MOT_BIND_PICTURES 0
#define MOT_BIND_SLICES   1
#define MOT_BIND_MBS      2
#define MOT_BIND_MOTION   3
#define MOT_BIND_SYNTAX   4
#define MOT_BIND_MAPS     5
#define MOT_BIND_STILL    6
#define MOT_BIND_RESULTS  7
#define MOT_BIND_USED     8
#define MOT_BINDINGS      9

/* Words of a picture's results: DER_*, and sectors that motion_fetch.comp has read. */
#define MOT_RESULTS        2
#define MOT_RESULT_SECTORS 1

/* Rows of macroblocks that a workgroup has in work, a thread for each of their lists. A row runs
 * two macroblocks behind the one above: so many are enough for pictures up to 128 macroblocks wide.
 */
#define MOT_ROWS 64
/* PicWidthInMbs at most, of usual pictures and of others: the constants that motion.comp is made
 * with. */
#define MOT_USUAL_WIDTH   128
#define MOT_MAX_WIDTH     512
#define MOT_CHECK_THREADS 64
#define MOT_FETCH_MBS     64 /* macroblocks of a workgroup, a thread each */
#define MOT_SECTOR        32 /* bytes that cross the bus for any one of them */

#endif
