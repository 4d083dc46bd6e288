// SPDX-License-Identifier: Apache-2.0
/**
 * Random commands, requests and accesses on memory keys, by seed, against a model: key-load.test.ts
 * runs a few seeds, key-load.long.ts more of them. The first answer of the device that differs from
 * that of the model throws, with seed and act.
 */
import { AccessFlag, FaultKind } from '../../../protocol/layout/gen/values.gen.ts';
import { CommandOpcode, KeyAccessMode, KeyAttribute } from '../../../protocol/mlx5/gen/values.gen.ts';
import type { KeyHolder } from '../../hca/protection/key-holder.ts';
import { ANY_QP, type KeyAttributes } from '../../personality/mlx5/memory/key-attributes.ts';
import { Random } from '../../random.ts';
import { type KeyChange, type KeyElements, KeyFixture, type KeyPiece, PAGE_BYTES } from './driver/key-fixture.ts';
import { KeyModel, type Right } from './key-model.ts';

const PAGES = 24;
const KEYS_MAX = 24;
const LIST_MAX = 8;
const ACCESS_MAX_BYTES = 600;
const OTHER_DOMAIN = 0xfff;
const starts = [0, 0x1000, 0x1ff0, 0x3abc];
const accesses: readonly [number, Right][] = [
  [0, 'lr'],
  [AccessFlag.LOCAL_WRITE, 'lw'],
  [AccessFlag.REMOTE_READ, 'rr'],
  [AccessFlag.REMOTE_WRITE, 'rw'],
  [AccessFlag.REMOTE_ATOMIC, 'a'],
];
const { PAGES: BY_PAGES, KEYS, FIXED_KEYS, PHYSICAL } = KeyAccessMode;

export class KeyLoad {
  /** Acts that were granted, and acts that were refused, by their kind. */
  readonly done: Record<string, number> = {};
  readonly fixture = new KeyFixture();
  readonly #model: KeyModel;
  readonly #random: Random;
  readonly #pages: readonly number[];
  readonly #qps: readonly KeyHolder[];
  readonly #domains: readonly number[];
  #act = 0;

  constructor(seed: number) {
    const { fixture } = this;
    this.#random = new Random(seed);
    this.#pages = fixture.pages(PAGES, () => this.#random.below(256));
    this.#domains = [fixture.pd, fixture.stranger.pd.number];
    this.#model = new KeyModel(new Set(this.#domains));
    this.#qps = [fixture.qp, fixture.stranger, fixture.makeQueuePair(0x42, fixture.pd)];
  }

