"use strict";
// Names come from folders of anyone's: they only ever become text, never markup.
const $ = (id) => document.getElementById(id);
const COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#8C6D31", "#56B4E9", "#882255", "#44AA99"];
const SVG = "http://www.w3.org/2000/svg";
let entries = [], open = "", run = "";

const make = (tag, text = "", attributes = {}) => {
  const made = document.createElement(tag);
  made.textContent = text;
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
};
const draw = (tag, attributes, text = "") => {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.textContent = text;
  return made;
};
const row = (cells, chosen) => {
  const made = make("tr", "", chosen ? { class: "chosen" } : {});
  made.append(...cells.map((cell) => { const td = make("td"); td.append(cell); return td; }));
  return made;
};
const button = (text, action) => { const made = make("button", text, { type: "button" }); made.onclick = action; return made; };
const number = (x) => (x === null || x === undefined ? "–" : String(Number(Number(x).toPrecision(4))));
const ago = (seconds) => (seconds < 90 ? `${Math.round(seconds)} s` : seconds < 5400 ? `${Math.round(seconds / 60)} min`
  : seconds < 172800 ? `${Math.round(seconds / 3600)} h` : `${Math.round(seconds / 86400)} d`);
const address = (path) => "/files/" + path.split("/").map(encodeURIComponent).join("/");

async function ask(what) {
  const answer = await fetch(what);
  if (!answer.ok) throw new Error(`${answer.status}`);
  return answer.json();
}

function choices(select, found) {
  const there = new Set([...select.options].map((one) => one.value));
  for (const value of found) if (!there.has(value)) { select.append(make("option", value, { value })); there.add(value); }
}

function list() {
  const wanted = $("filter").value.toLowerCase(), kind = $("kind").value, status = $("status").value;
  const shown = entries.filter((one) => `${one.path} ${one.name}`.toLowerCase().includes(wanted)
    && (!kind || one.kind === kind) && (!status || one.status === status));
  $("entries").tBodies[0].replaceChildren(...shown.map((one) => {
    const total = Object.values(one.runs).reduce((a, b) => a + b, 0);
    const name = make("span", "");
    name.append(total ? button(one.path === "." ? one.name : one.path, () => { open = one.path; run = ""; list(); runs(); }) : one.path);
    if (one.why) name.append(make("div", one.why, { class: "soft" }));
    const state = make("span", one.status, one.status === "failed" || one.status === "damaged" ? { class: "bad" } : {});
    const page = one.page ? make("a", one.kind === "plan" ? "plan" : "report", { href: address(one.page), target: "_blank", rel: "noopener" }) : "";
    return row([name, one.kind, state, total ? `${one.runs.finished || 0} of ${total}` : "", `${ago(Date.now() / 1000 - one.changed)} ago`, page],
      one.path === open);
  }));
}

function runRow(one) {
  const state = one.status === "running" && one.silent > 30 ? `running, last round ${ago(one.silent)} ago` : one.status;
  const cell = make("span", state, one.status === "failed" || one.status === "damaged" ? { class: "bad" } : {});
  if (one.why) cell.append(make("div", one.why, { class: "soft" }));
  return row([button(`${one.arm}, seed ${one.seed}`, () => { run = one.name; runs(); }), cell, `${one.rounds} of ${one.total}`,
    make("progress", "", { value: one.rounds, max: one.total, "aria-label": "rounds" }), number(one.metric)], one.name === run);
}

function axes(svg, x, y, unit) {
  const [left, right, top, bottom] = [58, 630, 10, Number(svg.getAttribute("viewBox").split(" ")[3]) - 24];
  if (y[0] === y[1]) y = [y[0] - 0.5, y[1] + 0.5];
  const at = ([a, b]) => [left + (right - left) * a / (x || 1), bottom - (bottom - top) * (b - y[0]) / (y[1] - y[0])];
  svg.replaceChildren(draw("path", { class: "axis", d: `M${left} ${top}V${bottom}H${right}` }),
    draw("text", { x: left - 6, y: top + 8, "text-anchor": "end" }, number(y[1])),
    draw("text", { x: left - 6, y: bottom, "text-anchor": "end" }, number(y[0])),
    draw("text", { x: right, y: bottom + 16, "text-anchor": "end" }, `${x} ${unit}`));
  return at;
}
const line = (points, at) => "M" + points.map((point) => at(point).map((z) => z.toFixed(1)).join(" ")).join("L");

