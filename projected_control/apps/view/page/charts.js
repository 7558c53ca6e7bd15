// Strip charts of what ~/state holds, drawn on canvases.

import { element } from "/elements.js";
import { GAP, lanesOf, ticks, tidy } from "/lanes.js";
import { colour, onTheme } from "/theme.js";

const WINDOWS = [5, 15, 60, 300]; // seconds in sight, to choose from
const SHORTEST = 0.2;
const KEPT = 32000; // states: five minutes, and a little
const LEFT = 46, RIGHT = 6; // of a canvas, beside what is drawn [pixels]
const FONT = "system-ui, 'DejaVu Sans', sans-serif";
const COLOURS = ["blue", "orange", "green", "purple", "sky", "gold", "grey"];

export class Charts {
  constructor(parent) {
    this.parent = parent;
    this.charts = [];
    this.names = [];
    this.rows = [];
    this.marks = [];
    this.pointer = null;
    this.span = 15; // seconds in sight
    this.end = null; // of what is in sight [s]; null for now
    this.tools = this.buildTools();
    onTheme(() => this.draw());
    new ResizeObserver(() => this.draw()).observe(parent);
  }

  // What a controller's state is made of, and so which charts there are.
  describe(description) {
    const { coordinates = [], rows = [], joints = [] } = description;
    const many = rows.length > 3 ? description.controlled ?? [] : rows.map((_, i) => i);
    const shown = many.length ? many : rows.map((_, i) => i).slice(0, 6);
    const units = [...new Set(coordinates.map((c) => `m${c.unit}`))].join(", ");
    this.lay([
      { title: "Tracking error", unit: units, factor: 1e3, digits: 3,
        lines: coordinates.map((c, i) => ({ name: `${c.name}/error`, label: c.name, unit: `m${c.unit}`, colour: COLOURS[i % 7] })) },
      { title: "Constraint force", unit: [...new Set(shown.map((i) => rows[i].unit))].join(", "), digits: 2,
        lines: shown.flatMap((i, k) => [
          { name: `lambda_${i}`, label: rows.length > 1 ? `λ ${rows[i].name}` : "λ", unit: rows[i].unit, colour: COLOURS[(k + 1) % 7] },
          { name: `lambda_${i}/desired`, label: rows.length > 1 ? "" : "λ_d", unit: rows[i].unit, colour: COLOURS[(k + 1) % 7], dashed: true }]) },
      { title: "Torque norm", unit: "N·m", digits: 2, zero: true,
        lines: [{ name: "torque_norm/motion", label: "motion f∥", colour: "green" },
          { name: "torque_norm/idc", label: "IDC sends for it", colour: "grey", dashed: true },
          { name: "torque_norm", label: "sent", colour: "blue" }] },
      { title: "Path", unit: "%", factor: 100, digits: 1, zero: true,
        lines: [{ name: "path/rate", label: "rate of its clock", colour: "purple" },
          { name: "motion/share", label: "motion that limits leave", colour: "green", dashed: true }] },
      { title: "What binds: 1 torque, 2 its rate, 4 range, 8 velocity", unit: "", digits: 0, zero: true,
        lines: joints.map((joint, i) => ({ name: `${joint}/binds`, label: joint, colour: COLOURS[i % 7] })) },
      { title: "Loop", unit: "ms", factor: 1e3, digits: 3, zero: true,
        lines: [{ name: "loop/period", label: "longest period", colour: "blue" },
          { name: "loop/latency", label: "longest latency", colour: "orange" }] },
    ]);
  }

  lay(specs) {
    const key = JSON.stringify(specs);
    if (key === this.key) return;
    this.key = key;
    this.parent.replaceChildren(this.tools);
    this.charts = specs.filter((spec) => spec.lines.length).map((spec) => {
      const box = document.createElement("figure");
      box.className = "chart";
      box.style.margin = 0;
      box.innerHTML = '<h2><span></span><span class="keys"></span></h2><div class="box"><canvas></canvas></div>';
      box.querySelector("h2 span").textContent = spec.unit ? `${spec.title} (${spec.unit})` : spec.title;
      const keys = box.querySelector(".keys");
      const values = spec.lines.map((line) => {
        const item = document.createElement("span");
        const mark = document.createElement("i");
        mark.style.setProperty("--mark", `var(--${line.colour})`);
        mark.classList.toggle("dashed", Boolean(line.dashed));
        const value = document.createElement("b");
        item.append(mark, `${line.label} `, value);
        item.hidden = !line.label;
        keys.append(item);
        return value;
      });
      this.parent.append(box);
      const canvas = box.querySelector("canvas");
      canvas.setAttribute("role", "img");
      canvas.setAttribute("aria-label", spec.title);
      canvas.addEventListener("pointermove", (event) => {
        const place = canvas.getBoundingClientRect();
        this.pointer = (event.clientX - place.left) / place.width;
        this.draw();
      });
      canvas.addEventListener("pointerleave", () => { this.pointer = null; this.draw(); });
      this.zoomBy(canvas);
      return { spec, canvas, values, lanes: null };
    });
  }

