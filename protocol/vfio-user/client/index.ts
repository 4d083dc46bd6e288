// SPDX-License-Identifier: Apache-2.0
/**
 * Public interface of the vfio-user client, `vuhca/vfio-user/client` in an installed package: for
 * tests of devices. The README of the binding describes it.
 */
export {
  CONFIG_REGION,
  type DmaMap,
  MSIX_INDEX,
  type Reply,
  ReplyError,
  VfioUserClient,
} from './client.ts';
export { ClientError, SharedMemory } from './unix-socket.ts';
