// SPDX-License-Identifier: Apache-2.0
/**
 * Captures datagrams until the disk is full: `capture-until-full.ts FOLDER LIMIT...` makes a file
 * for each limit of the size of files, in bytes. Prints the progress of each capture. A process of
 * its own, because tap ends at the signal of that limit, which Node ignores. Called by
 * capture.test.ts.
 */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { CaptureFile } from '../../../device/process/control/capture-file.ts';
import { AdapterFixture } from '../../../device/rig/fixtures/adapter-fixture.ts';

const [folder, ...limits] = process.argv.slice(2);
if (folder === undefined) throw new Error('usage: capture-until-full.ts FOLDER LIMIT...');
const results: object[] = [];
for (const limitBytes of limits) {
  // Only the soft limit, so that the next one may be higher.
  execFileSync('prlimit', ['--pid', `${process.pid}`, `--fsize=${limitBytes}:`]);
  results.push(await captureUntilFull(join(folder, `${limitBytes}.pcap`)));
}
process.stdout.write(JSON.stringify(results));

async function captureUntilFull(path: string): Promise<object> {
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
  return { ...capture.progress, path, sentences };
}
