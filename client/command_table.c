/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The table of commands behind help, man page and completion.
 */
#include "client/option_table.h"

const struct command commands[] = {
    {CMD_DECODE, "decode", "-i IN [-o OUT] [options]", "decode a stream to a file or a pipe",
     "Frames leave in output order, cropped, in the stream's own pixel format unless --pix-fmt "
     "names another. rawvideo, y4m, md5 and PNG hold each decoded frame once. framemd5 writes the "
     "lines that ffmpeg writes, with its time stamps. As in ffmpeg, it may leave out a frame whose "
     "time stamp lies before its predecessor's.\nData goes to standard output only with -. All "
     "messages go to standard error.",
     "pelton decode -i clip.mp4 -o out.y4m\n"
     "pelton decode -i clip.mp4 -f framemd5 -\n"
     "pelton decode -i clip.mkv -ss 10 -t 2 -o 'frame%04d.png'\n"
     "pelton decode -i - -f rawvideo --pix-fmt nv12 - < clip.264 | program\n"
     "pelton decode -i clip.mp4 --verify clip.framemd5",
     cmd_decode},
    {CMD_ENCODE, "encode", "-i IN... -o OUT [options]",
     "encode a stream as H.264 of other settings",
     "The daemon decodes IN. Where its device is a GPU it encodes the frames, too. Else this "
     "program "
     "does: on the GPU that --device names, or on the CPU by a slow reference. A core makes about "
     "one picture of 1080p a second. Time stamps, colours and the shape of samples stay. Sound is "
     "left out. "
     "Pictures of other kinds than 8-bit 4:2:0 are converted, and interlaced ones are coded as "
     "frames. A file gets its name when it is complete.\nSeveral inputs are encoded at the same "
     "time. "
     "Then %s in OUT stands for an input's name, without its folder and extension. An input that "
     "fails ends alone.",
     "pelton encode -i clip.mp4 -o small.mp4 -crf 28\n"
     "pelton encode -i clip.mp4 -o out.ts -b:v 4M -s 1280x720\n"
     "pelton encode --device gpu -i a.mp4 -i b.mp4 -o 'small/%s.mp4'\n"
     "pelton encode -i clip.mp4 -profile:v baseline -f h264 - | program",
     cmd_encode},
    {CMD_PROBE, "probe", "IN [--json]", "tell what a stream is, and whether it can be decoded",
     "Exit code 0: the stream can be decoded. Exit code 5: it cannot, and the message names the "
     "syntax element that is not supported.",
     "pelton probe clip.mp4\npelton probe --json clip.264", cmd_probe},
    {CMD_BENCH, "bench", "[--encode] -i IN... | --kernels [FAMILY...] [options]",
     "measure frames per second, latency and stages",
     "bench measures three numbers: frames left on the GPU, frames read back to host memory, and "
     "frames delivered to one reader through shared memory. Each run follows a short warm-up in "
     "the same daemon. Its time runs from the first request to the last frame. Latency is the time "
     "from reading an access unit to the readable frame. A file is read as fast as possible, so "
     "its latency is the length of the look-ahead.",
     "pelton bench -i clip.mp4 --loop 4 --against ffmpeg\npelton bench -i clip.mp4 --streams 8 "
     "--stages --json figures.json\n"
     "pelton bench --encode -i clip.mp4 --streams 32 -t 5 --stages\n"
     "pelton bench --kernels reduce --size 1920x1080 --csv reduce.csv",
     cmd_bench},
    {CMD_DOCTOR, "doctor", "[--json]", "check devices, drivers, groups, sockets and limits",
     "Exit code 0: decoding is possible. Exit code 7: there is no device.", "pelton doctor",
     cmd_doctor},
    {CMD_DISCOVER, "discover", "[--yaml | --json]", "find cameras, for the configuration",
     "Lists V4L2 devices by their identity with formats, cameras of libcamera where its program "
     "cam "
     "is installed, and network cameras that answer a probe (ONVIF's WS-Discovery). It opens "
     "devices and takes no frame. With --yaml the list is a configuration to paste. Network "
     "cameras are asked for the addresses of their H.264 streams; most of them tell these to "
     "--user alone. No password is printed.",
     "pelton discover\npelton discover --yaml > cameras.yaml\n"
     "pelton discover --probe 192.168.1.20 --user admin --password-file door.key",
     cmd_discover},
    {CMD_SOURCES, "sources", "[--watch] [--json]", "list the sources in the daemon's configuration",
     "Prints name, state, readers, address (without passwords), and the last known format. The "
     "states are closed (nobody reads it), opening, running, lost, back-off (the daemon opens it "
     "again after a while) and ended. The cause follows the state.",
     "pelton sources --socket /run/pelton/pelton.sock\npelton sources --watch --json", cmd_sources},
    {CMD_INFO, "info", "NAME [--exposure] [--json]", "describe a source and its controls",
     "NAME is a name of the configuration, or an address: sim://clip.mp4, bayer://frames.raw, a "
     "URL.",
     "pelton info front\npelton info front --exposure", cmd_info},
    {CMD_VIEW, "view", "NAME", "show a source in a window",
     "Needs ffplay, which comes with ffmpeg.", "pelton view sim://clip.mp4", cmd_view},
    {CMD_PIPE, "pipe", "NAME [-f FORMAT] [-o OUT]", "write a source's frames to a pipe or a file",
     "Works as decode, but takes the newest frames. A slow reader misses some of them and hurts "
     "nobody else. With -c copy, or in h264, mpegts, mp4 and rtsp, it writes the source's H.264 as "
     "it came. rtsp publishes it at a server.",
     "pelton pipe front | ffmpeg -i - out.mp4\n"
     "pelton pipe front -f mpegts -c copy - | ffplay -\n"
     "pelton pipe front -f rtsp rtsp://server/front\n"
     "pelton pipe camera -c:v h264 -b:v 4M -f mpegts - | ffplay -\n"
     "pelton pipe camera -c:v mjpeg -q:v 5 - | ffplay -f mjpeg -",
     cmd_pipe},
    {CMD_RECORD, "record", "NAME -o FILE [--segment TIME]",
     "record the H.264 of a source as it came, or encode it",
     "NAME is a name of the configuration, an address, or a file. The packets are the source's: "
     "nothing is decoded, and nothing is lost. It ends with the source, -t or an interrupt. A file "
     "gets its name when it is complete. Until then it is FILE.part, which can be played as far as "
     "it goes. A source with blurred rectangles is refused. With -c:v h264 frames of any source "
     "are encoded, as pelton encode does.",
     "pelton record front -o front.mkv -t 60\n"
     "pelton record front -o /srv/front.mp4 --segment 600 --keep 144",
     cmd_record},
    {CMD_SNAPSHOT, "snapshot", "NAME -o FILE", "write one frame", "",
     "pelton snapshot front -o now.png --after-now", cmd_snapshot},
    {CMD_GET, "get", "NAME [CONTROL...]", "print a camera's controls",
     "Names and units are libcamera's.", "pelton get front ExposureTime", cmd_get},
    {CMD_SET, "set", "NAME CONTROL=VALUE...", "set a camera's controls",
     "Setting ExposureTime or AnalogueGain makes that control manual; setting DigitalGain makes "
     "all three manual. AeEnable=1 starts exposure control again. The daemon keeps the values "
     "until it ends, or the source's configuration changes.",
     "pelton set front ExposureTime=5000 AnalogueGain=2\npelton set front AeEnable=true "
     "ExposureValue=-1",
     cmd_set},
    {CMD_CALIB, "calib", "check FILE [--size WxH]", "read a camera's calibration file",
     "Reads ROS camera_info, OpenCV (YAML, XML) and Kalibr files and prints the resulting camera: "
     "model, matrix, coefficients and the bend of the lens. It also prints two straight cameras: "
     "one without black borders (alpha 0), and one that shows everything (alpha 1). Exit code 4: "
     "the file makes no sense or has another aspect ratio. Exit code 5: its model is unknown.",
     "pelton calib check left.yaml --size 1920x1080", cmd_calib},
    {CMD_TUNE, "tune", "[--device DEVICE]",
     "measure the fastest kernels of a device, and keep the choice",
     "Takes a few seconds on a GPU. A daemon measures by itself, in about two seconds, when it "
     "first meets an unknown GPU. This command measures again, with more patience. It keeps the "
     "choice for this device and driver in $XDG_CACHE_HOME/pelton (else ~/.cache/pelton). Every "
     "daemon of the user takes it; pelton doctor shows it. It changes the time, never the result.",
     "pelton tune --device gpu", cmd_tune},
    {CMD_STATS, "stats", "[--json]", "print the state of the daemon and its streams",
     "Prints the device and, for each stream, its state, reading process, policy and format. "
     "Counters follow: frames sent, waiting, held and missed (with those missed by a slow reader), "
     "the age of the last frame, and restarts. Pictures that the GPU entropy-decoded are counted, "
     "too. Only root and the daemon's own user see the streams of others.",
     "pelton stats --socket /run/pelton/pelton.sock --json", cmd_stats},
    {CMD_TOP, "top", "", "print stats once a second, with frames per second, until interrupted", "",
     "pelton top", cmd_top},
    {CMD_RELOAD, "reload", "", "make the daemon read its configuration again",
     "Works as SIGHUP does. Unchanged sources and their readers notice nothing. New sources "
     "appear, removed ones end for their readers, changed ones are opened again. A wrong file "
     "changes nothing and gives exit code 2. Only root and the daemon's own user may do this.",
     "pelton reload --socket /run/pelton/pelton.sock", cmd_reload},
    {CMD_STOP, "stop", "", "end the daemon", "Only root and the daemon's own user may do this.",
     "pelton stop --socket /run/pelton/pelton.sock", cmd_stop},
    {CMD_VERSION, "version", "", "print versions",
     "Prints the versions of pelton, of its protocol and of the FFmpeg libraries.", "",
     cmd_version},
    {CMD_HELP, "help", "[COMMAND [OPTION] | common | developer | kernels]", "explain a command",
     "Without a command it lists all commands. common explains the options that most commands "
     "have, "
     "developer those for work on pelton itself.",
     "pelton help decode\npelton help decode pix-fmt\npelton help common", cmd_help},
    {CMD_COMPLETION, "completion", "bash|zsh|fish", "print a shell completion script",
     "The script completes commands, options and their values, files, and names of sources and "
     "controls. It asks a daemon for those, if one runs.",
     "eval \"$(pelton completion bash)\"\npelton completion fish | source", cmd_completion},
};
const unsigned n_commands = sizeof(commands) / sizeof(commands[0]);
