/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Fragmented MP4 by MediaSource. Whole boxes go to the browser's decoder. A new moov begins when
 * the source has other parameter sets; it may have another codec and size.
 */
/* ---- H.264 as it was sent ---- */

const LATE_S = 1.5; /* behind the newest frame: jump */
const EDGE_S = 0.2; /* where a jump lands */
const BEHIND_S = 20; /* of frames that were shown stay at most so many */
const AHEAD_S = 3; /* of a file so much waits to be shown */

class Unplayable extends Error {}

async function playEncoded(url, Media) {
  const video = $("video"),
    ending = new AbortController(),
    source = new Media(),
    live = sources.get(chosen).told.live;
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
    const player = new Player(source, video, live, Media);
    player.type(answer.headers.get("Content-Type"));
    await player.run(answer.body.getReader(), ending.signal);
    if (!stopped) previewEnded();
  } catch (error) {
    ending.abort();
    if (!stopped) encodedFails(error);
  }
}
function encodedFails(error) {
  if ([403, 404, 415].includes(error.status) || error instanceof Unplayable)
    previewFallsBack(error.message.replace(/[.]?$/, "."));
  else previewFailed(error.message);
}

class Player {
  constructor(source, video, live, Media) {
    Object.assign(this, { source, video, live, Media, buffer: null, keys: [] });
  }
  /* Throws where the browser does not take it. */
  type(type) {
    if (!this.Media.isTypeSupported(type))
      throw new Unplayable(`This browser does not play ${type}`);
    if (this.buffer) this.buffer.changeType(type);
    else this.buffer = this.source.addSourceBuffer(type);
  }
  async run(reader, signal) {
    let head = [];
    const ahead = () => !this.live && this.ahead() > AHEAD_S && !signal.aborted;
    for await (const [kind, box] of boxesRead(reader)) {
      head.push(box);
      if (kind === "moov") this.type(`video/mp4; codecs="${codecOf(box)}"`);
      if (kind === "moof" && beginsWithKey(box)) this.keys.push(this.end());
      if (kind !== "moov" && kind !== "mdat") continue;
      await this.append(await new Blob(head).arrayBuffer());
      head = [];
      while (ahead()) await pause(100);
    }
    await this.finish(signal);
  }
  async append(bytes) {
    try {
      this.buffer.appendBuffer(bytes);
    } catch (error) {
      if (error.name !== "QuotaExceededError") throw error;
      await this.forget(0.5);
      this.buffer.appendBuffer(bytes);
    }
    await this.update();
    await this.keepUp();
  }
  update() {
    return new Promise((done, failed) => {
      this.buffer.onupdateend = done;
      this.buffer.onerror = () => {
        const words = "The browser cannot decode this stream";
        failed(preview.shown ? new Error(words) : new Unplayable(words));
      };
    });
  }
  ranges() {
    return this.buffer?.buffered ?? { length: 0 };
  }
  end() {
    const r = this.ranges();
    return r.length ? r.end(r.length - 1) : 0;
  }
  ahead() {
    return this.end() - this.video.currentTime;
  }
  /* Stays near the newest frame: a little behind is caught up, much is left out. */
  async keepUp() {
    const { video, live } = this,
      r = this.ranges();
    if (!r.length) return;
    const begin = r.start(r.length - 1);
    if (video.currentTime < begin || (live && this.ahead() > LATE_S))
      video.currentTime = Math.max(begin, this.end() - (live ? EDGE_S : Infinity));
    video.playbackRate = live && this.ahead() > LATE_S / 2 ? 1.1 : 1;
    if (video.paused) video.play().catch(() => {});
    if (video.currentTime - r.start(0) > BEHIND_S) await this.forget(BEHIND_S / 2);
  }
  /* Removes frames that are older than so many seconds, up to a key picture: later frames of a
   * removed one could not be shown. */
  async forget(seconds) {
    const { video, keys } = this;
    while (keys.length > 1 && keys[1] <= video.currentTime - seconds) keys.shift();
    const begin = this.ranges().start(0);
    if (!keys.length || keys[0] - begin < 0.1 || keys[0] > video.currentTime - seconds) return;
    this.buffer.remove(begin, keys[0] - 0.001);
    await this.update();
  }
  /* A file: its last frames are still to be shown. */
  async finish(signal) {
    if (this.live || this.source.readyState !== "open") return;
    this.source.endOfStream();
    while (!signal.aborted && !this.video.ended && !this.video.paused) await pause(100);
  }
}

/* ---- boxes of MP4: [kind, first byte, byte behind], those that are complete ---- */

const word = (bytes, at) =>
  ((bytes[at] << 24) | (bytes[at + 1] << 16) | (bytes[at + 2] << 8) | bytes[at + 3]) >>> 0;
function* boxes(bytes, at, end) {
  while (at + 8 <= end) {
    const size = word(bytes, at);
    if (size < 8) throw new Error("The stream is no MP4");
    if (at + size > end) return;
    yield [String.fromCharCode(...bytes.subarray(at + 4, at + 8)), at, at + size];
    at += size;
  }
}
/* [kind, bytes] of each box of an answer's body, as it comes. */
async function* boxesRead(reader) {
  let rest = new Uint8Array(0);
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const all = new Uint8Array(rest.length + value.length);
    all.set(rest);
    all.set(value, rest.length);
    let at = 0;
    for (const [kind, from, to] of boxes(all, 0, all.length)) {
      yield [kind, all.slice(from, to)];
      at = to;
    }
    rest = all.slice(at);
  }
}
/* Sizes of the optional fields of these boxes, by the bits that tell them. */
const FIELDS = {
  tfhd: { 0x1: 8, 0x2: 4, 0x8: 4, 0x10: 4, 0x20: 4 },
  trun: { 0x1: 4, 0x4: 4, 0x100: 4, 0x200: 4, 0x400: 4 },
};
/* The field of this bit, in the box at `at`; undefined: it has none. */
function fieldOf(bytes, kind, at, bit) {
  const has = word(bytes, at + 8);
  let place = at + 16;
  for (const [other, size] of Object.entries(FIELDS[kind]))
    if (other < bit && has & other) place += size;
  return has & bit ? word(bytes, place) : undefined;
}
/* Of a fragment, by the flags of its first sample. */
function beginsWithKey(moof) {
  const NOT_SYNC = 0x10000;
  let preset, flags;
  for (const [kind, from, to] of boxes(moof, 8, moof.length)) {
    if (kind !== "traf") continue;
    for (const [inner, at] of boxes(moof, from + 8, to)) {
      if (inner === "tfhd") preset = fieldOf(moof, inner, at, 0x20);
      if (inner === "trun")
        flags = fieldOf(moof, inner, at, 0x4) ?? fieldOf(moof, inner, at, 0x400);
    }
  }
  return !((flags ?? preset ?? 0) & NOT_SYNC);
}
/* The contents of avcC: AVCDecoderConfigurationRecord (ISO/IEC 14496-15). */
function avcOf(moov) {
  for (let i = 4; i + 8 <= moov.length; i++)
    if (moov[i] === 0x61 && moov[i + 1] === 0x76 && moov[i + 2] === 0x63 && moov[i + 3] === 0x43)
      return moov.subarray(i + 4, i - 4 + word(moov, i - 4));
  throw new Unplayable("The stream has no H.264");
}
function codecOf(moov) {
  const bytes = [...avcOf(moov).subarray(1, 4)];
  return "avc1." + bytes.map((b) => b.toString(16).padStart(2, "0")).join("");
}
