import { randomBytes, timingSafeEqual } from 'node:crypto'
import { DecodeCache } from '../../store/decode-cache.ts'
import { RegistryError } from '../../errors.ts'
import { fromHex, hmacSha256, toHex } from '../../bytes.ts'
import { keys } from '../../store/keys.ts'
import { assertAllowed, type Principal } from '../permissions.ts'
import type { Entry, Version, Write } from '../../ports.ts'
import type { Scope, SourceSystems, WriteOptions } from '../../api/registry.ts'
import { CompanyId, NewSourceSystem, SourceSystemChange, type SourceSystem } from '../schemas.ts'
import { validate } from '../validation.ts'
import {
  assertCompany,
  listAll,
  mustRead,
  put,
  read,
  rfc3339,
  write,
  writeUnchecked,
  type Context,
} from '../context.ts'
import { decodeRecord, type ApiKeyRecord, type SourceSystemRecord } from '../../store/records.ts'

const MIN_KEY_LENGTH = 16
/** Some 300 bytes each. */
const MAX_KNOWN_KEYS = 4_096

/** API keys are kept only as HMAC-SHA-256 of company and key; that is also how they are looked up. */
export class RegistrySourceSystems implements SourceSystems {
  readonly #context: Context
  readonly #hmac: (text: string) => string
  readonly #apiKeys = new DecodeCache(MAX_KNOWN_KEYS, ({ value }) => decodeRecord<ApiKeyRecord>(value))
  #operatorMac: Uint8Array | undefined
  /** Of the record that it was read from. */
  #operatorVersion: Version | undefined
  /** Records of keys that are not the operator's of now. */
  #notOperators = new WeakSet<ApiKeyRecord>()

  constructor(context: Context, hmacKey: Uint8Array) {
    this.#context = context
    this.#hmac = hmacSha256(hmacKey)
  }

  /** Reads the operator key's HMAC; to be called once before use. */
  async load(): Promise<void> {
    const [operator] = await this.#context.records.get([keys.operator()])
    this.#noteOperator(operator)
  }

  hasOperatorKey(): boolean {
    return this.#operatorMac !== undefined
  }