  run(acts: number): void {
    for (this.#act = 0; this.#act < acts; this.#act++) {
      const kind = this.#random.below(20);
      if (kind < 4) this.#create();
      else if (kind < 9) this.#change();
      else if (kind < 10) this.#invalidate();
      else if (kind < 11) this.#destroy();
      else this.#access();
    }
    for (const index of this.#model.keys.keys()) this.#compare(index);
    this.#compareDomains();
  }

  #create(): void {
    if (this.#model.keys.size >= KEYS_MAX) return this.#destroy();
    const mode = this.#random.pick([BY_PAGES, BY_PAGES, BY_PAGES, KEYS, KEYS, FIXED_KEYS, PHYSICAL]);
    const given = this.fixture.attributes({ ...this.#attributes(), accessMode10: mode, umrEn: this.#mostly() });
    const list = mode === PHYSICAL ? [] : this.#list(mode);
    const { status, output } = this.fixture.create(given, list);
    this.#expect('create', status === 0, this.#model.mayCreate(given, list));
    if (status === 0) this.#model.create(output.getUint32(8) & 0xffffff, given, list);
  }

  #change(): void {
    const random = this.#random;
    const key = this.#number();
    const mode = this.#model.keys.get(key >>> 8)?.attributes.accessMode10 ?? BY_PAGES;
    const bits = Object.values(KeyAttribute).filter(() => random.oneIn(3));
    // Most requests come from a QP that may make them, and leave the key usable.
    const set = this.fixture.attributes({ ...this.#attributes(), mkey70: random.pick([key & 0xff, 0x22]) });
    const list = mode === PHYSICAL || random.oneIn(2) ? [] : this.#list(mode);
    const change: KeyChange = {
      ...{ key, set, mask: bits, list },
      ...(random.oneIn(4) ? { checks: random.pick(['free', 'in use', 'qpn'] as const) } : {}),
      ...(random.oneIn(2) ? { offset: random.pick([0, 0, 1, 2, 4]) } : {}),
      ...{ changesAll: random.oneIn(3), registers: !random.oneIn(4) },
    };
    const behind = list.length > 0 && random.oneIn(4) ? this.#putBehind(list, this.#qps[0]) : undefined;
    const qp = behind === undefined ? random.pick(this.#qps) : this.#qps[0];
    const fault = this.fixture.change({ ...change, behind }, qp);
    if (behind !== undefined) this.fixture.keys.remove(this.fixture.get(behind.key));
    const wanted = this.#model.change(change, set, qp.number, qp.pd.number);
    this.#expect('change', fault === FaultKind.NONE, wanted);
    this.#compare(key >>> 8);
  }

  #invalidate(): void {
    const key = this.#number();
    const { number, pd } = this.#random.pick(this.#qps);
    const qp = this.fixture.makeQueuePair(number, pd.number);
    this.#expect('invalidate', this.fixture.keys.invalidate(qp, key), this.#model.invalidate(key, number, pd.number));
  }

  #destroy(): void {
    const index = this.#number() >>> 8;
    const { status } = this.fixture.driver.command(CommandOpcode.DESTROY_MKEY, {
      fill: (view) => view.setUint32(8, index),
    });
    this.#expect('destroy', status === 0, this.#model.keys.delete(index));
  }

  #access(): void {
    const random = this.#random;
    const key = this.#number();
    const attributes = this.#model.keys.get(key >>> 8)?.attributes;
    const [access, right] = random.pick(accesses);
    const owner = this.#qps.find(({ pd }) => pd.number === attributes?.pd) ?? this.#qps[0];
    const qp = random.oneIn(4) ? random.pick(this.#qps) : owner;
    const isRemote = random.oneIn(2);
    const length = random.below(random.pick([40, ACCESS_MAX_BYTES]));
    const isPhysical = attributes?.accessMode10 === PHYSICAL;
    const start = isPhysical ? random.pick(this.#pages) : (attributes?.startAddr ?? 0);
    const address = start + (isPhysical ? 0 : random.below((attributes?.len ?? 0) + 2));
    const fault = isRemote
      ? this.fixture.remoteFault(key, address, length, access, qp)
      : this.fixture.localFault(key, address, length, access, qp);
    const qpn = isRemote ? qp.number : ANY_QP;
    const isAllowed = this.#model.allows(key, qp.pd.number, qpn, address, length, [right]);
    this.#expect(`access ${right}`, fault === FaultKind.NONE, isAllowed);
    if (isAllowed && (right === 'lr' || right === 'rr')) this.#read(key, address, length);
  }

  /** Reads by a key that allows it, and expects the bytes that the model finds. */
  #read(key: number, address: number, length: number): void {
    const places = Array.from({ length }, (_, at) => this.#model.resolve(key, address + at));
    const isThere = places.every((place) => place !== undefined && this.#isMemory(place));
    const bytes = this.fixture.read(key, address, length);
    const mode = this.#model.keys.get(key >>> 8)?.attributes.accessMode10;
    this.#expect(mode === KEYS || mode === FIXED_KEYS ? 'read of pieces' : 'read', bytes !== undefined, isThere);
    if (bytes === undefined) return;
    const wrong = places.findIndex((place, at) => this.fixture.bytes(place as number, 1)[0] !== bytes[at]);
    this.#expect('bytes', wrong === -1, true);
  }

  #isMemory(address: number): boolean {
    const { base, lengthBytes } = this.fixture.driver.memory;
    return address >= base && address < base + lengthBytes;
  }

  /** Attributes without the mode; most of them make a usable key. */
  #attributes(): Partial<KeyAttributes> {
    const random = this.#random;
    const rights = {
      lr: this.#mostly(),
      lw: this.#mostly(),
      rr: this.#mostly(),
      rw: this.#mostly(),
      a: this.#mostly(),
    };
    return {
      ...rights,
      ...{ pd: random.oneIn(40) ? OTHER_DOMAIN : this.#domains[random.oneIn(5) ? 1 : 0], mkey70: 0x11 },
      ...{ qpn: random.oneIn(5) ? random.pick(this.#qps).number : ANY_QP, enRinval: this.#mostly() },
      ...{ startAddr: random.pick(starts), len: random.below(3 * PAGE_BYTES), length64: Number(random.oneIn(30)) },
      ...{ logPageSize: random.pick([12, 12, 12, 12, 12, 12, 13, 11]), free: Number(random.oneIn(8)) },
      translationsOctwordSize: random.pick([8, 8, 8, 8, 4, 2, 0]),
    };
  }

  #mostly(): number {
    return Number(!this.#random.oneIn(10));
  }

  #list(mode: number): KeyElements {
    const random = this.#random;
    const count = random.between(1, LIST_MAX);
    if (mode === BY_PAGES) return Array.from({ length: count }, () => random.pick(this.#pages));
    return Array.from({ length: count }, () => this.#piece());
  }

  #piece(): KeyPiece {
    const random = this.#random;
    const key = this.#number();
    const start = this.#model.keys.get(key >>> 8)?.attributes.startAddr ?? 0;
    return { key, address: start + random.below(200), bytes: random.pick([0, 1, 100, 1000, 3000]) };
  }

  /** Writes a list to memory, which a temporary key names. */
  #putBehind(list: KeyElements, { pd }: KeyHolder): KeyPiece {
    return this.fixture.listInMemory(list, { pd: pd.number });
  }

  /** A key as software would name it: most exist, some have another low byte. */
  #number(): number {
    const random = this.#random;
    const all = [...this.#model.keys];
    if (all.length === 0 || random.oneIn(20)) return 0x1000 + random.below(0x4000);
    const [index, { attributes }] = random.pick(all);
    return index * 0x100 + (random.oneIn(20) ? random.below(256) : attributes.mkey70);
  }

  #expect(kind: string, found: boolean, wanted: boolean): void {
    const name = `${kind}, ${wanted ? 'granted' : 'refused'}`;
    this.done[name] = (this.done[name] ?? 0) + 1;
    if (found !== wanted)
      throw new Error(`seed ${this.#random.seed}, act ${this.#act}: ${kind}: device ${found}, model ${wanted}`);
  }

  /** Expects the attributes of a key to be those of the model. */
  #compare(index: number): void {
    const wanted = this.#model.keys.get(index)?.attributes;
    const found = this.fixture.keys.get(index)?.attributes;
    this.#expect('key', found !== undefined, wanted !== undefined);
    if (wanted === undefined || found === undefined) return;
    for (const [field, value] of Object.entries(wanted))
      if (!field.startsWith('relaxed') && found[field as keyof KeyAttributes] !== value)
        throw new Error(`seed ${this.#random.seed}, act ${this.#act}: ${field} of key 0x${index.toString(16)}`);
  }

  /** Expects each domain to have as many users as keys. */
  #compareDomains(): void {
    const { domains } = this.fixture.driver.device.hca;
    for (const pd of this.#domains) {
      const keys = [...this.#model.keys.values()].filter(({ attributes }) => attributes.pd === pd);
      this.#expect('users of a domain', domains.usersOf(pd) === keys.length, true);
    }
  }
}
