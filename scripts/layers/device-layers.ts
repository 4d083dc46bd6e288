// SPDX-License-Identifier: Apache-2.0
/** The layers of `device/`, wing by wing. Part of the table of layers.ts. */
import type { Row } from './layer.ts';

export const deviceLayers: readonly Row[] = [
  { path: 'device/loan-book.ts', holds: 'payload that packets have on loan from guest memory', uses: '' },
  { path: 'device/host.ts', holds: 'the seam: what the adapter and its host ask of each other', uses: 'loan-book.ts' },
  { path: 'device/random.ts', holds: 'seeded random numbers', uses: '' },
  {
    path: 'device/fabric/port',
    holds: 'InfiniBand ports: tables, counters, virtual lanes and their arbiter, packet rings',
    uses: 'layout infiniband host.ts loan-book.ts',
  },
  {
    path: 'device/fabric/link',
    holds: 'links between ports: cable, faulty link, socket link, and their change at run time',
    uses: 'infiniband host.ts random.ts port',
  },
  {
    path: 'device/fabric/agents',
    holds: 'management datagrams: agents for subnet and performance management, doors for software',
    uses: 'layout infiniband host.ts port',
  },
  {
    path: 'device/fabric/switch',
    holds: 'switches: relay by forwarding tables, back-pressure per virtual lane, drops by cause',
    uses: 'layout infiniband host.ts port link agents',
  },
  {
    path: 'device/fabric/subnet-manager',
    holds: 'the subnet as the manager knows it, its options, its client of subnet management',
    uses: 'layout infiniband agents',
  },
  {
    path: 'device/fabric/subnet-manager/routing',
    holds: 'paths: fewest hops, up and down, multicast trees, the check for credit loops',
    uses: 'subnet-manager',
  },
  {
    path: 'device/fabric/subnet-manager/sweep',
    holds: 'one sweep: discovery, LIDs, partitions, forwarding and virtual lane tables',
    uses: 'layout infiniband subnet-manager routing',
  },
  {
    path: 'device/fabric/subnet-manager/election',
    holds: 'which manager of a subnet is master: state machine and handover',
    uses: 'infiniband subnet-manager',
  },
  {
    path: 'device/fabric/subnet-manager/rmpp',
    holds: 'long management datagrams in segments',
    uses: 'layout infiniband agents subnet-manager',
  },
  {
    path: 'device/fabric/subnet-manager/administration',
    holds: 'subnet administration: paths, groups, services, notices',
    uses: 'layout infiniband agents subnet-manager sweep rmpp',
  },
  {
    path: 'device/fabric/subnet-manager/manager',
    holds: 'the built-in subnet manager: sweeps, election and administration put together',
    uses: 'layout infiniband host.ts agents subnet-manager sweep election administration',
  },
  {
    path: 'device/hca/function',
    holds: 'underlying function: bus mastering, device memory, vectors, local time, faults, counters, timeline',
    uses: 'layout host.ts loan-book.ts',
  },
  {
    path: 'device/hca/trace',
    holds: 'selective trace of queue pairs (IBM trace document)',
    uses: 'layout infiniband host.ts port function',
  },
  { path: 'device/hca/memory', holds: 'queue memory in guest pages, byte scoreboard', uses: 'layout function' },
  {
    path: 'device/hca/protection',
    holds: 'protection domains, memory regions and windows, the key check',
    uses: 'layout infiniband host.ts function',
  },
  {
    path: 'device/hca/events',
    holds: 'event queues, interrupt timers, summary bytes (IBM event document)',
    uses: 'layout function hca/memory',
  },
  {
    path: 'device/hca/queues',
    holds: 'queue pairs, completion queues, receive rings, the tables of all objects',
    uses: 'layout infiniband function hca/trace hca/memory protection events',
  },
  {
    path: 'device/hca/collect',
    holds: 'virtual and physical collect buffers, write combining (Oracle QoS document)',
    uses: 'layout random.ts function hca/memory hca/queues',
  },
  {
    path: 'device/hca/pio',
    holds: 'send contexts and credit return (Intel document)',
    uses: 'layout infiniband random.ts port function hca/memory hca/queues',
  },
  {
    path: 'device/hca/lane',
    holds: 'transmit virtual lanes, credits, arbitration, turns of owners (Oracle QoS document)',
    uses: 'layout infiniband function hca/queues collect',
  },
  {
    path: 'device/hca/scheduler',
    holds:
      'doorbell unit with scheduler buffer, overflow and sweep (Oracle doorbell document); admission and fetching of commands',
    uses: 'layout function hca/queues collect lane',
  },
  {
    path: 'device/hca/transport',
    holds: 'what both sides of the transport share: completions, receive queues, payloads, opcodes, faults',
    uses: 'layout infiniband host.ts port function protection hca/queues collect',
  },
  {
    path: 'device/hca/transport/state',
    holds: 'state of a connection: requester, responder, send records',
    uses: 'layout infiniband function hca/trace protection hca/queues collect transport',
  },
  {
    path: 'device/hca/transport/responder',
    holds: 'the responder of RC, UC and XRC: checks, execution, answers',
    uses: 'layout infiniband port function protection hca/queues lane transport state',
  },
  {
    path: 'device/hca/transport/requester',
    holds: 'the requester of RC, UC and XRC: packets, acknowledgements, timers, retries',
    uses: 'layout infiniband host.ts port function hca/trace hca/memory protection hca/queues collect lane transport state responder',
  },
  {
    path: 'device/hca/transport/datagrams',
    holds: 'UD in both directions, address handles, management datagrams of queue pairs',
    uses: 'layout infiniband port function protection hca/queues collect transport state responder',
  },
  {
    path: 'device/hca/transport/engine',
    holds: 'the transport put together: send pipeline, packet receivers, life of queue pairs',
    uses: 'layout infiniband host.ts loan-book.ts port agents function protection hca/queues collect lane transport state responder requester datagrams',
  },
  {
    path: 'device/hca/shares',
    holds: 'buffers, lanes and credits of each function: plan, requests, adjustment (Oracle QoS document)',
    uses: 'layout host.ts function lane',
  },
  {
    path: 'device/hca/registers',
    holds: 'the register BAR: register file, and the registers of each unit',
    uses: 'layout host.ts port function hca/queues collect pio lane scheduler',
  },
  {
    path: 'device/hca/management',
    holds: 'the service processor: one file of commands for each kind of object',
    uses: 'layout infiniband port agents function hca/trace hca/memory protection events hca/queues collect pio lane scheduler engine hca/shares',
  },
  {
    path: 'device/hca/adapter',
    holds: 'the adapter put together: PCIe functions, passes, reset',
    uses: 'layout infiniband host.ts loan-book.ts port link agents switch function hca/trace events hca/queues collect pio lane scheduler state datagrams engine hca/shares registers management',
  },
  {
    path: 'device/personality/shared',
    holds: 'what personalities share: queues read by records, the transport put together',
    uses: 'layout infiniband host.ts loan-book.ts port link agents switch function hca/trace protection hca/queues collect lane transport datagrams engine adapter',
  },
  {
    path: 'device/personality/mthca/memory',
    holds: 'context memory of the host, memory regions, doorbell records',
    uses: 'layout protocol/mthca host.ts function protection shared',
  },
  {
    path: 'device/personality/mthca/queues',
    holds: 'work queues, completion queues and event queues in the mthca layout',
    uses: 'layout infiniband protocol/mthca function hca/queues collect shared mthca/memory',
  },
  {
    path: 'device/personality/mthca/hca',
    holds: 'all objects of an mthca function, its limits, ports and events',
    uses: 'layout infiniband protocol/mthca agents function hca/queues transport state shared mthca/memory mthca/queues',
  },
  {
    path: 'device/personality/mthca/commands',
    holds: 'the mthca command interface: one file for each kind of object',
    uses: 'layout infiniband protocol/mthca function shared mthca/memory mthca/queues mthca/hca',
  },
  {
    path: 'device/personality/mthca',
    holds: 'an adapter as mthca drivers know it, put together: function, data path, user access',
    uses: 'layout infiniband protocol/mthca host.ts port agents function protection hca/queues adapter shared mthca/memory mthca/queues mthca/hca mthca/commands',
  },
  {
    path: 'device/personality/mlx5/memory',
    holds: 'memory keys, requests that change them, and buffers that commands describe by lists of pages',
    uses: 'layout infiniband protocol/mlx5 host.ts function protection shared',
  },
  {
    path: 'device/personality/mlx5/queues',
    holds: 'work queues, completion queues and event queues in the mlx5 layout',
    uses: 'layout protocol/mlx5 function protection hca/queues collect shared mlx5/memory',
  },
  {
    path: 'device/personality/mlx5/hca',
    holds: 'state of an mlx5 function: capabilities, pages, domains, ports, groups, events',
    uses: 'layout infiniband protocol/mlx5 host.ts port agents function protection hca/queues transport state shared mlx5/memory mlx5/queues',
  },
  {
    path: 'device/personality/mlx5/commands',
    holds: 'the mlx5 command queue: one file for each kind of command',
    uses: 'layout infiniband protocol/mlx5 port function hca/queues shared mlx5/memory mlx5/queues mlx5/hca',
  },
  {
    path: 'device/personality/mlx5',
    holds: 'an adapter as mlx5 drivers know it, put together: function, data path, doorbells',
    uses: 'layout infiniband protocol/mlx5 host.ts function protection hca/queues adapter shared mlx5/memory mlx5/queues mlx5/hca mlx5/commands',
  },
  {
    path: 'device/topology',
    holds: 'fabrics by plan: adapters, switches and links; generated topologies',
    uses: 'host.ts port link agents switch subnet-manager manager adapter shared personality/mthca personality/mlx5',
  },
  { path: 'device/hosts', holds: 'the replaying host; recordings', uses: 'layout host.ts adapter device/topology' },
  {
    path: 'device/hosts/ordering',
    holds: 'models of the order in which a host reaches memory',
    uses: 'layout host.ts random.ts',
  },
  {
    path: 'device/process/ibsim',
    holds: 'doors for management software of the host, by the protocol of ibsim',
    uses: 'layout infiniband vfio-user host.ts port link agents subnet-manager manager device/topology',
  },
  {
    path: 'device/process/host',
    holds: 'the live process: the vfio-user host, its bus, links over sockets, the clock',
    uses: 'system layout protocol/mthca protocol/mlx5 vfio-user host.ts port link manager function collect adapter shared device/topology hosts ordering ibsim',
  },
  {
    path: 'device/process/reports',
    holds: 'what a running adapter says of itself, with the shapes of the answers',
    uses: 'layout infiniband protocol/mthca protocol/mlx5 host.ts port link agents switch manager function events hca/queues lane scheduler state engine hca/shares adapter mthca/hca personality/mthca mlx5/hca personality/mlx5 device/topology host',
  },
  {
    path: 'device/process/trace',
    holds: 'trace of a running adapter: observer, snapshots, Perfetto; conditions to wait for',
    uses: 'layout infiniband port function hca/trace hca/queues adapter device/topology reports',
  },
  {
    path: 'device/process/control',
    holds: 'the control socket: protocol, server, client, commands',
    uses: 'system layout infiniband vfio-user host.ts port link function hca/trace adapter shared hosts host reports process/trace',
  },
  { path: 'device/rig/driver', holds: 'the driver of the in-process host', uses: 'layout random.ts' },
  {
    path: 'device/rig/machine',
    holds: 'the in-process host: simulated machine, memory and clock',
    uses: 'layout host.ts random.ts function adapter device/topology hosts ordering rig/driver',
  },
  {
    path: 'device/rig/fixtures',
    holds: 'fixtures, invariants and models that tests share',
    uses: 'layout infiniband host.ts loan-book.ts random.ts port link agents switch subnet-manager rmpp administration manager function hca/trace hca/memory protection hca/queues collect pio lane scheduler transport state responder requester hca/shares adapter hosts rig/driver machine',
  },
  {
    path: 'device/rig/fixtures/second-use',
    holds: 'whether the second use of an object is as the first',
    uses: 'layout infiniband host.ts random.ts port function rig/driver machine fixtures',
  },
  {
    path: 'device/rig/fixtures/management-fields',
    holds: 'good and bad values of every field of every management command',
    uses: 'layout infiniband protocol/testing rig/driver fixtures',
    forTests: true,
  },
  {
    path: 'device/rig/chaos',
    holds: 'chaos: two adapters under random verbs and faults, compared with a model',
    uses: 'layout infiniband random.ts port link rig/driver fixtures',
  },
  {
    path: 'device/rig/qos',
    holds: 'quality of service under load and attack, with oracles',
    uses: 'layout infiniband random.ts collect lane adapter rig/driver machine fixtures',
  },
  {
    path: 'device/rig/sanitize',
    holds: 'the ordering sanitizer: planted driver bugs under every ordering',
    uses: 'layout infiniband random.ts ordering rig/driver machine fixtures chaos',
  },
  {
    path: 'device/rig/fuzz',
    holds: 'random packets and datagrams',
    uses: 'layout infiniband random.ts port agents state adapter rig/driver fixtures',
  },
  {
    path: 'device/rig/processes',
    holds: 'isolation of processes that share an adapter',
    uses: 'layout random.ts rig/driver machine qos',
  },
  {
    path: 'device/rig/mthca/driver',
    holds: 'the host side of the mthca command interface',
    uses: 'layout infiniband protocol/mthca host.ts random.ts agents adapter shared personality/mthca device/topology rig/driver machine',
  },
  {
    path: 'device/rig/mthca',
    holds: 'chaos and isolation with the mthca personality',
    uses: 'infiniband protocol/mthca random.ts hca/queues machine fixtures mthca/driver',
  },
  {
    path: 'device/rig/mlx5/driver',
    holds: 'the host side of an mlx5 device: commands, keys, queues',
    uses: 'layout protocol/mlx5 host.ts port link function protection hca/queues collect adapter shared mlx5/memory mlx5/queues personality/mlx5 device/topology machine',
  },
  {
    path: 'device/rig/mlx5/fields',
    holds: 'good and bad values of every field of mlx5 commands',
    uses: 'layout protocol/mlx5 protocol/testing mlx5/driver',
    forTests: true,
  },
  {
    path: 'device/rig/mlx5',
    holds: 'chaos, isolation and fuzz with the mlx5 personality, and random load on its memory keys',
    uses: 'layout infiniband protocol/mlx5 random.ts protection hca/queues shared mlx5/memory mlx5/queues mlx5/hca personality/mlx5 device/topology machine fixtures mlx5/driver',
  },
  {
    path: 'device/rig/mixed',
    holds: 'fabrics of adapters of all personalities, with their drivers',
    uses: 'protocol/mlx5 adapter personality/mthca personality/mlx5 device/topology machine mthca/driver mlx5/driver',
  },
  {
    path: 'device/rig/conformance',
    holds: 'tests of clauses of the InfiniBand specification over a whole adapter',
    uses: 'layout infiniband random.ts port link adapter rig/driver machine fixtures chaos',
  },
  {
    path: 'device/rig/live',
    holds: 'live adapter processes for tests',
    uses: 'layout infiniband vfio-user client test-support link agents function adapter device/topology hosts ibsim host process/trace control rig/driver machine fixtures conformance',
    forTests: true,
  },
];
