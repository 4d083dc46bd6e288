// SPDX-License-Identifier: Apache-2.0
/**
 * A whole disk with Debian and its own boot loader (qemu/setup/disk-image.ts) boots by `vuhca run
 * --disk` and finds the adapter by itself: GRUB, initramfs, systemd, udev, the stock driver, and an
 * interface for IP over InfiniBand. It also makes a node of a cluster. The disk is not changed.
 * Only root can make it. It runs if VUHCA_LARGE is set.
 */
import { createHash } from 'node:crypto';
import { createReadStream, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { provideDiskImage } from '../../../qemu/setup/disk-image.ts';
import { makeDirectory } from '../testing/directory.ts';
import { CliProcess, runCli } from '../testing/run-cli.ts';

// The speed of the machine decides how long a disk boots.
t.setTimeout(0);

const PORTS = { mlx5: 1, mthca: 2 } as const;
// ib_mthca gives a device up on a busy machine (qemu/bind-again.sh).
const PCI = '/sys/bus/pci';
const BIND_AGAIN = `for device in $(ls ${PCI}/devices); do echo $device >${PCI}/drivers/ib_mthca/bind; done 2>/dev/null`;
// rdma-core's udev rules name the device by its slot, so the programs take the only one there is.
const PING_PONG = 'ibv_rc_pingpong -n 20';

for (const personality of ['mlx5', 'mthca'] as const)
  t.test(`a disk image boots, finds ${personality}, and stays as it was`, (t) => bootDisk(t, personality));

t.test('a node of a cluster boots from a disk image', async (t) => {
  if (isLeftOut(t)) return;
  const image = await provideDiskImage();
  const before = await digest(image);
  const directory = makeDirectory(t);
  const call = (...words: string[]) => runCli(['cluster', ...words], { XDG_RUNTIME_DIR: directory });
  const file = join(directory, 'cluster.json');
  writeFileSync(file, JSON.stringify({ nodes: { plain: {}, disk: { disk: image } } }));
  const up = await call('up', file);
  t.teardown(() => call('down'));
  t.equal(up.status, 0, up.stderr);
  const look = 'findmnt -no SOURCE /; systemctl is-active ssh; ip -br address show ib0; cat >&2; exit 7';
  const looked = await call('exec', 'disk', '--', look);
  t.match(looked, { status: 7, stdout: /^\/dev\/vda1\ninactive\nib0 +UP +10\.77\.0\.2\/16 / });
  t.match(await call('copy', file, 'disk:/root/'), { status: 0 });
  t.match(await call('exec', 'disk', '--', 'cat', '/root/cluster.json'), { stdout: /"plain"/ });
  for (const [one, other] of [
    ['plain', 'disk'],
    ['disk', 'plain'],
  ])
    t.match(await call('exec', one, '--', 'ssh', other, 'hostname'), { status: 0, stdout: `${other}\n` });
  t.match(await call('log', 'disk'), { stdout: /Linux version/ });
  t.match(await call('stop', 'disk'), { status: 0, stderr: '' });
  t.match(await call('start', 'disk'), { status: 0, stderr: '' });
  t.match(await call('exec', 'disk', '--', '[ ! -e /root/cluster.json ]'), { status: 0 }, 'it begins anew');
  const server = call('exec', 'disk', '--', 'ibv_rc_pingpong', '-n', '20');
  const client = 'until ibv_rc_pingpong -n 20 disk; do sleep 1; done';
  t.match(await call('exec', 'plain', '--', client), { status: 0, stdout: /20 iters/ });
  t.match(await server, { status: 0, stdout: /20 iters/ });
  const panic = 'echo 1 >/proc/sys/kernel/sysrq; (sleep 0.2; echo c >/proc/sysrq-trigger) &';
  await call('exec', 'disk', '--', panic);
  let { stdout } = await call('list');
  while (!/^disk +failed/m.test(stdout)) ({ stdout } = await call('list'));
  t.match(stdout, /^disk +failed/m);
  t.equal(await digest(image), before, 'the image is as it was');
});

/** Boots it with a device of the personality, whose ports have traffic. */
async function bootDisk(t: Test, personality: keyof typeof PORTS): Promise<void> {
  const ports = PORTS[personality];
  if (isLeftOut(t)) return;
  const image = await provideDiskImage();
  const before = await digest(image);
  const run = new CliProcess(['run', `--personality=${personality}`, `--disk=${image}`], {}, 'pipe');
  t.teardown(() => run.child.kill());
  await run.until(/ login: /);
  run.type('root');
  await run.until(/root@vuhca-disk:/);
  const console = new Console(t, run);
  await console.expect(
    `until [ $(ibstat | grep -c "State: Active") = ${ports} ]; do ${BIND_AGAIN}; sleep 1; done`,
    /./,
  );
  await console.expect('ibv_devinfo', new RegExp(Array(ports).fill('PORT_ACTIVE').join('[^]*')));
  await console.expect('ls /sys/class/infiniband', /ibp\d+s0/);
  await console.expect('networkctl list --no-pager', /infiniband/);
  await console.expect('findmnt -no SOURCE,FSTYPE /', /\/dev\/vda1 +ext4/);
  await console.expect(`${PING_PONG} & until ${PING_PONG} -i ${ports} localhost; do sleep 1; done`, /20 iters/);
  await console.expect('touch /changed && sync', /./);
  run.type('poweroff');
  t.equal(await run.whenExited, 0, 'the guest powers off');
  t.equal(await digest(image), before, 'the image is as it was');
}

function isLeftOut(t: Test): boolean {
  if (process.getuid?.() === 0 && process.env.VUHCA_LARGE !== undefined) return false;
  t.pass('a disk image', { skip: 'only root can make it, and it takes minutes: set VUHCA_LARGE' });
  return true;
}

/** A shell on the serial console. */
class Console {
  readonly #t: Test;
  readonly #run: CliProcess;
  #commands = 0;

  constructor(t: Test, run: CliProcess) {
    this.#t = t;
    this.#run = run;
  }

  /** The command ends with 0 and prints the pattern. */
  async expect(command: string, pattern: RegExp): Promise<void> {
    const number = ++this.#commands;
    const from = this.#run.stdout.length;
    this.#run.type(`${command}; echo "<$?>${number}"`);
    const [, status] = await this.#run.until(new RegExp(`<(\\d+)>${number}`));
    const output = this.#run.stdout.slice(from);
    this.#t.equal(status, '0', command, { output });
    this.#t.match(output, pattern);
  }
}

async function digest(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer);
  return hash.digest('hex');
}
