// SPDX-License-Identifier: Apache-2.0
/**
 * Turns the reports of the guest of `npm start` (case.sh) into lines for a new user, each with the
 * seconds since the start. Called by main.ts.
 */

/** Counters of the traffic from one port, as the traffic module prints them. */
interface LaneCounters {
  readonly collected: number;
  readonly rung: number;
  readonly delivered: number;
  readonly bytes: number;
  readonly interrupts: number;
  readonly errors: number;
}

const PORTS = 2;
const SUBJECT_COLUMNS = 9;

export class FirstLightReport {
  readonly #write: (line: string) => void;
  readonly #startMs: number;
  readonly #lanes = new Map<number, LaneCounters>();
  readonly #faults: string[] = [];
  #deliveredBefore = 0;
  #finished = false;

  constructor(write: (line: string) => void) {
    this.#write = write;
    // The command began before this process: bootstrap.mjs installs packages first.
    const began = Number(process.env.VUHCA_BEGAN_MS ?? Date.now() - process.uptime() * 1000);
    this.#startMs = performance.now() - (Date.now() - began);
  }

  /** Prints one line about `subject`. */
  say(subject: string, text: string): void {
    const seconds = ((performance.now() - this.#startMs) / 1000).toFixed(1).padStart(5);
    this.#write(`${seconds} s  ${subject.padEnd(SUBJECT_COLUMNS)}${text}`);
  }

  /** Takes a line of the guest. */
  push(line: string): void {
    const [, tag = '', rest = ''] = /^@(\w+) ?(.*)$/.exec(line) ?? [];
    if (tag === 'vuhca') this.#lifeCycle(rest);
    else if (tag === 'system') this.say('guest', `Linux ${rest.replace(' ', ' is up with ')} processors`);
    else if (tag === 'driver') this.say('driver', rest);
    else if (tag === 'traffic') this.#traffic(rest);
    else if (tag === 'total') this.#keep(rest);
    else if (tag === 'interrupts') this.#interrupts(rest);
    else if (tag === 'unloaded') this.#unloaded();
    else if (tag === 'fault') this.#faults.push(rest);
    else if (tag === '' && line !== '') this.say('guest', line);
  }

  /** Why the demonstration failed, or undefined. */
  findFailure(): string | undefined {
    if (this.#faults.length > 0) return this.#faults[0];
    if (!this.#finished) return 'the guest ended before the demonstration did';
    for (let port = 1; port <= PORTS; port++) {
      const lane = this.#lanes.get(port);
      if (lane === undefined || lane.delivered === 0) return `no datagram of port ${port} was delivered`;
      if (lane.errors > 0) return `${lane.errors} datagrams of port ${port} had an error`;
    }
    return undefined;
  }

  /** The totals. */
  sayTotals(): void {
    const sum = (count: (lane: LaneCounters) => number): number =>
      [...this.#lanes.values()].reduce((total, lane) => total + count(lane), 0);
    const [collected, rung] = [sum((lane) => lane.collected), sum((lane) => lane.rung)];
    this.say('result', `${sum((lane) => lane.delivered)} datagrams delivered and checked, no error`);
    this.say('result', `posted: ${collected} by collect buffer, ${rung} by doorbell`);
    this.say(
      'result',
      `${sum((lane) => lane.interrupts)} completion events; the guest is off, nothing is left running`,
    );
  }

  #lifeCycle(rest: string): void {
    const failure = /^module (.*)$/.exec(rest)?.[1];
    if (failure !== undefined) this.#faults.push(`the guest's module ${failure}`);
  }

  #traffic(rest: string): void {
    const [second, ...counters] = rest.split(' ');
    if (this.#keep(counters.join(' ')) !== PORTS) return;
    const lanes = [...this.#lanes.values()];
    const delivered = lanes.reduce((sum, lane) => sum + lane.delivered, 0);
    const errors = lanes.reduce((sum, lane) => sum + lane.errors, 0);
    const news = delivered - this.#deliveredBefore;
    this.#deliveredBefore = delivered;
    this.say('traffic', `second ${second.padStart(2)}: ${String(news).padStart(6)} datagrams, ${errors} errors`);
  }

  /** Stores the counters of a line; returns their port. */
  #keep(text: string): number {
    const words = text.split(' ');
    const values = new Map(words.flatMap((word, i) => (i % 2 === 0 ? [[word, Number(words[i + 1])] as const] : [])));
    const read = (name: string): number => values.get(name) ?? Number.NaN;
    const lane = {
      collected: read('collected'),
      rung: read('rung'),
      delivered: read('delivered'),
      bytes: read('bytes'),
      interrupts: read('interrupts'),
      errors: read('errors'),
    };
    this.#lanes.set(read('port'), lane);
    return read('port');
  }

  /** A line of /proc/interrupts: number, a count for each processor, chip, place, handler. */
  #interrupts(rest: string): void {
    const [, counts, vector] = /^\d+:((?: +\d+)+) +\S+ +(\d+)-edge/.exec(rest) ?? [];
    if (counts === undefined) return;
    const total = counts
      .trim()
      .split(/ +/)
      .reduce((sum, count) => sum + Number(count), 0);
    this.say('driver', `MSI-X vector ${vector}: ${total} interrupts`);
  }

  #unloaded(): void {
    this.#finished = true;
    this.say('driver', 'unloaded completely');
  }
}
