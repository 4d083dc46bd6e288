// SPDX-License-Identifier: Apache-2.0
/**
 * Turns of packets of connections alone: shares follow owners, lanes and weights, whatever the
 * number of queue pairs, the length of packets and the room in ports.
 */
import t from 'tap';
import { Random } from '../../random.ts';
import { SwitchedPort } from '../../rig/fixtures/lane-load.ts';
import { Lane } from './lane.ts';
import { LaneOwners, OwnerTurns, PACKET_COST_BYTES } from './owner-turns.ts';
import { PacketTurns } from './packet-turns.ts';

/** Bytes of a turn of a lane of weight 1. */
const QUANTUM_BYTES = 8192;

interface Sender {
  readonly lane: number;
  readonly packetBytes: number;
}

for (let seed = 1; seed <= 5; seed++)
  t.test(`bytes follow weights within 2 %, through congestion, seed ${seed}`, async (t) => {
    const random = new Random(seed);
    const port = new SwitchedPort();
    const lanes = Array.from({ length: 128 }, (_, number) => new Lane(number, 1));
    const turns = new PacketTurns<Sender>([port], lanes, new OwnerTurns(new LaneOwners()));
    const weights = [1, 3, 7];
    const used = [0, 64, 127];
    weights.forEach((weight, at) => {
      lanes[used[at]].weight = weight;
      // The lightest lane has by far the most queue pairs and the longest packets.
      for (let count = 0; count < [200, 1, 5][at]; count++)
        turns.push(0, used[at], { lane: used[at], packetBytes: [4160, 128, 1100][at] });
    });
    const bytes = new Map(used.map((lane) => [lane, 0]));
    for (let step = 0; step < 60_000; step++) {
      port.congested = random.oneIn(4);
      const sender = turns.shift();
      if (sender === undefined) continue;
      let sent = 0;
      for (let packets = 0; packets < 16 && sent < turns.allowance && !random.oneIn(10); packets++)
        sent += sender.packetBytes;
      turns.charge(sent);
      bytes.set(sender.lane, (bytes.get(sender.lane) ?? 0) + sent);
      turns.push(0, sender.lane, sender);
    }
    const total = [...bytes.values()].reduce((sum, count) => sum + count, 0);
    used.forEach((lane, at) => {
      const share = ((bytes.get(lane) ?? 0) / total) * 11;
      t.ok(Math.abs(share / weights[at] - 1) < 0.02, `lane ${lane}: ${share.toFixed(3)} of 11, weight ${weights[at]}`);
    });
  });

t.test('an idle lane saves up no turns, and ports do not wait for each other', async (t) => {
  const ports = [new SwitchedPort(), new SwitchedPort()];
  const lanes = [new Lane(0, 1), new Lane(1, 1)];
  const turns = new PacketTurns<string>(ports, lanes, new OwnerTurns(new LaneOwners()));
  turns.push(0, 0, 'a');
  t.equal(turns.shift(), 'a');
  const full = turns.allowance;
  turns.charge(10);
  turns.push(0, 1, 'b');
  t.equal(turns.shift(), 'b');
  turns.push(0, 0, 'a');
  t.equal(turns.shift(), 'a');
  t.equal(turns.allowance, full, 'a new turn');
  ports[0].congested = true;
  turns.push(0, 0, 'a');
  t.equal(turns.waiting, 0);
  t.equal(turns.shift(), undefined);
  turns.push(1, 0, 'c');
  t.equal(turns.waiting, 1);
  t.equal(turns.shift(), 'c');
});

t.test('ports take turns, and a call that finds nothing changes nothing', async (t) => {
  const ports = [new SwitchedPort(), new SwitchedPort()];
  const turns = new PacketTurns<string>(ports, [new Lane(0, 1)], new OwnerTurns(new LaneOwners()));
  t.equal(turns.shift(), undefined);
  for (const item of ['a', 'b']) turns.push(0, 0, item);
  turns.push(1, 0, 'c');
  t.same([turns.shift(), turns.shift(), turns.shift()], ['c', 'a', 'b']);
});

t.test('a lane that sent more than its turn pays for it, also after a pause', async (t) => {
  const lanes = [new Lane(0, 1), new Lane(1, 1)];
  const turns = new PacketTurns<string>([new SwitchedPort()], lanes, new OwnerTurns(new LaneOwners()));
  turns.push(0, 0, 'a');
  turns.shift();
  const full = turns.allowance;
  turns.charge(full + 3000);
  turns.push(0, 1, 'b');
  t.equal(turns.shift(), 'b');
  turns.push(0, 0, 'a');
  t.equal(turns.shift(), 'a');
  t.equal(turns.allowance, full - 3000);
});

