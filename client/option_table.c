/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The table of options behind parsing, help, man page and completion.
 */
#include "client/option_table.h"

#define FORMATS "yuv4mpegpipe rawvideo framemd5 md5 matroska image2 mjpeg null y4m raw mkv png jpg"

/* Where a value lies in struct client_options. */
#define WHOLE(parser, type, member, from, to)                                                      \
    OPTION_PLACE(parser, struct client_options, type, member, from, to)
#define VALUE(parser, type, member) WHOLE(parser, type, member, 0, 0)

const struct option_row option_rows[] = {
    {"i", "input", "IN", NULL, "FILE", CMD_DECODE | CMD_ENCODE | CMD_PROBE | CMD_BENCH,
     OPTION_ALL(parse_input),
     "Input: a file, - for standard input, or a URL that the daemon opens. bench takes several."},
    {"o", "output", "OUT", NULL, "FILE", CMD_DECODE | CMD_ENCODE | CMD_FRAMES | CMD_RECORD,
     VALUE(text_string, const char *, write.path),
     "Output: a file, or - for standard output. PNG and JPEG need a name with a number, as in "
     "frame%04d.png, or one frame. As the last word, -o may be left out."},
    {"f", "format", "FORMAT", "from the output's extension", FORMATS, CMD_DECODE | CMD_FRAMES,
     VALUE(text_string, const char *, write.format),
     "Output format: yuv4mpegpipe (y4m), rawvideo (raw), framemd5, md5, matroska (mkv; "
     "uncompressed), image2 (png), mjpeg (jpg), null. pipe has access units in h264, mpegts (ts), "
     "mp4 and rtsp, and with -c copy in matroska."},
    {"f", "format", "FORMAT", "from the output's extension", "mp4 matroska mpegts h264",
     CMD_RECORD | CMD_ENCODE, VALUE(text_string, const char *, write.format),
     "Container: mp4 (fragmented), matroska (mkv), mpegts (ts), h264, rtsp."},
    {"c:v", "codec:v codec vcodec", "copy|h264|mjpeg", NULL, "copy h264 mjpeg",
     CMD_PIPE | CMD_RECORD, OPTION_ALL(parse_codec),
     "copy: the source's H.264 as it came, without decoding. -c copy is the same. h264: frames of "
     "any source, encoded anew, with the options of pelton encode. mjpeg, of pipe: each frame is "
     "a JPEG file, with -q:v."},
    {"c:v", "codec:v codec vcodec c", "h264", NULL, "h264", CMD_ENCODE, OPTION_ALL(parse_codec),
     "The only codec is H.264, and the option may be left out."},
    {"crf", NULL, "N", "23", NULL, MEASURES, VALUE(parse_crf, struct encode_options, encode),
     "Constant quality, 0 (best) to 51. QP follows the pictures: the larger the changes from one "
     "to the next, the higher it is."},
    {"qp", NULL, "N", NULL, NULL, MEASURES, VALUE(parse_qp, struct encode_options, encode),
     "Constant QP of P pictures, 0 (best) to 51. I pictures have 3 less."},
    {"b:v", "b vb", "RATE", NULL, NULL, ENCODES, VALUE(parse_bits, uint64_t, encode.bit_rate),
     "Constant bit rate, in bits a second, as in 4M or 800k. Each second is within 3 percent. "
     "Filler data completes seconds that have too little to say."},
    {"maxrate", NULL, "RATE", "the level's", NULL, ENCODES,
     VALUE(parse_bits, uint64_t, encode.max_rate),
     "Raise QP where more bits than these a second would overfill the decoder's buffer."},
    {"bufsize", NULL, "BITS", "half a second", NULL, ENCODES,
     VALUE(parse_bits, uint64_t, encode.buffer),
     "The decoder's buffer, for -maxrate and -b:v. No picture is larger than it holds."},
    {"g", NULL, "N", "250", NULL, ENCODES,
     WHOLE(text_u32, uint32_t, encode.key_interval, 1, 1000000),
     "Pictures from a key picture (IDR) to the next. 1: all are."},
    {"refs", NULL, "N", "1", NULL, MEASURES, WHOLE(text_u32, uint32_t, encode.references, 1, 4),
     "Reference pictures, 1 to 4. More take fewer bits and more time."},
    {"slices", NULL, "N", "1", NULL, MEASURES, WHOLE(text_u32, uint32_t, encode.slices, 1, 4),
     "Slices of a picture, 1 to 4."},
    {"profile:v", "profile", "baseline|main|high", "high", "baseline main high", MEASURES,
     WHOLE(text_choice, enum encoding_profile, encode.profile, ENCODING_BASELINE, 0),
     "Constrained Baseline, Main or High. Only High has 8x8 transforms, Baseline has no CABAC."},
    {"level", "level:v", "LEVEL", "the least that is enough", "3.0 3.1 4.0 4.1 5.0 5.1 6.0",
     ENCODES, VALUE(parse_level, uint8_t, encode.level_idc),
     "Level, as in 4.1. Pictures and rates that it does not allow are refused."},
    {"coder", NULL, "cavlc|cabac", "cabac; cavlc in Baseline", "cavlc cabac", MEASURES,
     WHOLE(text_choice, enum coder, encode.coder, CODER_CAVLC, 0), "Entropy coding."},
    {"aq-mode", NULL, "0|1", "1", "0 1", ENCODES, WHOLE(text_u32, uint32_t, encode.adaptive, 0, 1),
     "1: flat macroblocks get a lower QP, busy ones a higher one, by their variance. It looks "
     "better, and PSNR is lower. 0: QP is that of the picture."},
    {"no-scenecut", NULL, NULL, NULL, NULL, ENCODES, VALUE(text_flag, bool, encode.no_scene_cuts),
     "No key pictures where another scene begins."},
    {"no-deblock", NULL, NULL, NULL, NULL, ENCODES, VALUE(text_flag, bool, encode.no_deblocking),
     "Leave the deblocking filter out."},
    {"segment", "segment_time", "TIME", "one file", NULL, CMD_RECORD,
     VALUE(parse_segment, int64_t, write.segment_us),
     "Begin another file after this time, at the next key picture. Its name has the time at which "
     "it begins: out-20260131T235959.250Z.mp4."},
    {"keep", NULL, "N", "all", NULL, CMD_RECORD, WHOLE(text_u32, uint32_t, write.keep, 1, 1000000),
     "Keep the newest N segments, and remove older ones."},
    {"max-size", NULL, "SIZE", "no limit", NULL, CMD_RECORD,
     VALUE(parse_size, uint64_t, write.max_size),
     "Remove the oldest segments while all of them are larger: bytes, or with k, M, G or T."},
    {"y", "overwrite", NULL, NULL, NULL, CMD_DECODE | CMD_ENCODE | CMD_FRAMES | CMD_RECORD,
     WHOLE(text_constant, enum overwrite, write.overwrite, OVERWRITE_YES, 0),
     "Overwrite an output file that exists."},
    {"n", NULL, NULL, NULL, NULL, CMD_DECODE | CMD_ENCODE | CMD_FRAMES | CMD_RECORD,
     WHOLE(text_constant, enum overwrite, write.overwrite, OVERWRITE_NO, 0),
     "Never overwrite, never ask."},
    {"ss", "start", "TIME", NULL, NULL, CMD_DECODE | CMD_ENCODE | CMD_RECORD,
     VALUE(parse_time, int64_t, read.start_us),
     "Start at this time: seconds (12.5), [HH:]MM:SS[.m], or with a unit (200ms)."},
    {"t", "duration", "TIME", NULL, NULL,
     CMD_DECODE | CMD_ENCODE | CMD_PIPE | CMD_VIEW | CMD_BENCH | CMD_RECORD,
     VALUE(parse_time, int64_t, read.duration_us),
     "Stop after this much of the stream. bench measures for this long and repeats the input as "
     "needed."},
    {"to", NULL, "TIME", NULL, NULL, CMD_DECODE | CMD_ENCODE,
     VALUE(parse_time, int64_t, read.end_us), "Stop at this time of the input. -t goes before it."},
    {"frames:v", "frames vframes", "N", "all", NULL,
     CMD_DECODE | CMD_ENCODE | CMD_PIPE | CMD_VIEW | CMD_RECORD,
     WHOLE(text_u64, uint64_t, read.max_frames, 1, INT64_MAX),
     "Stop after N frames. Frames that --policy, --max-fps, --skip-frame or --on-error leave out "
     "do "
     "not count."},
    {"map", NULL, "0:v:N", "as ffmpeg chooses", "0:v 0:v:0 0:v:1",
     CMD_DECODE | CMD_ENCODE | CMD_PIPE | CMD_PROBE | CMD_RECORD,
     VALUE(parse_map, uint32_t, read.video),
     "Take the N-th video stream of the input, from 0 on; pelton probe lists them. Without it the "
     "container's default comes first, then the largest."},
    {"noautorotate", NULL, NULL, NULL, NULL, CMD_DECODE | CMD_ENCODE,
     VALUE(text_flag, bool, read.leave_unturned),
     "Leave pictures as they are coded. Else they are turned and mirrored as the container says "
     "(display matrix)."},
    {"stream-loop", NULL, "N", "0", NULL, CMD_DECODE, VALUE(parse_loops, int32_t, read.loops),
     "Read the input N times more; -1 is without end. The input must be a file."},
    {"pix-fmt", NULL, "FORMAT", "the stream's own",
     "gray gray10le yuv420p nv12 p010le yuv420p10le yuv422p yuv422p10le yuv444p yuv444p10le gbrp "
     "rgb24 bgr24 rgba rgb48le",
     CMD_DECODE | CMD_FRAMES | CMD_BENCH, VALUE(text_string, const char *, write.pix_fmt),
     "Pixel format, by FFmpeg's name. The daemon delivers the stream's own: gray, yuv420p, "
     "yuv422p, yuv444p, gbrp, with 9le to 14le above 8 bits. It also delivers gray of the same "
     "depth (the luma plane), nv12 of yuv420p, and planar YUV with grey chroma of gray streams. "
     "Cameras give yuv420p, nv12, p010le, gray, rgb24, rgba and rgb48le (16-bit linear). The "
     "client converts to other formats, as ffmpeg does. It also makes rgb24, bgr24, rgba and bgra "
     "on the GPU, in the colours that the stream describes."},
    {"pix-fmt", NULL, "FORMAT", "yuv420p", "yuv420p gray", CMD_ENCODE,
     VALUE(parse_coded_format, const char *, write.pix_fmt),
     "yuv420p, or gray: luma alone, in High. Other formats of the source are converted."},
    {"s", "size", "WxH", "the picture's", "640x360 1280x720 1920x1080",
     CMD_DECODE | CMD_ENCODE | CMD_FRAMES | CMD_RECORD,
     VALUE(parse_output_size, struct pelton_output, read.output),
     "Size of the frames. The GPU scales them. A picture that is turned has its size before."},
    {"s", NULL, "WxH", "the picture's", "448x448", CMD_BENCH,
     VALUE(parse_output_size, struct pelton_output, read.output),
     "Size of the frames that the daemon delivers."},
    {"crop", NULL, "X,Y,W,H", "the whole picture", NULL,
     CMD_DECODE | CMD_ENCODE | CMD_FRAMES | CMD_RECORD,
     VALUE(parse_crop, struct pelton_output, read.output),
     "Only this rectangle of the picture, in pixels. It is cut out before -s and after --blur."},
    {"filter", NULL, "FILTER", "bicubic", "bicubic bilinear area nearest",
     CMD_DECODE | CMD_ENCODE | CMD_FRAMES | CMD_BENCH,
     WHOLE(text_choice, enum pelton_filter, read.output.filter, PELTON_BICUBIC, 0),
     "How -s scales: bicubic, bilinear, area or nearest. All but the last are wider where "
     "pictures get smaller."},
    {"type", NULL, "u8|f16|f32", "u8", "u8 f16 f32", CMD_BENCH | GROUP_DEVELOPER,
     WHOLE(text_choice, enum pelton_type, read.output.type, PELTON_U8, 0),
     "Type of the values that the daemon delivers, of --pix-fmt rgb24 and the like."},
    {"layout", NULL, "format|nchw|nhwc", "format", "format nchw nhwc", CMD_BENCH | GROUP_DEVELOPER,
     WHOLE(text_choice, enum pelton_layout, read.output.layout, PELTON_LAYOUT_FORMAT, 0),
     "Where the values of a pixel stand: as the pixel format says, plane after plane, or side by "
     "side."},
    {"q:v", "qscale:v qscale q", "N", "3", NULL, CMD_DECODE | CMD_FRAMES,
     WHOLE(text_u32, uint32_t, write.quality, 1, 31),
     "Quality of JPEG: 1 (best) to 31, as in ffmpeg. A GPU makes the files, where there is one. "
     "Other formats lose nothing."},
    {"sheet", NULL, "CxR", NULL, "3x2 4x3 5x4 6x5", CMD_DECODE | CMD_PIPE,
     VALUE(parse_sheet, struct write_options, write),
     "Write one picture of C columns and R rows of frames, each with its time. The frames lie at "
     "even distances from -ss on, up to the end or -t. The output is a PNG or JPEG file."},
    {"fields", NULL, NULL, NULL, NULL, CMD_DECODE, VALUE(text_flag, bool, read.fields),
     "Write each field of an interlaced sequence as a picture of half the height, at twice the "
     "rate. The first field in time comes first. Without this option frames hold both fields, "
     "woven."},
    {"blur", NULL, "X,Y,W,H", NULL, NULL,
     CMD_DECODE | CMD_ENCODE | CMD_FRAMES | CMD_RECORD | CMD_VIEW,
     VALUE(parse_blur, struct read_options, read),
     "Blur a rectangle of the picture, in pixels, until nothing in it can be read. The option may "
     "be given several times. The GPU blurs before anything leaves; the source's configuration may "
     "blur more."},
    {"verify", NULL, "REF", NULL, "FILE", CMD_DECODE,
     VALUE(text_string, const char *, write.verify),
     "Compare each frame with a reference: a framemd5 file, a file with one MD5 of all frames, or "
     "a y4m or raw file. Exit code 10 names the first frame that differs."},
    {"second-view", NULL, "FILE", NULL, "FILE", CMD_DECODE,
     VALUE(text_string, const char *, write.second_view),
     "Write the second view of a stereo stream (Stereo High, MVC) to FILE, in the format of the "
     "output. The output holds the base view. Without this option the second view is not decoded."},
    {"side-data", NULL, "FILE", NULL, "FILE", CMD_DECODE,
     VALUE(text_string, const char *, write.side_data),
     "Write the data beside the samples to FILE, one line of JSON for each frame: time code, "
     "captions, user data, frame packing, recovery points, colour and its origin. Other SEI "
     "messages follow in hexadecimal."},
    {"verify", NULL, NULL, NULL, NULL, CMD_BENCH, VALUE(text_flag, bool, bench.verify),
     "Decode each input once more, outside the timed part, and compare every frame with FFmpeg's "
     "MD5. --against does this, too."},
    {"on-error", NULL, "show|drop|fail|all", "show", "show drop fail all", CMD_DECODE | CMD_ENCODE,
     WHOLE(text_choice, enum pelton_on_error, read.on_error, PELTON_ON_ERROR_SHOW, 0),
     "Damaged frames: show them concealed, drop them, or fail with exit code 6. all shows them, "
     "and also frames before the first IDR picture or recovery point."},
    {"progress", NULL, "kv|bar|none|FILE", "bar on a terminal, else a line every 10 s",
     "none bar kv", CMD_DECODE | CMD_ENCODE | CMD_PIPE | CMD_VIEW,
     VALUE(parse_progress, struct write_options, write),
     "Progress on standard error; kv has the form of ffmpeg -progress. pipe:1, pipe:2 or a path "
     "with "
     "a / or a dot names the place of such lines, as in ffmpeg; - is standard output."},
    {"streams", NULL, "N", "1", NULL, CMD_BENCH, WHOLE(text_u32, uint32_t, bench.streams, 1, 256),
     "Decode each input N times at once."},
    {"loop", NULL, "N", "1", NULL, CMD_BENCH, WHOLE(text_u32, uint32_t, bench.loops, 1, 1000000),
     "Decode each input N times in a row."},
    {"stages", NULL, NULL, NULL, NULL, CMD_BENCH, VALUE(text_flag, bool, bench.stages),
     "Print the seconds of each stage on the CPU and on the GPU, and the least that each pass "
     "needs by a model. With --socket the daemon needs timestamps=true for the times of the GPU."},
    {"chart", NULL, "FILE", NULL, "FILE", CMD_BENCH, VALUE(text_string, const char *, bench.chart),
     "Draw the frames per second, with those of the peers, into FILE (SVG)."},
    {"live", NULL, NULL, NULL, NULL, CMD_BENCH, VALUE(text_flag, bool, bench.live),
     "Read the inputs at their own pace, as a live source would. Measure only the latency of "
     "delivered frames. It counts from the reading of the access unit, and from the last access "
     "unit that a reordered frame waits for."},
    {"repeat", NULL, "N", "1", NULL, CMD_BENCH,
     WHOLE(text_u32, uint32_t, bench.repeat, 1, BENCH_REPEATS),
     "Repeat the runs N times. Each round begins with another one, and the median counts. Latency "
     "is that of the last round."},
    {"trace", NULL, NULL, NULL, NULL, CMD_BENCH, VALUE(text_flag, bool, bench.trace),
     "With --live: print the time of each step towards a frame, and the slowest frames step by "
     "step."},
    {"kernels", NULL, NULL, NULL, NULL, CMD_BENCH, VALUE(text_flag, bool, bench.kernels),
     "Measure families of compute kernels instead of streams. The families are reduce, blur, "
     "demosaic, undistort, readback, wavefront and inter; without names all are measured. Each "
     "variant is checked against a slow reference before and after it is timed."},
    {"encode", NULL, NULL, NULL, NULL, CMD_BENCH, VALUE(text_flag, bool, bench.encode),
     "Measure how fast the device encodes. The first 32 frames of each input are decoded once. "
     "--streams threads encode those of an input there and back, --loop times or for -t, at -qp "
     "(26) or -crf. --stages has the times of passes beside a model. --against has x264 at as many "
     "bits a picture, by a process a CPU."},
    {"variant", NULL, "NAME", "all", NULL, CMD_BENCH | GROUP_KERNELS,
     VALUE(text_string, const char *, kernels.variant),
     "Measure only this variant of the kernels."},
    {"size", NULL, "WxH", "the sizes of docs/kernels.md", NULL, CMD_BENCH | GROUP_KERNELS,
     VALUE(parse_kernel_size, struct kernel_options, kernels),
     "Size of the kernels' pictures: multiples of 8."},
    {"format", NULL, "FORMAT", "all of the family",
     "rgba8 rgba32f nv12 bayer8 bayer12 rgb16 luma8 yuv420", CMD_BENCH | GROUP_KERNELS,
     VALUE(parse_kernel_format, struct kernel_options, kernels),
     "Format of the kernels' pictures."},
    {"taps", NULL, "N", "3, 5 .. 19", NULL, CMD_BENCH | GROUP_KERNELS,
     WHOLE(text_u32, uint32_t, kernels.taps, 1, 19), "Width of the blurs: odd, 3 to 19."},
    {"rounds", NULL, "N", "7", NULL, CMD_BENCH | GROUP_KERNELS,
     WHOLE(text_u32, uint32_t, kernels.rounds, 1, 1000),
     "Timed rounds of each kernel. The median counts."},
    {"csv", NULL, "FILE", NULL, "FILE", CMD_BENCH | GROUP_KERNELS,
     VALUE(text_string, const char *, kernels.csv),
     "Write the kernels' figures to FILE, one line each; - is standard output."},
    {"list", NULL, NULL, NULL, NULL, CMD_BENCH | GROUP_KERNELS,
     VALUE(text_flag, bool, kernels.list),
     "Only list the kernels and their cases, in the columns of --csv. This needs no device."},
    {"against", NULL, "ffmpeg", NULL, "ffmpeg", CMD_BENCH,
     VALUE(parse_against, const char *, bench.against),
     "Measure the ffmpeg program in the same run: with one thread, with all threads, and with "
     "h264_cuvid where it has that."},
    {"ffmpeg", NULL, "PATH", "ffmpeg in PATH", "FILE", CMD_BENCH,
     VALUE(text_string, const char *, bench.ffmpeg),
     "The ffmpeg program for --against and --verify."},
    {"min-fps", NULL, "N", NULL, NULL, CMD_BENCH, VALUE(parse_min_fps, struct bench_options, bench),
     "End with exit code 3 where fewer frames per second reach the reader."},
    {"json", NULL, "FILE", NULL, "FILE", CMD_BENCH,
     VALUE(text_string, const char *, bench.json_file),
     "Write the figures as JSON to FILE; - is standard output."},
    {"json", NULL, NULL, NULL, NULL,
     CMD_PROBE | CMD_DOCTOR | CMD_DISCOVER | CMD_SOURCES | CMD_INFO | CMD_GET | CMD_STATS,
     VALUE(text_flag, bool, json), "Print JSON."},
    {"exposure", NULL, NULL, NULL, NULL, CMD_INFO, VALUE(text_flag, bool, exposure),
     "Wait for a frame of the camera and print its exposure, with a histogram of its luminance."},
    {"depth", NULL, "N", "the daemon's choice", NULL, CMD_DECODE | CMD_BENCH | GROUP_DEVELOPER,
     WHOLE(text_u32, uint32_t, read.depth, 1, 1024), "Frames in the shared pool."},
    {"device", NULL, "DEVICE", "auto", "auto gpu cpu libavcodec all",
     CMD_DAEMON | CMD_TUNE | GROUP_COMMON, VALUE(parse_device, struct connect_options, connect),
     "auto (a GPU, else libavcodec with a warning), gpu, cpu (the Vulkan software device), "
     "libavcodec, part of a device's name, or its UUID. all takes every GPU; commas separate "
     "several devices. Devices share streams, and "
     "they share a file by its stretches between IDR pictures. Starts a private daemon. Where it "
     "names one GPU, that one encodes, too."},
    {"socket", NULL, "PATH", "$PELTON_SOCKET, the user's, the system's", "FILE",
     CMD_DAEMON | CMD_ADMIN | GROUP_COMMON, VALUE(text_string, const char *, connect.socket),
     "Use the daemon that listens at this socket."},
    {"gpu-debug", NULL, NULL, NULL, NULL,
     CMD_DECODE | CMD_BENCH | CMD_FRAMES | CMD_VIEW | GROUP_DEVELOPER,
     VALUE(parse_gpu_debug, struct connect_options, connect),
     "Print the named values that shaders write, each with its pass, picture and workgroup, on "
     "standard error. Slow: for work on the shaders. Starts a private daemon."},
    {"no-tune", NULL, NULL, NULL, NULL, CMD_DAEMON | GROUP_DEVELOPER,
     VALUE(parse_no_tune, struct connect_options, connect),
     "Measure no kernels and ignore earlier measurements: choose kernels by the kind of device. "
     "Every run is then the same. Starts a private daemon."},
    {"tune-force", NULL, "FAMILY=VARIANT", NULL, NULL, CMD_DAEMON | GROUP_DEVELOPER,
     VALUE(parse_tune_force, struct connect_options, connect),
     "Use this kernel, whatever was measured: wavefront=intra-diagonal, "
     "wavefront=intra-persistent, readback=memfd-linear, readback=memfd-copy. Commas separate "
     "several. It changes the time, never the result."},
    {"c", "config", "KEY=VALUE", NULL, NULL, CMD_DAEMON | GROUP_DEVELOPER, OPTION_ALL(parse_config),
     "A setting of the private daemon. The option may be given several times."},
    {"lookahead", NULL, "N", "by memory", NULL, CMD_DECODE | CMD_BENCH | GROUP_DEVELOPER,
     WHOLE(parse_lookahead, struct connect_options, connect, 1, 4096),
     "Pictures of a stream that may be in work at once, in the private daemon."},
    {"timeout", NULL, "SECONDS", "120", NULL, CMD_DAEMON | CMD_ADMIN | GROUP_COMMON,
     VALUE(text_double, double, connect.timeout),
     "Give up with exit code 11 when nothing arrives for this long; 0 waits for ever."},
    {"log-level", "loglevel v", "LEVEL", "info",
     "quiet panic fatal error warning info verbose debug trace", CMD_ALL | GROUP_COMMON,
     VALUE(parse_log_level, int, log_level),
     "quiet, panic, fatal, error, warning, info, verbose, debug, trace, or FFmpeg's number. "
     "verbose and higher levels show the daemon's log."},
    {"size", NULL, "WxH", "the file's", NULL, CMD_CALIB,
     VALUE(parse_calib_size, struct calib_options, calib),
     "Pictures of this size will use the calibration. Their aspect ratio must be the file's."},
    {"camera", NULL, "N", "0", NULL, CMD_CALIB, WHOLE(text_u32, uint32_t, calib.camera, 0, 1000),
     "The number of the camera in a Kalibr camchain."},
    {"policy", NULL, "POLICY", "latest for live and named sources, lossless for files and decode",
     "latest fifo fifo:8 lossless", CMD_DECODE | CMD_ENCODE | CMD_PIPE | CMD_VIEW | CMD_RECORD,
     VALUE(parse_policy, struct read_options, read),
     "What a reader gets that is slower than the source. latest: the newest frame. fifo:N: the "
     "newest N frames in order, 1 to 60; fifo alone means 4. lossless: every frame; files wait, a "
     "live source drops frames when the pool is full. Frames that are left out count as dropped."},
    {"max-fps", NULL, "N", "all", NULL, CMD_DECODE | CMD_PIPE | CMD_VIEW,
     VALUE(text_double, double, read.max_fps),
     "Deliver at most N frames a second, by their time stamps. The daemon leaves the others out. "
     "Of "
     "files it decodes only what the delivered frames need."},
    {"frames-at", NULL, "LIST", NULL, NULL, CMD_DECODE,
     VALUE(parse_frames_at, struct read_options, read),
     "Only these frames of a file, in this order: numbers from 0, as in 10,250,1000, and ranges "
     "with "
     "a step, as in 0-99:10. Only pictures that they need are decoded."},
    {"skip-frame", NULL, "none|noref|nokey", "none", "none noref nokey",
     CMD_DECODE | CMD_PIPE | CMD_VIEW,
     WHOLE(text_choice, enum pelton_skip, read.skip, PELTON_SKIP_NONE, 0),
     "Pictures that are not decoded: those that no other picture refers to (noref), or all but key "
     "pictures (nokey). The others keep their times."},
    {"after-now", NULL, NULL, NULL, NULL, CMD_SNAPSHOT, VALUE(text_flag, bool, camera.after_now),
     "Write a frame that was captured after this command began."},
    {"watch", NULL, NULL, NULL, NULL, CMD_SOURCES, VALUE(text_flag, bool, camera.watch),
     "Keep printing a line for every change of a source's state, readers or format, until "
     "interrupted. With --json each line is an object."},
    {"yaml", NULL, NULL, NULL, NULL, CMD_DISCOVER, VALUE(text_flag, bool, discover.yaml),
     "Print a configuration to paste."},
    {"probe", NULL, "ADDRESS", "all networks", NULL, CMD_DISCOVER,
     VALUE(text_string, const char *, discover.probe),
     "Ask this address (IPv4, perhaps with :PORT) instead of all networks. A probe by multicast "
     "does not pass routers."},
    {"timeout", NULL, "SECONDS", "3", NULL, CMD_DISCOVER,
     VALUE(text_double, double, discover.seconds), "Take answers of network cameras for so long."},
    {"user", NULL, "NAME", NULL, NULL, CMD_DISCOVER,
     VALUE(text_string, const char *, discover.user),
     "Log in to network cameras as this user, to learn the addresses of their streams."},
    {"password-file", NULL, "FILE", NULL, "FILE", CMD_DISCOVER,
     VALUE(text_string, const char *, discover.password_file),
     "The first line of this file is the password of --user. It leaves as a digest."},
    {"folder", NULL, "DIR", "/dev", "FILE", CMD_DISCOVER,
     VALUE(text_string, const char *, discover.folder),
     "Folder of the device nodes, as a container may see them."},
    {"man", NULL, NULL, NULL, NULL, CMD_HELP, VALUE(text_flag, bool, man),
     "Print the source of the manual page."},
    {"help", "h ?", NULL, NULL, NULL, CMD_ALL | GROUP_COMMON, VALUE(text_flag, bool, help),
     "Explain the command."},
};
const unsigned n_option_rows = sizeof(option_rows) / sizeof(option_rows[0]);
