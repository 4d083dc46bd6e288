// SPDX-License-Identifier: Apache-2.0
/**
 * The subnet management interface: the steps of a node for a directed-route SMP that arrives by one
 * of its ports, or that its own software sends (IBTA 14.2.2, C14-9 to C14-13). Channel adapters,
 * switches and the subnet manager use it. It changes the packet in place.
 */
import { PERMISSIVE_LID } from '../addresses.ts';
import {
  DIRECTED_ROUTE_SMP_INITIAL_PATH_OFFSET,
  DIRECTED_ROUTE_SMP_RETURN_PATH_OFFSET,
  getDirectedRouteSmpDrDlid,
  getDirectedRouteSmpDrSlid,
  getDirectedRouteSmpHopCount,
  getDirectedRouteSmpHopPointer,
  getDirectedRouteSmpIsReturning,
  setDirectedRouteSmpHopPointer,
} from './gen/directed-route-smp.gen.ts';

/** Number that marks the software of the node itself as a port. */
export const OWN_SOFTWARE = 0;
/** The paths have 64 entries, and the first one is not used. */
export const MAX_HOPS = 63;

/**
 * Fate of the packet: numbers of 1 to 254 are the port by which it leaves; these are the other
 * ones.
 */
export const DirectedRoute = {
  /** The packet is for this node: its agent, or its subnet manager. */
  HERE: 0,
  /** The packet leaves by LID, to DrDLID or, on its way back, to DrSLID. */
  BY_LID: 255,
  /** The packet breaks a rule and is dropped. */
  DISCARD: 256,
} as const;

/**
 * Takes the packet at `base` one step on its route. `arrivalPort` is OWN_SOFTWARE for a packet that
 * this node sends. `portCount` counts the external ports of the node; only a switch forwards.
 */
export function routeDirected(
  view: DataView,
  base: number,
  arrivalPort: number,
  isSwitch: boolean,
  portCount: number,
): number {
  if (getDirectedRouteSmpHopCount(view, base) > MAX_HOPS) return DirectedRoute.DISCARD;
  const returns = getDirectedRouteSmpIsReturning(view, base) === 1;
  const step = returns ? goBack(view, base, isSwitch) : goForth(view, base, arrivalPort, isSwitch);
  const isPort = step > 0 && step < DirectedRoute.BY_LID;
  return isPort && step > portCount ? DirectedRoute.DISCARD : step;
}

/** C14-9 and C14-10: from the requester to the responder. */
function goForth(view: DataView, base: number, arrivalPort: number, isSwitch: boolean): number {
  const count = getDirectedRouteSmpHopCount(view, base);
  const pointer = getDirectedRouteSmpHopPointer(view, base);
  if (pointer > count) return pointer === count + 1 ? DirectedRoute.HERE : DirectedRoute.DISCARD;
  const isOwn = arrivalPort === OWN_SOFTWARE;
  if (pointer === 0 ? !beginsHere(view, base, isOwn, isSwitch) : isOwn) return DirectedRoute.DISCARD;
  if (pointer > 0) view.setUint8(base + DIRECTED_ROUTE_SMP_RETURN_PATH_OFFSET + pointer, arrivalPort);
  setDirectedRouteSmpHopPointer(view, base, pointer + 1);
  if (pointer < count) return isOwn || isSwitch ? portAt(view, base, true, pointer + 1) : DirectedRoute.DISCARD;
  return endOfPart(getDirectedRouteSmpDrDlid(view, base), isSwitch);
}

/** The directed part begins at the requester, or at the switch to which a first part by LID led. */
function beginsHere(view: DataView, base: number, isOwn: boolean, isSwitch: boolean): boolean {
  return isOwn || (isSwitch && getDirectedRouteSmpDrSlid(view, base) !== PERMISSIVE_LID);
}

/** C14-12 and C14-13: from the responder back to the requester. */
function goBack(view: DataView, base: number, isSwitch: boolean): number {
  const count = getDirectedRouteSmpHopCount(view, base);
  const pointer = getDirectedRouteSmpHopPointer(view, base);
  if (pointer === 0) return DirectedRoute.HERE;
  if (pointer > count + 1) return DirectedRoute.DISCARD;
  setDirectedRouteSmpHopPointer(view, base, pointer - 1);
  if (pointer === 1) return endOfPart(getDirectedRouteSmpDrSlid(view, base), isSwitch);
  // Only the responder, or the switch at the end of the directed part, sees the first step back.
  if (pointer <= count && !isSwitch) return DirectedRoute.DISCARD;
  return portAt(view, base, false, pointer - 1);
}

/** The directed part ends here; the rest is routed by LID, unless `lid` is permissive. */
function endOfPart(lid: number, isSwitch: boolean): number {
  if (lid === PERMISSIVE_LID) return DirectedRoute.HERE;
  return isSwitch ? DirectedRoute.BY_LID : DirectedRoute.DISCARD;
}

/** The port of a hop; a path cannot lead to port 0 or 255. */
function portAt(view: DataView, base: number, isForth: boolean, hop: number): number {
  const path = isForth ? DIRECTED_ROUTE_SMP_INITIAL_PATH_OFFSET : DIRECTED_ROUTE_SMP_RETURN_PATH_OFFSET;
  const port = view.getUint8(base + path + hop);
  return port === 0 || port === 255 ? DirectedRoute.DISCARD : port;
}
