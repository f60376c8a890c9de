/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Requests, the stream of events, the loss of either, and tokens.
 */
"use strict";
const $ = (id) => document.getElementById(id);
const API = "/api/v1/";
const sources = new Map(); /* name: {told, live, ages, row} */
const calm = matchMedia("(prefers-reduced-motion: reduce)");
let chosen = null; /* a name */
let linked = false; /* pelton-web and the daemon answer */
let tokens = false; /* a token was asked for */

function make(tag, text, kind) {
  const e = document.createElement(tag);
  if (text !== undefined) e.textContent = text;
  if (kind) e.className = kind;
  return e;
}
/* Text changes only where it differs: screen readers hear no repetition. */
function put(e, text) {
  if (e.textContent !== String(text)) e.textContent = text;
}
const pause = (ms) => new Promise((done) => setTimeout(done, ms));
const named = (name) =>
  encodeURIComponent(name).replace(/[!'()*]/g, (c) => "%" + c.charCodeAt(0).toString(16));
const rounded = (value, digits) =>
  Number(value).toLocaleString("en", {
    maximumFractionDigits: digits,
    minimumFractionDigits: digits,
    useGrouping: false,
  });
const whole = (value) => Number(value ?? 0).toLocaleString("en");
const inMs = (ms) =>
  ms >= 10000 ? rounded(ms / 1000, 1) + " s" : rounded(ms, ms < 10 ? 2 : ms < 100 ? 1 : 0) + " ms";
const inTime = (us) => (us < 1000 ? rounded(us, 0) + " µs" : inMs(us / 1000));

/* ---- requests ---- */

class Refusal extends Error {
  constructor(status, told) {
    super(told.error || "pelton-web answers " + status);
    this.status = status;
    this.hint = told.hint || "";
  }
}
async function ask(path, options) {
  const answer = await fetch(path, { cache: "no-store", ...options });
  if (!answer.ok) throw new Refusal(answer.status, await answer.json().catch(() => ({})));
  return answer;
}
const askJson = async (path) => (await ask(API + path)).json();

/* ---- the connection: sources, then events, and again after a loss ---- */

async function readEvents(answer, alive) {
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "",
    event = "",
    data = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    alive();
    const lines = (rest + value).split(/\r?\n/);
    rest = lines.pop();
    for (const line of lines) {
      if (line.startsWith("event:")) event = line.slice(6).trim();
      else if (line.startsWith("data:")) data += line.slice(5).trimStart();
      else if (line === "") {
        if (data) onEvent(event, JSON.parse(data));
        event = data = "";
      }
    }
  }
}
async function listen() {
  for (const s of sources.values()) s.told.change = 0; /* another gateway counts from 0 */
  await refresh();
  const silence = new AbortController();
  let timer;
  const alive = () => {
    clearTimeout(timer);
    timer = setTimeout(() => silence.abort(), 40000);
  };
  alive();
  try {
    const answer = await ask(API + "events", { signal: silence.signal });
    onLink();
    await readEvents(answer, alive);
  } finally {
    clearTimeout(timer);
  }
}
/* The answer may be older than an event that came before it. */
async function refresh() {
  const answer = await askJson("sources");
  const names = new Set(answer.sources.map((s) => s.name));
  for (const [name, s] of sources)
    if (!names.has(name) && s.told.change <= answer.change) forget(name);
  answer.sources.forEach(onSource);
  showWhole();
}
async function follow() {
  for (let wait = 1; ;) {
    try {
      await listen();
      wait = 1;
    } catch (error) {
      if (error.status === 401) {
        await askToken();
        continue;
      }
      onLoss(error, wait);
    }
    if (linked) onLoss(new TypeError("the stream of events has ended"), wait);
    await pause(wait * 1000);
    wait = Math.min(wait * 2, 8);
  }
}
function onLink() {
  linked = true;
  showStale();
  $("notice").hidden = true;
  showLink("running", "connected");
  $("sign-out").hidden = !tokens;
  showWhole();
  playAgain();
}
/* An answer means that pelton-web is there, and the daemon is not. */
function onLoss(error, wait) {
  const daemon = error instanceof Refusal,
    what = daemon ? "No daemon" : "Connection lost";
  linked = false;
  showStale();
  stopPreview();
  showLink("missing", daemon ? "no daemon" : "no connection");
  if (!sources.size) {
    showBlank(
      daemon ? what : "pelton-web does not answer",
      daemon ? error.message.replace(/^no daemon: /, "") : "",
      daemon ? error.hint : "This page tries again by itself.",
    );
    return;
  }
  put($("notice-what"), what);
  put(
    $("notice-why"),
    daemon
      ? error.message + (error.hint ? " – " + error.hint : "")
      : `pelton-web does not answer. The page tries again in ${wait} s.`,
  );
  $("notice").hidden = false;
  showSource();
}
/* States and figures are those of before: they look so, and nothing can be set. */
function showStale() {
  $("whole").classList.toggle("stale", !linked);
  $("controls").disabled = !linked;
}
function showLink(kind, text) {
  $("link").className = "state " + kind;
  put($("link"), text);
}
function onEvent(kind, data) {
  const removed = kind === "source" && data.state === "removed";
  if (removed && !linked) return; /* without a daemon all sources are */
  if (removed) forget(data.name);
  else if (kind === "source") onSource(data);
  else if (kind === "controls" && data.name === chosen) {
    controlEvents++;
    showControls(data.controls);
  }
  else if (kind === "frames") onFrames(data);
  else if (kind === "daemon" && data.connected) refresh().then(onLink, () => {});
  else if (kind === "daemon")
    onLoss(
      new Refusal(503, { error: data.cause || "the daemon does not answer", hint: data.hint }),
      1,
    );
  if (kind === "source") showWhole();
}
function onSource(told) {
  const known = sources.get(told.name),
    before = known?.told.state;
  if (known && told.change < known.told.change) return;
  if (known) known.told = told;
  else sources.set(told.name, { told, live: null, ages: [], row: null, lost: false });
  /* "lost" itself lasts for a moment, then the daemon waits before it tries again */
  const s = sources.get(told.name);
  if (told.state !== "back-off") s.lost = told.state === "lost";
  else if (before === "running") s.lost = true;
  if (before && before !== told.state)
    put($("news"), `${told.name}: ${stateWord(told.state)}${told.cause ? ", " + told.cause : ""}`);
  if (told.name === chosen && before !== told.state) loadControls();
  if (!known || before !== told.state) showRow(told.name);
  else showRowSoon();
  if (told.name === chosen) showSource();
}
/* A question to a source opens it for a moment: its number of readers goes up and down. */
function showRowSoon() {
  clearTimeout(showRowSoon.timer);
  showRowSoon.timer = setTimeout(() => [...sources.keys()].forEach(showRow), 700);
}
function forget(name) {
  sources.get(name)?.row?.remove();
  sources.delete(name);
  if (name === chosen) choose(null);
}
function onFrames(data) {
  const s = sources.get(data.name);
  if (!s) return;
  s.live = data;
  s.ages.push(data.age_ms);
  if (s.ages.length > 60) s.ages.shift();
  if (data.name === chosen) showLive();
}

/* ---- tokens ---- */

async function askToken() {
  tokens = true;
  linked = false;
  stopPreview();
  showLink("missing", "signed out");
  for (const name of [...sources.keys()]) forget(name);
  showBlank(
    "Sign in",
    "This server asks for a token.",
    "Its operator has it; it lies in the file of tokens of pelton-web.",
  );
  $("sign-in").hidden = false;
  $("token").focus();
  await new Promise((done) => {
    $("sign-in").onsubmit = async (event) => {
      event.preventDefault();
      put($("token-fault"), "");
      try {
        await ask(API + "session", {
          method: "POST",
          headers: { Authorization: "Bearer " + $("token").value },
        });
        $("token").value = "";
        done();
      } catch (error) {
        put($("token-fault"), error.message);
        $("token").select();
      }
    };
  });
  $("sign-in").hidden = true;
}
$("sign-out").onclick = () =>
  ask(API + "session", { method: "DELETE" }).finally(() => location.reload());
