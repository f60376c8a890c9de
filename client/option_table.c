/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The table of options behind parsing, help, man page and completion.
 */
#include "client/option_table.h"

#define FORMATS "yuv4mpegpipe rawvideo framemd5 md5 matroska image2 mjpeg null y4m raw mkv png jpg"

const struct option_row option_rows[] = {
    {OPT_INPUT, "i", "input", "IN", NULL, "FILE", CMD_DECODE | CMD_PROBE | CMD_BENCH,
     "Input: a file, - for standard input, or a URL that the daemon opens. bench takes several."},
    {OPT_OUTPUT, "o", "output", "OUT", NULL, "FILE", CMD_DECODE | CMD_FRAMES,
     "Output: a file, or - for standard output. PNG and JPEG need a name with a number, as in "
     "frame%04d.png, or one frame. As the last word, -o may be left out."},
    {OPT_FORMAT, "f", "format", "FORMAT", "from the output's extension", FORMATS,
     CMD_DECODE | CMD_FRAMES,
     "Output format: yuv4mpegpipe (y4m), rawvideo (raw), framemd5, md5, matroska (mkv; "
     "uncompressed), image2 (png), mjpeg (jpg), null."},
    {OPT_YES, "y", "overwrite", NULL, NULL, NULL, CMD_DECODE | CMD_FRAMES,
     "Overwrite an output file that exists."},
    {OPT_NO, "n", NULL, NULL, NULL, NULL, CMD_DECODE | CMD_FRAMES, "Never overwrite, never ask."},
    {OPT_START, "ss", "start", "TIME", NULL, NULL, CMD_DECODE,
     "Start at this time: seconds (12.5), [HH:]MM:SS[.m], or with a unit (200ms)."},
    {OPT_DURATION, "t", "duration", "TIME", NULL, NULL,
     CMD_DECODE | CMD_PIPE | CMD_VIEW | CMD_BENCH,
     "Stop after this much of the stream. bench measures for this long and repeats the input as "
     "needed."},
    {OPT_FRAMES, "frames:v", "frames vframes", "N", "all", NULL, CMD_DECODE | CMD_PIPE | CMD_VIEW,
     "Stop after N frames. Frames that --policy, --max-fps or --on-error leave out do not count."},
    {OPT_PIX_FMT, "pix-fmt", NULL, "FORMAT", "the stream's own",
     "gray gray10le yuv420p nv12 p010le yuv420p10le yuv422p yuv422p10le yuv444p yuv444p10le gbrp "
     "rgb24 bgr24 rgba rgb48le",
     CMD_DECODE | CMD_FRAMES,
     "Pixel format, by FFmpeg's name. The daemon delivers the stream's own: gray, yuv420p, "
     "yuv422p, yuv444p, gbrp, with 9le to 14le above 8 bits. It also delivers gray of the same "
     "depth (the luma plane), nv12 of yuv420p, and planar YUV with grey chroma of gray streams. "
     "Cameras give yuv420p, nv12, p010le, gray, rgb24, rgba and rgb48le (16-bit linear). The "
     "client converts to other formats, as ffmpeg does."},
    {OPT_QUALITY, "q:v", "qscale:v qscale q", "N", "3", NULL, CMD_DECODE | CMD_FRAMES,
     "Quality of JPEG: 1 (best) to 31, as in ffmpeg. Other formats lose nothing."},
    {OPT_SHEET, "sheet", NULL, "CxR", NULL, "3x2 4x3 5x4 6x5", CMD_DECODE | CMD_PIPE,
     "Write one picture of C columns and R rows of frames, each with its time. The frames lie at "
     "even distances from -ss on, up to the end or -t. The output is a PNG or JPEG file."},
    {OPT_FIELDS, "fields", NULL, NULL, NULL, NULL, CMD_DECODE,
     "Write each field of an interlaced sequence as a picture of half the height, at twice the "
     "rate. The first field in time comes first. Without this option frames hold both fields, "
     "woven."},
    {OPT_BLUR, "blur", NULL, "X,Y,W,H", NULL, NULL, CMD_DECODE | CMD_FRAMES | CMD_VIEW,
     "Blur a rectangle of the picture, in pixels, until nothing in it can be read. The option may "
     "be given several times. The GPU blurs before anything leaves; the source's configuration may "
     "blur more."},
    {OPT_VERIFY, "verify", NULL, "REF", NULL, "FILE", CMD_DECODE,
     "Compare each frame with a reference: a framemd5 file, a file with one MD5 of all frames, or "
     "a y4m or raw file. Exit code 10 names the first frame that differs."},
    {OPT_SECOND_VIEW, "second-view", NULL, "FILE", NULL, "FILE", CMD_DECODE,
     "Write the second view of a stereo stream (Stereo High, MVC) to FILE, in the format of the "
     "output. The output holds the base view. Without this option the second view is not decoded."},
    {OPT_SIDE_DATA, "side-data", NULL, "FILE", NULL, "FILE", CMD_DECODE,
     "Write the data beside the samples to FILE, one line of JSON for each frame: time code, "
     "captions, user data, frame packing, recovery points, colour and its origin. Other SEI "
     "messages follow in hexadecimal."},
    {OPT_BENCH_VERIFY, "verify", NULL, NULL, NULL, NULL, CMD_BENCH,
     "Decode each input once more, outside the timed part, and compare every frame with FFmpeg's "
     "MD5. --against does this, too."},
    {OPT_ON_ERROR, "on-error", NULL, "show|drop|fail|all", "show", "show drop fail all", CMD_DECODE,
     "Damaged frames: show them concealed, drop them, or fail with exit code 6. all shows them, "
     "and also frames before the first IDR picture or recovery point."},
    {OPT_PROGRESS, "progress", NULL, "kv|bar|none", "bar on a terminal, else a line every 10 s",
     "kv bar none", CMD_DECODE | CMD_PIPE | CMD_VIEW,
     "Progress on standard error; kv has the form of ffmpeg -progress."},
    {OPT_STREAMS, "streams", NULL, "N", "1", NULL, CMD_BENCH, "Decode each input N times at once."},
    {OPT_LOOP, "loop", NULL, "N", "1", NULL, CMD_BENCH, "Decode each input N times in a row."},
    {OPT_STAGES, "stages", NULL, NULL, NULL, NULL, CMD_BENCH,
     "Print the seconds of each stage on the CPU and on the GPU, and the least that each pass "
     "needs by a model. With --socket the daemon needs timestamps=true for the times of the GPU."},
    {OPT_CHART, "chart", NULL, "FILE", NULL, "FILE", CMD_BENCH,
     "Draw the frames per second, with those of the peers, into FILE (SVG)."},
    {OPT_LIVE, "live", NULL, NULL, NULL, NULL, CMD_BENCH,
     "Read the inputs at their own pace, as a live source would. Measure only the latency of "
     "delivered frames. It counts from the reading of the access unit, and from the last access "
     "unit that a reordered frame waits for."},
    {OPT_TRACE, "trace", NULL, NULL, NULL, NULL, CMD_BENCH,
     "With --live: print the time of each step towards a frame, and the slowest frames step by "
     "step."},
    {OPT_KERNELS, "kernels", NULL, NULL, NULL, NULL, CMD_BENCH,
     "Measure families of compute kernels instead of streams. The families are reduce, blur, "
     "demosaic, undistort, readback, wavefront and inter; without names all are measured. Each "
     "variant is checked against a slow reference before and after it is timed."},
    {OPT_VARIANT, "variant", NULL, "NAME", "all", NULL, CMD_BENCH,
     "Measure only this variant of the kernels."},
    {OPT_KERNEL_SIZE, "size", NULL, "WxH", "the sizes of docs/kernels.md", NULL, CMD_BENCH,
     "Size of the kernels' pictures: multiples of 8."},
    {OPT_KERNEL_FORMAT, "format", NULL, "FORMAT", "all of the family",
     "rgba8 rgba32f nv12 bayer8 bayer12 rgb16 luma8 yuv420", CMD_BENCH,
     "Format of the kernels' pictures."},
    {OPT_TAPS, "taps", NULL, "N", "3, 5 .. 19", NULL, CMD_BENCH,
     "Width of the blurs: odd, 3 to 19."},
    {OPT_ROUNDS, "rounds", NULL, "N", "7", NULL, CMD_BENCH,
     "Timed rounds of each kernel. The median counts."},
    {OPT_CSV, "csv", NULL, "FILE", NULL, "FILE", CMD_BENCH,
     "Write the kernels' figures to FILE, one line each; - is standard output."},
    {OPT_LIST, "list", NULL, NULL, NULL, NULL, CMD_BENCH,
     "Only list the kernels and their cases, in the columns of --csv. This needs no device."},
    {OPT_AGAINST, "against", NULL, "ffmpeg", NULL, "ffmpeg", CMD_BENCH,
     "Measure the ffmpeg program in the same run: with one thread, with all threads, and with "
     "h264_cuvid where it has that."},
    {OPT_FFMPEG, "ffmpeg", NULL, "PATH", "ffmpeg in PATH", "FILE", CMD_BENCH,
     "The ffmpeg program for --against and --verify."},
    {OPT_MIN_FPS, "min-fps", NULL, "N", NULL, NULL, CMD_BENCH,
     "End with exit code 3 where fewer frames per second reach the reader."},
    {OPT_JSON_FILE, "json", NULL, "FILE", NULL, "FILE", CMD_BENCH,
     "Write the figures as JSON to FILE; - is standard output."},
    {OPT_JSON, "json", NULL, NULL, NULL, NULL,
     CMD_PROBE | CMD_DOCTOR | CMD_SOURCES | CMD_INFO | CMD_GET | CMD_STATS, "Print JSON."},
    {OPT_DEPTH, "depth", NULL, "N", "the daemon's choice", NULL, CMD_DECODE | CMD_BENCH,
     "Frames in the shared pool."},
    {OPT_DEVICE, "device", NULL, "DEVICE", "auto", "auto gpu cpu all", CMD_DAEMON | CMD_TUNE,
     "auto (a GPU, else a software device with a warning), gpu, cpu, part of a device's name, or "
     "its UUID. all takes every GPU; commas separate several devices. Devices share streams, and "
     "they share a file by its stretches between IDR pictures. Starts a private daemon."},
    {OPT_SOCKET, "socket", NULL, "PATH", "$PELTON_SOCKET, the user's, the system's", "FILE",
     CMD_DAEMON | CMD_ADMIN, "Use the daemon that listens at this socket."},
    {OPT_GPU_DEBUG, "gpu-debug", NULL, NULL, NULL, NULL,
     CMD_DECODE | CMD_BENCH | CMD_FRAMES | CMD_VIEW,
     "Print the named values that shaders write, each with its pass, picture and workgroup, on "
     "standard error. Slow: for work on the shaders. Starts a private daemon."},
    {OPT_NO_TUNE, "no-tune", NULL, NULL, NULL, NULL, CMD_DAEMON,
     "Measure no kernels and ignore earlier measurements: choose kernels by the kind of device. "
     "Every run is then the same. Starts a private daemon."},
    {OPT_TUNE_FORCE, "tune-force", NULL, "FAMILY=VARIANT", NULL, NULL, CMD_DAEMON,
     "Use this kernel, whatever was measured: wavefront=intra-diagonal, "
     "wavefront=intra-persistent, readback=memfd-linear, readback=memfd-copy. Commas separate "
     "several. It changes the time, never the result."},
    {OPT_CONFIG, "c", "config", "KEY=VALUE", NULL, NULL, CMD_DAEMON,
     "A setting of the private daemon. The option may be given several times."},
    {OPT_LOOKAHEAD, "lookahead", NULL, "N", "by memory", NULL, CMD_DECODE | CMD_BENCH,
     "Pictures of a stream that may be in work at once, in the private daemon."},
    {OPT_TIMEOUT, "timeout", NULL, "SECONDS", "120", NULL, CMD_DAEMON | CMD_ADMIN,
     "Give up with exit code 11 when nothing arrives for this long; 0 waits for ever."},
    {OPT_LOG_LEVEL, "log-level", "loglevel v", "LEVEL", "info",
     "quiet panic fatal error warning info verbose debug trace", CMD_ALL,
     "quiet, panic, fatal, error, warning, info, verbose, debug, trace, or FFmpeg's number. "
     "verbose and higher levels show the daemon's log."},
    {OPT_SIZE, "size", NULL, "WxH", "the file's", NULL, CMD_CALIB,
     "Pictures of this size will use the calibration. Their aspect ratio must be the file's."},
    {OPT_CAMERA, "camera", NULL, "N", "0", NULL, CMD_CALIB,
     "The number of the camera in a Kalibr camchain."},
    {OPT_POLICY, "policy", NULL, "POLICY",
     "latest for live and named sources, lossless for files and decode",
     "latest fifo fifo:8 lossless", CMD_DECODE | CMD_PIPE | CMD_VIEW,
     "What a reader gets that is slower than the source. latest: the newest frame. fifo:N: the "
     "newest N frames in order, 1 to 60; fifo alone means 4. lossless: every frame; files wait, a "
     "live source drops frames when the pool is full. Frames that are left out count as dropped."},
    {OPT_MAX_FPS, "max-fps", NULL, "N", "all", NULL, CMD_PIPE | CMD_VIEW,
     "Deliver at most N frames a second, by their time stamps. The daemon leaves the others out."},
    {OPT_AFTER_NOW, "after-now", NULL, NULL, NULL, NULL, CMD_SNAPSHOT,
     "Write a frame that was captured after this command began."},
    {OPT_WATCH, "watch", NULL, NULL, NULL, NULL, CMD_SOURCES,
     "Keep printing a line for every change of a source's state, readers or format, until "
     "interrupted. With --json each line is an object."},
    {OPT_MAN, "man", NULL, NULL, NULL, NULL, CMD_HELP, "Print the source of the manual page."},
    {OPT_HELP, "help", "h ?", NULL, NULL, NULL, CMD_ALL, "Explain the command."},
};
const unsigned n_option_rows = sizeof(option_rows) / sizeof(option_rows[0]);
