"use strict";
// What a narrow page needs: tables that say that they go on, figures that can be enlarged.
(() => {
  // A table wider than its box says so, until its end has been scrolled to.
  document.querySelectorAll(".sideways").forEach((box) => {
    const cue = box.previousElementSibling;
    function hint() {
      cue.hidden = box.scrollWidth <= box.clientWidth;
      box.classList.toggle("more", box.scrollLeft + box.clientWidth < box.scrollWidth - 1);
    }
    box.addEventListener("scroll", hint, { passive: true });
    new ResizeObserver(hint).observe(box);
    hint();
  });

  // On a narrow page a figure is shown whole; a click shows it as large as on a wide one, and its box scrolls.
  document.querySelectorAll(".picture").forEach((picture) => {
    const button = picture.parentElement.querySelector(".enlarge");
    button.hidden = false;
    button.addEventListener("click", () => {
      const large = picture.classList.toggle("large");
      button.setAttribute("aria-pressed", String(large));
    });
  });
})();

// The chart. Names and texts come from the experiment: they are only ever set as text.
(() => {
  const chart = document.getElementById("chart");
  if (!chart) return; // a plan has none
  const data = JSON.parse(document.getElementById("data").textContent);
  const plot = chart.querySelector(".plot");
  const svg = plot.querySelector("svg");
  const tip = plot.querySelector(".tip");
  const state = { x: data.x, y: "metric", shown: data.arms.map(() => true), at: null };
  let scale = null; // from data to pixels, of the picture that is shown

  const make = (tag, attributes, text) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    if (text !== undefined) element.textContent = text;
    return element;
  };
  const html = (tag, className, text) => {
    const element = document.createElement(tag);
    if (className) element.className = className;
    if (text !== undefined) element.textContent = text;
    return element;
  };
  // A piece of the arm's line, in its colour and with its dashes, which page.css takes from the arm's class.
  const swatch = () => {
    const element = make("svg", { class: "swatch", viewBox: "0 0 40 8", "aria-hidden": "true" });
    element.append(make("path", { d: "M2,4H38" }));
    return element;
  };
  // A baseline has no difference to itself.
  const visible = () => data.arms.map((arm, i) => ({ arm, i })).filter(({ arm, i }) => state.shown[i] && arm[state.y]);
  const number = (v) => v.toLocaleString("en", { maximumFractionDigits: 10 });

  const few = (v) => number(Math.abs(v) < 100 ? Number(v.toPrecision(3)) : Math.round(v)); // digits that mean something
  const time = (v) => `${few(v)} ${data.time.unit}`;
  const energy = (v) => `${data.time ? few(v) : number(Math.round(v))} ${data.unit}`;

  // Round numbers between low and high, about `wanted` of them, no closer than `least`.
  function ticks(low, high, wanted, least = 0) {
    const rough = (high - low) / wanted;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = Math.max(least, [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough * 0.999));
    const found = [];
    for (let k = Math.ceil(low / step - 1e-9); k * step <= high + step * 1e-9; k++) {
      found.push(Number((k * step).toPrecision(12)));
    }
    return found;
  }

  // The powers of ten between low and high, with 2 and 5 times them where there is room.
  function logTicks(low, high) {
    const steps = Math.log10(high / low) > 3 ? [1] : [1, 2, 5];
    const found = [];
    for (let power = Math.floor(Math.log10(low)); 10 ** power <= high; power++) {
      for (const m of steps) found.push(Number((m * 10 ** power).toPrecision(3)));
    }
    return found.filter((v) => v >= low && v <= high);
  }

  // The range of the visible means; bands of few seeds, which can be huge, widen it only so far on each side.
  function range(arms) {
    const of = (key) => arms.flatMap(({ arm }) => arm[state.y][key]).filter((v) => v !== null);
    const means = of("mean");
    if (!means.length) return [0, 1];
    const { log, goal } = data[state.y];
    if (state.y === "difference") means.push(goal); // the line that differences are read against
    const [low, high] = [Math.min(...means), Math.max(...means)];
    if (log) return [low / 1.5, high * 1.5];
    const room = (high - low || Math.abs(high) || 1) * data.stretch;
    const [least, most] = data[state.y].limits; // what the metric can be at all, null where it has no end
    const bottom = Math.max(Math.min(low, ...of("low")), low - room, least ?? -Infinity);
    const top = Math.min(Math.max(high, ...of("high")), high + room, most ?? Infinity);
    const pad = (top - bottom || room) * 0.03;
    return [bottom - pad, top + pad];
  }

  // Where the y axis has its numbers, in its unit.
  function heights(low, high) {
    const { factor, log } = data[state.y];
    if (log) return logTicks(low, high);
    return ticks(low * factor, high * factor, 6);
  }

  function measure() {
    const width = Math.max(plot.clientWidth, 240);
    const height = Math.round(Math.min(Math.max(width * 0.48, 270), 440));
    const arms = visible();
    const longest = Math.max(1, ...arms.flatMap(({ arm }) => arm[state.x]));
    const [low, high] = range(arms);
    const numbers = heights(low, high);
    const room = Math.max(4, ...numbers.map((v) => number(v).length)) * 7; // digits are 7 px wide
    const frame = { left: room + 14, right: width - 12, top: 26, bottom: height - 42 };
    const { log } = data[state.y];
    const bent = (v) => (log ? Math.log(Math.max(v, low / 2)) : v);
    const place = (v) => (bent(v) - bent(low)) / (bent(high) - bent(low));
    return {
      width, height, frame, longest, low, high, numbers,
      x: (v) => frame.left + (v / longest) * (frame.right - frame.left),
      y: (v) => frame.bottom - place(v) * (frame.bottom - frame.top),
    };
  }

  function draw() {
    scale = measure();
    svg.setAttribute("viewBox", `0 0 ${scale.width} ${scale.height}`);
    svg.replaceChildren();
    const { frame } = scale;
    const clip = make("clipPath", { id: "frame" });
    clip.append(make("rect", { x: frame.left, y: frame.top, width: frame.right - frame.left, height: frame.bottom - frame.top }));
    const inside = make("g", { "clip-path": "url(#frame)" });
    drawAxes();
    visible().forEach(({ arm, i }) => inside.append(band(arm, i)));
    visible().forEach(({ arm, i }) => inside.append(line(arm, i)));
    svg.append(clip, inside);
    drawGoal();
    point(null);
  }

  function drawAxes() {
    const { frame, longest, width, height } = scale;
    const { label, factor } = data[state.y];
    for (const v of scale.numbers) {
      const y = scale.y(v / factor);
      svg.append(make("line", { class: "grid", x1: frame.left, x2: frame.right, y1: y, y2: y }));
      svg.append(make("text", { class: "tick-y", x: frame.left - 8, y: y + 4, "text-anchor": "end" }, number(v)));
    }
    const apart = state.x === "rounds" ? 1 : 0; // rounds are whole numbers
    for (const v of ticks(0, longest, Math.max(3, Math.min(10, width / 90)), apart)) {
      const end = scale.x(v) > frame.right - 12 ? "end" : "middle";
      svg.append(make("text", { class: "tick-x", x: end === "end" ? frame.right : scale.x(v), y: frame.bottom + 18, "text-anchor": end }, number(v)));
    }
    const below = { rounds: "rounds", energy: `energy spent [${data.unit}]`, time: data.time && `time [${data.time.unit}]` }[state.x];
    const letters = Math.floor(width / 7.5); // that a line has room for
    const shown = label.length > letters ? `${label.slice(0, letters - 1)}\u2026` : label;
    svg.append(make("text", { class: "label label-y", x: 0, y: 13 }, shown));
    svg.append(make("text", { class: "label label-x", x: frame.right, y: height - 6, "text-anchor": "end" }, below));
  }

  function drawGoal() {
    const { goal, goalText } = data[state.y];
    if (goal === null || goal < scale.low || goal > scale.high) return;
    const y = scale.y(goal);
    svg.append(make("line", { class: "goal", x1: scale.frame.left, x2: scale.frame.right, y1: y, y2: y }));
    svg.append(make("text", { class: "halo", x: scale.frame.left + 6, y: y - 6 }, goalText));
  }

  function line(arm, i) {
    let path = "", pen = "M"; // lifted where there is no value
    arm[state.y].mean.forEach((v, k) => {
      if (v === null) { pen = "M"; return; }
      path += `${pen}${scale.x(arm[state.x][k]).toFixed(1)},${scale.y(v).toFixed(1)}`;
      if (pen === "M") path += "h0"; // a dot, should no other point follow
      pen = "L";
    });
    return make("path", { class: `line arm-${i}`, "data-arm": i, d: path });
  }

  function band(arm, i) {
    const { low, high } = arm[state.y];
    const known = low.map((v, k) => k).filter((k) => low[k] !== null && high[k] !== null);
    const corner = (values) => (k) => `${scale.x(arm[state.x][k]).toFixed(1)},${scale.y(values[k]).toFixed(1)}`;
    const corners = [...known.map(corner(high)), ...known.reverse().map(corner(low))];
    return make("path", { class: `band arm-${i}`, "data-arm": i, d: corners.length ? `M${corners.join("L")}Z` : "" });
  }

  // Every place where a visible arm was evaluated, from left to right.
  const places = () => [...new Set(visible().flatMap(({ arm }) => arm[state.x]))].sort((a, b) => a - b);
  const nearest = (values, x) => values.reduce((best, v, k) => (Math.abs(v - x) < Math.abs(values[best] - x) ? k : best), 0);

  // Show the values at x (in the axis' unit), or nothing.
  function point(x) {
    state.at = x;
    svg.querySelectorAll(".cursor, .dot").forEach((mark) => mark.remove());
    tip.hidden = x === null || !visible().length;
    if (tip.hidden) return;
    const { top, bottom } = scale.frame;
    svg.append(make("line", { class: "cursor", x1: scale.x(x), x2: scale.x(x), y1: top, y2: bottom }));
    const rows = html("table");
    const heights = [];
    for (const { arm, i } of visible()) {
      const k = nearest(arm[state.x], x);
      const mean = arm[state.y].mean[k];
      if (mean !== null) {
        heights.push(scale.y(mean));
        svg.append(make("circle", { class: `dot arm-${i}`, r: 4, cx: scale.x(arm[state.x][k]), cy: scale.y(mean) }));
      }
      rows.append(row(arm, i, k, x));
    }
    const title = { rounds: () => `after ${number(x)} rounds`, time: () => `after ${time(x)}`, energy: () => `at about ${energy(x)} spent` }[state.x]();
    tip.replaceChildren(html("b", "", title), rows);
    const left = (scale.x(x) / scale.width) * plot.clientWidth;
    const beside = left + 14 + tip.offsetWidth <= plot.clientWidth ? left + 14 : left - 14 - tip.offsetWidth;
    tip.style.left = `${Math.max(0, Math.min(beside, plot.clientWidth - tip.offsetWidth))}px`;
    // Out of the curves' way: below a small chart, else in the half where fewer points are.
    const high = heights.filter((y) => y < (top + bottom) / 2).length * 2 >= heights.length;
    const free = high ? bottom - tip.offsetHeight - 8 : top + 8;
    tip.style.top = `${plot.clientWidth < 520 ? bottom + 22 : free}px`;
  }

  function row(arm, i, k, x) {
    const found = html("tr", `arm-${i}`);
    const name = html("td", "", arm.name);
    name.prepend(swatch());
    found.append(name, html("td", "", arm[state.y].text[k]));
    const where = `round ${number(arm.rounds[k])}`; // an arm's nearest evaluation need not be where the cursor is
    if (state.x === "energy") found.append(html("td", "", `${where}, ${energy(arm.energy[k])}`));
    else if (state.x === "time") found.append(html("td", "", arm.time[k] === x ? where : `${where}, ${time(arm.time[k])}`));
    else if (arm.rounds[k] !== x) found.append(html("td", "", where));
    return found;
  }

  function follow(event) {
    const box = svg.getBoundingClientRect();
    const at = ((event.clientX - box.left) / box.width) * scale.width;
    const all = places();
    if (all.length) point(all[nearest(all.map(scale.x), at)]);
  }

  function step(event) {
    const all = places();
    const now = state.at === null ? -1 : all.indexOf(state.at);
    const goes = { ArrowRight: now + 1, ArrowLeft: now < 0 ? all.length - 1 : now - 1, Home: 0, End: all.length - 1 };
    if (event.key === "Escape") point(null);
    if (!(event.key in goes) || !all.length) return;
    event.preventDefault();
    point(all[Math.max(0, Math.min(goes[event.key], all.length - 1))]);
  }

  data.arms.forEach((arm, i) => {
    const button = html("button", `arm-${i}`, arm.name);
    button.type = "button";
    button.setAttribute("aria-pressed", "true");
    button.prepend(swatch());
    button.addEventListener("click", () => {
      state.shown[i] = !state.shown[i];
      button.setAttribute("aria-pressed", String(state.shown[i]));
      draw();
    });
    chart.querySelector(".legend").append(button);
  });
  chart.querySelectorAll("[data-axis]").forEach((button) => button.addEventListener("click", () => {
    state[button.dataset.axis] = button.dataset.value;
    const spent = chart.querySelector('[data-value="energy"]');
    spent.disabled = state.y === "difference"; // after as many rounds, arms have not spent as much
    if (spent.disabled && state.x === "energy") state.x = data.x;
    chart.querySelectorAll("[data-axis]").forEach((b) => b.setAttribute("aria-pressed", String(state[b.dataset.axis] === b.dataset.value)));
    draw();
  }));
  for (const kind of ["pointermove", "pointerdown"]) svg.addEventListener(kind, follow);
  svg.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse") point(null); });
  svg.addEventListener("blur", () => point(null));
  svg.addEventListener("keydown", step);
  chart.hidden = false;
  let drawn = 0; // the width that was drawn for: a change of height alone asks for nothing
  new ResizeObserver(() => { if (plot.clientWidth !== drawn) { drawn = plot.clientWidth; draw(); } }).observe(plot);
  draw();
})();
