// SPDX-License-Identifier: Apache-2.0
/**
 * QEMU arguments of users: those that would hide guest memory from the adapter are refused, all
 * others are accepted.
 */
import t from 'tap';
import { findMemoryObjection } from './shared-memory.ts';

const SHARED = 'memory-backend-file,id=m,size=1G,mem-path=/dev/shm,share=on';

t.test('arguments that leave memory shared', async (t) => {
  for (const line of [
    '',
    '-nic user -device virtio-rng-pci',
    '-machine accel=tcg',
    '-machine memory-backend=ram',
    '-m slots=4,maxmem=2G',
    '-m maxmem=2G',
    `-object ${SHARED} -machine memory-backend=m`,
    '-object memory-backend-memfd,id=m,size=1G -numa node,memdev=m',
    `-object memory-backend-ram,id=unused,size=1G`,
    '-object {"qom-type":"memory-backend-ram","id":"m","size":1,"share":true} -numa node,memdev=m',
    '-device pc-dimm,memdev=m -object memory-backend-memfd,id=m,size=1G,share=on',
  ])
    t.equal(findMemoryObjection(line.split(' ')), undefined, line);
});

t.test('arguments that do not', async (t) => {
  const refused: [string, RegExp][] = [
    ['-m 4G', /^-m 4G would not fit .*; use --memory MIB$/],
    ['-m size=4G,slots=2', /^-m size=4G,slots=2 would not fit/],
    ['-m slots=2,4G', /would not fit/],
    ['-mem-path /dev/hugepages', /^-mem-path makes private memory/],
    ['-object memory-backend-ram,id=m,size=1G -machine memory-backend=m', /^memory backend m is not shared.*share=on/],
    ['-object memory-backend-memfd,id=m,size=1G,share=off -M memory-backend=m', /^memory backend m is not shared/],
    ['-object memory-backend-file,id=m,size=1G -numa node,memdev=m', /^memory backend m is not shared/],
    ['-machine q35,memory-backend=n', /^-machine names the memory backend n, which no -object makes/],
  ];
  for (const [line, message] of refused) t.match(findMemoryObjection(line.split(' ')), message, line);
});
