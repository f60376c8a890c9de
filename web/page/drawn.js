/* SPDX-License-Identifier: BSD-2-Clause
 *
 * H.264 of a camera by WebCodecs: each picture is drawn as soon as it is decoded. No buffer delays
 * it, as that of a video element does. The units come as fragmented MP4, one in each fragment.
 */
/* ---- H.264, drawn ---- */

const QUEUED = 20; /* units that may wait for the decoder; then it goes on at a key picture */

/* Only pages of this machine or of HTTPS have it. */
const canDraw = () => "VideoDecoder" in window && "EncodedVideoChunk" in window;

async function playDrawn(url) {
  const canvas = $("drawn"),
    ending = new AbortController();
  let stopped = false,
    drawer = null;
  const stop = (preview.stop = (still) => {
    stopped = true;
    ending.abort();
    drawer?.close();
    if (!still) canvas.width = canvas.height = 0;
  });
  canvas.hidden = false;
  canvas.setAttribute("aria-label", "Live picture of " + chosen);
  try {
    const answer = await ask(url, { signal: ending.signal });
    drawer = new Drawer(canvas, () => !stopped && !preview.shown && previewShown());
    await drawer.run(answer.body.getReader());
    if (!stopped) previewEnded();
  } catch (error) {
    ending.abort();
    drawer?.close();
    if (!stopped && preview.stop === stop) encodedFails(error);
  }
}

class Drawer {
  constructor(canvas, shown) {
    const paper = canvas.getContext("2d");
    Object.assign(this, { count: 0, fault: null, waitsForKey: true });
    this.decoder = new VideoDecoder({
      output: (picture) => {
        const { displayWidth: width, displayHeight: height } = picture;
        if (canvas.width !== width || canvas.height !== height)
          Object.assign(canvas, { width, height });
        paper.drawImage(picture, 0, 0);
        picture.close();
        shown();
      },
      error: (error) => (this.fault = error),
    });
  }
  async run(reader) {
    let key = false;
    for await (const [kind, box] of boxesRead(reader)) {
      if (this.fault) throw new Unplayable("This browser cannot decode the stream");
      if (kind === "moov") await this.begin(box);
      if (kind === "moof") key = beginsWithKey(box);
      if (kind === "mdat") this.decode(box.subarray(8), key);
    }
  }
  /* New parameter sets: a key picture follows. */
  async begin(moov) {
    const how = {
      codec: codecOf(moov),
      description: avcOf(moov),
      optimizeForLatency: true,
    };
    const told = await VideoDecoder.isConfigSupported(how).catch(() => ({}));
    if (!told.supported) throw new Unplayable(`This browser does not decode ${how.codec}`);
    if (this.decoder.state === "closed") return;
    this.decoder.configure(how);
    this.waitsForKey = true;
  }
  decode(data, key) {
    const { decoder } = this;
    if (decoder.state !== "configured" || (this.waitsForKey && !key)) return;
    this.waitsForKey = decoder.decodeQueueSize > QUEUED;
    if (this.waitsForKey) return;
    const timestamp = this.count++;
    decoder.decode(new EncodedVideoChunk({ type: key ? "key" : "delta", timestamp, data }));
  }
  close() {
    if (this.decoder.state !== "closed") this.decoder.close();
  }
}
