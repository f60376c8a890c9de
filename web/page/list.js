/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The list of sources, and what is said of the chosen one.
 */
/* ---- the list, or one thing to say ---- */

function showBlank(what, why, hint, code) {
  $("whole").classList.remove("two");
  $("nav").hidden = $("view").hidden = true;
  $("blank").hidden = false;
  $("sign-in").hidden = true;
  put($("blank-head"), what);
  put($("blank-what"), why);
  put($("blank-hint"), hint || "");
  put($("blank-code"), code || "");
  $("blank-code").hidden = !code;
}
const EXAMPLE = `version: 1
sources:
  demo: {uri: "sim:///usr/share/pelton/demo.mp4"}
  front: {uri: "v4l2:///dev/video0"}
  door: {uri: "rtsp://192.0.2.7/stream"}`;
function showWhole() {
  if (!sources.size) {
    showBlank(
      "No sources",
      "The daemon runs, and its configuration names no sources.",
      "Name some in /etc/pelton/pelton.yaml, then run: pelton reload",
      EXAMPLE,
    );
    return;
  }
  $("whole").classList.add("two");
  $("blank").hidden = true;
  $("nav").hidden = false;
  if (!sources.has(chosen))
    choose(sources.has(hashName()) ? hashName() : sources.keys().next().value);
}
function showRow(name) {
  const s = sources.get(name);
  if (!s.row) {
    const item = make("li"),
      button = make("button");
    button.type = "button";
    button.append(
      make("span", name, "name"),
      make("span", "", "state"),
      make("span", "", "about"),
      make("span", "", "why"),
    );
    button.onclick = () => {
      location.hash = named(name);
      choose(name);
    };
    item.append(button);
    s.row = item;
    const after = [...sources.keys()].sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
    $("list").insertBefore(item, sources.get(after[after.indexOf(name) + 1])?.row ?? null);
  }
  const [, state, about, why] = s.row.firstChild.children,
    t = s.told;
  state.className = "state " + t.state;
  put(state, stateWord(t.state));
  put(
    about,
    [formatOf(t), t.readers + (t.readers === 1 ? "\u00a0reader" : "\u00a0readers")]
      .filter(Boolean)
      .join(" · "),
  );
  put(why, t.cause || "");
  why.hidden = !t.cause;
}
/* The daemon's word for "it waits, then tries again" says little to people. */
const stateWord = (state) => (state === "back-off" ? "retrying" : state);
function formatOf(t) {
  const f = t.format || {};
  if (!f.width) return "";
  const rate = f.rate ? `, ${rounded(f.rate, f.rate % 1 ? 2 : 0)}\u00a0fps` : "";
  return `${f.width}×${f.height} ${f.pix_fmt}${rate}`;
}
function hashName() {
  try {
    return decodeURIComponent(location.hash.slice(1));
  } catch {
    return "";
  }
}
addEventListener("hashchange", () => sources.has(hashName()) && choose(hashName()));

function choose(name) {
  if (chosen === name) return;
  chosen = name;
  preview.kind = null;
  preview.note = "";
  preview.paused = calm.matches;
  for (const [n, s] of sources) {
    if (n === name) s.row?.firstChild.setAttribute("aria-current", "true");
    else s.row?.firstChild.removeAttribute("aria-current");
  }
  $("view").hidden = !name;
  if (!name) return stopPreview();
  put($("control-fault"), "");
  $("controls").hidden = $("light-card").hidden = true;
  for (const id of ["bins", "clipped"]) $(id).removeAttribute("d");
  for (const id of ["mean", "target"]) {
    $(id + "-line").toggleAttribute("hidden", true);
    put($(id), "–");
  }
  put($("light-text"), "");
  showLightAt(false);
  $("histogram").setAttribute("aria-label", "Histogram: no figures yet");
  $("snapshot").href = `/streams/${named(name)}/snapshot.png`;
  showLines();
  showSource();
  showLive();
  loadControls();
  startPreview();
}

/* ---- the chosen source ---- */

function showSource() {
  const s = sources.get(chosen);
  if (!s) return;
  const t = s.told;
  document.title = chosen + " – pelton";
  put($("name"), chosen);
  $("state").className = "state " + t.state;
  put($("state"), stateWord(t.state));
  const about = [formatOf(t), t.software ? "on the CPU" : ""];
  put($("format"), about.filter(Boolean).join(" · "));
  put($("where"), t.address);
  $("light-card").hidden = !t.camera;
  $("kinds").hidden = !t.encoded;
  const f = t.format || {};
  if (f.width) $("screen").style.aspectRatio = `${f.width} / ${f.height}`;
  showOver();
}
const STATES = {
  closed: ["Nobody reads this source", "The preview opens it."],
  opening: ["Opening", "The first frame may take a while."],
  lost: ["Lost", "The daemon tries to open it again."],
  "back-off": ["Cannot be opened now", "The daemon tries again by itself."],
  ended: ["Ended", "The source has no more frames."],
};
/* Over the picture: why there is none. */
function showOver() {
  const s = sources.get(chosen);
  if (!s) return;
  const t = s.told;
  let [what, why] = STATES[s.lost ? "lost" : t.state] ?? ["", ""];
  /* the last frames of a file are shown when the daemon has read it whole */
  const state = t.state === "ended" && preview.kind === "mp4" && preview.stop ? "running" : t.state;
  if (t.cause) why = t.cause + ". " + why;
  if (preview.fault) [what, why] = ["No preview", preview.fault];
  if (!linked) [what, why] = ["No connection", "The preview starts again by itself."];
  else if (preview.paused && !preview.shown) [what, why] = ["Paused", "Play starts the preview."];
  else if (state === "running" && !preview.shown && !preview.fault)
    [what, why] = ["Waiting for a picture", ""];
  put($("over-what"), what);
  put($("over-why"), why);
  $("over").hidden =
    linked && preview.shown && (state === "running" || state === "closed" || preview.paused);
  const dim = !$("over").hidden;
  $("picture").style.opacity = $("video").style.opacity = $("drawn").style.opacity = dim ? 0.4 : 1;
  const over = state === "ended" && !preview.paused;
  put($("play"), over ? "Play again" : preview.paused ? "Play" : "Pause");
}