  async setOperatorKey(apiKey: string, { ifNone = false }: { readonly ifNone?: boolean } = {}): Promise<boolean> {
    if (apiKey.length < MIN_KEY_LENGTH)
      throw new RegistryError('CONFIG_ERROR', `The operator key takes at least ${MIN_KEY_LENGTH} characters`)
    const mac = this.#operatorMacOf(apiKey)
    if (this.#operatorMac !== undefined && timingSafeEqual(mac, this.#operatorMac)) return true
    const { ok } = await this.#context.records.commit({
      checks: ifNone ? [{ key: keys.operator(), version: null }] : [],
      writes: [put(keys.operator(), { mac: toHex(mac) })],
    })
    if (ok) this.#setOperatorMac(mac)
    return ok
  }

  async authenticate(companyId: string, apiKey: string): Promise<Principal | undefined> {
    // One look-up in every case, so that nothing is told by what is done. The operator's too: another process may have replaced it.
    const looked = await this.#context.records.get([keys.apiKey(this.#mac(companyId, apiKey)), keys.operator()])
    const [entry, operator] = looked
    this.#noteOperator(operator)
    const found = entry && this.#apiKeys.of(entry)
    // A record is found by its key, so what was compared once need not be again.
    if (found === undefined || !this.#notOperators.has(found)) {
      if (this.#isOperatorKey(apiKey)) return { kind: 'operator' }
      if (found !== undefined) this.#notOperators.add(found)
    }
    if (found === undefined || !found.active) return undefined
    return { kind: 'sourceSystem', id: found.systemId, permissions: found.permissions }
  }

  async create(
    scope: Scope,
    input: NewSourceSystem,
    options: WriteOptions = {},
  ): Promise<{ readonly id: string; readonly apiKey?: string }> {
    const context = this.#context
    validate(CompanyId, scope.companyId)
    const { name, apiKey: own, permissions = 'U' } = validate(NewSourceSystem, input)
    assertAllowed(scope.principal, permissions)
    const apiKey = own ?? randomBytes(32).toString('base64url')
    return writeUnchecked(context, scope, options, async ({ now }) => {
      const record: SourceSystemRecord = {
        id: context.ids.next(),
        name,
        permissions,
        active: true,
        createdAt: now,
        mac: this.#mac(scope.companyId, apiKey),
      }
      await this.#assertFree(scope, { name, apiKey })
      const company = await this.#newCompany(scope, now)
      return {
        commit: {
          checks: [
            ...company.map(({ key }) => ({ key, version: null })),
            { key: keys.sourceSystemName(scope.companyId, name), version: null },
            { key: keys.apiKey(record.mac), version: null },
          ],
          writes: [
            ...company,
            ...this.#writes(scope.companyId, record),
            put(keys.sourceSystemName(scope.companyId, name), { id: record.id }),
          ],
        },
        answer: { id: record.id, ...(own === undefined && { apiKey }) },
        stored: { id: record.id },
      }
    })
  }

  async update(scope: Scope, systemId: string, change: SourceSystemChange): Promise<void> {
    const { name, apiKey, permissions, active } = validate(SourceSystemChange, change)
    if (Object.keys(change).length === 0)
      throw new RegistryError('VALIDATION_ERROR', 'Name something to change: apiKey, name, permissions or active')
    if (permissions !== undefined) assertAllowed(scope.principal, permissions)
    await write(this.#context, scope, {}, async () => {
      const { record: before, check } = await mustRead<SourceSystemRecord>(
        this.#context,
        keys.sourceSystem(scope.companyId, systemId),
        () => new RegistryError('SOURCE_SYSTEM_NOT_FOUND', 'There is no such source system in this company'),
      )
      // Whoever may not grant a level may not change one who has it either.
      assertAllowed(scope.principal, before.permissions)
      const renamed = name !== undefined && name !== before.name ? name : undefined
      const mac = apiKey === undefined ? before.mac : this.#mac(scope.companyId, apiKey)
      const rekeyed = mac !== before.mac
      await this.#assertFree(scope, {
        ...(renamed !== undefined && { name: renamed }),
        ...(rekeyed && apiKey !== undefined && { apiKey }),
      })
      const after: SourceSystemRecord = {
        ...before,
        mac,
        ...(name !== undefined && { name }),
        ...(permissions !== undefined && { permissions }),
        ...(active !== undefined && { active }),
      }
      return {
        commit: {
          checks: [
            check,
            ...(renamed === undefined ? [] : [{ key: keys.sourceSystemName(scope.companyId, renamed), version: null }]),
            ...(rekeyed ? [{ key: keys.apiKey(mac), version: null }] : []),
          ],
          writes: [
            ...this.#writes(scope.companyId, after),
            ...(rekeyed ? [{ key: keys.apiKey(before.mac), value: null }] : []),
            ...(renamed === undefined
              ? []
              : [
                  { key: keys.sourceSystemName(scope.companyId, before.name), value: null },
                  put(keys.sourceSystemName(scope.companyId, renamed), { id: before.id }),
                ]),
          ],
        },
        answer: null,
      }
    })
  }

  async list(scope: Scope): Promise<readonly SourceSystem[]> {
    await assertCompany(this.#context, scope)
    const entries = await listAll(this.#context, keys.sourceSystems(scope.companyId))
    return entries.map(({ value }) => {
      const { id, name, permissions, active, createdAt } = decodeRecord<SourceSystemRecord>(value)
      return { id, name, permissions, active, createdAt: rfc3339(createdAt) }
    })
  }

  /** The write that creates the company, where the operator names one that is not there: it comes and goes with its first system. */
  async #newCompany({ companyId, principal }: Scope, now: number): Promise<readonly Write[]> {
    const key = keys.company(companyId)
    if (principal.kind !== 'operator' || (await read(this.#context, key)) !== undefined) return []
    return [put(key, { createdAt: now })]
  }

  /** Throws for a name or key that is taken. */
  async #assertFree(
    { companyId }: Scope,
    { name, apiKey }: { readonly name?: string; readonly apiKey?: string },
  ): Promise<void> {
    if (name !== undefined && (await read(this.#context, keys.sourceSystemName(companyId, name))) !== undefined)
      throw new RegistryError('NAME_EXISTS', 'name: another source system of this company has it')
    if (apiKey === undefined) return
    // The operator key as a system's own would make that system the operator.
    const taken =
      this.#isOperatorKey(apiKey) ||
      (await read(this.#context, keys.apiKey(this.#mac(companyId, apiKey)))) !== undefined
    if (taken) throw new RegistryError('KEY_EXISTS', 'apiKey: this key is in use in this company; take another')
  }

  #writes(companyId: string, record: SourceSystemRecord) {
    const { id, permissions, active, mac } = record
    return [
      put(keys.sourceSystem(companyId, id), record),
      put(keys.apiKey(mac), { systemId: id, permissions, active } satisfies ApiKeyRecord),
    ]
  }

  #noteOperator(entry: Entry | undefined): void {
    if (entry !== undefined && entry.version === this.#operatorVersion) return
    this.#setOperatorMac(entry && fromHex(decodeRecord<{ mac: string }>(entry.value).mac))
    this.#operatorVersion = entry?.version
  }

  #setOperatorMac(mac: Uint8Array | undefined): void {
    this.#operatorMac = mac
    this.#notOperators = new WeakSet()
  }

  #mac(companyId: string, apiKey: string): string {
    // No company holds a NUL, so no two pairs run into each other.
    return this.#hmac(`${companyId}\0${apiKey}`)
  }

  #operatorMacOf(apiKey: string): Uint8Array {
    return fromHex(this.#hmac(`\0operator\0${apiKey}`)) as Uint8Array
  }

  #isOperatorKey(apiKey: string): boolean {
    return this.#operatorMac !== undefined && timingSafeEqual(this.#operatorMacOf(apiKey), this.#operatorMac)
  }
}
