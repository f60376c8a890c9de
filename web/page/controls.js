/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The controls of a camera.
 */
/* ---- controls ---- */

const SLIDERS = {
  ExposureValue: {
    label: "Compensation",
    step: 0.25,
    text: (v) => (v > 0 ? "+" : "") + rounded(v, 2) + " EV",
  },
  ExposureTime: { label: "Exposure time", log: true, text: inTime, mode: "ExposureTimeMode" },
  AnalogueGain: {
    label: "Analogue gain",
    log: true,
    text: (v) => "× " + rounded(v, 2),
    mode: "AnalogueGainMode",
  },
  DigitalGain: { label: "Digital gain", log: true, text: (v) => "× " + rounded(v, 2) },
};
const sliders = {};
/* A logarithmic slider has 200 places between its limits. */
function makeSlider(name, { label, step, log, text }) {
  const box = make("div", "", "control"),
    title = make("label", label),
    shown = make("b"),
    input = make("input"),
    mode = make("span", "", "mode");
  input.type = "range";
  input.id = name;
  title.htmlFor = name;
  shown.setAttribute("aria-hidden", "true"); /* the slider itself tells its value */
  title.append(mode);
  box.append(title, shown, input);
  $("sliders").append(box);
  let least = 0,
    most = 1,
    touched = -Infinity;
  const valueAt = (place) => (log ? least * (most / least) ** (place / 200) : place);
  const show = (value) => {
    put(shown, text(value));
    input.setAttribute("aria-valuetext", text(value));
  };
  const self = {
    box,
    mode,
    limit(c) {
      [least, most] = [c.min, c.max];
      [input.min, input.max, input.step] = log
        ? [0, 200, 1]
        : [Math.max(least, -4), Math.min(most, 4), step];
      input.disabled = c.writable === false;
    },
    follow(value) {
      /* what the camera does, unless somebody moves the slider now */
      if (performance.now() - touched < 1500) return;
      input.value = log
        ? Math.round((200 * Math.log(value / least)) / Math.log(most / least))
        : value;
      show(value);
    },
  };
  input.oninput = () => {
    touched = performance.now();
    const value = Number(valueAt(Number(input.value)).toPrecision(6));
    show(value);
    send({ [name]: Math.min(most, Math.max(least, value)) });
  };
  return self;
}
for (const [name, kind] of Object.entries(SLIDERS)) sliders[name] = makeSlider(name, kind);

let controlEvents = 0; /* what one tells is newer than an answer that was asked for before it */
async function loadControls() {
  const name = chosen,
    seen = controlEvents;
  const told = sources.get(name)?.told;
  if (!told?.camera || told.state !== "running") return;
  try {
    const { controls } = await askJson(`sources/${named(name)}/controls`);
    if (name === chosen && seen === controlEvents) showControls(controls);
  } catch {
    if (name !== chosen) return;
    $("controls").hidden = true;
    setTimeout(() => name === chosen && loadControls(), 5000);
  }
}
function showControls(list) {
  const c = Object.fromEntries(list.map((control) => [control.name, control]));
  const value = (name) => [c[name]?.value].flat()[0];
  $("controls").hidden = !list.length;
  const auto = value("AeEnable") !== 0;
  $("auto-row").hidden = !c.AeEnable;
  $("auto").checked = auto;
  $("manual").checked = !auto;
  $("AeLocked").checked = value("AeLocked") === 1 && auto;
  $("AeLocked").disabled = !auto;
  for (const [name, slider] of Object.entries(sliders)) {
    slider.box.hidden = !c[name] || !(c[name].max > c[name].min);
    if (slider.box.hidden) continue;
    slider.limit(c[name]);
    slider.follow(value(name));
    const mode = SLIDERS[name].mode;
    put(slider.mode, mode && c[mode] && value(mode) === 1 && auto ? "manual" : "");
  }
  $("metering-row").hidden = !c.AeMeteringMode;
  $("AeMeteringMode").value = value("AeMeteringMode");
  $("awb-row").hidden = !c.AwbEnable;
  $("AwbEnable").checked = value("AwbEnable") === 1;
}
/* One request at a time; of what is moved meanwhile the last value goes. */
let waiting = null,
  sending = false;
async function send(values) {
  waiting = { ...waiting, ...values };
  if (sending) return;
  sending = true;
  while (waiting) {
    const body = JSON.stringify(waiting);
    waiting = null;
    try {
      const answer = await ask(`${API}sources/${named(chosen)}/controls`, {
        method: "PATCH",
        headers: { "Content-Type": "application/json" },
        body,
      });
      put($("control-fault"), "");
      const told = await answer.json().catch(() => null);
      if (told?.controls && !waiting) showControls(told.controls);
    } catch (error) {
      put($("control-fault"), error.message + (error.hint ? " – " + error.hint : ""));
      loadControls();
    }
  }
  sending = false;
}
$("auto").onchange = () => send({ AeEnable: 1 });
$("manual").onchange = () => send({ AeEnable: 0 });
for (const id of ["AeLocked", "AwbEnable"])
  $(id).onchange = (event) => send({ [id]: Number(event.target.checked) });
$("AeMeteringMode").onchange = (event) => send({ AeMeteringMode: Number(event.target.value) });
$("reset").onclick = () => send({ AeEnable: 1, ExposureValue: 0 });
