// The arm in 3D, with its constraint, reference, trace, forces and torques; and dragging.

import { Pencil, ball, turned } from "/pencil.js";
import { onTheme, rgb } from "/theme.js";
import { add, along, cross, dot, length, lookAt, multiply, perspective, pose, scale, square, sub, unit } from "/vectors.js";

const ANGLE = 0.7; // of view [rad]
const TRACE = 450; // places
const REACH_PER_FORCE = 0.45; // an arrow as long as this share of the arm for the largest force seen
const STEM = 0.16; // how far the handle of a force is from the tip at least, as a share of the arm

export const LAYERS = [
  ["arm", "arm", "soft"], ["constraint", "constraint", "grey"], ["reference", "reference", "green"],
  ["trace", "trace", "blue"], ["force", "force λ, λ_d", "orange"], ["torque", "torques", "purple"]];

// Colours of a contact by its state, as ~/state has it: looked for, holds, slips; released is grey.
const CONTACT = { 2: "orange", 3: "good", 4: "bad" };

export class Scene {
  constructor(canvas, { onDrag, onDrop, may }) {
    Object.assign(this, { canvas, onDrag, onDrop, may });
    this.pencil = new Pencil(canvas);
    this.round = this.pencil.solid(...ball());
    this.shaft = this.pencil.solid(...turned([[0, 0], [1, 0], [1, 1], [0, 1]]));
    this.head = this.pencil.solid(...turned([[0, 0], [1, 0], [0, 1]]));
    this.sheet = this.pencil.solid(new Float32Array([-1, -1, 0, 1, -1, 0, 1, 1, 0, -1, 1, 0]), new Uint32Array([0, 1, 2, 0, 2, 3]));
    this.shown = Object.fromEntries(LAYERS.map(([key]) => [key, true]));
    this.look = { target: [0, 0, 0], distance: 2, azimuth: 0.6, elevation: 0.5 };
    this.parts = [];
    this.picture = null;
    this.frames = 0;
    this.clear();
    this.touches = new Map();
    canvas.addEventListener("pointerdown", (event) => this.down(event));
    canvas.addEventListener("pointermove", (event) => this.move(event));
    for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, (event) => this.up(event));
    canvas.addEventListener("wheel", (event) => { event.preventDefault(); this.zoom(Math.exp(0.0012 * event.deltaY)); }, { passive: false });
    canvas.addEventListener("contextmenu", (event) => event.preventDefault());
    canvas.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.redraw()).observe(canvas);
    onTheme(() => { this.dark = document.documentElement.dataset.theme === "dark"; this.redraw(); });
  }

  clear() {
    this.trace = [];
    this.largest = 1;
    this.ghost = null;
    this.reach = 0.5;
    this.fitted = false;
  }

  geometry(header, data, start) {
    const key = JSON.stringify(header);
    if (key === this.drawn) return; // after a lost connection: the same arm, seen from where it was
    this.drawn = key;
    for (const part of this.parts) this.pencil.forget(part.solid);
    this.parts = header.parts.map(({ vertices, triangles, colour: tint }) => {
      const places = new Float32Array(data, start + vertices[0], vertices[1]);
      const corners = new Uint32Array(data, start + triangles[0], triangles[1]);
      let extent = 0;
      for (let i = 0; i < places.length; i += 3) extent = Math.max(extent, Math.hypot(places[i], places[i + 1], places[i + 2]));
      return { solid: this.pencil.solid(places, corners), tint, extent };
    });
    this.clear();
  }

  show(picture) {
    if (!picture) return;
    this.picture = picture;
    this.frames += 1;
    const last = this.trace[this.trace.length - 1];
    if (!last || length(sub(picture.trace, last)) > 5e-4) this.trace.push(picture.trace);
    if (this.trace.length > TRACE) this.trace.shift();
    for (const { force, wanted } of picture.forces) this.largest = Math.max(this.largest, length(force), wanted ? length(wanted) : 0);
    if (!this.fitted && this.parts.length === picture.poses.length && this.parts.length) this.fit();
    this.redraw();
  }

  // Look at the whole arm: along the joints' axes where these are parallel, else from the side.
  fit() {
    const { poses, torques } = this.picture ?? {};
    if (!poses?.length) return;
    const places = poses.map((p) => p.slice(0, 3)), { trace } = this.picture;
    const middle = scale(places.reduce(add, [0, 0, 0]), 1 / places.length);
    const centre = add(scale(middle, 0.75), scale(trace, 0.25)); // what is done, is done at the tip
    this.reach = Math.max(0.1, ...places.map((p, i) => length(sub(p, centre)) + 0.6 * Math.min(this.parts[i].extent, 0.12)));
    const axes = torques.filter((t) => !t.sliding).map((t) => unit(t.axis));
    const planar = axes.length > 1 && axes.every((a) => Math.abs(dot(a, axes[0])) > 0.99);
    let azimuth = 0.7, elevation = 0.42;
    if (planar) {
      const axis = scale(axes[0], axes[0][2] < -0.5 || axes[0][1] > 0.5 ? -1 : 1);
      if (Math.abs(axis[2]) > 0.7) [azimuth, elevation] = [-Math.PI / 2, 1.02];
      else [azimuth, elevation] = [Math.atan2(axis[1], axis[0]) + 0.3, 0.3];
    }
    const aspect = this.canvas.clientWidth / Math.max(this.canvas.clientHeight, 1);
    const distance = (1.12 * this.reach) / Math.tan(ANGLE / 2) / Math.min(1, Math.max(aspect, 0.4));
    this.look = { target: centre, distance, azimuth, elevation };
    this.fitted = true;
    this.redraw();
  }

  zoom(factor) {
    this.look.distance = Math.min(Math.max(this.look.distance * factor, 0.05), 100);
    this.redraw();
  }

  turn(across, up) {
    this.look.azimuth -= across;
    this.look.elevation = Math.min(Math.max(this.look.elevation + up, -1.5), 1.5);
    this.redraw();
  }

  pan(across, up) {
    const { right, above } = this.axes();
    const size = (2 * this.look.distance * Math.tan(ANGLE / 2)) / this.canvas.clientHeight;
    this.look.target = add(this.look.target, add(scale(right, -across * size), scale(above, up * size)));
    this.redraw();
  }

  axes() {
    const { azimuth, elevation } = this.look;
    const back = [Math.cos(elevation) * Math.cos(azimuth), Math.cos(elevation) * Math.sin(azimuth), Math.sin(elevation)];
    const right = unit(cross([0, 0, 1], back));
    return { back, right, above: cross(back, right) };
  }

  redraw() {
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame(() => { this.pending = false; this.draw(); });
  }

  draw() {
    const canvas = this.canvas, ratio = Math.min(devicePixelRatio || 1, 2);
    const width = Math.round(canvas.clientWidth * ratio), height = Math.round(canvas.clientHeight * ratio);
    if (!width || !height) return;
    if (canvas.width !== width || canvas.height !== height) [canvas.width, canvas.height] = [width, height];
    const { target, distance } = this.look;
    this.eye = add(target, scale(this.axes().back, distance));
    this.camera = multiply(perspective(ANGLE, width / height, distance / 200, distance * 40), lookAt(this.eye, target, [0, 0, 1]));
    const pencil = this.pencil;
    pencil.begin(this.camera, this.eye, this.dark ? 0.5 : 0.62);
    this.drawFloor();
    const picture = this.picture;
    if (!picture) return;
    if (this.shown.arm) {
      picture.poses.forEach((place, i) => this.parts[i] && pencil.draw(this.parts[i].solid, pose(place), this.parts[i].tint));
    }
    if (this.shown.torque) this.drawTorques(picture.torques);
    if (this.shown.constraint) picture.shapes.forEach((shape) => this.drawShape(shape));
    if (this.shown.trace) this.drawTrace();
    this.handles = [];
    if (this.shown.force) picture.forces.forEach((force, i) => this.drawForce(force, i));
    if (this.shown.force) (picture.contacts ?? []).forEach((contact) => this.drawContact(contact));
    if (this.shown.reference) picture.grips.forEach((grip, i) => this.drawGrip(grip, i));
    if (this.shown.constraint) picture.shapes.forEach((shape) => shape.is === "plane" && this.drawPlane(shape));
  }

  drawFloor() {
    const step = 10 ** Math.floor(Math.log10(this.reach)) / (this.reach / 10 ** Math.floor(Math.log10(this.reach)) < 4 ? 2 : 1);
    const shade = rgb("grid"), n = Math.ceil((2.2 * this.reach) / step);
    const middle = this.look.target.map((v) => Math.round(v / step) * step);
    const low = Math.min(0, ...(this.picture?.poses ?? []).map((p) => p[2])) - 0.06 * this.reach;
    for (let i = -n; i <= n; i++) {
      const [x, y, far] = [middle[0] + i * step, middle[1] + i * step, n * step];
      const alpha = 0.4 * (1 - Math.abs(i) / (n + 1));
      this.pencil.segment([x, middle[1] - far, low], [x, middle[1] + far, low], shade, alpha);
      this.pencil.segment([middle[0] - far, y, low], [middle[0] + far, y, low], shade, alpha);
    }
    this.pencil.stroke(1);
  }

  drawShape(shape) {
    const shade = rgb("grey"), far = 1.6 * this.reach;
    if (shape.is === "point") this.dot(shape.at, 0.022, [...shade, 1]);
    if (shape.is === "line") {
      const middle = add(shape.at, scale(shape.along, dot(sub(this.look.target, shape.at), shape.along)));
      this.pencil.segment(sub(middle, scale(shape.along, far)), add(middle, scale(shape.along, far)), shade);
    }
    if (shape.is === "curve") this.pencil.path(shape.points, shade);
    this.pencil.stroke(3);
  }

  // An endless one is drawn about the tip, one that ends as far as it goes.
  drawPlane({ at, normal, sheet }) {
    const tip = this.picture.trace, size = 0.7 * this.reach, shade = rgb("grey");
    const [middle, a, b] = sheet ?? [sub(tip, scale(normal, dot(sub(tip, at), normal))), ...square(normal).map((side) => scale(side, size))];
    const corner = (i, j) => add(middle, add(scale(a, i), scale(b, j)));
    this.pencil.path([corner(-1, -1), corner(1, -1), corner(1, 1), corner(-1, 1), corner(-1, -1)], shade);
    this.pencil.stroke(1.5);
    this.pencil.draw(this.sheet, new Float32Array([...a, 0, ...b, 0, ...normal, 0, ...middle, 1]), [...shade, 0.22]);
  }

  drawTrace() {
    const shade = rgb("blue");
    for (let i = 1; i < this.trace.length; i++) this.pencil.segment(this.trace[i - 1], this.trace[i], shade, 0.85 * (i / this.trace.length) ** 1.5);
    this.pencil.stroke(2.5);
  }

  arrow(at, vector, wide, tint) {
    const long = length(vector);
    if (long < 1e-4) return;
    const head = Math.min(0.4 * long, 5 * wide);
    this.pencil.draw(this.shaft, along(at, vector, wide, long - head), tint);
    this.pencil.draw(this.head, along(add(at, scale(unit(vector), long - head)), vector, 2.6 * wide, head), tint);
  }

  dot(at, size, tint) {
    this.pencil.draw(this.round, along(at, [0, 0, 1], size * this.reach, size * this.reach), tint);
  }

  // What can be dragged is seen through everything.
  onTop(draw) {
    const gl = this.pencil.gl;
    gl.disable(gl.DEPTH_TEST);
    draw();
    gl.enable(gl.DEPTH_TEST);
  }

  metres() {
    return (REACH_PER_FORCE * this.reach) / Math.max(this.largest, 1);
  }

  drawForce(force, i) {
    const shade = rgb("orange"), k = this.metres(), held = this.dragged?.kind === "force" && this.dragged.number === i;
    this.arrow(force.at, scale(force.force, k), 0.011 * this.reach, [...shade, 1]);
    if (!force.wanted) return;
    // However small the force is, what drags it stays clear of the reference, which lies at the same place.
    const wanted = scale(force.wanted, k), way = length(wanted) > 1e-6 ? unit(wanted) : unit(force.basis[0]);
    const end = held ? this.ghost : add(force.at, scale(way, Math.max(length(wanted), STEM * this.reach)));
    this.pencil.segment(force.at, end, shade, 0.9);
    this.pencil.stroke(2);
    this.onTop(() => this.dot(end, held ? 0.034 : 0.026, [...shade, 0.8]));
    this.handles.push({ kind: "force", number: i, at: end, source: force });
  }

  // A contact that comes and goes: green while it holds, red where it slips, a ring while nothing presses; its cone of friction.
  drawContact({ at, normal, state, friction }) {
    const shade = rgb(CONTACT[state] ?? "grey");
    const [a, b] = square(normal), size = 0.04 * this.reach;
    const ring = (radius, back) => Array.from({ length: 25 }, (_, i) => {
      const t = (i * Math.PI) / 12;
      return add(sub(at, scale(normal, back)), add(scale(a, radius * Math.cos(t)), scale(b, radius * Math.sin(t))));
    });
    this.pencil.path(ring(size, 0), shade);
    if (friction > 0 && state >= 3) {
      const high = 0.16 * this.reach, rim = ring(Math.min(friction, 2) * high, high);
      this.pencil.path(rim, shade);
      for (let i = 0; i < 24; i += 3) this.pencil.segment(at, rim[i], shade, 0.6);
    }
    this.pencil.stroke(2);
    if (state >= 3) this.onTop(() => this.dot(at, 0.016, [...shade, 1]));
  }

  drawGrip(grip, i) {
    const shade = rgb("green"), held = this.dragged?.kind === "grip" && this.dragged.number === i;
    this.onTop(() => this.dot(grip.at, 0.03, [...shade, 0.8]));
    if (held) {
      this.pencil.segment(grip.at, this.ghost, shade, 0.8);
      this.pencil.stroke(2);
      this.dot(this.ghost, 0.034, [...shade, 0.5]);
    }
    this.handles.push({ kind: "grip", number: i, at: grip.at, source: grip });
  }

  drawTorques(torques) {
    const plain = rgb("purple"), full = rgb("bad");
    for (const { at, axis, share, sliding } of torques) {
      if (Math.abs(share) < 0.004) continue;
      const shade = Math.abs(share) > 0.95 ? full : plain, n = unit(axis);
      if (sliding) { this.arrow(at, scale(n, 0.5 * share * this.reach), 0.009 * this.reach, [...shade, 1]); continue; }
      const radius = 0.13 * this.reach, [a, b] = square(n), angle = 1.6 * Math.PI * Math.sign(share) * Math.sqrt(Math.min(Math.abs(share), 1));
      const raised = add(at, scale(n, 0.05 * this.reach));
      const place = (t) => add(raised, add(scale(a, radius * Math.cos(t)), scale(b, radius * Math.sin(t))));
      const points = Array.from({ length: 33 }, (_, j) => place((angle * j) / 32));
      this.pencil.path(points, shade);
      const tangent = scale(add(scale(a, -Math.sin(angle)), scale(b, Math.cos(angle))), Math.sign(share));
      this.pencil.draw(this.head, along(points[32], tangent, 0.022 * this.reach, 0.05 * this.reach), [...shade, 1]);
    }
    this.pencil.stroke(3);
  }

  // Pointers

  place(event) {
    const box = this.canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  onScreen(p) {
    const m = this.camera, w = m[3] * p[0] + m[7] * p[1] + m[11] * p[2] + m[15];
    if (w <= 0) return null;
    const x = (m[0] * p[0] + m[4] * p[1] + m[8] * p[2] + m[12]) / w, y = (m[1] * p[0] + m[5] * p[1] + m[9] * p[2] + m[13]) / w;
    return [(0.5 + 0.5 * x) * this.canvas.clientWidth, (0.5 - 0.5 * y) * this.canvas.clientHeight];
  }

  handleAt([x, y], near) {
    let best = null;
    for (const handle of this.may() ? this.handles ?? [] : []) {
      const p = this.onScreen(handle.at);
      const far = p ? Math.hypot(p[0] - x, p[1] - y) : Infinity;
      if (far < near) [best, near] = [handle, far];
    }
    return best;
  }

  // Where the ray through a place meets the plane through a point that faces the eye.
  under([x, y], point) {
    const { back, right, above } = this.axes(), t = Math.tan(ANGLE / 2), w = this.canvas.clientWidth, h = this.canvas.clientHeight;
    const ray = add(scale(back, -1), add(scale(right, ((2 * x) / w - 1) * t * (w / h)), scale(above, (1 - (2 * y) / h) * t)));
    return add(this.eye, scale(ray, dot(sub(point, this.eye), back) / dot(ray, back)));
  }

  down(event) {
    this.canvas.setPointerCapture(event.pointerId);
    this.touches.set(event.pointerId, this.place(event));
    const handle = this.touches.size === 1 && event.button === 0 ? this.handleAt(this.place(event), event.pointerType === "touch" ? 30 : 18) : null;
    if (handle) {
      this.dragged = { ...handle, from: this.under(this.place(event), handle.at), start: handle.at };
      this.ghost = handle.at;
    }
    this.canvas.classList.add("dragging");
  }

  move(event) {
    const here = this.place(event), before = this.touches.get(event.pointerId);
    if (!before) {
      this.canvas.classList.toggle("on-handle", Boolean(this.handleAt(here, 18)));
      return;
    }
    this.touches.set(event.pointerId, here);
    if (this.dragged) return this.drag(here);
    const [dx, dy] = [here[0] - before[0], here[1] - before[1]];
    if (this.touches.size === 2) {
      const other = [...this.touches.entries()].find(([id]) => id !== event.pointerId)[1];
      const gap = (p) => Math.hypot(p[0] - other[0], p[1] - other[1]);
      this.zoom(gap(before) / Math.max(gap(here), 1));
      this.pan(0.5 * dx, 0.5 * dy);
    } else if (event.buttons & 6 || event.shiftKey) this.pan(dx, dy);
    else this.turn(0.007 * dx, 0.007 * dy);
  }

  drag(here) {
    const { kind, source, from, start } = this.dragged, moved = sub(this.under(here, start), from);
    const directions = kind === "grip" ? source.directions : source.basis;
    const steps = directions.map((d) => dot(d, moved) / (dot(d, d) || 1));
    this.ghost = add(start, directions.reduce((sum, d, i) => add(sum, scale(d, steps[i])), [0, 0, 0]));
    this.dragged.values = kind === "grip"
      ? source.values.map((v, i) => v + steps[i])
      : source.desired.map((v, i) => v + steps[i] / this.metres());
    this.onDrag(this.dragged);
    this.redraw();
  }

  up(event) {
    this.touches.delete(event.pointerId);
    if (this.dragged?.values) this.onDrop(this.dragged);
    this.dragged = null;
    this.canvas.classList.remove("dragging");
    this.redraw();
  }

  key(event) {
    const turns = { ArrowLeft: [-0.1, 0], ArrowRight: [0.1, 0], ArrowUp: [0, 0.1], ArrowDown: [0, -0.1] };
    if (turns[event.key]) this.turn(...turns[event.key]);
    else if (event.key === "+" || event.key === "=") this.zoom(0.87);
    else if (event.key === "-") this.zoom(1.15);
    else return;
    event.preventDefault();
  }
}