  // Time in sight, and what is in sight as a file.
  buildTools() {
    this.choice = element("select", { "aria-label": "Time in sight", title: "Time in sight; the wheel on a chart zooms, dragging moves, a double click returns to now" },
      ...WINDOWS.map((seconds) => element("option", { value: seconds, textContent: seconds < 60 ? `${seconds} s` : `${seconds / 60} min`, selected: seconds === this.span })),
      element("option", { value: "", textContent: "zoomed", hidden: true }));
    this.choice.addEventListener("change", () => this.show(Number(this.choice.value), null));
    const button = (text, title, act) => {
      const made = element("button", { type: "button", textContent: text, title });
      made.addEventListener("click", act);
      return made;
    };
    this.now = button("Now", "Back to what happens now", () => this.show(this.span, null));
    this.now.hidden = true;
    return element("div", { className: "tools" }, this.choice, this.now,
      button("CSV", "What is in sight, as a table", () => save("charts.csv", new Blob([this.csv()], { type: "text/csv" }))),
      button("PNG", "The charts as a picture", () => this.png().toBlob((blob) => save("charts.png", blob))));
  }

  // Have this many seconds in sight, up to a time; up to now where it is null.
  show(span, end) {
    const [first, last] = this.rows.length ? [this.rows[0][0], this.rows[this.rows.length - 1][0]] : [0, 0];
    this.span = Math.min(Math.max(span, SHORTEST), WINDOWS[WINDOWS.length - 1]);
    this.end = end === null || end >= last ? null : Math.max(end, Math.min(first + this.span, last));
    this.now.hidden = this.end === null;
    this.choice.value = WINDOWS.includes(this.span) ? this.span : "";
    this.draw();
  }

