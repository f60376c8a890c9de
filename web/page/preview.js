/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The live picture: MJPEG in an image, or fragmented MP4 by MediaSource (encoded.js). H.264 of a
 * camera is drawn by WebCodecs (drawn.js), where the browser has that.
 */
/* ---- preview ---- */

const preview = {
  kind: null,
  paused: false,
  shown: false,
  fault: "",
  note: "" /* why pictures are shown, and not H.264 */,
  stop: null,
  tries: 0,
  timer: 0,
};
/* As large as it is shown, in the source's shape, never larger than the source. */
function previewSize() {
  const f = sources.get(chosen).told.format || {};
  if (!f.width) return "";
  const room = Math.max(320, $("screen").clientWidth) * Math.min(devicePixelRatio || 1, 2);
  const part = Math.min(1, room / f.width);
  if (part === 1) return "";
  const even = (side) => Math.round((side * part) / 2) * 2;
  return `&size=${even(f.width)}x${even(f.height)}`;
}
function startPreview() {
  stopPreview();
  const s = sources.get(chosen);
  if (!s || !linked || preview.paused || document.hidden) return showOver();
  const media = window.ManagedMediaSource || window.MediaSource,
    drawn = s.told.camera && canDraw();
  /* a CPU makes JPEG more easily than H.264 */
  preview.kind ??=
    s.told.encoded && (media || drawn) && !(s.told.camera && s.told.software) ? "mp4" : "mjpeg";
  document.querySelectorAll("[name=kind]").forEach((e) => {
    e.checked = e.value === preview.kind;
  });
  const path = "/streams/" + named(chosen);
  put($("preview-note"), preview.note);
  $("preview-note").hidden = !preview.note;
  if (preview.kind === "mp4" && drawn) playDrawn(path + ".mp4");
  else if (preview.kind === "mp4") playEncoded(path + ".mp4", media);
  else playPictures(`${path}.mjpeg?fps=15${previewSize()}`);
  showOver();
}
function stopPreview() {
  clearTimeout(preview.timer);
  preview.stop?.();
  preview.stop = null;
  preview.shown = false;
  preview.fault = "";
  $("picture").hidden = $("video").hidden = $("drawn").hidden = true;
}
/* A pause keeps the last picture, and ends the transfer. */
function pausePreview() {
  const shown = preview.shown,
    kind = preview.kind;
  if (shown && kind === "mjpeg") {
    const still = document.createElement("canvas"),
      from = $("picture");
    still.width = from.naturalWidth;
    still.height = from.naturalHeight;
    still.getContext("2d").drawImage(from, 0, 0);
    stopPreview();
    $("picture").src = still.toDataURL("image/jpeg", 0.9);
    $("picture").hidden = false;
    preview.shown = true;
  } else if (shown) {
    preview.stop?.(true);
    preview.stop = null;
  } else {
    stopPreview();
  }
}
/* After a fault: again after a while, for as long as the source is chosen. */
function previewFailed(why) {
  stopPreview();
  preview.fault = why;
  preview.tries = Math.min(preview.tries + 1, 4);
  preview.timer = setTimeout(startPreview, 1000 * 2 ** (preview.tries - 1));
  showOver();
}
/* The last picture stays. A source that still runs has another beginning. */
function previewEnded() {
  preview.stop = null;
  preview.timer = setTimeout(() => {
    if (sources.get(chosen)?.told.state === "running") startPreview();
  }, 1500);
  showOver();
}
function previewShown() {
  preview.shown = true;
  preview.tries = 0;
  showOver();
}
/* H.264 cannot be shown: the source is blurred or has none, or the browser lacks the codec. */
function previewFallsBack(why) {
  preview.kind = "mjpeg";
  preview.note = why + " The preview shows pictures.";
  put($("news"), preview.note);
  startPreview();
}
function playAgain() {
  if (!preview.stop && !preview.paused) startPreview();
}
function playPictures(url) {
  const picture = $("picture");
  picture.hidden = false;
  picture.alt = "Live picture of " + chosen;
  /* of a stream of pictures, some browsers tell the first one only at its end */
  const look = setInterval(() => picture.naturalWidth && !preview.shown && previewShown(), 100);
  picture.onload = previewShown;
  picture.onerror = async () => {
    picture.onerror = null;
    const why = await ask(url.replace(/\.mjpeg.*/, "/snapshot.jpg")).then(
      () => "The stream broke off.",
      (e) => e.message,
    );
    if (preview.stop === stop) previewFailed(why);
  };
  const stop = (preview.stop = () => {
    clearInterval(look);
    picture.onload = picture.onerror = null;
    picture.removeAttribute("src");
  });
  picture.src = url;
}
$("play").onclick = () => {
  const over = sources.get(chosen).told.state === "ended";
  preview.paused = !preview.paused && !over;
  if (preview.paused) pausePreview();
  else startPreview();
  showOver();
};
document.querySelectorAll("[name=kind]").forEach((e) => {
  e.onchange = () => {
    preview.kind = e.value;
    preview.note = "";
    preview.paused = false;
    startPreview();
  };
});
document.addEventListener("visibilitychange", () => {
  if (document.hidden) stopPreview();
  else if (linked && chosen && !preview.paused) startPreview();
});
