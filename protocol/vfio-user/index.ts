// SPDX-License-Identifier: Apache-2.0
/** Public interface of the libvfio-user binding; README.md describes it. */
export {
  advancedErrorReporting,
  type Capability,
  deviceSerialNumber,
  extendedVendorSpecific,
  type MsixLayout,
  msix,
  pciExpress,
  powerManagement,
  vendorSpecific,
} from './capabilities.ts';
export { type ConfigObserver, ConfigSpace, type PciIds } from './config-space.ts';
export { PROTECTION, type ResetKind } from './constants.ts';
export { type ContextState, VfioUserContext } from './context.ts';
export type { BarOptions, DeviceCallbacks, DeviceOptions, MappableArea } from './device.ts';
export type { DmaRegionInfo } from './dma-region.ts';
export { VfioUserError } from './errors.ts';
export { throwUncaught } from './event-loop.ts';
export { GuestMemory } from './guest-memory.ts';
export type { Interrupts } from './interrupts.ts';
export { type Libvfio, loadLibrary, PATCH_LEVEL } from './library.ts';
export type { LogTarget } from './log.ts';
export { type PassHook, Pump, type PumpOptions, type PumpReport } from './pump.ts';
export type { RegionHandler } from './region.ts';
export { claimSocketPath } from './socket-path.ts';
