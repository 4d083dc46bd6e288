// SPDX-License-Identifier: Apache-2.0
/** Tests draw their random numbers here; models that are part of an adapter draw from the same class. */
export { Random } from '../../random.ts';
