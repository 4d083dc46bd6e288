// SPDX-License-Identifier: Apache-2.0
/**
 * Fields of an adapter's units in which a function that was used and reset may differ from a fresh
 * one, by the reason. `findStateDifferences` names every other field that differs: a new one is
 * reset, or stands here with its reason.
 */

/** Work space: filled before it is read, in the same step. */
const workSpace = namesIn(`
  AddressHandles.#handle AddressHandles.#view AddressRegister AtomicUnit BlockEncoder
  CommandContext CommandFetcher.#record CommandFetcher.#recordView Completer.#original
  Completer.#originalBytes Completer.#originalView DeviceMemory.high EventDoorbells.#view
  EventRecord KeyCheck.address KeyCheck.fault LaneTable.#entry LocalTime.high LocalTime.low
  ManagementReceiver.#parsed OverflowBuffer.#entry OverflowBuffer.#expected
  OverflowBuffer.#expectedView OverflowBuffer.#view OverflowBuffer.qpn OverflowBuffer.sequence
  OverflowThresholds.#readsWereAtLimit PacketReceiver.#packet PageFaultRecord PageFaults.#address
  PageFaults.#isWrite PageFaults.#lengthBytes PageFaults.#region Path PipelineStage.#nowNs
  PortTurns.#open Object.activeNs RawPacket ReceiveQueueReader.number ReceiveReport
  Requester.#allowance Requester.#bytes Requester.#port Requester.#record Requester.#state
  Requester.#work RequesterPackets.#fields RequesterPackets.#offset RequesterPackets.#ring
  ResponderAnswers.#fields ResponderAnswers.turnCost ResponderRequest RetryTimers.deadlineNs
  ScatterGatherList SendQueueDescriptors SendQueueScheduler.#refused SendQueueSweep.#slot
  TransmitVirtualLanes.#chosen UdRequester.#fields
`);

/** Places of rings and pools: what is free is taken in another order, or lies elsewhere. */
const places = namesIn(`
  ArrivalRing.#times ArrivalRing.first CollectChoke.#spare DoorbellBuffer.#head DoorbellBuffer.#sequences
  DoorbellBuffer.#serial DoorbellBuffer.#serials Flight InboundQueue.#head InboundQueue.#kinds
  InboundQueue.#sequences InboundQueue.taken LaneMap.generation ObjectTable OverflowBuffer.#lap
  PacketRing PcbAllocator.#free ReadyQueue.#head ReceiveStage.#free RetryTimers
  SendContexts.#serial SendRecordPool.#free TimedReads.#rounds TurnRing.#head
`);

/** Computed by the first change of lanes, and looked at only while lanes have several owners. */
const lanesByOwner = namesIn(`
  LaneOwners.lanes LaneOwners.weights
`);

/** Physical collect buffers while they are free: `open` and the allocator set what counts. */
const freeBuffers = namesIn(`
  CommandScoreboard CreditHold PhysicalCollectBuffer.account PhysicalCollectBuffer.bytes
  PhysicalCollectBuffer.epoch PhysicalCollectBuffer.fault PhysicalCollectBuffer.functionNumber
  PhysicalCollectBuffer.laneClass PhysicalCollectBuffer.qosLevel PhysicalCollectBuffer.queuePair
  PhysicalCollectBuffer.vcb PhysicalCollectBuffer.view PhysicalCollectBuffer.words PipelineStay
`);

/** Whose turn is next among units, lanes, ports and contexts; a debt of less than a packet. */
const turns = namesIn(`
  Adapter.#contextsFirst Adapter.#stage DmaContexts.#turn KickArbitrator.#currents
  KickArbitrator.#turnsLeft LaneSet.#last OwnerTurns PacketTurns.#last PipelineStage.#lastLeft
  PipelineStage.#lastServed PortTurns.#current PortTurns.#currents PortTurns.#deficits
  PortTurns.#served SendContexts.#lastContext SendContexts.#lastFunction Switch.#first
  TransportEngine.#connectionsFirst
`);

/** Counters of the adapter, of its ports and lanes, which a reset does not change. */
const counters = namesIn(`
  Cable.packets Completer.acknowledges Completer.naks Completer.retries Completer.rnrNaks
  Completer.timeouts Dma.bytesRead Dma.bytesWritten Lane.launches MsixVectors.sent
  MulticastReceiver.copies PacketReceiver.unchecked PacketReceiver.unknownQueuePair
  PipelineStage.reads Port.badQkeys Port.receiveDrops Port.receivePackets Port.transmitDiscards
  Port.transmitPackets PortCounters Requester.packets Responder.dropped Responder.receiverNotReady
  Responder.sequenceErrors ResponderAnswers.packets TransmitVirtualLanes.functionLaunches
  UdResponder.drops
`);

/** The subnet's: traps that the node has sent, until a manager represses them. */
const subnet = namesIn(`
  NoticeQueues Traps
`);

/** The host's, which is no part of the adapter; an alarm may be earlier than any work. */
const outside = namesIn(`
  EventModeration.#nextNs InProcessHost SimulatedClock
`);

/** Zeroed when a range is allocated, and not read before. */
const allocated = namesIn(`
  DeviceMemory.#bytes DeviceMemory.#view DeviceMemory.#words
`);

export const toleratedFields: ReadonlySet<string> = new Set([
  ...workSpace,
  ...places,
  ...lanesByOwner,
  ...freeBuffers,
  ...turns,
  ...counters,
  ...subnet,
  ...outside,
  ...allocated,
]);

/** Counters of a function, which the end of its objects does not change. */
export const functionCounters = namesIn(`
  CollectUnit.cancels CollectUnit.kicks FaultLog FunctionCounters
`);

function namesIn(text: string): string[] {
  return text.trim().split(/\s+/);
}
