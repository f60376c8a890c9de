/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Lines to copy for other programs.
 */
/* ---- lines to copy: names are anybody's text, so they are quoted for each language ---- */

const shell = (text) => "'" + text.replaceAll("'", "'\\''") + "'";
const python = (text) =>
  JSON.stringify(text).replace(
    /[\u007f-\uffff]/g,
    (c) => "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0"),
  );
function showLines() {
  const base = location.origin + "/streams/" + named(chosen),
    pictures = python(base + ".mjpeg");
  const told = sources.get(chosen).told,
    live = base + (told.encoded && !told.camera ? ".ts" : ".mjpeg");
  const header = '"Authorization: Bearer $PELTON_TOKEN"',
    sign = (text) => (tokens ? text + " " : "");
  const extra = 'extra-headers="h,Authorization=(string)\\"Bearer $PELTON_TOKEN\\""';
  const options =
    'import cv2, os; os.environ["OPENCV_FFMPEG_CAPTURE_OPTIONS"] = ' +
    '"headers;Authorization: Bearer " + os.environ["PELTON_TOKEN"]; video = ';
  const lines = {
    ffplay: `ffplay -fflags nobuffer ${sign("-headers " + header)}${live}`,
    mpv: `mpv --profile=low-latency ${sign("--http-header-fields=" + header)}${live}`,
    GStreamer:
      `gst-launch-1.0 souphttpsrc ${sign(extra)}location=${live} ! ` +
      "decodebin ! videoconvert ! autovideosink",
    OpenCV: tokens
      ? `${options}cv2.VideoCapture(${pictures}, cv2.CAP_FFMPEG)`
      : `import cv2; video = cv2.VideoCapture(${pictures})`,
    curl: `curl ${sign("-H " + header)}-o picture.png ${base}/snapshot.png`,
    Python: `import pelton; frames = pelton.open(${python("source:" + chosen)})`,
    pelton: `pelton view ${shell(chosen)}`,
  };
  $("copy-token").hidden = !tokens;
  $("lines").replaceChildren(
    ...Object.entries(lines).map(([program, text]) => {
      const row = make("div", "", "line"),
        label = make("label", program),
        field = make("input"),
        copy = make("button", "Copy");
      field.id = "line-" + program;
      field.readOnly = true;
      field.value = text;
      label.htmlFor = field.id;
      copy.type = "button";
      copy.setAttribute("aria-label", "Copy the line for " + program);
      copy.onclick = async () => {
        field.select();
        const done = navigator.clipboard
          ? await navigator.clipboard.writeText(text).then(
              () => true,
              () => false,
            )
          : document.execCommand("copy");
        put(copy, done ? "Copied" : "Press Ctrl+C");
        put($("news"), done ? `The line for ${program} is copied` : "The line is selected");
        setTimeout(() => put(copy, "Copy"), 2000);
      };
      row.append(label, field, copy);
      return row;
    }),
  );
}
follow();
