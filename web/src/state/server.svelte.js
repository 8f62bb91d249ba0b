// SPDX-License-Identifier: Apache-2.0
// A page from `crossdock explore --serve` asks now and then whether it still shows what lies on disk.

const INTERVAL_MS = 2000;

export class ServerWatch {
  /** "none" (opened from a file), "same", "changed" or "gone". */
  state = $state("none");

  constructor(version) {
    this.version = version;
  }

  start() {
    if (!location.protocol.startsWith("http")) return () => {};
    const timer = setInterval(() => this.ask(), INTERVAL_MS);
    this.ask();
    return () => clearInterval(timer);
  }

  async ask() {
    try {
      const answer = await fetch("state");
      if (!answer.ok) return;
      const { sha256 } = await answer.json();
      this.state = sha256 === this.version ? "same" : "changed";
    } catch {
      if (this.state !== "none") this.state = "gone";
    }
  }
}
