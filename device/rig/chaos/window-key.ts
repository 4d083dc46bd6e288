// SPDX-License-Identifier: Apache-2.0
/**
 * A memory window of one end of a connection (IBTA 10.6.7). This end binds it by work request to a
 * region of its own, the other end uses it. The other end invalidates it by SEND with Invalidate
 * behind its last use, or this end unbinds it at any time. Part of `Endpoint`.
 */
import { KEY_BYTE_MASK, withKeyByte } from '../../../protocol/infiniband/memory-keys.ts';
import { encodeBindTarget } from '../../../protocol/layout/gen/bind-target.gen.ts';
import { SEND_COMMAND_TARGET_OFFSET } from '../../../protocol/layout/gen/send-command.gen.ts';
import { AccessFlag, ManagementOpcode, MwKind, SendOpcode } from '../../../protocol/layout/gen/values.gen.ts';
import type { SendRequest } from '../driver/send-request.ts';
import type { AdapterFixture } from '../fixtures/adapter-fixture.ts';
import { ExposedMemory } from './exposed-memory.ts';
import { newOperation, type Operation } from './operation.ts';

const SLOT_BYTES = 200;
const RIGHTS = AccessFlag.REMOTE_WRITE | AccessFlag.REMOTE_READ;

/** The window, its memory, and requests that bind and unbind it. */
export class WindowKey {
  readonly kind: MwKind;
  readonly memory: ExposedMemory;
  /** The other end may use it: bound, and no invalidation or unbind is posted. */
  isBound = false;
  /** It is known to be unbound. */
  mayBind = false;
  readonly #fixture: AdapterFixture;
  readonly #pd: number;
  #window: { readonly number: number; readonly rkey: number };
  #key: number;

  constructor(fixture: AdapterFixture, pd: number, kind: MwKind) {
    this.#fixture = fixture;
    this.#pd = pd;
    this.kind = kind;
    this.memory = new ExposedMemory(fixture, pd, SLOT_BYTES, AccessFlag.WINDOW_BIND);
    this.#window = fixture.driver.createMemoryWindow(pd, kind);
    this.#key = this.#window.rkey;
  }

  /** Replaces the window, for a new connection. */
  renew(): void {
    const { management } = this.#fixture.driver;
    management.perform({ opcode: ManagementOpcode.DESTROY_MW, objectNumber: this.#window.number });
    this.#window = this.#fixture.driver.createMemoryWindow(this.#pd, this.kind);
    this.#key = this.#window.rkey;
    this.isBound = false;
    this.mayBind = false;
  }

  /** A request that binds the window. */
  bind(): Operation {
    this.mayBind = false;
    const { address, lengthBytes } = this.memory;
    const check = (): string | undefined => {
      this.isBound = true;
      return this.memory.thaw();
    };
    const request = this.#request(address, lengthBytes);
    return { ...newOperation('BIND'), request, check };
  }

  /** A request that unbinds the window. When it has completed, its memory no longer changes. */
  revoke(): Operation {
    this.isBound = false;
    const request =
      this.kind === MwKind.TYPE_2
        ? { opcode: SendOpcode.LOCAL_INVALIDATE, immediate: this.memory.rkey }
        : this.#request(this.memory.address, 0);
    return { ...newOperation('REVOKE'), request: { ...request, signaled: true }, check: () => this.release() };
  }

  /** Notes that the window is unbound. */
  release(): undefined {
    this.memory.freeze();
    this.mayBind = true;
    return undefined;
  }

  #request(sgeAddress: number, sgeLength: number): SendRequest {
    const rkey = this.#key;
    const keyByte = (rkey + 1) & KEY_BYTE_MASK;
    this.#key = withKeyByte(rkey, keyByte);
    if (sgeLength > 0) this.memory.rkey = this.#key;
    const { lkey: sgeLkey } = this.memory.region;
    return {
      opcode: SendOpcode.BIND_WINDOW,
      header: { sgeAddress, sgeLength, sgeLkey, sgeCount: 0, messageLength: 0 },
      alter: (view) => encodeBindTarget(view, SEND_COMMAND_TARGET_OFFSET, { rkey, access: RIGHTS, keyByte }),
    };
  }
}
