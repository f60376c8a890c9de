/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The tables behind parsing, help, man page and completion: one row an option, one row a command.
 */
#include "client/option_table.h"

#define FORMATS "yuv4mpegpipe rawvideo framemd5 md5 matroska image2 null y4m raw mkv png"

const struct option_row option_rows[] = {
    {OPT_INPUT, "i", "input", "IN", NULL, "FILE", CMD_DECODE | CMD_PROBE | CMD_BENCH,
     "Input: a file, - for standard input, or a URL that the daemon opens. bench takes several."},
    {OPT_OUTPUT, "o", "output", "OUT", NULL, "FILE", CMD_DECODE | CMD_FRAMES,
     "Output: a file, - for standard output, or for PNG a name with a number, as in frame%04d.png. "
     "May also stand without -o "
     "as the last word."},
    {OPT_FORMAT, "f", "format", "FORMAT", "from the output's extension", FORMATS,
     CMD_DECODE | CMD_FRAMES,
     "Output format: yuv4mpegpipe (y4m), rawvideo (raw), framemd5, md5, matroska (mkv; "
     "uncompressed), image2 (png), null."},
    {OPT_YES, "y", "overwrite", NULL, NULL, NULL, CMD_DECODE | CMD_FRAMES,
     "Overwrite an output file that exists."},
    {OPT_NO, "n", NULL, NULL, NULL, NULL, CMD_DECODE | CMD_FRAMES, "Never overwrite, never ask."},
    {OPT_START, "ss", "start", "TIME", NULL, NULL, CMD_DECODE,
     "Start there: seconds (12.5), [HH:]MM:SS[.m], or with a unit (200ms)."},
    {OPT_DURATION, "t", "duration", "TIME", NULL, NULL,
     CMD_DECODE | CMD_PIPE | CMD_VIEW | CMD_BENCH,
     "Stop after this much of the stream. For bench: measure this long, repeating the input as "
     "often as needed."},
    {OPT_FRAMES, "frames:v", "frames vframes", "N", "all", NULL, CMD_DECODE | CMD_PIPE | CMD_VIEW,
     "Stop after N frames. What --policy, --max-fps or --on-error leave out does not count."},
    {OPT_PIX_FMT, "pix-fmt", NULL, "FORMAT", "the stream's own",
     "gray gray10le yuv420p nv12 p010le yuv420p10le yuv422p yuv422p10le yuv444p yuv444p10le gbrp "
     "rgb24 bgr24 rgba rgb48le",
     CMD_DECODE | CMD_FRAMES,
     "Pixel format, by FFmpeg's name. The daemon delivers the stream's own (gray, yuv420p, "
     "yuv422p, yuv444p, gbrp, with 9le to 14le "
     "above 8 bits), gray of the same depth (the luma plane as coded), nv12 of yuv420p, and of "
     "gray streams planar YUV with grey "
     "chroma; of cameras yuv420p, nv12, p010le, gray, rgb24, rgba and rgb48le (16-bit linear); "
     "others are converted in the client, as ffmpeg converts them."},
    {OPT_FIELDS, "fields", NULL, NULL, NULL, NULL, CMD_DECODE,
     "Of sequences that may be interlaced write each field as a picture of its own, of half the "
     "height and at twice the rate, the "
     "first one in time first. Without this option frames hold both fields, woven."},
    {OPT_BLUR, "blur", NULL, "X,Y,W,H", NULL, NULL, CMD_DECODE | CMD_FRAMES | CMD_VIEW,
     "Blur a rectangle, in pixels of the picture, so that nothing in it can be read; may be given "
     "several times. It is done on the GPU before "
     "anything leaves, beside what a source's configuration blurs."},
    {OPT_VERIFY, "verify", NULL, "REF", NULL, "FILE", CMD_DECODE,
     "Compare each frame with a reference: a framemd5 file, a file with one MD5 of all frames, or "
     "a y4m or raw file. Exit code "
     "10 names the first frame that differs."},
    {OPT_SECOND_VIEW, "second-view", NULL, "FILE", NULL, "FILE", CMD_DECODE,
     "Write the second view of a stereo stream (Stereo High, MVC) to FILE, in the format of the "
     "output, which holds the base view. "
     "Without this option the second view is not decoded."},
    {OPT_SIDE_DATA, "side-data", NULL, "FILE", NULL, "FILE", CMD_DECODE,
     "Write what comes beside the samples to FILE, one line of JSON for each frame: time code, "
     "captions, user data, frame packing, "
     "recovery points, colour and who told it, and every other SEI message in hexadecimal."},
    {OPT_BENCH_VERIFY, "verify", NULL, NULL, NULL, NULL, CMD_BENCH,
     "Decode each input once more and compare every frame with FFmpeg's MD5 (outside the timed "
     "part). --against does it too."},
    {OPT_ON_ERROR, "on-error", NULL, "show|drop|fail|all", "show", "show drop fail all", CMD_DECODE,
     "Damaged frames: deliver them concealed, leave them out, or end with exit code 6. all also "
     "shows what comes before the first "
     "IDR picture or recovery point of a stream that starts in between."},
    {OPT_PROGRESS, "progress", NULL, "kv|bar|none", "bar on a terminal, else a line every 10 s",
     "kv bar none", CMD_DECODE | CMD_PIPE | CMD_VIEW,
     "Progress on standard error; kv has the form of ffmpeg -progress."},
    {OPT_STREAMS, "streams", NULL, "N", "1", NULL, CMD_BENCH, "Decode each input N times at once."},
    {OPT_LOOP, "loop", NULL, "N", "1", NULL, CMD_BENCH, "Decode each input N times in a row."},
    {OPT_STAGES, "stages", NULL, NULL, NULL, NULL, CMD_BENCH,
     "Print the seconds of each stage on the CPU and on the GPU, and a model of what each pass "
     "needs at least (a daemon named by --socket needs timestamps=true for the "
     "latter)."},
    {OPT_CHART, "chart", NULL, "FILE", NULL, "FILE", CMD_BENCH,
     "Draw the frames per second, the peers' too, into FILE (SVG)."},
    {OPT_LIVE, "live", NULL, NULL, NULL, NULL, CMD_BENCH,
     "Read the inputs at their own pace, as a live source would, and measure only the latency of "
     "delivered frames: since their "
     "access unit was read, and since the last access unit that they had to wait for in a stream "
     "that reorders."},
    {OPT_TRACE, "trace", NULL, NULL, NULL, NULL, CMD_BENCH,
     "With --live: print how long each step towards a frame took, and the slowest frames step by "
     "step."},
    {OPT_KERNELS, "kernels", NULL, NULL, NULL, NULL, CMD_BENCH,
     "Measure families of compute kernels instead of streams: those named behind it (reduce, blur, "
     "demosaic, undistort, readback, wavefront, "
     "inter), or all. "
     "Each variant is checked against a slow reference on random input before and after it is "
     "timed."},
    {OPT_VARIANT, "variant", NULL, "NAME", "all", NULL, CMD_BENCH,
     "Of the kernels only this variant."},
    {OPT_KERNEL_SIZE, "size", NULL, "WxH", "those of docs/kernels.md", NULL, CMD_BENCH,
     "Size of the kernels' pictures: multiples of 8."},
    {OPT_KERNEL_FORMAT, "format", NULL, "FORMAT", "all that the family has",
     "rgba8 rgba32f nv12 bayer8 bayer12 rgb16 luma8 yuv420", CMD_BENCH,
     "Format of the kernels' pictures."},
    {OPT_TAPS, "taps", NULL, "N", "3, 5 .. 19", NULL, CMD_BENCH,
     "Width of the blurs: odd, 3 to 19."},
    {OPT_ROUNDS, "rounds", NULL, "N", "7", NULL, CMD_BENCH,
     "Timed rounds of each kernel, of which the median counts."},
    {OPT_CSV, "csv", NULL, "FILE", NULL, "FILE", CMD_BENCH,
     "Write the kernels' figures to FILE, one line each; - is standard output."},
    {OPT_PLOT, "plot", NULL, "FILE", NULL, "FILE", CMD_BENCH, "Draw the kernels' figures as SVG."},
    {OPT_FIGURES, "figures", NULL, "FILE", NULL, "FILE", CMD_BENCH,
     "Take the kernels' figures from FILE, which --csv has written, instead of measuring: for "
     "--plot."},
    {OPT_LIST, "list", NULL, NULL, NULL, NULL, CMD_BENCH,
     "Only list the kernels and what each is measured with, in the columns of --csv; needs no "
     "device."},
    {OPT_AGAINST, "against", NULL, "ffmpeg", NULL, "ffmpeg", CMD_BENCH,
     "Measure the ffmpeg program in the same run: one thread, all threads, and h264_cuvid where it "
     "has that."},
    {OPT_FFMPEG, "ffmpeg", NULL, "PATH", "ffmpeg in PATH", "FILE", CMD_BENCH,
     "The ffmpeg program for --against and --verify."},
    {OPT_MIN_FPS, "min-fps", NULL, "N", NULL, NULL, CMD_BENCH,
     "Exit code 3 where fewer frames per second reach the reader."},
    {OPT_JSON_FILE, "json", NULL, "FILE", NULL, "FILE", CMD_BENCH,
     "Write the figures as JSON to FILE; - is standard output."},
    {OPT_JSON, "json", NULL, NULL, NULL, NULL,
     CMD_PROBE | CMD_DOCTOR | CMD_SOURCES | CMD_INFO | CMD_GET | CMD_STATS, "Print JSON."},
    {OPT_DEPTH, "depth", NULL, "N", "the daemon's choice", NULL, CMD_DECODE | CMD_BENCH,
     "Frames in the shared pool."},
    {OPT_DEVICE, "device", NULL, "DEVICE", "auto", "auto gpu cpu all", CMD_DAEMON | CMD_TUNE,
     "auto (a GPU, else a software device with a warning), gpu, cpu, part of a device's name, or "
     "its UUID. all: every GPU, and "
     "several of these with commas between: streams are shared among them, and a file's stretches "
     "between IDR pictures. Starts a private daemon."},
    {OPT_SOCKET, "socket", NULL, "PATH", "$PELTON_SOCKET, else a private daemon", "FILE",
     CMD_DAEMON | CMD_ADMIN, "Use the daemon that listens there."},
    {OPT_GPU_DEBUG, "gpu-debug", NULL, NULL, NULL, NULL,
     CMD_DECODE | CMD_BENCH | CMD_FRAMES | CMD_VIEW,
     "Print the named values that shaders write, each with its pass, picture and workgroup, on "
     "standard error. Slow: for work on the shaders, in builds with PELTON_SHADER_DEBUG. "
     "Starts a private daemon."},
    {OPT_NO_TUNE, "no-tune", NULL, NULL, NULL, NULL, CMD_DAEMON,
     "Kernels by kind of device, whatever was measured: the same on every run. Starts a private "
     "daemon."},
    {OPT_TUNE_FORCE, "tune-force", NULL, "FAMILY=VARIANT", NULL, NULL, CMD_DAEMON,
     "This kernel, whatever was measured: wavefront=intra-diagonal, wavefront=intra-persistent, "
     "readback=memfd-linear, "
     "readback=memfd-copy; several with commas. It changes the time, never the result."},
    {OPT_CONFIG, "c", "config", "KEY=VALUE", NULL, NULL, CMD_DAEMON,
     "Configuration of the private daemon; may be given several times."},
    {OPT_LOOKAHEAD, "lookahead", NULL, "N", "by memory", NULL, CMD_DECODE | CMD_BENCH,
     "Pictures of a stream that may be in work at once, in the private daemon."},
    {OPT_TIMEOUT, "timeout", NULL, "SECONDS", "120", NULL, CMD_DAEMON | CMD_ADMIN,
     "Give up with exit code 11 when nothing arrives for this long; 0 waits for ever."},
    {OPT_LOG_LEVEL, "log-level", "loglevel v", "LEVEL", "info",
     "quiet panic fatal error warning info verbose debug trace", CMD_ALL,
     "quiet, panic, fatal, error, warning, info, verbose, debug, trace, or FFmpeg's number. From "
     "verbose on the daemon's log "
     "is shown."},
    {OPT_SIZE, "size", NULL, "WxH", "the file's", NULL, CMD_CALIB,
     "Size of the pictures that the calibration is wanted for; another aspect ratio than the "
     "file's is refused."},
    {OPT_CAMERA, "camera", NULL, "N", "0", NULL, CMD_CALIB, "Which camera of a Kalibr camchain."},
    {OPT_POLICY, "policy", NULL, "POLICY",
     "latest of live sources, lossless of files and for decode", "latest fifo fifo:8 lossless",
     CMD_DECODE | CMD_PIPE | CMD_VIEW,
     "What a reader that is slower than the source gets: the newest frame (latest), the newest N "
     "in order (fifo:N, 1 to 60; fifo alone: 4), or every "
     "one (lossless: files wait; a live source drops when the pool is full). What is left out is "
     "counted as dropped."},
    {OPT_MAX_FPS, "max-fps", NULL, "N", "all", NULL, CMD_PIPE | CMD_VIEW,
     "At most N frames a second, by their times; those in between are left out in the daemon."},
    {OPT_AFTER_NOW, "after-now", NULL, NULL, NULL, NULL, CMD_SNAPSHOT,
     "A frame that was captured after this command began."},
    {OPT_WATCH, "watch", NULL, NULL, NULL, NULL, CMD_SOURCES,
     "Go on with a line for every change of a source's state, readers or format, until "
     "interrupted. With --json each line is an object."},
    {OPT_MAN, "man", NULL, NULL, NULL, NULL, CMD_HELP, "Print the manual page's source."},
    {OPT_HELP, "help", "h ?", NULL, NULL, NULL, CMD_ALL, "Explain the command."},
};
const unsigned n_option_rows = sizeof(option_rows) / sizeof(option_rows[0]);

