// Strip charts of what ~/state holds, drawn on canvases.

import { colour, onTheme } from "/theme.js";

const WINDOW = 15; // seconds in sight
const KEPT = 3200; // states
const COLOURS = ["blue", "orange", "green", "purple", "sky", "gold", "grey"];

export class Charts {
  constructor(parent) {
    this.parent = parent;
    this.charts = [];
    this.names = [];
    this.rows = [];
    this.marks = [];
    this.pointer = null;
    onTheme(() => this.draw());
    new ResizeObserver(() => this.draw()).observe(parent);
  }

  // What a controller's state is made of, and so which charts there are.
  describe(description) {
    const { coordinates = [], rows = [] } = description;
    const many = rows.length > 3 ? description.controlled ?? [] : rows.map((_, i) => i);
    const shown = many.length ? many : rows.map((_, i) => i).slice(0, 6);
    const units = [...new Set(coordinates.map((c) => `m${c.unit}`))].join(", ");
    this.lay([
      { title: "Tracking error", unit: units, factor: 1e3, digits: 3,
        lines: coordinates.map((c, i) => ({ name: `${c.name}/error`, label: c.name, colour: COLOURS[i % 7] })) },
      { title: "Constraint force", unit: [...new Set(shown.map((i) => rows[i].unit))].join(", "), digits: 2,
        lines: shown.flatMap((i, k) => [
          { name: `lambda_${i}`, label: rows.length > 1 ? `λ ${rows[i].name}` : "λ", colour: COLOURS[(k + 1) % 7] },
          { name: `lambda_${i}/desired`, label: rows.length > 1 ? "" : "λ_d", colour: COLOURS[(k + 1) % 7], dashed: true }]) },
      { title: "Torque norm", unit: "N·m", digits: 2, zero: true,
        lines: [{ name: "torque_norm", label: "sent", colour: "green" },
          { name: "torque_norm/idc", label: "IDC would need", colour: "grey", dashed: true }] },
      { title: "Loop", unit: "ms", factor: 1e3, digits: 3, zero: true,
        lines: [{ name: "loop/period", label: "longest period", colour: "blue" },
          { name: "loop/latency", label: "longest latency", colour: "orange" }] },
    ]);
  }

  lay(specs) {
    const key = JSON.stringify(specs);
    if (key === this.key) return;
    this.key = key;
    this.parent.replaceChildren();
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
      return { spec, canvas, values, low: 0, high: 0 };
    });
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
    const left = 46, right = width - 6, top = 6, bottom = height - 17;
    const now = this.rows.length ? this.rows[this.rows.length - 1][0] : 0;
    const from = now - WINDOW;
    const rows = this.rows.filter((row) => row[0] >= from);
    const factor = spec.factor ?? 1;
    const columns = spec.lines.map((line) => this.index?.get(line.name));
    let low = Infinity, high = -Infinity;
    for (const row of rows) {
      for (const column of columns) {
        const value = column ? row[column] : null;
        if (value === null || value === undefined) continue;
        low = Math.min(low, factor * value);
        high = Math.max(high, factor * value);
      }
    }
    if (!(low <= high)) [low, high] = [0, 1];
    if (spec.zero) low = Math.min(low, 0);
    const least = Math.max(1e-3, 0.02 * Math.max(Math.abs(low), Math.abs(high)));
    if (high - low < least) [low, high] = [(low + high - least) / 2, (low + high + least) / 2];
    const margin = 0.06 * (high - low);
    [low, high] = [spec.zero && low === 0 ? 0 : low - margin, high + margin];
    const x = (t) => left + ((t - from) / WINDOW) * (right - left);
    const y = (v) => bottom - ((v - low) / (high - low)) * (bottom - top);

    pen.font = "11px system-ui, 'DejaVu Sans', sans-serif";
    pen.fillStyle = colour("soft");
    pen.strokeStyle = colour("line");
    pen.lineWidth = 1;
    const step = niceStep((high - low) / Math.max(2, (bottom - top) / 34));
    pen.textAlign = "right";
    pen.textBaseline = "middle";
    for (let v = Math.ceil(low / step) * step; v <= high; v += step) {
      pen.beginPath(); pen.moveTo(left, y(v)); pen.lineTo(right, y(v)); pen.stroke();
      pen.fillText(tidy(v, step), left - 5, y(v));
    }
    pen.textAlign = "center";
    pen.textBaseline = "top";
    for (let back = 0; back <= WINDOW; back += 5) {
      pen.fillText(back ? `−${back} s` : "now", Math.min(x(now - back), right - 12), bottom + 4);
    }
    pen.save();
    pen.beginPath(); pen.rect(left, top - 2, right - left, bottom - top + 4); pen.clip();
    pen.setLineDash([2, 3]);
    pen.strokeStyle = colour("accent");
    for (const mark of this.marks) {
      if (mark < from) continue;
      pen.beginPath(); pen.moveTo(x(mark), top); pen.lineTo(x(mark), bottom); pen.stroke();
    }
    spec.lines.forEach((line, i) => {
      const column = columns[i];
      if (!column) return;
      pen.setLineDash(line.dashed ? [6, 4] : []);
      pen.strokeStyle = colour(line.colour);
      pen.lineWidth = 1.7;
      pen.beginPath();
      let pen_down = false, before = null;
      for (const row of rows) {
        const value = row[column];
        if (value === null || (before !== null && row[0] - before > 0.12)) pen_down = false;
        before = row[0];
        if (value === null) continue;
        if (pen_down) pen.lineTo(x(row[0]), y(factor * value));
        else pen.moveTo(x(row[0]), y(factor * value));
        pen_down = true;
      }
      pen.stroke();
    });
    pen.restore();
    let shown = rows.length ? rows[rows.length - 1] : null;
    if (this.pointer !== null && rows.length) {
      const t = from + ((this.pointer * width - left) / (right - left)) * WINDOW;
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

function niceStep(rough) {
  const power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].map((m) => m * power).find((candidate) => candidate >= rough);
}

function tidy(value, step) {
  const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const text = value.toFixed(Math.min(digits, 6));
  return (Number(text) === 0 ? text.replace("-", "") : text).replace("-", "−");
}
