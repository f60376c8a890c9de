// SPDX-License-Identifier: BSD-2-Clause
// The page in Chromium, by the steps that tests/web/page.py writes as lines of JSON to standard
// input: {"step": NAME, ...}. An answer is one line: {"ok": true, "value": ...} or {"error": ...}.
//   node page.js PACKAGES CHROMIUM
"use strict";
const fs = require("fs"), path = require("path"), readline = require("readline");
const [packages, executablePath] = process.argv.slice(2);
const find = (name) => path.join(path.resolve(packages), "node_modules", name);
const { chromium } = require(find("playwright-core"));
const axe = fs.readFileSync(find("axe-core/axe.min.js"), "utf8");

let browser, page, answersMade = 0, answersGiven = 0;
const faults = []; // of the page's script, and of its policy

const steps = {
  // A fresh browser window. Answers from addresses like `late` come that much later.
  async open({ url, width = 1440, height = 1000, scheme = "light", motion = "no-preference",
               seen = "", late = "", ms = 0 }) {
    await page?.context().close();
    const context = await browser.newContext({
      viewport: { width, height }, colorScheme: scheme, reducedMotion: motion,
      permissions: ["clipboard-read", "clipboard-write"],
    });
    page = await context.newPage();
    if (seen) await page.addInitScript((of) => {
      const texts = globalThis.textsSeen = [];
      new MutationObserver(() => {
        const text = document.querySelector(of)?.textContent;
        if (text !== undefined && text !== texts.at(-1)) texts.push(text);
      }).observe(document, { subtree: true, childList: true, characterData: true });
    }, seen);
    if (late) await page.route(late, async (route) => {
      const answer = await route.fetch();
      answersMade++;
      await new Promise((done) => setTimeout(done, ms));
      await route.fulfill({ response: answer });
      answersGiven++;
    });
    page.on("pageerror", (e) => faults.push("script: " + e.message));
    page.on("console", (m) => {
      if (/Content Security Policy|Uncaught/.test(m.text())) faults.push(m.text());
    });
    await page.goto(url, { waitUntil: "domcontentloaded" }); // pictures go on for ever
  },
  async text({ of }) {
    return (await page.locator(of).allInnerTexts()).join("\n");
  },
  async hidden({ of }) {
    return !(await page.locator(of).isVisible());
  },
  // Waits until an element has a text that matches, and is to be seen.
  async wait({ of, like, ms }) {
    const found = page.locator(of).filter({ hasText: new RegExp(like ?? "", "s") });
    await found.first().waitFor({ state: "visible", timeout: ms });
    return found.first().innerText();
  },
  async attribute({ of, name }) {
    return page.locator(of).getAttribute(name);
  },
  async click({ of }) {
    await page.locator(of).click();
  },
  async choose({ of, value }) {
    await page.locator(of).selectOption(value);
  },
  async fill({ of, text }) {
    await page.locator(of).fill(text);
  },
  // As a person without a pointer: focus, then keys.
  async keys({ of, keys }) {
    if (of) await page.locator(of).focus();
    for (const key of keys) await page.keyboard.press(key);
  },
  // What Tab reaches in a page that was just opened, until it comes round.
  async tabs() {
    const seen = [];
    for (let i = 0; i < 120; i++) {
      await page.keyboard.press("Tab");
      const [name, ring] = await page.evaluate(() => {
        const e = document.activeElement, style = getComputedStyle(e);
        const box = e.closest("label, .choice label") ?? e;
        const ring = [style, getComputedStyle(box)].some((s) => s.outlineStyle !== "none");
        return [e === document.body ? "" : e.id || e.name || e.className || e.textContent, ring];
      });
      if (!name || (seen.length && seen[0][0] === name)) break;
      seen.push([name, ring]);
    }
    return seen;
  },
  async shot({ file, clip }) {
    await page.screenshot({ path: file, clip, ...(file.endsWith(".jpg") ? { quality: 82 } : {}) });
  },
  // The element in its own size at the corner of the window, and nothing else.
  async natural({ of, file }) {
    const [width, height] = await page.locator(of).evaluate((e) => {
      const size = [e.naturalWidth || e.videoWidth, e.naturalHeight || e.videoHeight];
      Object.assign(e.style, {
        position: "fixed", left: 0, top: 0, width: size[0] + "px", height: size[1] + "px",
        zIndex: 9, opacity: 1, objectFit: "fill",
      });
      for (let p = e.parentElement; p; p = p.parentElement) p.style.overflow = "visible";
      return size;
    });
    await page.screenshot({ path: file, clip: { x: 0, y: 0, width, height } });
    await page.locator(of).evaluate((e) => {
      for (const name of ["position", "left", "top", "width", "height", "zIndex", "objectFit"])
        e.style[name] = "";
      for (let p = e.parentElement; p; p = p.parentElement) p.style.overflow = "";
    });
    return [width, height];
  },
  // What a screen reader finds, as lines.
  async tree() {
    return page.locator("body").ariaSnapshot();
  },
  async video() {
    return page.locator("#video").evaluate((v) => ({
      lag: v.buffered.length ? v.buffered.end(v.buffered.length - 1) - v.currentTime : -1,
      kept: v.buffered.length ? v.currentTime - v.buffered.start(0) : 0,
      time: v.currentTime, width: v.videoWidth, height: v.videoHeight, paused: v.paused,
      frames: v.getVideoPlaybackQuality().totalVideoFrames,
    }));
  },
  // From now on: when the canvas shows which number (tests/daemon/numbered.py), in ms since 1970.
  async watch({ of }) {
    await page.evaluate((of) => {
      const small = new OffscreenCanvas(64, 1), paper = small.getContext("2d",
        { willReadFrequently: true });
      const seen = globalThis.numbersSeen = [];
      const look = () => {
        requestAnimationFrame(look);
        const from = document.querySelector(of);
        if (!from.width) return;
        paper.drawImage(from, 0, from.height / 4, from.width, 1, 0, 0, 64, 1);
        const row = paper.getImageData(0, 0, 64, 1).data, level = (i) => row[4 * (8 * i + 4)];
        const bits = [2, 3, 4, 5, 6, 7].map((i) => +(level(i) > (level(0) + level(1)) / 2));
        const even = bits.reduce((a, b) => a + b) % 2 === 0;
        if (!even || level(0) - level(1) < 30) return;
        const number = bits.slice(0, 5).reduce((a, b) => 2 * a + b);
        if (seen.at(-1)?.[1] !== number)
          seen.push([performance.timeOrigin + performance.now(), number]);
      };
      look();
    }, of);
  },
  async watched() {
    return page.evaluate(() => globalThis.numbersSeen.splice(0));
  },
  // The page's script does nothing for so long.
  async stall({ ms }) {
    await page.evaluate((ms) => {
      const end = performance.now() + ms;
      document.querySelector("#video").pause();
      while (performance.now() < end);
    }, ms);
  },
  // Answers that open() holds back: how many were made, and how many of them given.
  async held() {
    return [answersMade, answersGiven];
  },
  // The texts that the element named by open() has had.
  async seen() {
    return page.evaluate(() => globalThis.textsSeen);
  },
  async clipboard() {
    return page.evaluate(() => navigator.clipboard.readText());
  },
  // Does the page go beyond the window's right edge?
  async wide() {
    return page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  },
  async axe() {
    await page.evaluate(axe); // by the debugger's way, which the page's policy does not forbid
    const found = await page.evaluate(() => globalThis.axe.run({ resultTypes: ["violations"] }));
    return found.violations.map((v) => [v.impact, v.id, v.nodes.map((n) => n.html.slice(0, 90))]);
  },
  async faults() {
    return faults;
  },
};

async function main() {
  browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const { step, ...rest } = JSON.parse(line);
    try {
      const value = await steps[step](rest);
      console.log(JSON.stringify({ ok: true, value: value ?? null }));
    } catch (error) {
      console.log(JSON.stringify({ error: error.message.split("\n").slice(0, 3).join(" ") }));
    }
  }
  await browser.close();
}
main();
