// The page: puts its parts together, and knows which controller is looked at.

import { Charts } from "/charts.js";
import { element, keep, write } from "/elements.js";
import { Lights } from "/lights.js";
import { Link } from "/link.js";
import { Panel } from "/panel.js";
import { LAYERS, Scene } from "/scene.js";
import { toggleTheme } from "/theme.js";

const KEYS = [
  ["Esc", "stop every controller, always"], ["Ctrl Z", "undo the last change"], ["1 … 9", "choose a controller"], ["/", "find a parameter"],
  ["F", "whole arm"], ["P", "freeze charts and picture"], ["T", "light or dark"], ["arrows, + −", "turn and zoom the arm, when it has the focus"], ["?", "this list"]];

const at = (id) => document.getElementById(id);
const state = { connected: false, control: false, controllers: [], watched: sessionStorage.getItem("watched") ?? "" };
const may = () => state.control && state.connected;

function toast(text, bad = false, button = null) {
  const line = element("p", { className: bad ? "bad" : "" }, text, button);
  button?.addEventListener("click", () => line.remove());
  at("toasts").append(line);
  while (at("toasts").childElementCount > 4) at("toasts").firstElementChild.remove();
  setTimeout(() => line.remove(), bad ? 12000 : 5000);
}

// Not modal, as that would cover the stop button: all but the header has to wait.
function open(dialog) {
  document.querySelector("main").inert = true;
  dialog.returnValue = "no";
  dialog.show();
  dialog.querySelector("[autofocus], input, button").focus();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      document.querySelector("main").inert = false;
      resolve(dialog.returnValue === "yes");
    }, { once: true });
  });
}

const charts = new Charts(at("charts"));
const lamps = new Lights(at("lights"));
const panel = new Panel({ ask: send, may, toast, latest: (name) => charts.latest(name) });
let scene = null;
try {
  scene = new Scene(at("scene"), { may, onDrag: ({ kind, values, source }) => {
    at("note").textContent = kind === "grip"
      ? source.names.map((name, i) => `${name} → ${values[i].toFixed(3)}`).join(", ")
      : `λ_d → ${values.map((v) => v.toFixed(1)).join(", ")} N`;
  }, onDrop: dropped });
} catch (error) {
  at("note").textContent = `The arm cannot be drawn: ${error.message}.`;
}

const link = new Link({
  onMessage: (message) => HANDLERS[message.is]?.(message),
  onGeometry: (header, data, start) => header.id === state.watched && scene?.geometry(header, data, start),
  onState: (connected) => {
    state.connected = connected;
    at("banner").hidden = connected;
    at("banner").textContent = "The page has lost its server; it comes back by itself. What is shown is old.";
    if (connected && state.watched) link.send({ ask: "watch", controller: state.watched });
    header();
    tasks();
    panel.refresh();
  },
  askToken: async () => {
    await open(at("token"));
    return at("token-text").value.trim();
  },
  confirm: (text) => {
    at("question-text").textContent = text;
    return open(at("question"));
  },
});

async function send(message) {
  const answer = await link.ask(message);
  if (answer.ok && ["set", "preset", "setpoint", "undo"].includes(message.ask)) charts.mark();
  return answer;
}

async function dropped({ kind, values, source }) {
  at("note").textContent = panel.description.note ?? "";
  if (kind === "grip") return panel.go(Object.fromEntries(source.names.map((name, i) => [name, values[i]])));
  const { controlled } = panel.description;
  const whole = controlled.map((row) => {
    const i = source.rows.indexOf(row);
    return Number((i >= 0 ? values[i] : charts.latest(`lambda_${row}/desired`) ?? 0).toFixed(2));
  });
  return panel.press(whole);
}

const HANDLERS = {
  hello({ control, version }) {
    state.control = control;
    document.title = `projected_control ${version}`;
    header();
    panel.refresh();
  },
  overview({ controllers, lights, presets, demo }) {
    state.controllers = controllers;
    state.demo = demo;
    tasks();
    if (!controllers.some(({ id }) => id === state.watched) && controllers.length) watch(controllers[0].id);
    lamps.show(lights);
    panel.presets(presets);
    header();
  },
  description(description) {
    if (description.id !== state.watched) return;
    panel.describe(description);
    charts.describe(description);
    at("note").textContent = description.note ?? "";
  },
  values({ id, node, values }) {
    if (id === state.watched) panel.setValues(node, values);
  },
  frame({ id, names, samples, picture }) {
    if (state.frozen) return; // and none follows before it is seen
    requestAnimationFrame(() => link.send({ ask: "seen" }));
    if (id !== state.watched) return;
    charts.add(names, samples);
    scene?.show(picture);
    panel.targets();
    document.body.dataset.frames = scene?.frames ?? 0;
  },
  changes({ list }) {
    state.changes = list;
    panel.changes(list);
    header();
  },
  said: (message) => panel.said(message),
};

function watch(id) {
  state.watched = id;
  sessionStorage.setItem("watched", id);
  charts.clear();
  if (scene) scene.trace = [];
  link.send({ ask: "watch", controller: id });
  header();
}

