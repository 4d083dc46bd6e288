// SPDX-License-Identifier: Apache-2.0
/**
 * Captures datagrams into a file until the disk is full: `capture-until-full.ts PATH`, under a
 * limit of the size of files. Prints the progress of the capture. A process of its own, because tap
 * ends at the signal of that limit, which Node ignores. Called by capture.test.ts.
 */
import { CaptureFile } from '../../../device/process/control/capture-file.ts';
import { AdapterFixture } from '../../../device/rig/fixtures/adapter-fixture.ts';

const [path] = process.argv.slice(2);
if (path === undefined) throw new Error('usage: capture-until-full.ts PATH');
const fixture = new AdapterFixture({ seed: 3, memoryBytes: 64 * 1024 * 1024 });
const pair = fixture.createPair({ sender: { sendEntriesLog2: 8 }, receiver: { receiveEntriesLog2: 8 } });
const { clock, device } = fixture.machine;
const sentences: string[] = [];
const capture = new CaptureFile(
  { path },
  device.ports,
  () => clock.now(),
  (sentence) => sentences.push(sentence),
);
const payload = fixture.createBuffer(4096);
const target = fixture.createBuffer(40 + 4096);
for (let i = 0; i < 600 && capture.progress.active; i++) {
  pair.receiver.postReceive([fixture.sge(target)]);
  pair.sender.post(pair.to({ sges: [fixture.sge(payload)] }), 'doorbell');
  pair.sender.parts.sendCq.take();
  pair.receiver.parts.receiveCq.take();
  // Buffers are written while more packets come.
  if (i % 100 === 99) await new Promise((done) => setImmediate(done));
}
await capture.stop();
process.stdout.write(JSON.stringify({ ...capture.progress, sentences }));
