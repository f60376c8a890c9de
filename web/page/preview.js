/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The live picture: MJPEG in an image, or fragmented MP4 by MediaSource.
 */
/* ---- preview ---- */

const preview = {
  kind: null,
  paused: false,
  shown: false,
  fault: "",
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
  const media = window.ManagedMediaSource || window.MediaSource;
  preview.kind ??= s.told.encoded && media ? "mp4" : "mjpeg";
  document.querySelectorAll("[name=kind]").forEach((e) => {
    e.checked = e.value === preview.kind;
  });
  const path = "/streams/" + named(chosen);
  $("snapshot").href = path + "/snapshot.png";
  if (preview.kind === "mp4") playEncoded(path + ".mp4", media);
  else playPictures(`${path}.mjpeg?fps=15${previewSize()}`);
  showOver();
}
function stopPreview() {
  clearTimeout(preview.timer);
  preview.stop?.();
  preview.stop = null;
  preview.shown = false;
  preview.fault = "";
  $("picture").hidden = $("video").hidden = true;
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
/* Fragmented MP4: whole boxes go to the browser's decoder; a new moov may have another codec. */
async function playEncoded(url, Media) {
  const video = $("video"),
    ending = new AbortController(),
    source = new Media();
  const address = URL.createObjectURL(source);
  let stopped = false;
  const stop = (preview.stop = (still) => {
    stopped = true;
    ending.abort();
    video.pause();
    URL.revokeObjectURL(address);
    if (!still) (video.removeAttribute("src"), video.load());
  });
  video.hidden = false;
  video.disableRemotePlayback = true;
  video.setAttribute("aria-label", "Live picture of " + chosen);
  video.src = address;
  video.onplaying = () => !stopped && previewShown();
  try {
    await new Promise((done) => source.addEventListener("sourceopen", done, { once: true }));
    const answer = await ask(url, { signal: ending.signal });
    await feed(answer.body.getReader(), source, video);
    if (!stopped) previewEnded();
  } catch (error) {
    if (stopped) return;
    if ([403, 404, 415].includes(error.status) || error.name === "NotSupportedError") {
      preview.kind = "mjpeg"; /* blurred, no H.264, or a codec that this browser lacks */
      put($("news"), error.message + ". The preview shows pictures.");
      startPreview();
    } else {
      previewFailed(error.message);
    }
  }
}
async function feed(reader, source, video) {
  let rest = new Uint8Array(0),
    head = [],
    buffer = null;
  const append = async (parts) => {
    buffer.appendBuffer(await new Blob(parts).arrayBuffer());
    await new Promise((done, failed) => {
      buffer.onupdateend = done;
      buffer.onerror = () => failed(new Error("The browser cannot decode this stream"));
    });
    await keepUp(buffer, video);
  };
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const all = new Uint8Array(rest.length + value.length);
    all.set(rest);
    all.set(value, rest.length);
    let at = 0;
    for (const view = new DataView(all.buffer); at + 8 <= all.length;) {
      const size = view.getUint32(at),
        kind = String.fromCharCode(...all.subarray(at + 4, at + 8));
      if (size < 8) throw new Error("The stream is no MP4");
      if (at + size > all.length) break;
      const box = all.slice(at, (at += size));
      head.push(box);
      if (kind === "moov") {
        const type = `video/mp4; codecs="${codecOf(box)}"`;
        if (buffer) buffer.changeType(type);
        else buffer = source.addSourceBuffer(type);
      }
      if (kind !== "moov" && kind !== "mdat") continue;
      if (buffer) await append(head);
      head = [];
    }
    rest = all.slice(at);
  }
}
function codecOf(moov) {
  for (let i = 4; i + 8 <= moov.length; i++)
    if (moov[i] === 0x61 && moov[i + 1] === 0x76 && moov[i + 2] === 0x63 && moov[i + 3] === 0x43)
      return (
        "avc1." +
        [...moov.subarray(i + 5, i + 8)].map((b) => b.toString(16).padStart(2, "0")).join("")
      );
  throw new Error("The stream has no H.264");
}
/* Stays near the newest frame, and forgets the old ones. */
async function keepUp(buffer, video) {
  const n = buffer.buffered.length;
  if (!n) return;
  const begin = buffer.buffered.start(0),
    end = buffer.buffered.end(n - 1);
  if (video.currentTime < buffer.buffered.start(n - 1) || end - video.currentTime > 1.5)
    video.currentTime = Math.max(buffer.buffered.start(n - 1), end - 0.3);
  if (video.paused) video.play().catch(() => {});
  if (video.currentTime - begin < 30) return;
  buffer.remove(begin, video.currentTime - 5);
  await new Promise((done) => {
    buffer.onupdateend = done;
  });
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
    preview.paused = false;
    startPreview();
  };
});
document.addEventListener("visibilitychange", () => {
  if (document.hidden) stopPreview();
  else if (linked && chosen && !preview.paused) startPreview();
});