function header() {
  const shown = state.controllers.find(({ id }) => id === state.watched);
  at("empty").hidden = state.controllers.length > 0;
  panel.life(shown);
  keep(at("controllers"), state.controllers, ({ id }) => id, ({ id }) => {
    const button = element("button", { type: "button" }, element("span"), id.replace(/^\//, ""));
    button.addEventListener("click", () => watch(id));
    return button;
  }, (button, { id, level, state: life }) => {
    button.title = life;
    button.setAttribute("aria-current", String(id === state.watched));
    button.firstElementChild.className = `dot l${["gone", "silent"].includes(life) ? 3 : life === "starting" ? 1 : level}`;
  });
  const mode = at("mode");
  mode.className = `badge ${shown ? (shown.simulated ? "simulated" : "real") : ""}`;
  write(mode, [state.control ? "control" : "read-only", shown ? (shown.simulated ? "simulated" : "may be a real arm") : "", shown?.factor ? `${shown.factor.toFixed(2)} × real time` : ""].filter(Boolean).join(" · "));
  const last = state.changes?.[state.changes.length - 1];
  at("undo").disabled = !may() || !last;
  at("undo").title = last ? `Undo ${last.text} (Ctrl+Z)` : "Nothing to undo";
  at("stop").disabled = !may();
  at("stop").title = state.control ? "Deactivate every controller (Esc)" : "Read-only: start the page with --control";
  write(at("stop"), state.controllers.length > 1 ? "Stop all" : "Stop");
}

// What the demonstration can show: one button per task, and what goes on while it switches.
function tasks() {
  const { demo } = state;
  at("demo").hidden = !demo;
  keep(at("demo"), Object.entries(demo?.tasks ?? {}), ([name]) => name, ([name, title]) => {
    const button = element("button", { type: "button", title: `${title}: the demonstration starts it in place of what runs` }, name);
    button.dataset.task = name;
    button.addEventListener("click", () => show(name));
    return button;
  }, (button, [name]) => {
    button.setAttribute("aria-current", String(name === demo.task && !demo.switching));
    button.disabled = !may() || Boolean(demo.switching);
  });
  const banner = at("demo-banner");
  banner.hidden = !(demo?.switching || demo?.trouble);
  banner.className = demo?.switching ? "" : "bad";
  if (!banner.hidden) write(banner, demo.switching ? `The demonstration ends ${demo.task} and starts ${demo.switching}; the page goes on by itself.` : demo.trouble);
}

async function show(task) {
  const answer = await link.ask({ ask: "demo", task });
  toast(answer.ok ? `${answer.text}: it is being started` : answer.reason, !answer.ok);
}

async function stop() {
  if (!may()) return;
  const answer = await link.ask({ ask: "stop" });
  toast(answer.ok ? (answer.stopped.length ? `stopped: ${answer.stopped.join(", ")}` : "nothing was active") : answer.reason, !answer.ok);
}

async function undo() {
  if (at("undo").disabled) return;
  const answer = await send({ ask: "undo" });
  if (answer.ok) panel.blend(answer.names, answer.blend);
  if (!answer.cancelled) toast(answer.ok ? `undone: ${answer.text}` : answer.reason, !answer.ok);
}

// Hold charts and picture still, to look at them; what is sent and what is lit goes on.
function freeze() {
  state.frozen = !state.frozen;
  at("freeze").setAttribute("aria-pressed", String(state.frozen));
  at("freeze").textContent = state.frozen ? "Go on" : "Freeze";
  if (!state.frozen) for (let i = 0; i < 2; i++) link.send({ ask: "seen" });
}

at("stop").addEventListener("click", stop);
at("undo").addEventListener("click", undo);
at("theme").addEventListener("click", toggleTheme);
at("fit").addEventListener("click", () => scene?.fit());
at("freeze").addEventListener("click", freeze);
at("keys").addEventListener("click", () => open(at("keys-list")));
document.querySelector("#keys-list dl").append(...KEYS.flatMap(([key, what]) => [element("dt", {}, element("kbd", { textContent: key })), element("dd", { textContent: what })]));
at("legend").append(...LAYERS.map(([key, text, mark]) => {
  const box = element("input", { type: "checkbox", checked: true });
  box.style.setProperty("--mark", `var(--${mark})`);
  box.addEventListener("change", () => { scene.shown[key] = box.checked; scene.redraw(); });
  return element("label", {}, box, text);
}));

// For the browser's console, and for tests.
window.page = { state, charts, panel, scene, link };

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") { // first, whatever has the focus
    document.querySelector("dialog[open]")?.close("no");
    return void stop();
  }
  if ((event.ctrlKey || event.metaKey) && event.key === "z" && event.target.type !== "text") {
    event.preventDefault();
    return void undo();
  }
  if (event.ctrlKey || event.metaKey || event.altKey || ["INPUT", "SELECT"].includes(event.target.tagName) || document.querySelector("dialog[open]")) return;
  if (event.key >= "1" && event.key <= "9") {
    const chosen = state.controllers[Number(event.key) - 1];
    if (chosen) watch(chosen.id);
  } else if (event.key === "/") {
    event.preventDefault();
    at("find").focus();
  } else if (event.key === "f") scene?.fit();
  else if (event.key === "t") toggleTheme();
  else if (event.key === "p") freeze();
  else if (event.key === "?") open(at("keys-list"));
}, true);