t.test('a lane that changes its owner keeps the rest of its turn', async (t) => {
  const lanes = [new Lane(0, 1), new Lane(1, 1)];
  const groups = new LaneOwners();
  groups.recompute(lanes, (lane) => 1 - lane);
  const turns = new PacketTurns<string>([new SwitchedPort()], lanes, new OwnerTurns(groups));
  for (const item of ['a', 'b']) turns.push(0, 1, item);
  turns.shift();
  turns.charge(1000);
  groups.recompute(lanes, () => 1);
  turns.push(0, 1, 'c');
  t.equal(turns.shift(), 'b');
  t.equal(turns.allowance, 2 * QUANTUM_BYTES - 1000);
});

for (const packetBytes of [128, 4160])
  t.test(
    `owners share by the weight of all their lanes, lanes of an owner by their weight, ${packetBytes} bytes`,
    async (t) => {
      const lanes = Array.from({ length: 6 }, (_, number) => new Lane(number, 1));
      const owners = new LaneOwners();
      // Owner 0 has lanes 0 to 3, of which two have nothing to send; owner 1 has lanes 4 and 5.
      owners.recompute(lanes, (lane) => (lane < 4 ? 0 : 1));
      const turns = new PacketTurns<number>([new SwitchedPort()], lanes, new OwnerTurns(owners));
      const used = [0, 1, 4, 5];
      // Two items each, so that no lane is ever empty.
      for (const lane of [...used, ...used]) turns.push(0, lane, lane);
      const packets = new Array<number>(6).fill(0);
      let longestTurn = 0;
      // More turns than an account of 32 bits could count in bytes.
      for (let step = 0; step < 400_000; step++) {
        const lane = turns.shift() as number;
        let count = 0;
        const cost = packetBytes + PACKET_COST_BYTES;
        while (count < 16 && (count === 0 || count * cost < turns.allowance)) count++;
        longestTurn = Math.max(longestTurn, count);
        turns.charge(count * cost);
        packets[lane] += count;
        turns.push(0, lane, lane);
      }
      const total = packets.reduce((sum, count) => sum + count, 0);
      for (const [at, share] of [1 / 3, 1 / 3, 1 / 6, 1 / 6].entries())
        t.ok(
          Math.abs(packets[used[at]] / total / share - 1) < 0.01,
          `lane ${used[at]}: ${packets[used[at]]} of ${total}`,
        );
      t.ok(longestTurn <= 4, 'turns are short');
    },
  );

t.test('ports of one number, one for each function, take turns in a lane', async (t) => {
  const ports = [new SwitchedPort(), new SwitchedPort(), new SwitchedPort()];
  const lanes = Array.from({ length: 64 }, (_, number) => new Lane(number, 1));
  const turns = new PacketTurns<string>(ports, lanes, new OwnerTurns(new LaneOwners()), 1);
  const takeAll = (): string => {
    let taken = '';
    for (let item = turns.shift(); item !== undefined; item = turns.shift()) taken += item;
    return taken;
  };
  for (const item of ['a', 'A'])
    for (const [port, letter] of ['', 'b', 'c'].entries()) turns.push(port, 0, letter || item);
  t.equal(turns.waiting, 6);
  t.equal(takeAll(), 'bcabcA', 'the port served last is the last one');
  for (const [port, letter] of ['a', 'b', 'c'].entries()) turns.push(port, 0, letter);
  ports[1].congested = true;
  t.equal(turns.waiting, 2);
  t.equal(takeAll(), 'ca', 'a full port holds up its function alone');
  turns.push(0, 40, 'd');
  t.equal(takeAll(), 'd', 'lanes of full ports get no turn');
  t.equal(turns.shift(), undefined);
  ports[1].congested = false;
  t.equal(takeAll(), 'b', 'nor do lanes without queue pairs');
  t.equal(turns.waiting, 0);
});

t.test('functions with two ports each: numbers take turns, then functions', async (t) => {
  const ports = Array.from({ length: 4 }, () => new SwitchedPort());
  const turns = new PacketTurns<string>(ports, [new Lane(0, 1)], new OwnerTurns(new LaneOwners()), 2);
  for (const [port, item] of ['a', 'b', 'c', 'd'].entries()) turns.push(port, 0, item);
  t.same(
    [1, 2, 3, 4].map(() => turns.shift()),
    ['d', 'c', 'b', 'a'],
  );
  ports[3].congested = true;
  for (const [port, item] of ['a', 'b', 'c', 'd'].entries()) turns.push(port, 0, item);
  t.equal(turns.waiting, 3);
  t.same(
    [1, 2, 3, 4].map(() => turns.shift()),
    ['b', 'c', 'a', undefined],
  );
});
