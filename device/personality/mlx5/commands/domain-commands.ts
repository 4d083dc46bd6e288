// SPDX-License-Identifier: Apache-2.0
/**
 * Commands that take numbers and give them back: protection domains, transport domains, XRC domains
 * and UAR pages.
 */
import { ALLOC_PD_IN_SIZE } from '../../../../protocol/mlx5/gen/alloc-pd-in.gen.ts';
import { ALLOC_PD_OUT_SIZE, setAllocPdOutPd } from '../../../../protocol/mlx5/gen/alloc-pd-out.gen.ts';
import { ALLOC_TRANSPORT_DOMAIN_IN_SIZE } from '../../../../protocol/mlx5/gen/alloc-transport-domain-in.gen.ts';
import {
  ALLOC_TRANSPORT_DOMAIN_OUT_SIZE,
  setAllocTransportDomainOutTransportDomain,
} from '../../../../protocol/mlx5/gen/alloc-transport-domain-out.gen.ts';
import { ALLOC_UAR_IN_SIZE } from '../../../../protocol/mlx5/gen/alloc-uar-in.gen.ts';
import { ALLOC_UAR_OUT_SIZE, setAllocUarOutUar } from '../../../../protocol/mlx5/gen/alloc-uar-out.gen.ts';
import { ALLOC_XRCD_IN_SIZE } from '../../../../protocol/mlx5/gen/alloc-xrcd-in.gen.ts';
import { ALLOC_XRCD_OUT_SIZE, setAllocXrcdOutXrcd } from '../../../../protocol/mlx5/gen/alloc-xrcd-out.gen.ts';
import { DEALLOC_PD_IN_SIZE, getDeallocPdInPd } from '../../../../protocol/mlx5/gen/dealloc-pd-in.gen.ts';
import { DEALLOC_PD_OUT_SIZE } from '../../../../protocol/mlx5/gen/dealloc-pd-out.gen.ts';
import {
  DEALLOC_TRANSPORT_DOMAIN_IN_SIZE,
  getDeallocTransportDomainInTransportDomain,
} from '../../../../protocol/mlx5/gen/dealloc-transport-domain-in.gen.ts';
import { DEALLOC_TRANSPORT_DOMAIN_OUT_SIZE } from '../../../../protocol/mlx5/gen/dealloc-transport-domain-out.gen.ts';
import { DEALLOC_UAR_IN_SIZE, getDeallocUarInUar } from '../../../../protocol/mlx5/gen/dealloc-uar-in.gen.ts';
import { DEALLOC_UAR_OUT_SIZE } from '../../../../protocol/mlx5/gen/dealloc-uar-out.gen.ts';
import { DEALLOC_XRCD_IN_SIZE, getDeallocXrcdInXrcd } from '../../../../protocol/mlx5/gen/dealloc-xrcd-in.gen.ts';
import { DEALLOC_XRCD_OUT_SIZE } from '../../../../protocol/mlx5/gen/dealloc-xrcd-out.gen.ts';
import { CommandOpcode, CommandStatus } from '../../../../protocol/mlx5/gen/values.gen.ts';
import { type Hca, HcaState } from '../hca/hca.ts';
import type { Numbers } from '../hca/numbers.ts';
import type { CommandHandler } from './command-context.ts';
import { type CommandRow, plainRow } from './command-row.ts';

type NumbersOf = (hca: Hca) => Numbers;

/** `set` puts the number into the output. */
function allocate(numbersOf: NumbersOf, set: (view: DataView, base: number, value: number) => void): CommandHandler {
  return ({ hca, outputView }) => {
    const number = numbersOf(hca).allocate();
    if (number === undefined) return CommandStatus.NO_RESOURCES;
    set(outputView, 0, number);
    return CommandStatus.OK;
  };
}

/** `get` takes the number from the input. */
function free(numbersOf: NumbersOf, get: (view: DataView, base: number) => number): CommandHandler {
  return ({ hca, view }) => {
    const numbers = numbersOf(hca);
    const number = get(view, 0);
    if (!numbers.has(number)) return CommandStatus.BAD_RESOURCE;
    return numbers.free(number) ? CommandStatus.OK : CommandStatus.RESOURCE_BUSY;
  };
}

const domains: NumbersOf = (hca) => hca.domains;
const transportDomains: NumbersOf = (hca) => hca.transportDomains;
const xrcDomains: NumbersOf = (hca) => hca.xrcDomains;
const uars: NumbersOf = (hca) => hca.uars;
const { RUNNING } = HcaState;

export const domainCommands: readonly CommandRow[] = [
  plainRow(CommandOpcode.ALLOC_PD, RUNNING, ALLOC_PD_IN_SIZE, ALLOC_PD_OUT_SIZE, allocate(domains, setAllocPdOutPd)),
  plainRow(CommandOpcode.DEALLOC_PD, RUNNING, DEALLOC_PD_IN_SIZE, DEALLOC_PD_OUT_SIZE, free(domains, getDeallocPdInPd)),
  plainRow(
    CommandOpcode.ALLOC_TRANSPORT_DOMAIN,
    RUNNING,
    ALLOC_TRANSPORT_DOMAIN_IN_SIZE,
    ALLOC_TRANSPORT_DOMAIN_OUT_SIZE,
    allocate(transportDomains, setAllocTransportDomainOutTransportDomain),
  ),
  plainRow(
    CommandOpcode.DEALLOC_TRANSPORT_DOMAIN,
    RUNNING,
    DEALLOC_TRANSPORT_DOMAIN_IN_SIZE,
    DEALLOC_TRANSPORT_DOMAIN_OUT_SIZE,
    free(transportDomains, getDeallocTransportDomainInTransportDomain),
  ),
  plainRow(
    CommandOpcode.ALLOC_XRCD,
    RUNNING,
    ALLOC_XRCD_IN_SIZE,
    ALLOC_XRCD_OUT_SIZE,
    allocate(xrcDomains, setAllocXrcdOutXrcd),
  ),
  plainRow(
    CommandOpcode.DEALLOC_XRCD,
    RUNNING,
    DEALLOC_XRCD_IN_SIZE,
    DEALLOC_XRCD_OUT_SIZE,
    free(xrcDomains, getDeallocXrcdInXrcd),
  ),
  plainRow(CommandOpcode.ALLOC_UAR, RUNNING, ALLOC_UAR_IN_SIZE, ALLOC_UAR_OUT_SIZE, allocate(uars, setAllocUarOutUar)),
  plainRow(
    CommandOpcode.DEALLOC_UAR,
    RUNNING,
    DEALLOC_UAR_IN_SIZE,
    DEALLOC_UAR_OUT_SIZE,
    free(uars, getDeallocUarInUar),
  ),
];
