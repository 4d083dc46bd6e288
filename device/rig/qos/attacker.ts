// SPDX-License-Identifier: Apache-2.0
/**
 * Hostile software of one function: random writes to all its BARs, doorbells and commands with the
 * numbers of other functions' objects, writes over the structures that the device reads, management
 * commands about every object. It knows all object numbers. It sends no valid packet to others,
 * which a guest may do by right. Used by `Isolation` (docs/DOCUMENTS.md decision 14).
 */
import {
  BAR_PIO_BYTES,
  BAR_REGISTERS_BYTES,
  DATA_BYTES,
  PAGE_BYTES,
  RESOURCE_CHANGES_MAX,
} from '../../../protocol/layout/gen/constants.gen.ts';
import { DOORBELL_QPN_SHIFT } from '../../../protocol/layout/gen/doorbell.gen.ts';
import {
  MANAGEMENT_COMMAND_OBJECT_NUMBER_MASK,
  MANAGEMENT_COMMAND_OBJECT_NUMBER_SHIFT,
  MANAGEMENT_COMMAND_RESPONSE_ADDRESS_OFFSET,
} from '../../../protocol/layout/gen/management-command.gen.ts';
import { CSR, CSR_DEVICE_CONTROL_ENABLE_MASK } from '../../../protocol/layout/gen/registers.gen.ts';
import { FaultKind, ManagementOpcode, SendOpcode, ServiceType } from '../../../protocol/layout/gen/values.gen.ts';
import { getCollectBarBytes } from '../../hca/collect/geometry.ts';
import type { Random } from '../../random.ts';
import { seal } from '../driver/management-channel.ts';
import type { DriverQueuePair } from '../driver/queue-pair.ts';
import { encodeChanges } from '../driver/resources.ts';
import { ContextAttack } from './context-attack.ts';
import { PortAttack } from './port-attack.ts';
import type { Tenant } from './tenant.ts';

const OBJECT_NUMBERS = MANAGEMENT_COMMAND_OBJECT_NUMBER_MASK >>> MANAGEMENT_COMMAND_OBJECT_NUMBER_SHIFT;
const OPCODES = Object.values(ManagementOpcode);
const SEND_OPCODES = Object.values(SendOpcode);
const STORE_SIZES = [1, 2, 4, 8, 8, 8] as const;
const LARGEST_PAYLOAD = 128;
/** Registers that are written more often than others. */
const PREFERRED_REGISTERS = [
  CSR.SEND_DOORBELL,
  CSR.CQ_NOTIFY,
  CSR.EQ_CONSUMER,
  CSR.ADAPTER_CONTROL,
  CSR.OVERFLOW_BASE,
  CSR.OVERFLOW_CONTROL,
  CSR.DOORBELL_POLICY,
  CSR.QOS_DIVIDER,
  CSR.ADDRESS_HANDLE_TABLE,
  CSR.INTERRUPT_TRIGGER,
];

/** The attacker. */
export class Attacker {
  acts = 0;
  readonly #tenant: Tenant;
  readonly #random: Random;
  /** QPNs, keys and numbers of other functions' objects. */
  readonly #foreign: readonly number[];
  readonly #collectBytes: number;
  #contexts!: ContextAttack;
  #ports!: PortAttack;
  #queuePairs: DriverQueuePair[] = [];
  #earlierFaults = 0;

  constructor(tenant: Tenant, random: Random, foreign: readonly number[]) {
    this.#tenant = tenant;
    this.#random = random;
    this.#foreign = foreign;
    this.#collectBytes = getCollectBarBytes(tenant.core.collect.pageCount);
    this.#begin();
  }

  /** Faults that the device has counted for this function. */
  get faults(): number {
    return this.#earlierFaults + this.#recentFaults();
  }

  #recentFaults(): number {
    return Object.values(FaultKind).reduce<number>((sum, kind) => sum + this.#tenant.read(CSR.FAULT_COUNT, kind), 0);
  }

