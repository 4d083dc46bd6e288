// SPDX-License-Identifier: Apache-2.0
/**
 * The kernels that Debian offers for guests, and the choice of one by name: a distribution
 * (`trixie`, `bookworm`, `backports`), the beginning of a version (`6.1`, `6.12.107`) or a release
 * as `uname -r` prints it. Only the kernel for ordinary PCs is listed, not those for clouds and
 * real time. Called by guest-kernel.ts and kernel-toolchain.ts.
 */
import { type Distribution, findVersions, type PackageVersion } from './apt.ts';
import { UsageError } from './tools/errors.ts';

/** A kernel that the archive has. */
export interface KernelRelease {
  /** As `uname -r` prints it. */
  readonly release: string;
  /** Of the package; it begins with the version of the sources. */
  readonly version: string;
  readonly suite: string;
  readonly distribution: Distribution;
}

/** The kernel of guests when none is named: any test runs on that of VUHCA_KERNEL. */
export const DEFAULT_KERNEL = process.env.VUHCA_KERNEL || 'trixie';

/** Names of the kernels that the driver is for, one of each distribution. */
export const DEBIAN_KERNELS = ['trixie', 'bookworm', 'backports'] as const;

/** Sorted by age of the distribution in which a version is looked for first. */
const DISTRIBUTIONS: readonly Distribution[] = ['trixie', 'bookworm'];
const PACKAGES = '^linux-(image|headers)-[0-9].*-amd64$';

/** The kernel called `wanted`. Throws UsageError with all that there are when there is none. */
export async function findKernel(wanted: string, refresh: boolean): Promise<KernelRelease> {
  const seen: KernelRelease[] = [];
  for (const distribution of wanted === 'bookworm' ? ['bookworm' as const] : DISTRIBUTIONS) {
    const kernels = listKernels(await findVersions(PACKAGES, refresh, distribution), distribution);
    const found = chooseKernel(kernels, wanted);
    if (found !== undefined) return found;
    seen.push(...kernels);
  }
  throw new UsageError(describeKernels(wanted, seen));
}

/** The kernels among `packages`. The archive keeps some images longer than their headers. */
export function listKernels(packages: readonly PackageVersion[], distribution: Distribution): KernelRelease[] {
  const names = new Set(packages.map(({ name }) => name));
  return packages.flatMap(({ name, version, suite }) => {
    const release = /^linux-image-([0-9][^-]*(?:-[0-9]+)?-amd64)$/.exec(name)?.[1];
    if (release === undefined || !names.has(`linux-headers-${release}`)) return [];
    return [{ release, version, suite, distribution }];
  });
}

/** The newest of `kernels` that `wanted` names, or undefined. */
export function chooseKernel(kernels: readonly KernelRelease[], wanted: string): KernelRelease | undefined {
  const fitting = kernels.filter((kernel) => fits(kernel, wanted));
  return fitting.sort((a, b) => compareVersions(b.version, a.version))[0];
}

/** One sentence that says which kernels there are, by the first two numbers of their versions. */
export function describeKernels(wanted: string, kernels: readonly KernelRelease[]): string {
  const groups = new Map<string, Set<string>>();
  for (const { suite, version } of [...kernels].sort((a, b) => compareVersions(a.version, b.version))) {
    const label = suite.endsWith('-backports') ? 'backports' : (suite.split('-')[0] as string);
    const versions = groups.get(label) ?? new Set();
    groups.set(label, versions.add(version.split('.').slice(0, 2).join('.')));
  }
  const offers = [...groups].map(([label, versions]) => `${[...versions].join(', ')} (${label})`);
  const advice = 'name one of these versions or distributions, or a bzImage by its path';
  return `kernel ${wanted}: Debian has ${offers.join(', ') || 'none'}; ${advice}.`;
}

function fits({ release, version, suite }: KernelRelease, wanted: string): boolean {
  const isBackport = suite.endsWith('-backports');
  if (wanted === 'backports') return isBackport;
  if (/^[a-z]+$/.test(wanted)) return !isBackport && suite.split('-')[0] === wanted;
  if (suite === wanted || release === wanted || release === `${wanted}-amd64`) return true;
  return version.startsWith(wanted) && /^[^0-9]/.test(version.slice(wanted.length)) && /^[0-9.]*[0-9]$/.test(wanted);
}

/** Compares the numbers in two versions; negative when `a` is older. */
function compareVersions(a: string, b: string): number {
  const [left, right] = [a, b].map((version) => (version.match(/[0-9]+/g) ?? []).map(Number)) as [number[], number[]];
  const i = left.findIndex((number, at) => number !== right[at]);
  return i < 0 ? left.length - right.length : (left[i] as number) - (right[i] ?? -1);
}
