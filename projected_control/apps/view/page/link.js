// The connection: one websocket, which comes back by itself; requests with answers.

const PROTOCOL = "projected-control";
const KEY = "projected_control.token";

export class Link {
  constructor({ onMessage, onGeometry, onState, askToken, confirm }) {
    Object.assign(this, { onMessage, onGeometry, onState, askToken, confirm });
    this.waiting = new Map();
    this.number = 0;
    this.delay = 200;
    if (location.hash.length > 1) {
      sessionStorage.setItem(KEY, location.hash.slice(1));
      history.replaceState(null, "", location.pathname); // out of sight, and out of bookmarks
    }
    this.connect();
  }

  async connect() {
    if (!sessionStorage.getItem(KEY)) sessionStorage.setItem(KEY, await this.askToken());
    const address = `${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/socket`;
    let opened = false;
    try {
      this.socket = new WebSocket(address, [PROTOCOL, `token.${sessionStorage.getItem(KEY)}`]);
    } catch {
      sessionStorage.removeItem(KEY); // no token can look like this
      return this.connect();
    }
    this.socket.binaryType = "arraybuffer";
    this.socket.onopen = () => {
      opened = true;
      this.delay = 200;
      this.failed = 0;
      this.onState(true);
    };
    this.socket.onmessage = (event) => this.receive(event.data);
    this.socket.onclose = async () => {
      this.onState(false);
      for (const { resolve } of this.waiting.values()) resolve({ ok: false, reason: "the connection is lost" });
      this.waiting.clear();
      if (!opened && (await this.reachable())) sessionStorage.removeItem(KEY); // it is there, but not for us
      this.delay = Math.min(1.6 * this.delay, 3000);
      setTimeout(() => this.connect(), this.delay);
    };
  }

  async reachable() {
    try {
      return (await fetch("/icon.svg", { cache: "no-store" })).ok;
    } catch {
      return false;
    }
  }

  receive(data) {
    if (typeof data !== "string") {
      const length = new DataView(data).getUint32(0, true);
      const header = JSON.parse(new TextDecoder().decode(new Uint8Array(data, 4, length)));
      return this.onGeometry(header, data, 4 + length);
    }
    const message = JSON.parse(data);
    if (message.is !== "answer") return this.onMessage(message);
    const waiting = this.waiting.get(message.to);
    this.waiting.delete(message.to);
    if (waiting) waiting.resolve(message);
  }

  send(message) {
    this.number += 1;
    if (this.socket?.readyState === WebSocket.OPEN) {
      this.socket.send(JSON.stringify({ ...message, number: this.number }));
    }
    return this.number;
  }

  // The answer to a request; asks the user first where the server says so.
  async ask(message) {
    if (this.socket?.readyState !== WebSocket.OPEN) return { ok: false, reason: "there is no connection" };
    const number = this.send(message);
    const answer = await new Promise((resolve) => this.waiting.set(number, { resolve }));
    if (!answer.confirm) return answer;
    if (await this.confirm(answer.confirm)) return this.ask({ ...message, confirmed: true });
    return { ok: false, cancelled: true, reason: "not sent" };
  }
}