  /** One hostile act. */
  act(): void {
    this.acts++;
    const draw = this.#random.below(256);
    if (draw < 60) this.#writeRegister();
    else if (draw < 120) this.#writeCollect();
    else if (draw < 130) this.#writePio();
    else if (draw < 140) this.#contexts.act();
    else if (draw < 190) this.#ring();
    else if (draw < 220) this.#post();
    else if (draw < 245) this.#scribble();
    else if (draw < 255) this.#manage();
    else if (this.#random.oneIn(64)) this.#begin();
    else this.#recover();
  }

  /** Starts again, with a reset, a driver, and QPs to misuse. */
  #begin(): void {
    const { machine, index } = this.#tenant;
    this.#earlierFaults += this.#recentFaults();
    machine.reset(index, 'function');
    machine.step();
    machine.resume(index);
    this.#tenant.bringUp();
    const { driver, pd } = this.#tenant;
    this.#queuePairs = [];
    for (const serviceType of [ServiceType.UD, ServiceType.RC, ServiceType.UC, ServiceType.UD]) {
      const sendCq = driver.createCompletionQueue({ entriesLog2: 4 });
      const qp = driver.createQueuePair({
        pd,
        sendCq,
        qosLevel: this.#queuePairs.length & 1,
        creation: { serviceType },
      });
      if (serviceType === ServiceType.UD) qp.start({ port: 1, qkey: 1 });
      else
        qp.connect({
          port: 1,
          dlid: this.#tenant.lidOf(2),
          remoteQpn: qp.qpn,
          reliable: serviceType === ServiceType.RC,
        });
      this.#queuePairs.push(qp);
    }
    this.#ports = new PortAttack(driver, this.#random, this.#queuePairs);
    this.#contexts = new ContextAttack(this.#tenant, this.#random, this.#foreign, this.#queuePairs[0].qpn);
  }

  /** Enables the function again: most acts have no effect on a QP in error. */
  #recover(): void {
    const { access } = this.#tenant;
    access.writeRegister(CSR.DEVICE_CONTROL, 4, CSR_DEVICE_CONTROL_ENABLE_MASK, 0);
    if (this.#random.oneIn(8)) this.#begin();
  }

  #value(): number {
    const random = this.#random;
    switch (random.below(6)) {
      case 0:
        return 0;
      case 1:
        return 0xffffffff;
      case 2:
        return (random.pick(this.#foreign) << DOORBELL_QPN_SHIFT) >>> 0;
      case 3:
        return random.pick(this.#foreign);
      case 4:
        return random.below(4096);
      default:
        return random.next();
    }
  }

  #writeRegister(): void {
    const random = this.#random;
    const size = random.pick(STORE_SIZES);
    const offset = random.oneIn(2) ? random.pick(PREFERRED_REGISTERS) : random.below(BAR_REGISTERS_BYTES / size) * size;
    // Excludes DEVICE_CONTROL: after a reset of the function no other act would have an effect.
    if (offset < CSR.DEVICE_STATUS && offset + size > CSR.DEVICE_CONTROL) return;
    if (random.oneIn(8)) this.#tenant.access.readRegister(offset, size);
    else this.#tenant.access.writeRegister(offset, size, this.#value(), this.#value());
  }

  #writeCollect(): void {
    const random = this.#random;
    const size = random.pick(STORE_SIZES);
    const page = random.below(this.#collectBytes / PAGE_BYTES);
    const offset = random.oneIn(2) ? random.below(DATA_BYTES / size) * size : random.below(PAGE_BYTES / size) * size;
    this.#tenant.access.writeCollect(page * PAGE_BYTES + offset, size, this.#value(), this.#value());
  }

  #writePio(): void {
    const size = this.#random.pick(STORE_SIZES);
    const offset = this.#random.below(BAR_PIO_BYTES / size) * size;
    this.#tenant.access.writePio(offset, size, this.#value(), this.#value());
  }