const struct command commands[] = {
    {CMD_DECODE, "decode", "-i IN [-o OUT] [options]", "decode a stream to a file or a pipe",
     "Frames leave in output order, cropped, in the stream's own pixel format unless --pix-fmt "
     "says otherwise. rawvideo, y4m, "
     "md5 and PNG hold each decoded frame once. framemd5 gives the lines that ffmpeg gives, time "
     "stamps included; so a frame "
     "whose time stamp lies before its predecessor's may be left out, as ffmpeg leaves it out.\n"
     "Data goes to standard output only with -; everything said goes to standard error.",
     "pelton decode -i clip.mp4 -o out.y4m\n"
     "pelton decode -i clip.mp4 -f framemd5 -\n"
     "pelton decode -i clip.mkv -ss 10 -t 2 -o 'frame%04d.png'\n"
     "pelton decode -i - -f rawvideo --pix-fmt nv12 - < clip.264 | program\n"
     "pelton decode -i clip.mp4 --verify clip.framemd5",
     cmd_decode},
    {CMD_PROBE, "probe", "IN [--json]", "say what a stream is, and whether it can be decoded",
     "Exit code 0 where the stream can be decoded, 5 where it cannot; the syntax element that "
     "stands in the way is named.",
     "pelton probe clip.mp4\npelton probe --json clip.264", cmd_probe},
    {CMD_BENCH, "bench", "-i IN... | --kernels [FAMILY...] [options]",
     "measure frames per second, latency and stages",
     "Three numbers: frames left on the GPU, frames read back to host memory, and frames delivered "
     "to one reader through "
     "shared memory. Each run follows a short warm-up in the same daemon; its time runs from the "
     "first request to the last "
     "frame. Latency is the time from reading an access unit to the readable frame: with a file "
     "read as fast as possible, the "
     "look-ahead's length.",
     "pelton bench -i clip.mp4 --loop 4 --against ffmpeg\npelton bench -i clip.mp4 --streams 8 "
     "--stages --json figures.json\n"
     "pelton bench --kernels reduce --size 1920x1080 --csv reduce.csv --plot reduce.svg",
     cmd_bench},
    {CMD_DOCTOR, "doctor", "[--json]", "check devices, drivers, groups, sockets and limits",
     "Exit code 0 where decoding is possible, 7 where there is no device.", "pelton doctor",
     cmd_doctor},
    {CMD_SOURCES, "sources", "[--watch] [--json]",
     "list the sources that the daemon's configuration names",
     "Name, state, readers, address (without passwords), and what was last known of the format. "
     "States: closed (nobody reads it), opening, running, "
     "lost, back-off (it is opened again after a while), ended; behind them the cause.",
     "pelton sources --socket /run/pelton/pelton.sock\npelton sources --watch --json", cmd_sources},
    {CMD_INFO, "info", "NAME [--json]", "say what a source is, and its controls",
     "NAME is a name of the configuration, or an address: sim://clip.mp4, bayer://frames.raw, a "
     "URL.",
     "pelton info front", cmd_info},
    {CMD_VIEW, "view", "NAME", "show a source in a window",
     "Needs ffplay, which comes with ffmpeg.", "pelton view sim://clip.mp4", cmd_view},
    {CMD_PIPE, "pipe", "NAME [-f FORMAT] [-o OUT]", "write a source's frames to a pipe or a file",
     "As decode, but of the newest frames: a reader that is too slow misses some, and hurts "
     "nobody.",
     "pelton pipe front | ffmpeg -i - out.mp4", cmd_pipe},
    {CMD_SNAPSHOT, "snapshot", "NAME -o FILE", "write one frame", "",
     "pelton snapshot front -o now.png --after-now", cmd_snapshot},
    {CMD_GET, "get", "NAME [CONTROL...]", "print a camera's controls",
     "Names and units are libcamera's.", "pelton get front ExposureTime", cmd_get},
    {CMD_SET, "set", "NAME CONTROL=VALUE...", "set a camera's controls",
     "ExposureTime and AnalogueGain make themselves manual, DigitalGain all three; AeEnable=1 "
     "begins exposure control again. What is set lasts while the camera has readers and keeps its "
     "size and format.",
     "pelton set front ExposureTime=5000 AnalogueGain=2\npelton set front AeEnable=true "
     "ExposureValue=-1",
     cmd_set},
    {CMD_CALIB, "calib", "check FILE [--size WxH]", "read a camera's calibration file",
     "Reads ROS camera_info, OpenCV (YAML, XML) and Kalibr files and prints the camera that pelton "
     "makes of them: model, "
     "matrix, coefficients, how far the lens bends, and the straight cameras that show no black "
     "(alpha 0) and everything "
     "(alpha 1). Exit code 4 where the file makes no sense or is for another aspect ratio, 5 where "
     "its model is unknown.",
     "pelton calib check left.yaml --size 1920x1080", cmd_calib},
    {CMD_TUNE, "tune", "[--device DEVICE]",
     "measure which kernels are fastest on a device, and keep it",
     "A few seconds on a GPU. A daemon does it by itself, in about two seconds, when it first "
     "meets a GPU of which nothing is known; this does "
     "it again, with more patience. The choice is kept in $XDG_CACHE_HOME/pelton (else "
     "~/.cache/pelton) for this device and driver, and every "
     "daemon of the user takes it; pelton doctor shows it. It changes the time, never the result.",
     "pelton tune --device gpu", cmd_tune},
    {CMD_STATS, "stats", "[--json]", "print what the daemon is doing",
     "Its device, and each stream: state, the process that reads it, policy, format, frames sent, "
     "frames that wait, slots held, the age of the last frame when "
     "it was sent, frames missed (of them for want of a fast reader), restarts, and where there "
     "are any, pictures entropy-decoded on the GPU. Other users' streams only for root and the "
     "daemon's own user.",
     "pelton stats --socket /run/pelton/pelton.sock --json", cmd_stats},
    {CMD_TOP, "top", "", "the same once a second, with frames per second, until interrupted", "",
     "pelton top", cmd_top},
    {CMD_RELOAD, "reload", "", "have the daemon read its configuration again",
     "As SIGHUP does. Sources that are as before, and their readers, notice nothing; new ones "
     "appear, removed ones end for their readers, changed "
     "ones are opened anew. With a file that is wrong nothing changes, and exit code 2. For root "
     "and the daemon's own user.",
     "pelton reload --socket /run/pelton/pelton.sock", cmd_reload},
    {CMD_STOP, "stop", "", "end the daemon", "For root and the daemon's own user.",
     "pelton stop --socket /run/pelton/pelton.sock", cmd_stop},
    {CMD_VERSION, "version", "", "print versions",
     "The version of pelton, of its protocol and of the FFmpeg libraries.", "", cmd_version},
    {CMD_HELP, "help", "[COMMAND]", "explain a command", "Without a command: the list of commands.",
     "pelton help decode", cmd_help},
    {CMD_COMPLETION, "completion", "bash|zsh", "print a shell completion script", "",
     "eval \"$(pelton completion bash)\"", cmd_completion},
};
const unsigned n_commands = sizeof(commands) / sizeof(commands[0]);