  zoomBy(canvas) {
    const time = (event) => {
      const { left, width } = canvas.getBoundingClientRect(), [from, to] = this.inSight();
      return from + ((event.clientX - left - LEFT) / (width - LEFT - RIGHT)) * (to - from);
    };
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      const factor = event.deltaY > 0 ? 1.25 : 0.8, [, to] = this.inSight(), at = time(event);
      this.show(this.span * factor, this.end === null && event.deltaY > 0 ? null : at + (to - at) * factor);
    }, { passive: false });
    canvas.addEventListener("dblclick", () => this.show(15, null));
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      const began = event.clientX, [, to] = this.inSight(), scale = this.span / (canvas.clientWidth - LEFT - RIGHT);
      const move = (next) => { if (Math.abs(next.clientX - began) > 3) this.show(this.span, to - (next.clientX - began) * scale); };
      canvas.addEventListener("pointermove", move);
      canvas.addEventListener("pointerup", () => canvas.removeEventListener("pointermove", move), { once: true });
    });
  }

  inSight() {
    const last = this.rows.length ? this.rows[this.rows.length - 1][0] : 0, to = this.end ?? last;
    return [to - this.span, to];
  }

  rowsInSight() {
    const [from, to] = this.inSight();
    return this.rows.slice(this.firstAt(from), this.firstAt(to + 1e-9));
  }

  // Where the first row from a time on is.
  firstAt(time) {
    let low = 0, high = this.rows.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.rows[middle][0] < time) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  // What is in sight as a table, in SI units as ~/state has it.
  csv() {
    const lines = this.rowsInSight().map((row) => row.map((value) => value ?? "").join(","));
    return ["time", ...this.names].map((name) => `"${name}"`).join(",") + `\n${lines.join("\n")}\n`;
  }

  // The charts with their titles as one picture.
  png() {
    const ratio = devicePixelRatio || 1, { left, top, width, height } = this.parent.getBoundingClientRect();
    const sheet = element("canvas", { width: Math.round(width * ratio), height: Math.round(height * ratio) });
    const pen = sheet.getContext("2d");
    pen.scale(ratio, ratio);
    pen.fillStyle = colour("card");
    pen.fillRect(0, 0, width, height);
    for (const { canvas, spec, values } of this.charts) {
      const place = canvas.getBoundingClientRect(), box = canvas.closest(".chart").getBoundingClientRect();
      pen.drawImage(canvas, place.left - left, place.top - top, place.width, place.height);
      pen.textBaseline = "top";
      pen.fillStyle = colour("ink");
      pen.font = `600 12px ${FONT}`;
      let x = box.left - left + 10;
      const y = box.top - top + 8, write = (text) => { pen.fillText(text, x, y); x += pen.measureText(text).width + 12; };
      write(spec.unit ? `${spec.title} (${spec.unit})` : spec.title);
      pen.font = `12px ${FONT}`;
      spec.lines.forEach((line, i) => {
        if (!line.label || x > box.right - left - 60) return;
        pen.fillStyle = colour(line.colour);
        write(`${line.dashed ? "┄" : "—"} ${line.label} ${values[i].textContent}`);
      });
    }
    return sheet;
  }

  clear() {
    this.rows = [];
    this.marks = [];
  }

  add(names, samples) {
    if (names.length !== this.names.length || names.some((name, i) => name !== this.names[i])) {
      this.names = names;
      this.index = new Map(names.map((name, i) => [name, i + 1]));
      this.clear();
    }
    const last = this.rows.length ? this.rows[this.rows.length - 1][0] : -Infinity;
    if (samples.length && samples[0][0] < last) this.clear();
    this.rows.push(...samples);
    if (this.rows.length > KEPT) this.rows.splice(0, this.rows.length - KEPT);
    if (samples.length) this.draw();
  }

  // A change that the user made, at the newest time.
  mark() {
    if (this.rows.length) this.marks.push(this.rows[this.rows.length - 1][0]);
    if (this.marks.length > 40) this.marks.shift();
  }

  latest(name) {
    const at = this.index?.get(name);
    return at && this.rows.length ? this.rows[this.rows.length - 1][at] : undefined;
  }

  draw() {
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame(() => {
      this.pending = false;
      for (const chart of this.charts) this.drawOne(chart);
    });
  }

  // A line; where many states fall on one pixel, from the lowest of them to the highest.
  drawLine(pen, line, rows, column, x, y) {
    if (!column) return;
    pen.setLineDash(line.dashed ? [6, 4] : []);
    pen.strokeStyle = colour(line.colour);
    pen.lineWidth = 1.7;
    pen.beginPath();
    let down = false, before = null, pixel = null, low = 0, high = 0;
    const flush = () => {
      if (pixel !== null && high !== low) { pen.lineTo(pixel, y(low)); pen.lineTo(pixel, y(high)); }
      pixel = null;
    };
    for (const row of rows) {
      const value = row[column], at = Math.round(2 * x(row[0])) / 2;
      if (value === null || (before !== null && row[0] - before > 0.12)) { flush(); down = false; }
      before = row[0];
      if (value === null) continue;
      if (down && at === pixel) { low = Math.min(low, value); high = Math.max(high, value); continue; }
      flush();
      if (down) pen.lineTo(at, y(value));
      else pen.moveTo(at, y(value));
      [down, pixel, low, high] = [true, at, value, value];
    }
    flush();
    pen.stroke();
  }

  drawOne(chart) {
    const { canvas, spec } = chart;
    const ratio = devicePixelRatio || 1;
    const width = canvas.clientWidth, height = canvas.clientHeight;
    if (!width || !height) return;
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
    }
    const pen = canvas.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    const left = LEFT, right = width - RIGHT, top = 6, bottom = height - 17;
    const rows = this.rowsInSight(), [from, to] = this.inSight();
    const factor = spec.factor ?? 1;
    const columns = spec.lines.map((line) => this.index?.get(line.name));
    const ranges = columns.map((column) => range(rows, column, factor));
    chart.lanes = lanesOf(spec.lines, ranges.map(([low, high]) => Math.max(Math.abs(low), Math.abs(high)) || 0), chart.lanes, bottom - top);
    const x = (t) => left + ((t - from) / this.span) * (right - left);

    pen.font = `11px ${FONT}`;
    pen.lineWidth = 1;
    pen.fillStyle = colour("soft");
    pen.textAlign = "center";
    pen.textBaseline = "top";
    const now = this.rows.length ? this.rows[this.rows.length - 1][0] : 0;
    const times = ticks(from - now, to - now, (right - left) / 90);
    for (const back of times.values) {
      const text = Math.abs(back) < 1e-9 ? "now" : `${tidy(back, times.step)} s`;
      const half = pen.measureText(text).width / 2;
      pen.fillText(text, Math.min(Math.max(x(now + back), left + half), right - half), bottom + 4);
    }
    const share = (bottom - top - GAP * (chart.lanes.length - 1)) / chart.lanes.length;
    chart.labels = [];
    chart.lanes.forEach((lane, k) => {
      const above = top + k * (share + GAP), below = above + share;
      let low = Math.min(...lane.map((i) => ranges[i][0])), high = Math.max(...lane.map((i) => ranges[i][1]));
      if (!(low <= high)) [low, high] = [0, 1];
      if (spec.zero) low = Math.min(low, 0);
      const least = Math.max(1e-6, 0.02 * Math.max(Math.abs(low), Math.abs(high)));
      if (high - low < least) [low, high] = [(low + high - least) / 2, (low + high + least) / 2];
      const margin = 0.06 * (high - low);
      [low, high] = [spec.zero && low === 0 ? 0 : low - margin, high + margin];
      const y = (v) => below - ((v - low) / (high - low)) * (below - above);
      const { step, values } = ticks(low, high, share / 34);
      pen.fillStyle = colour("soft");
      pen.strokeStyle = colour("line");
      pen.textAlign = "right";
      pen.textBaseline = "middle";
      for (const v of values) {
        pen.beginPath(); pen.moveTo(left, y(v)); pen.lineTo(right, y(v)); pen.stroke();
        pen.fillText(tidy(v, step), left - 5, y(v));
      }
      chart.labels.push(values.length);
      pen.save();
      pen.beginPath(); pen.rect(left, above - 2, right - left, below - above + 4); pen.clip();
      pen.setLineDash([2, 3]);
      pen.strokeStyle = colour("accent");
      for (const mark of this.marks) {
        if (mark < from || mark > to) continue;
        pen.beginPath(); pen.moveTo(x(mark), above); pen.lineTo(x(mark), below); pen.stroke();
      }
      for (const i of lane) this.drawLine(pen, spec.lines[i], rows, columns[i], x, (v) => y(factor * v));
      pen.restore();
      if (chart.lanes.length > 1) label(pen, lane.map((i) => spec.lines[i]), spec.unit, left + 4, above);
    });
    let shown = rows.length ? rows[rows.length - 1] : null;
    if (this.pointer !== null && rows.length) {
      const t = from + ((this.pointer * width - left) / (right - left)) * this.span;
      shown = rows.reduce((best, row) => (Math.abs(row[0] - t) < Math.abs(best[0] - t) ? row : best));
      pen.strokeStyle = colour("soft");
      pen.setLineDash([]);
      pen.beginPath(); pen.moveTo(x(shown[0]), top); pen.lineTo(x(shown[0]), bottom); pen.stroke();
    }
    spec.lines.forEach((line, i) => {
      const value = shown && columns[i] ? shown[columns[i]] : null;
      chart.values[i].textContent = value === null || value === undefined ? "–" : (factor * value).toFixed(spec.digits);
    });
  }
}

// Whose axis this is, over its lines.
function label(pen, lines, unit, x, y) {
  const own = lines.filter((line) => line.label), own_unit = own[0]?.unit ?? unit;
  const text = `${own.map((line) => line.label).join(", ")}${own_unit ? ` (${own_unit})` : ""}`;
  pen.globalAlpha = 0.8;
  pen.fillStyle = colour("card");
  pen.fillRect(x - 2, y - 1, pen.measureText(text).width + 4, 13);
  pen.globalAlpha = 1;
  pen.fillStyle = colour("soft");
  pen.textAlign = "left";
  pen.textBaseline = "top";
  pen.fillText(text, x, y);
}

// Lowest and highest value of a column, times a factor.
function range(rows, column, factor) {
  let low = Infinity, high = -Infinity;
  if (!column) return [low, high];
  for (const row of rows) {
    const value = row[column];
    if (value === null || value === undefined) continue;
    low = Math.min(low, factor * value);
    high = Math.max(high, factor * value);
  }
  return [low, high];
}

// Hands a file to the user.
function save(name, blob) {
  const link = element("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
