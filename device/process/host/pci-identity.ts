// SPDX-License-Identifier: Apache-2.0
/**
 * The PCI configuration space of a device as a guest sees it: identity, BARs, MSI-X. Personalities
 * differ in it (docs/verbs/PERSONALITIES.md); `VfioUserHost` shows it to QEMU.
 */
import {
  BAR_COLLECT,
  BAR_PIO,
  BAR_PIO_BYTES,
  BAR_REGISTERS_BYTES,
  CLASS_CODE,
  DEVICE_ID_PF,
  DEVICE_ID_VF,
  MSIX_PBA_OFFSET,
  MSIX_TABLE_OFFSET,
  SUBSYSTEM_ID,
  VECTOR_COUNT,
  VENDOR_ID,
} from '../../../protocol/layout/gen/constants.gen.ts';
import * as mlx5 from '../../../protocol/mlx5/gen/constants.gen.ts';
import * as mthca from '../../../protocol/mthca/gen/constants.gen.ts';
import type { PciIds } from '../../../protocol/vfio-user/index.ts';
import { getCollectPages } from '../../hca/adapter/options.ts';
import { getCollectBarBytes } from '../../hca/collect/geometry.ts';
import type { PersonalityOptions } from '../../personality/shared/options.ts';
import type { AdapterNode } from '../../topology/fabric-plan.ts';
import type { PersonalityName } from '../../topology/personalities.ts';

/** A BAR that takes stores only, and the call of `FunctionPort` that they become. */
interface WriteBar {
  readonly index: number;
  readonly sizeBytes: number;
  readonly kind: 'collect' | 'pio';
}

export interface PciIdentity {
  readonly ids: PciIds;
  /** BAR0, which has the registers, the MSI-X table and its pending bits. */
  readonly registerBar: { readonly sizeBytes: number; readonly prefetchable?: boolean };
  readonly writeBars: readonly WriteBar[];
  readonly msix: { readonly vectors: number; readonly tableOffset: number; readonly pbaOffset: number };
}

/** Functions of devices of the personalities have the identities of the original ones. */
const identities: Readonly<Record<PersonalityName, (options: PersonalityOptions) => PciIdentity>> = {
  mthca: mthcaIdentity,
  mlx5: mlx5Identity,
};

/** A function of an adapter of any kind. */
export function identityOf(node: AdapterNode, functionNumber: number): PciIdentity {
  return node.personality === undefined
    ? functionIdentity(functionNumber, getCollectPages(node.options))
    : identities[node.personality](node.options);
}

/** A function of the adapter; `collectPages`: VCB pages in its collect BAR. */
function functionIdentity(functionNumber: number, collectPages: number): PciIdentity {
  return {
    ids: {
      vendor: VENDOR_ID,
      device: functionNumber === 0 ? DEVICE_ID_PF : DEVICE_ID_VF,
      subsystemVendor: VENDOR_ID,
      subsystem: SUBSYSTEM_ID,
      classCode: CLASS_CODE,
    },
    registerBar: { sizeBytes: BAR_REGISTERS_BYTES },
    writeBars: [
      { index: BAR_COLLECT, sizeBytes: getCollectBarBytes(collectPages), kind: 'collect' },
      { index: BAR_PIO, sizeBytes: BAR_PIO_BYTES, kind: 'pio' },
    ],
    msix: { vectors: VECTOR_COUNT, tableOffset: MSIX_TABLE_OFFSET, pbaOffset: MSIX_PBA_OFFSET },
  };
}

function mthcaIdentity({ portCount }: PersonalityOptions): PciIdentity {
  const device = portCount === 1 ? mthca.PCI_DEVICE_ID_ONE_PORT : mthca.PCI_DEVICE_ID_TWO_PORTS;
  return {
    ids: {
      vendor: mthca.PCI_VENDOR_ID,
      device,
      subsystemVendor: mthca.PCI_VENDOR_ID,
      subsystem: device,
      classCode: mthca.PCI_CLASS_CODE,
      revision: mthca.PCI_REVISION,
    },
    registerBar: { sizeBytes: mthca.REGISTER_BAR_BYTES },
    writeBars: [{ index: mthca.UAR_BAR, sizeBytes: mthca.UAR_BAR_BYTES, kind: 'collect' }],
    msix: {
      vectors: mthca.VECTOR_COUNT,
      tableOffset: mthca.MSIX_TABLE_OFFSET,
      pbaOffset: mthca.MSIX_PBA_OFFSET,
    },
  };
}

/** One BAR has everything: segment, MSI-X table and UAR pages. */
function mlx5Identity(): PciIdentity {
  return {
    ids: {
      vendor: mlx5.PCI_VENDOR_ID,
      device: mlx5.PCI_DEVICE_ID,
      subsystemVendor: mlx5.PCI_VENDOR_ID,
      subsystem: mlx5.PCI_DEVICE_ID,
      classCode: mlx5.PCI_CLASS_CODE,
    },
    registerBar: { sizeBytes: mlx5.BAR_BYTES, prefetchable: true },
    writeBars: [],
    msix: { vectors: VECTOR_COUNT, tableOffset: mlx5.MSIX_TABLE_OFFSET, pbaOffset: mlx5.MSIX_PBA_OFFSET },
  };
}