function curves(found) {
  const known = found.filter((one) => one.curve.length), arms = [...new Set(found.map((one) => one.arm))];
  const values = known.flatMap((one) => one.curve.map((point) => point[1]));
  $("curves-title").textContent = known.length ? `${known.map((one) => one.metric_name).find(Boolean) || "metric"} by rounds` : "";
  if (!known.length) { $("curves").replaceChildren(); $("legend").replaceChildren(); return; }
  const at = axes($("curves"), Math.max(...found.map((one) => one.total)), [Math.min(...values), Math.max(...values)], "rounds");
  for (const one of known) {
    const path = draw("path", { d: line(one.curve, at), stroke: COLOURS[arms.indexOf(one.arm) % COLOURS.length], opacity: !run || one.name === run ? 1 : 0.35 });
    path.append(draw("title", {}, `${one.arm}, seed ${one.seed}`));
    $("curves").append(path);
  }
  $("legend").replaceChildren(...arms.map((arm, i) => {
    const label = make("span", arm);
    label.style.setProperty("--arm", COLOURS[i % COLOURS.length]);
    return label;
  }));
}

function batteries(found, one) {
  const title = $("batteries-title"), svg = $("batteries");
  svg.replaceChildren();
  if (!one || !found) { title.textContent = ""; return; }
  if (typeof found === "string") { title.textContent = `Batteries: ${found}`; return; }
  const most = Math.max(...found.levels.map((level) => level || 0), 1e-12);
  title.textContent = `Batteries of ${one.arm}, seed ${one.seed}, after round ${one.rounds}: each client's level [${found.unit}]`;
  const at = axes(svg, found.levels.length, [0, most], "clients");
  found.levels.forEach((level, i) => {
    const [x, y] = at([i, level || 0]), [next, floor] = at([i + 1, 0]);
    const bar = draw("rect", { x: x + 0.5, y, width: Math.max(next - x - 1, 0.5), height: floor - y });
    bar.append(draw("title", {}, `client ${i}: ${level === null ? "no answer" : number(level)}`));
    svg.append(bar);
  });
}

async function runs() {
  const asked = open;
  if (!asked) return;
  const found = await ask(`/api/runs?path=${encodeURIComponent(asked)}&run=${encodeURIComponent(run)}`);
  if (asked !== open) return;
  if (!run && found.runs.length) {
    run = (found.runs.find((one) => one.status === "running") || found.runs[0]).name;
    return runs();
  }
  $("detail").hidden = false;
  $("detail").querySelector("h2").textContent = asked === "." ? $("root").textContent : asked;
  $("why").textContent = found.fault || "";
  $("metric").textContent = found.runs.map((one) => one.metric_name).find(Boolean) || "metric";
  $("runs").tBodies[0].replaceChildren(...found.runs.map(runRow));
  curves(found.runs);
  batteries(found.batteries, found.runs.find((one) => one.name === run));
}

async function look() {
  try {
    const found = await ask("/api/entries");
    entries = found.entries;
    $("root").textContent = found.root;
    choices($("kind"), entries.map((one) => one.kind));
    choices($("status"), entries.map((one) => one.status));
    list();
    await runs();
    $("fault").hidden = true;
  } catch (error) {
    $("fault").textContent = `ehfl view does not answer (${error.message}): was it stopped?`;
    $("fault").hidden = false;
  }
  const busy = entries.some((one) => one.status === "running" || one.status === "waiting");
  setTimeout(look, busy ? 1000 : 4000);
}

for (const id of ["filter", "kind", "status"]) $(id).oninput = list;
look();
