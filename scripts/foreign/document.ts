// SPDX-License-Identifier: Apache-2.0
/**
 * docs/verbs/FOREIGN.md: the results of foreign software as tables, one column for each adapter.
 * Pure. Called by main.ts and its test.
 */
import { markdownTable } from '../console/markdown-table.ts';
import { type KeptFigures, tabulateFigures } from './figures.ts';
import type { KeptResults } from './results.ts';
import { ADAPTER_TITLES, type AdapterName, SUITE_TITLES, SUITES, type SuiteName } from './suites.ts';

const HEAD = `# Foreign software

Which RDMA software of others runs on the adapter: tests and programs from Debian 13's packages, in a
guest with Debian's own kernel and drivers. \`npm run test:foreign -- --write\` runs them and writes
this page.

\`\`\`sh
npm run test:foreign -- --write                         # all suites on all adapters, unattended
npm run test:foreign -- --only cm --adapter rxe         # one suite on one adapter
npm run test:foreign -- --only perftest --tests events  # tests by their names
npm run test:foreign -- --short                         # a few tests of each suite
npm run test:foreign -- --only figures                  # all in one guest, beside soft-RoCE
npm run test:foreign -- --adapter mlx5                  # the current stock driver only
npm run test:foreign -- --adapter mlx5 --far mthca --only peers  # the far guest has another adapter
\`\`\`

| column | adapter | driver in the guest |
|---|---|---|
| mlx5 | \`vuhca device --personality mlx5\` | \`mlx5_core\`, \`mlx5_ib\` and \`libmlx5\` |
| mthca | \`vuhca device --personality mthca\` ([PERSONALITIES](PERSONALITIES.md)) | \`ib_mthca\` and \`libmthca\` |
| soft-RoCE | none: a network interface that leads nowhere | \`rdma_rxe\`, for comparison |
| vuhca | \`vuhca device\` | our driver, \`vuhca_ib.ko\` and its provider |

A skipped test states its reason. \`driver: ...\` marks a test that failed because of the stock driver
itself, whatever the device does. Failures of soft-RoCE do not fail the run.

A function of mlx5 has one port, as those of real cards have, so a guest that stands alone has two
devices behind a switch, where mthca and our own adapter have two ports.

The suites of two guests have an adapter in each, behind one switch with the built-in subnet manager,
or, for soft-RoCE, a virtual network between them. The near guest judges; the far one runs servers
and targets. Their root has a larger set of packages (88 MB, in place of 65; 107 with those of the
suite of qperf). tshark reads what the host captures meanwhile. \`ib_mthca\` lacks fast registration,
which the initiators of NVMe and iSER and the client of NFS need; soft-RoCE shows that their tests
work. [README.md](README.md) lists what is left out.

## What does not run

| program | reason |
|---|---|
| libfabric 2.1 with \`FI_VERBS_PREFER_XRC=1\` | it makes the queue pair of an XRC endpoint before the address of the peer is resolved, so librdmacm has no device for it and answers EINVAL without a call of the kernel; \`fi_pingpong\` tries again for ever. The XRC programs of libibverbs, librdmacm and pyverbs pass |
| nginx with the preloaded library of rsockets | Debian's nginx waits by epoll and accepts by accept4, which the library does not carry; iperf, which selects, passes |
| dhclient on an interface of IP over InfiniBand | Debian's build refuses its kind of address: "Unsupported device type 32" |
`;

export function describeResults(kept: KeptResults, figures: KeptFigures = {}): string {
  const adapters = (Object.keys(ADAPTER_TITLES) as AdapterName[]).filter((name) => kept[name] !== undefined);
  const suites = SUITES.filter((suite) => adapters.some((adapter) => kept[adapter]?.[suite] !== undefined));
  const parts = [HEAD, '## Summary\n', summarize(kept, adapters, suites)];
  if (Object.keys(figures).length > 0) parts.push(describeFigures(figures));
  for (const suite of suites) {
    parts.push(`## ${SUITE_TITLES[suite]}\n`, describeSuite(kept, adapters, suite));
  }
  return `${parts.join('\n')}`;
}

function summarize(kept: KeptResults, adapters: readonly AdapterName[], suites: readonly SuiteName[]): string {
  const rows = suites.map((suite) => [
    SUITE_TITLES[suite],
    ...adapters.map((adapter) => count(Object.values(kept[adapter]?.[suite] ?? {}))),
  ]);
  return `Passed, skipped, failed:\n\n${table(['suite', ...titles(adapters)], rows)}`;
}

function describeFigures(figures: KeptFigures): string {
  const [head = [], ...rows] = tabulateFigures(figures);
  return `## Figures

Medians of three rounds in which the adapters and soft-RoCE take turns in one guest. Where a column
says "one thread", the processors of a second guest take turns on one thread of QEMU
(\`--tcg-thread single\`): its figures stand beside soft-RoCE in the first guest, where soft-RoCE is
faster.

${table(head, rows)}`;
}

/** The many tests of pyverbs are counted by file, and those that did not pass are named. */
function describeSuite(kept: KeptResults, adapters: readonly AdapterName[], suite: SuiteName): string {
  const names = [...new Set(adapters.flatMap((adapter) => Object.keys(kept[adapter]?.[suite] ?? {})))];
  const textOf = (adapter: AdapterName, name: string): string => kept[adapter]?.[suite]?.[name] ?? '';
  const head = ['test', ...titles(adapters)];
  if (suite !== 'pyverbs') {
    return table(
      head,
      names.map((name) => [name, ...adapters.map((adapter) => textOf(adapter, name))]),
    );
  }
  const files = [...new Set(names.map((name) => name.split('.')[0]))];
  const sums = files.map((file) => {
    const own = names.filter((name) => name.split('.')[0] === file);
    return [file, ...adapters.map((adapter) => count(own.map((name) => textOf(adapter, name))))];
  });
  const others = names.filter((name) => adapters.some((adapter) => !['ok', ''].includes(textOf(adapter, name))));
  const rest = others.map((name) => [name, ...adapters.map((adapter) => textOf(adapter, name))]);
  return `Passed, skipped, failed of each file:\n\n${table(head, sums)}\nTests that did not pass everywhere:\n\n${table(head, rest)}`;
}

function count(texts: readonly string[]): string {
  const ran = texts.filter((text) => text !== '');
  if (ran.length === 0) return '';
  const passed = ran.filter((text) => text === 'ok').length;
  const failed = ran.filter((text) => text === 'FAIL').length;
  return `${passed}, ${ran.length - passed - failed}, ${failed}`;
}

function titles(adapters: readonly AdapterName[]): string[] {
  return adapters.map((adapter) => ADAPTER_TITLES[adapter]);
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return `${markdownTable(head, rows)}\n`;
}
