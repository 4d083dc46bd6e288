// SPDX-License-Identifier: Apache-2.0
/** The QEMU command line that follows from a guest's options. */
import t from 'tap';
import { buildArguments, type GuestPlan } from './guest-options.ts';

const SOCKETS = { qmp: '/run/q,1/qmp', ports: [{ name: 'vuhca.report', path: '/run/p0' }] };

function build(options: Partial<GuestPlan>): string[] {
  return buildArguments({ kernel: '/k', initramfs: '/i', accelerator: 'tcg', ...options }, SOCKETS);
}

/** The values of every occurrence of one option. */
function valuesOf(args: readonly string[], option: string): string[] {
  return args.flatMap((arg, i) => (arg === option ? [args[i + 1] as string] : []));
}

t.test('memory is a shared memfd unless it is turned off', async (t) => {
  t.match(valuesOf(build({}), '-object'), ['memory-backend-memfd,id=ram,size=512M,share=on']);
  t.match(valuesOf(build({ memoryMiB: 1024, sharedMemory: false }), '-object'), [/size=1024M,share=off$/]);
  t.match(valuesOf(build({}), '-machine'), [/^q35,memory-backend=ram/]);
});

t.test('devices', async (t) => {
  const args = build({
    devices: [
      { socketPath: '/run/a,b.sock' },
      {
        socketPath: '/run/c',
        id: 'vf1',
        rootPort: false,
        messageTimeoutMs: 5000,
        properties: { 'x-no-posted-writes': true },
      },
    ],
  });
  const devices = valuesOf(args, '-device');
  t.ok(devices.includes('pcie-root-port,id=rp0,chassis=1,slot=1'));
  const json = devices.filter((device) => device.startsWith('{')).map((device) => JSON.parse(device) as unknown);
  t.same(json, [
    {
      driver: 'vfio-user-pci',
      id: 'hca0',
      bus: 'rp0',
      'x-msg-timeout': 86_400_000,
      socket: { type: 'unix', path: '/run/a,b.sock' },
    },
    {
      driver: 'vfio-user-pci',
      id: 'vf1',
      'x-msg-timeout': 5000,
      socket: { type: 'unix', path: '/run/c' },
      'x-no-posted-writes': true,
    },
  ]);
});

t.test('functions of one device share a slot', async (t) => {
  const args = build({
    waitsForStores: true,
    devices: [
      { socketPath: '/run/a', furtherFunctions: ['/run/a.1'] },
      { socketPath: '/run/b', furtherFunctions: [] },
    ],
  });
  const devices = valuesOf(args, '-device');
  t.equal(devices.filter((device) => device.startsWith('pcie-root-port')).length, 2);
  const json = devices.filter((device) => device.startsWith('{')).map((device) => JSON.parse(device) as unknown);
  const common = { driver: 'vfio-user-pci', 'x-msg-timeout': 86_400_000, 'x-no-posted-writes': true };
  const shared = { ...common, bus: 'rp0', multifunction: true };
  const socket = (path: string) => ({ type: 'unix', path });
  t.same(json, [
    { ...shared, id: 'hca0', addr: '0.0', socket: socket('/run/a') },
    { ...shared, id: 'hca0.1', addr: '0.1', socket: socket('/run/a.1') },
    { ...common, id: 'hca1', bus: 'rp1', socket: socket('/run/b') },
  ]);
});

t.test('every device has stores that wait, where the guest asks for it', async (t) => {
  for (const waitsForStores of [true, false]) {
    const args = build({ waitsForStores, devices: [{ socketPath: '/run/a' }, { socketPath: '/run/b' }] });
    const devices = valuesOf(args, '-device').filter((device) => device.startsWith('{'));
    t.equal(devices.length, 2);
    for (const device of devices) t.equal(device.includes('"x-no-posted-writes":true'), waitsForStores, device);
  }
});

t.test('kernel, processor, gdb and further arguments', async (t) => {
  const args = build({
    append: 'vuhca.debug=1',
    cpus: 4,
    gdb: 'unix:/run/gdb',
    paused: true,
    extraArguments: ['-trace', 'x'],
  });
  t.match(valuesOf(args, '-append'), [/ vuhca\.debug=1$/]);
  t.notMatch(
    valuesOf(args, '-append')[0],
    'rcu_cpu_stall_suppress',
    'the watchdogs stay on, unless the guest is patient',
  );
  t.match(valuesOf(build({ patient: true }), '-append'), [/ rcupdate\.rcu_cpu_stall_suppress=1 /]);
  t.notMatch(valuesOf(build({ accelerator: 'kvm' }), '-append')[0], 'clocksource');
  t.same(valuesOf(args, '-smp'), ['4']);
  t.same(valuesOf(args, '-accel'), ['tcg,thread=multi']);
  t.same(valuesOf(build({ tcgThread: 'single' }), '-accel'), ['tcg,thread=single']);
  t.same(valuesOf(args, '-global'), []);
  t.same(valuesOf(build({ sleeps: true }), '-global'), ['ICH9-LPC.disable_s3=0']);
  t.same(valuesOf(args, '-gdb'), ['unix:/run/gdb,server=on,wait=off']);
  t.ok(args.includes('-S'));
  t.same(args.slice(-2), ['-trace', 'x']);
  t.same(valuesOf(args, '-qmp'), ['unix:/run/q,,1/qmp,server=off'], 'a comma in a path is doubled');
  t.same(valuesOf(build({ accelerator: 'kvm' }), '-cpu'), ['host']);
});

t.test('clocks', async (t) => {
  const appendOf = (plan: Partial<GuestPlan>): string => valuesOf(build(plan), '-append')[0] as string;
  const tsc = { khz: 2_596_140, tickHz: 250 };
  t.match(appendOf({ tsc }), / maxcpus=1 .* hpet=disable tsc=reliable tsc_early_khz=2596140 lpj=10384560 /);
  t.match(appendOf({}), / tsc=unstable clocksource=hpet /, 'a clock that needs no measuring');
  t.notMatch(appendOf({}), 'maxcpus', 'nobody would bring up the others');
  t.match(appendOf({}), / watchdog_thresh=40 /, 'and time for the processors of a busy machine');
  t.match(appendOf({ accelerator: 'kvm', tsc }), / tsc=reliable$/);
});

t.test('a disk', async (t) => {
  const args = build({ disk: { path: '/d.img', snapshot: true } });
  t.same(valuesOf(args, '-drive'), ['if=none,id=disk,file=/d.img,format=raw,snapshot=on']);
  t.ok(valuesOf(args, '-device').includes('virtio-blk-pci,drive=disk'));
  t.same(valuesOf(build({ disk: { path: '/d.img', readOnly: true } }), '-drive'), [
    'if=none,id=disk,file=/d.img,format=raw,snapshot=off,readonly=on',
  ]);
});
