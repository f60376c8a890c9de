/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Figures of frames, once a second: ages, stages, readers, light.
 */
/* ---- figures, once a second ---- */

function showLive() {
  const { live, ages } = sources.get(chosen);
  const drops = live?.drops ?? {};
  put($("fps"), live?.fps == null ? "–" : rounded(live.fps, 1));
  put($("age"), live ? inMs(live.age_ms) : "–");
  for (const place of ["source", "decoder", "client"])
    put($("drop-" + place), live ? whole(drops[place]) : "–");
  showAges(ages);
  showStages(live?.stages ?? {});
  showReaders(live?.readers ?? []);
  if (live?.exposure) showLight(live.exposure);
}
function showAges(ages) {
  $("age-figure").hidden = !ages.length;
  const most = Math.max(1, ...ages) * 1.15;
  const x = (i) => rounded(600 - ((ages.length - 1 - i) * 600) / 59, 1);
  const points = ages.map((a, i) => x(i) + "," + rounded(89 - (a / most) * 85, 1));
  const largest = inMs(Math.max(...ages, 0));
  $("age-trace").setAttribute("points", points.join(" "));
  put($("age-most"), ages.length ? "at most " + largest : "");
  $("ages").setAttribute(
    "aria-label",
    ages.length
      ? `Age of frames in ${ages.length} seconds: at most ${largest}, now ${inMs(ages.at(-1))}`
      : "Age of frames: no figures yet",
  );
}
function showStages(stages) {
  const rows = Object.entries(stages),
    most = Math.max(0.001, ...rows.map((r) => r[1]));
  $("no-stages").hidden = rows.length > 0;
  fillRows(
    $("stages"),
    rows.map(([name, ms]) => [name, ms / most, inMs(ms)]),
    (row, [name, part, text]) => {
      if (!row.cells.length) {
        const head = make("th"),
          cell = make("td", "", "wide");
        head.scope = "row";
        cell.append(make("div", "", "stage"), make("span", "", "unseen"));
        row.append(head, cell, make("td", "", "n"));
      }
      put(row.cells[0], name);
      row.cells[1].firstChild.style.width = 100 * part + "%";
      put(row.cells[1].lastChild, rounded(100 * part, 0) + " %");
      put(row.cells[2], text);
    },
  );
}
function showReaders(readers) {
  $("no-readers").hidden = readers.length > 0;
  $("readers").closest(".scroll").hidden = !readers.length;
  const rows = readers.map((r) => [
    r.client,
    r.policy,
    whole(r.frames),
    whole(Object.values(r.drops ?? {}).reduce((a, b) => a + b, 0)),
    whole(r.waiting),
    `${r.held ?? 0} of ${r.slots ?? 0}`,
    inMs(r.age_ms ?? 0),
  ]);
  fillRows($("readers"), rows, (row, texts) =>
    texts.forEach((text, i) => {
      if (!row.cells[i]) {
        const cell = make(i ? "td" : "th", "", i > 1 ? "n" : "");
        if (!i) cell.scope = "row";
        row.append(cell);
      }
      put(row.cells[i], text);
    }),
  );
}
function fillRows(body, list, show) {
  while (body.rows.length > list.length) body.deleteRow(-1);
  while (body.rows.length < list.length) body.insertRow();
  list.forEach((item, i) => show(body.rows[i], item));
}

/* ---- light: the axis goes by the root of luminance, near to how eyes see it ---- */

/* The plot, or a line in its place. */
function showLightAt(known) {
  $("light-figure").hidden = !known;
  $("no-light").hidden = known;
}
const across = (luminance) => 640 * Math.sqrt(Math.min(1, Math.max(0, luminance)));
function showLight(e) {
  showLightAt(true);
  const bins = e.histogram ?? [],
    n = bins.length,
    all = bins.reduce((a, b) => a + b, 0) || 1;
  const heights = bins.map((count, i) => count / (across((i + 1) / n) - across(i / n)));
  const most = Math.max(...heights, 1e-9);
  const bar = (i) => {
    const from = rounded(across(i / n), 1),
      to = rounded(across((i + 1) / n) - 0.6, 1);
    return `M${from} 170V${rounded(170 - 164 * Math.sqrt(heights[i] / most), 1)}H${to}V170z`;
  };
  $("bins").setAttribute("d", bins.map((_, i) => (i < n - 1 ? bar(i) : "")).join(""));
  $("clipped").setAttribute("d", n ? bar(n - 1) : "");
  for (const [id, value] of [
    ["mean", e.mean],
    ["target", e.target],
  ]) {
    $(id + "-line").toggleAttribute("hidden", false);
    $(id + "-line").setAttribute("x1", across(value));
    $(id + "-line").setAttribute("x2", across(value));
    put($(id), rounded(value, 3));
  }
  const state = { searching: "Searching", converged: "Settled", locked: "Fixed" }[e.ae_state] ?? "";
  const clipped = rounded(100 * e.clipped, 1) + " % clipped";
  const gains = `gain ${rounded(e.analogue_gain, 2)} × ${rounded(e.digital_gain, 2)}`;
  put($("light-text"), [state, clipped, inTime(e.exposure_us), gains].filter(Boolean).join(", "));
  const below = (i) => bins.slice(0, i + 1).reduce((a, b) => a + b, 0);
  const median = (bins.findIndex((_, i) => 2 * below(i) >= all) + 0.5) / (n || 1);
  $("histogram").setAttribute(
    "aria-label",
    "Histogram of luminance: " +
      `mean ${rounded(e.mean, 3)}, target ${rounded(e.target, 3)}, ` +
      `median ${rounded(median, 3)}, ${clipped}`,
  );
  const auto = $("auto").checked;
  for (const [name, value] of [
    ["ExposureTime", e.exposure_us],
    ["AnalogueGain", e.analogue_gain],
    ["DigitalGain", e.digital_gain],
  ])
    if (auto) sliders[name]?.follow(value);
}