  /** Doorbells, stops, notifications and cancels for the queues of any function. */
  #ring(): void {
    const random = this.#random;
    const { access } = this.#tenant;
    const qp = random.pick(this.#queuePairs);
    switch (random.below(5)) {
      case 0:
        return access.writeRegister(
          CSR.SEND_DOORBELL,
          8,
          (random.pick(this.#foreign) << DOORBELL_QPN_SHIFT) >>> 0,
          random.below(0x10000),
        );
      case 1:
        return access.writeRegister(CSR.CQ_NOTIFY, 8, this.#value(), this.#value());
      case 2:
        return random.oneIn(100) ? qp.stop() : qp.cancel();
      default:
        qp.ring(random.below(0x10000), random.pick(['doorbell', 'register']));
    }
  }

  /** Posts a well-formed command with foreign or invalid keys, handles, queues and addresses. */
  #post(): void {
    const random = this.#random;
    const qp = random.pick(this.#queuePairs);
    qp.parts.sendCq.drain();
    const sge = {
      address: this.#address(),
      length: random.below(9000),
      lkey: random.oneIn(2) ? this.#tenant.region.lkey : this.#value(),
    };
    const bytes = qp.post(
      {
        opcode: random.pick(SEND_OPCODES),
        sges: [sge],
        remote: { address: this.#address(), rkey: this.#value() },
        addressHandle: random.below(70),
        remoteQpn: this.#value(),
        qkey: this.#value(),
        header: random.oneIn(4) ? { qpn: random.pick(this.#foreign) } : {},
      },
      random.pick(['collect', 'doorbell', 'slot']),
    );
    if (random.oneIn(4)) qp.collect(bytes);
  }

  /** Overwrites a record, descriptor, address handle or overflow entry that the device reads. */
  #scribble(): void {
    const random = this.#random;
    const { access, driver } = this.#tenant;
    const { parts } = random.pick(this.#queuePairs);
    const targets = [
      parts.recordAddress,
      parts.descriptorAddress,
      parts.sendCq.recordAddress,
      driver.addressHandles.address,
    ];
    if (driver.overflowAddress > 0) targets.push(driver.overflowAddress);
    const view = access.view(random.pick(targets), 64);
    view.setUint32(random.below(16) * 4, this.#value(), true);
  }

  #manage(): void {
    const random = this.#random;
    const { driver } = this.#tenant;
    const { management } = driver;
    if (random.oneIn(4)) return void this.#request();
    if (random.oneIn(4)) return void management.write(management.build(this.#ports.draw()));
    const payload = random.bytes(random.below(LARGEST_PAYLOAD / 8) * 8);
    if (payload.length > 8) new DataView(payload.buffer).setUint32(4, this.#value(), true);
    const bytes = management.build({
      opcode: random.oneIn(8) ? random.below(256) : random.pick(OPCODES),
      objectNumber: this.#value() & OBJECT_NUMBERS,
      modifier: random.below(40),
      payload,
      ...(random.oneIn(4) ? { responseAddress: this.#address() } : {}),
    });
    if (random.oneIn(8)) {
      bytes[MANAGEMENT_COMMAND_RESPONSE_ADDRESS_OFFSET + random.below(8)] ^= 1 << random.below(8);
      seal(bytes);
    }
    management.write(bytes);
  }

  /** Requests the resources of other functions. */
  #request(): void {
    const random = this.#random;
    const changes = Array.from({ length: 1 + random.below(RESOURCE_CHANGES_MAX) }, () => ({
      resource: 1 + random.below(24),
      target: random.below(4),
      amount: random.below(300),
      qosLevel: random.pick([0, 1, 255]),
    }));
    const payload = encodeChanges(changes);
    const { management } = this.#tenant.driver;
    management.write(
      management.build({ opcode: ManagementOpcode.REQUEST_RESOURCES, modifier: changes.length, payload }),
    );
  }

  /** An address inside its memory, at its end, or anywhere. */
  #address(): number {
    const random = this.#random;
    const { memoryAddress, memoryBytes } = this.#tenant.access;
    switch (random.below(4)) {
      case 0:
        return memoryAddress + random.below(memoryBytes);
      case 1:
        return memoryAddress + memoryBytes - random.below(4096);
      case 2:
        return random.next();
      default:
        return random.next() * 0x10000;
    }
  }
}
