// SPDX-License-Identifier: Apache-2.0
/**
 * Lines as Debian's kernels print them: complaints are recognised, ordinary boot lines are not.
 */
import t from 'tap';
import { cutReport, findComplaint, KernelLogWatch } from './kernel-log.ts';

const COMPLAINTS: readonly (readonly [kind: string, line: string])[] = [
  [
    'warning',
    '[   12.345678] WARNING: CPU: 1 PID: 231 at drivers/infiniband/core/cq.c:322 ib_free_cq+0x10a/0x150 [ib_core]',
  ],
  ['warning', '[   33.506932] WARNING: vuhca_cq.c:11 at vuhca_cq_event+0x26/0xff0 [vuhca], CPU#1: insmod/110'],
  ['bug', '[    3.1] BUG: kernel NULL pointer dereference, address: 0000000000000008'],
  ['bug', '[    3.1] BUG: scheduling while atomic: insmod/112/0x00000002'],
  ['bug', '[    3.1] kernel BUG at mm/slub.c:4200!'],
  ['bug', '[    3.1] BUG kmalloc-64 (Tainted: G           OE     ): Redzone overwritten'],
  ['call trace', '[    3.1] Call Trace:'],
  ['hung task', '[  363.1] INFO: task kworker/0:1:9 blocked for more than 120 seconds.'],
  ['soft lockup', '[   48.1] watchdog: BUG: soft lockup - CPU#0 stuck for 22s! [insmod:120]'],
  ['workqueue stall', '[   60.1] BUG: workqueue lockup - pool cpus=0 node=0 flags=0x0 nice=0 stuck for 30s!'],
  ['refcount', '[    3.1] refcount_t: underflow; use-after-free.'],
  ['kfence', '[    9.1] BUG: KFENCE: use-after-free read in vuhca_poll_cq+0x4c/0x120 [vuhca]'],
  ['rcu stall', '[   26.1] rcu: INFO: rcu_preempt self-detected stall on CPU'],
  ['list corruption', '[    3.1] list_del corruption, ffff888003a3c000->next is LIST_POISON1'],
  ['oops', '[    3.1] Oops: general protection fault, probably for non-canonical address 0xdead: 0000 [#1]'],
  ['panic', '[    3.1] Kernel panic - not syncing: Attempted to kill init!'],
  ['page fault', '[    3.1] insmod: page allocation failure: order:10, mode:0xcc0(GFP_KERNEL)'],
  ['dma api', '[   20.1] DMA-API: vuhca 0000:01:00.0: device driver failed to check map error'],
  ['lockdep', '[   37.1] WARNING: possible circular locking dependency detected'],
  ['nobody cared', '[    3.1] irq 11: nobody cared (try booting with the "irqpoll" option)'],
];

const ORDINARY = [
  '[    0.000000] Linux version 6.12.107+deb13-amd64 (gcc-14 (Debian 14.2.0-19) 14.2.0)',
  '[    1.234567] hello: loading out-of-tree module taints kernel.',
  '[    1.234567] hello: module verification failed: signature and/or required key missing - tainting kernel',
  '[    0.300000] kfence: initialized - using 2097152 bytes for 255 objects',
  '[    0.000000] rcu: Preemptible hierarchical RCU implementation.',
  '[    0.7] clocksource: Switched to clocksource tsc',
  '[    1.8] DMA-API: preallocated 65536 debug entries',
  '[    1.8] DMA-API: debugging enabled by kernel config',
  '[    0.7] DEBUGGING is off',
  '[    0.7] pci 0000:00:1f.0: quirk: [io 0x0600-0x067f] claimed by ICH6 ACPI/GPIO/TCO',
];

t.test('complaints', async (t) => {
  for (const [kind, line] of COMPLAINTS) t.equal(findComplaint(line)?.kind, kind, line);
});

t.test('ordinary lines', async (t) => {
  for (const line of ORDINARY) t.equal(findComplaint(line), undefined, line);
});

t.test('a watch keeps the first and counts all', async (t) => {
  const watch = new KernelLogWatch(2);
  for (const [, line] of COMPLAINTS) watch.push(line);
  for (const line of ORDINARY) watch.push(line);
  t.equal(watch.count, COMPLAINTS.length - 2, 'a call trace and an oops continue the report before');
  t.equal(watch.complaints.length, 2);
});

const WARNING = [
  '[   12.1] ------------[ cut here ]------------',
  '[   12.1] WARNING: CPU: 1 PID: 231 at drivers/net/foo.c:33 foo+0x1/0x2 [foo]',
  '[   12.1] RIP: 0010:foo+0x1/0x2 [foo]',
  '[   12.1] Call Trace:',
  '[   12.1]  <TASK>',
  '[   12.1]  bar+0x1/0x2',
  '[   12.1] ---[ end trace 0000000000000000 ]---',
];

t.test('a report counts once, from the log and the console', async (t) => {
  const count = (lines: readonly string[]): number => {
    const watch = new KernelLogWatch();
    for (const line of lines) watch.push(line);
    return watch.count;
  };
  const later = WARNING.map((line) => line.replace('12.1', '13.5'));
  const twice = (lines: readonly string[]): string[] => lines.flatMap((line) => [line, line]);
  t.equal(count(WARNING), 1);
  t.equal(count(twice(WARNING)), 1);
  t.equal(count([...WARNING, ...WARNING]), 1);
  t.equal(count([...WARNING, ...later]), 2);
  t.equal(count(['[ 1.1] BUG: kernel NULL pointer dereference', '[ 1.1] Oops: 0002 [#1]', '[ 1.1] Call Trace:']), 1);
  t.equal(count([...WARNING, '[   14.0] Call Trace:']), 2, 'a trace of nothing before it');
  t.equal(count(['[ 1.1] BUG: scheduling while atomic: a', '[ 1.2] BUG: scheduling while atomic: b']), 2);
});

t.test('a report to its last line', async (t) => {
  const lines = ['before', ...WARNING, 'after', 'later'];
  t.same(cutReport(lines, 2, 1), lines.slice(0, 8));
  t.same(cutReport(['before', 'x', 'y', 'z'], 1, 2), ['before', 'x', 'y'], 'without a last line');
});
