// SPDX-License-Identifier: Apache-2.0
/**
 * The layers of the repository, lowest first: which folder may import from which. Types count. The
 * table of docs/ARCHITECTURE.md is written from this one, and `npm run check:layers` enforces it.
 */
import type { Layer } from './layer.ts';
import { of } from './names.ts';
import { scriptLayers } from './script-layers.ts';

export const layers: readonly Layer[] = [
  {
    path: 'protocol/system',
    holds: 'folders that are private to the user; starts tsx; text of others; errors of the system',
    uses: of(''),
  },
  {
    path: 'protocol/layout',
    holds: 'registers, commands and queue entries as tables; `gen/` is generated from them',
    uses: of(''),
  },
  {
    path: 'protocol/infiniband',
    holds: 'wire headers and opcodes as tables; packet builder and parser, CRCs, captures',
    uses: of('layout'),
  },
  { path: 'protocol/mthca', holds: 'mthca registers, commands and queue entries as tables', uses: of('layout') },
  { path: 'protocol/vfio-user', holds: 'the binding of libvfio-user; the only place with FFI', uses: of('') },
  {
    path: 'protocol/testing',
    holds: 'reads generated tables bit by bit, as a second opinion',
    uses: of('layout'),
    forTests: true,
  },
  {
    path: 'protocol/vfio-user/client',
    holds: 'a vfio-user client for tests',
    uses: of('protocol/vfio-user'),
    forTests: true,
  },
  {
    path: 'protocol/vfio-user/test-support',
    holds: 'servers and programs for tests of the binding',
    uses: of('protocol/vfio-user protocol/vfio-user/client'),
    forTests: true,
  },
  { path: 'device/host.ts', holds: 'the seam: what the adapter and its host ask of each other', uses: of('') },
  { path: 'device/random.ts', holds: 'seeded random numbers', uses: of('') },
  {
    path: 'device/port',
    holds: 'InfiniBand ports: tables, counters, virtual lanes and their arbiter, packet rings',
    uses: of('layout infiniband'),
  },
  {
    path: 'device/function',
    holds: 'underlying function: bus mastering, device memory, vectors, local time, faults, counters, timeline',
    uses: of('layout host.ts'),
  },
  {
    path: 'device/fabric',
    holds: 'links between ports: cable, faulty link, socket link, and their change at run time',
    uses: of('infiniband host.ts random.ts port'),
  },
  {
    path: 'device/agents',
    holds: 'management datagrams: agents for subnet and performance management, doors for software',
    uses: of('layout infiniband host.ts port'),
  },
  {
    path: 'device/subnet-manager',
    holds: 'the built-in subnet manager and subnet administration',
    uses: of('layout infiniband host.ts agents'),
  },
  {
    path: 'device/switch',
    holds: 'switches: relay by forwarding tables, back-pressure per virtual lane, drops by cause',
    uses: of('layout infiniband host.ts port fabric agents'),
  },
  {
    path: 'device/trace',
    holds: 'selective trace of queue pairs (IBM trace document)',
    uses: of('layout infiniband host.ts port function'),
  },
  { path: 'device/memory', holds: 'queue memory in guest pages, byte scoreboard', uses: of('layout function') },
  {
    path: 'device/protection',
    holds: 'protection domains, memory regions and windows, the key check',
    uses: of('layout infiniband host.ts function'),
  },
  {
    path: 'device/events',
    holds: 'event queues, interrupt timers, summary bytes (IBM event document)',
    uses: of('layout function memory'),
  },
  {
    path: 'device/queues',
    holds: 'queue pairs, completion queues, receive rings, the tables of all objects',
    uses: of('layout infiniband function trace memory protection events'),
  },
  {
    path: 'device/collect',
    holds: 'virtual and physical collect buffers, write combining (Oracle QoS document)',
    uses: of('layout random.ts function memory queues'),
  },
  {
    path: 'device/pio',
    holds: 'send contexts and credit return (Intel document)',
    uses: of('layout infiniband random.ts port function memory queues'),
  },
  {
    path: 'device/doorbells',
    holds: 'doorbell unit: bus, scheduler buffer, overflow, sweep (Oracle doorbell document)',
    uses: of('layout function queues collect'),
  },
  {
    path: 'device/lane',
    holds: 'transmit virtual lanes, credits, arbitration, turns of owners (Oracle QoS document)',
    uses: of('layout infiniband function queues collect'),
  },
  {
    path: 'device/scheduler',
    holds: 'admission of commands, send queue scheduler, fetching of commands',
    uses: of('layout function queues collect doorbells lane'),
  },
  {
    path: 'device/transport',
    holds: 'UD, RC and UC: requester, completer, responder, packet receiver, life cycle of queue pairs',
    uses: of('layout infiniband host.ts port agents function trace memory protection queues collect lane'),
  },
  {
    path: 'device/shares',
    holds: 'who has which buffers, lanes and credits: plan, requests, adjustment (Oracle QoS document)',
    uses: of('layout host.ts function lane'),
  },
  {
    path: 'device/registers',
    holds: 'the register BAR: register file, and the registers of each unit',
    uses: of('layout host.ts port function queues collect pio doorbells lane'),
  },
  {
    path: 'device/management',
    holds: 'the service processor: one file of commands for each kind of object',
    uses: of(
      'layout infiniband port agents function trace memory protection events queues collect pio lane scheduler transport shares',
    ),
  },
  {
    path: 'device/adapter',
    holds: 'the adapter put together: PCIe functions, passes, reset',
    uses: of(
      'layout infiniband host.ts port agents function fabric trace events queues collect pio doorbells lane scheduler transport shares registers management switch',
    ),
  },
  {
    path: 'device/personality/mthca',
    holds: 'an adapter as mthca drivers know it: commands, context memory, event queues, work queues',
    uses: of(
      'layout infiniband protocol/mthca host.ts port agents function fabric trace protection queues collect lane transport switch adapter',
    ),
  },
  {
    path: 'device/topology',
    holds: 'fabrics by plan: adapters, switches and links; generated topologies',
    uses: of('host.ts port fabric adapter switch subnet-manager device/personality/mthca'),
  },
  {
    path: 'device/hosts',
    holds: 'two of the three hosts: in-process (tests) and replay; recordings; ordering models',
    uses: of('layout host.ts random.ts function adapter topology'),
  },
  {
    path: 'device/personality/mthca/test-support',
    holds: 'the host side of the mthca command interface for tests and simulations',
    uses: of(
      'layout infiniband protocol/mthca host.ts random.ts agents adapter device/personality/mthca topology hosts',
    ),
  },
  {
    path: 'device/test-support',
    holds: 'fixtures, invariants and models that tests share',
    uses: of(
      'layout infiniband host.ts random.ts port pio agents subnet-manager function fabric switch trace protection queues collect doorbells scheduler lane transport shares adapter hosts',
    ),
  },
  {
    path: 'device/test-support/management-fields',
    holds: 'good and bad values of every field of every management command',
    uses: of('layout protocol/testing hosts test-support'),
    forTests: true,
  },
  {
    path: 'device/simulations',
    holds: 'seeded simulations: chaos, quality of service, ordering sanitizer, packet and datagram fuzz',
    uses: of(
      'layout infiniband protocol/mthca random.ts port agents fabric collect lane transport adapter hosts device/personality/mthca/test-support test-support',
    ),
  },
  {
    path: 'device/conformance',
    holds: 'tests of clauses of the InfiniBand specification over a whole adapter',
    uses: of('layout random.ts port fabric adapter hosts test-support simulations'),
  },
  {
    path: 'device/main',
    holds: 'the third host: vfio-user; the live process around it',
    uses: of(
      'system layout infiniband protocol/vfio-user host.ts port function fabric agents trace events queues collect doorbells lane shares transport adapter subnet-manager switch topology protocol/mthca device/personality/mthca hosts',
    ),
  },
  {
    path: 'device/main/test-support',
    holds: 'live adapter processes for tests',
    uses: of(
      'layout infiniband protocol/vfio-user/client protocol/vfio-user/test-support agents adapter hosts test-support conformance topology main',
    ),
    forTests: true,
  },
  { path: 'qemu/setup', holds: 'makes QEMU, guest kernel, libvfio-user, toolchain; their cache', uses: of('') },
  {
    path: 'qemu',
    holds: 'launching guests and adapter processes, initramfs images, QMP',
    uses: of('system qemu/setup'),
  },
  { path: 'guest-tests/harness', holds: 'runs guests with tests; reads KTAP', uses: of('qemu/setup qemu') },
  {
    path: 'guest-tests/shares',
    holds: "measures the Oracle document's worked example with three guests",
    uses: of('simulations main qemu/setup guest-tests/harness'),
  },
  {
    path: 'guest-tests',
    holds: 'driver and kernel tests (C), and the tests that run them in guests',
    uses: of('device/personality/mthca main qemu/setup qemu guest-tests/harness guest-tests/shares'),
  },
  ...scriptLayers,
];
