import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { encodeUtf8, sha256 } from '../../../core/bytes.ts'
import { fsck, type Difference, type FsckStores } from '../../../core/ops/index.ts'
import { logKeys } from '../../../core/log/keys.ts'
import type { RecordStore } from '../../../core/ports/index.ts'
import { withPosition } from '../../../core/store/commit-plan.ts'
import { keys, isInRange } from '../../../core/store/keys.ts'
import { putRecord } from '../../../core/store/entries.ts'
import { openFilledRegistry } from '../../support/sealed-registry.ts'
import { differencesIn, entriesOf } from '../../support/whole-store.ts'
import { ofSuite } from '../../support/of-suite.ts'
import { withMethods } from '../../support/with-methods.ts'

describe('fsck', () => {
  const sealed = ofSuite(openFilledRegistry)
  before(async () => {
    const { registry, scope, stage, filled } = sealed()
    const { id } = await registry.sourceSystems.create(scope, { name: 'scanner', permissions: 'I' })
    await registry.sourceSystems.update(scope, id, { apiKey: 'the-next-key-of-the-scanner', graceSeconds: 3_600 })
    await registry.files.createToken(scope, filled.keptFile)
    await registry.sourceSystems.authenticate({ companyId: scope.companyId, apiKey: 'a-wrong-key' })
    // Writes the entries of the token and the wrong key.
    await registry.sourceSystems.audit(scope)
    await sealed().records.commit({ writes: [putRecord(keys.lastUse(scope.companyId, id), { at: 60_000 })] })
    await registry.categories.create(
      scope,
      { name: 'With a picture', image: await stage('icon', 'icon.png', 'image/png') },
      { idempotencyKey: 'once' },
    )
    // An event that is in no batch yet.
    await registry.evidences.update(scope, filled.plain, { updateType: 'repair' })
  })

  const differencesNow = (stores: Partial<FsckStores> = {}) => {
    const { records, blobs, secret } = sealed()
    return differencesIn({ records, blobs, secret, ...stores })
  }
  const allEntries = () => entriesOf(sealed().records)

  /** The differences while a record has another value (`null`: is deleted). */
  async function differencesWith(key: string, value: Uint8Array | null): Promise<readonly Difference[]> {
    const [entry] = await sealed().records.get([key])
    await sealed().records.commit({ writes: [{ key, value }] })
    try {
      return await differencesNow()
    } finally {
      await sealed().records.commit({ writes: [{ key, value: entry?.value ?? null }] })
    }
  }

  it('reports nothing for an intact store, and counts what it checked', async () => {
    const { records, blobs, secret, signedHead } = sealed()
    const head = await signedHead.read()
    assert.ok(head !== undefined)
    const stages = new Set<string>()
    const report = await fsck(
      { records, blobs, secret, signedHead: head },
      { onDifference: failOnDifference, onProgress: ({ stage }) => stages.add(stage) },
    )
    assert.equal(report.differences, 0)
    assert.equal(report.done.log, await records.logSize())
    assert.equal(report.done.evidences, 8)
    assert.equal(report.done.blobs, 5)
    assert.deepEqual([...stages].toSorted(), ['blobs', 'evidences', 'indexes', 'log'])
  })

  /** Families that no other record depends on: the operator's key, last uses, uploads and pending deletions. */
  const INDEPENDENT = new Set(['op', 'lu', 'bi', 'bd'])
  const familyOf = (key: string): string => key.slice(0, 2)

  it('reports every deleted record', async () => {
    const entries = await allEntries()
    assert.ok(new Set(entries.map(({ key }) => familyOf(key))).size > 25)
    for (const index of ['ie/', 'ep/', 'el/sub/', 'el/stolen/', 'ec/sub/', 'ec/stolen/', 'ow/', 'wo/', 'up/'])
      assert.ok(
        entries.some(({ key }) => key.startsWith(index)),
        index,
      )
    for (const { key } of entries) {
      const differences = await differencesWith(key, null)
      assert.equal(differences.length === 0, INDEPENDENT.has(familyOf(key)), `${key} deleted`)
    }
    assert.deepEqual(await differencesNow(), [])
  })

  it('reports every record without its last byte', async () => {
    for (const { key, value } of await allEntries()) {
      if (value.length === 0) continue
      const differences = await differencesWith(key, value.slice(0, -1))
      assert.ok(differences.length > 0, `${key} truncated`)
    }
  })

  it('reports every record that has lost its members, and continues', async () => {
    for (const { key, value } of await allEntries()) {
      if (!/^[[{]/.test(Buffer.from(value).toString())) continue
      const differences = await differencesWith(key, encodeUtf8('{}')).catch((error: unknown) =>
        assert.fail(`${key}: ${error instanceof Error ? error.stack : String(error)}`),
      )
      assert.ok(differences.length > 0 || WITHOUT_CHECKED_MEMBERS.has(familyOf(key)), key)
    }
  })

  it('does not count the tokens of a log that it could not read to the end', async () => {
    const batches = (await allEntries()).filter(({ key }) => isInRange(key, logKeys.batches()))
    assert.ok(batches.length > 0)
    for (const { key } of batches) {
      const differences = await differencesWith(key, encodeUtf8('{}'))
      const unexpected = differences.filter(({ message }) => message.includes('the log has'))
      assert.deepEqual(unexpected, [], key)
    }
  })

  it('reports every record that should not exist', async () => {
    const entries = await allEntries()
    for (const { key, value } of entries) {
      const parts = key.split('/')
      if (parts.length < 2 || INDEPENDENT.has(familyOf(key)) || familyOf(key) === 'co') continue
      const last = parts.at(-1) as string
      const other = [...parts.slice(0, -1), last.slice(0, -1) + (last.endsWith('1') ? '2' : '1')].join('/')
      const differences = await differencesWith(other, value)
      assert.ok(differences.length > 0, `${other} added`)
    }
    for (const key of ['a', 'ev', 'evil', 'zz/9', '~'])
      assert.deepEqual(await differencesWith(key, new Uint8Array(1)), [
        { kind: 'unknown', key, message: 'No part of the registry keeps such a record' },
      ])
  })

  it('reports every changed member of an evidence, its entry in the list, an event or a file', async () => {
    let changes = 0
    for (const { key, value } of await allEntries()) {
      if (!['ev', 'el', 'vh', 'fi'].includes(familyOf(key)) || value.length === 0) continue
      const isPlaced = ['ev', 'vh'].includes(familyOf(key))
      const end = value.length - (isPlaced ? 8 : 0)
      const json = value.subarray(0, end)
      const record = JSON.parse(Buffer.from(json).toString()) as Record<string, unknown>
      if (isPlaced) assert.ok((await differencesWith(key, withPosition(json, 1))).length > 0, `position of ${key}`)
      for (const [name, member] of Object.entries(record)) {
        // No event commits to a title, or to the name and type of a category's image.
        const isFree = record['ownerKind'] === 'category' ? ['title', 'name', 'mimeType'] : ['title']
        if (isFree.includes(name)) continue
        const differences = await differencesWith(
          key,
          Buffer.concat([
            encodeUtf8(JSON.stringify(Object.assign(structuredClone(record), { [name]: changed(member) }))),
            value.subarray(end),
          ]),
        )
        assert.ok(differences.length > 0, `${name} of ${key} changed`)
        changes += 1
      }
    }
    assert.ok(changes > 100)
  })

  it('reports a changed, a missing and an additional log entry', async () => {
    const { records } = sealed()
    const logSize = await records.logSize()
    const kinds = async (store: Partial<RecordStore>): Promise<Set<string>> =>
      new Set((await differencesNow({ records: withMethods(records, store) })).map(({ kind }) => kind))
    const other = await kinds({
      async readLog(from, count) {
        const packed = await records.readLog(from, count)
        if (from === 0) packed[40] = (packed[40] ?? 0) ^ 1
        return packed
      },
    })
    for (const kind of ['entry', 'batch']) assert.ok(other.has(kind), kind)
    const shorter = await kinds({
      logSize: async () => 3,
      readLog: async (from) => (from === 0 ? records.readLog(0, 3) : new Uint8Array()),
    })
    assert.ok(shorter.has('head'))
    const longer = await kinds({
      logSize: async () => logSize + 1,
      readLog: async (from, count) => Buffer.concat([await records.readLog(from, count), new Uint8Array(32)]),
    })
    assert.deepEqual([...longer], ['entry'])
  })

  it('follows a history over several pages, and compares the record with the end of each', async () => {
    const { registry, scope, filled } = sealed()
    for (const externalId of [filled.plain, filled.drill])
      for (let i = 0; i < 300; i++) await registry.evidences.update(scope, externalId, { summary: `${i}` })
    assert.deepEqual(await differencesNow(), [])
    const later = (await allEntries()).filter(({ key }) => isInRange(key, keys.laterEvents()))
    const [missing, next] = [later[300], later[301]]
    assert.ok(missing !== undefined && next !== undefined && later.length > 600)
    const found = await differencesWith(missing.key, null)
    const behind = found.filter(({ key }) => key === next.key)
    assert.deepEqual(
      behind.map(({ kind }) => kind),
      ['event'],
    )
    assert.match(behind[0]?.message ?? '', /Expected version \d+, not \d+/)
  })

  it('reports a checkpoint with a line that the log did not sign', async () => {
    const [entry] = (await allEntries()).filter(({ key }) => isInRange(key, logKeys.checkpoints()))
    assert.ok(entry !== undefined)
    const { note, ...checkpoint } = JSON.parse(Buffer.from(entry.value).toString()) as { readonly note: string }
    const other = `${note}— other ${Buffer.alloc(68).toString('base64')}\n`
    const found = await differencesWith(entry.key, encodeUtf8(JSON.stringify({ ...checkpoint, note: other })))
    assert.ok(
      found.some(({ kind, key, message }) => kind === 'checkpoint' && key === entry.key && /signature/.test(message)),
    )
  })

  it('checks the pages behind one that it cannot check to its end', async () => {
    const { records } = sealed()
    const [batch] = (await allEntries()).filter(({ key }) => isInRange(key, logKeys.batches()))
    assert.ok(batch !== undefined)
    await records.commit({ writes: [{ key: 'zz/stray', value: new Uint8Array(1) }] })
    const found = await differencesWith(batch.key, encodeUtf8('{}'))
    await records.commit({ writes: [{ key: 'zz/stray', value: null }] })
    for (const key of [batch.key, 'zz/stray'])
      assert.ok(
        found.some((each) => each.key === key),
        key,
      )
  })

  it('reports a signed head that is larger than the store, or has another root', async () => {
    const head = await sealed().signedHead.read()
    assert.ok(head !== undefined)
    const kindsWith = async (signedHead: typeof head): Promise<string[]> =>
      (await differencesNow({ signedHead })).map(({ kind }) => kind)
    assert.deepEqual(await kindsWith({ ...head, size: head.size + 1 }), ['head'])
    assert.deepEqual(await kindsWith({ ...head, root: sha256(head.root) }), ['head'])
  })

  it('reports a secret that is not the secret of the log', async () => {
    const differences = await differencesNow({ secret: new Uint8Array(32).fill(8) })
    const shownKinds = differences.map(({ kind }) => kind)
    assert.deepEqual(shownKinds, ['identity'])
  })

  it('reports files whose bytes are missing, changed, or not deleted', async () => {
    const { blobs } = sealed()
    const { keptFile: kept, deletedFile: deleted } = sealed().filled
    const withBlob = (id: string, content: string | undefined) =>
      withMethods(blobs, {
        get: async (key, ...rest) => {
          if (key !== id) return blobs.get(key, ...rest)
          if (content === undefined) return undefined
          const bytes = encodeUtf8(content)
          return {
            size: bytes.length,
            body: (async function* () {
              yield bytes
            })(),
          }
        },
      })
    for (const [id, content] of [
      [kept, undefined],
      [kept, 'Read this last..'],
      [deleted, 'Never mind.'],
    ] as const) {
      const differences = await differencesNow({ blobs: withBlob(id, content) })
      const shown = differences.map(({ kind, key }) => [kind, key])
      assert.deepEqual(shown, [['blob', `blob/${id}`]])
    }
  })

  it('stops if its signal is aborted', async () => {
    const reason = new Error('enough')
    await assert.rejects(fsck({ records: sealed().records }, { signal: AbortSignal.abort(reason) }), reason)
  })

  it('reports nothing for an empty store', async () => {
    const { MemoryRecords } = await import('../../../adapters/memory/index.ts')
    const report = await fsck({ records: new MemoryRecords() }, { onDifference: failOnDifference })
    assert.equal(report.differences, 0)
  })

  it('checks full tiles of leaves and those above them, and reports a stored partial tile of leaves', async () => {
    const { registry, scope, records } = sealed()
    const [category] = await registry.categories.list(scope)
    const inputs = Array.from({ length: 600 }, (_, i) => ({ externalId: `bulk ${i}`, name: 'Bulk' }))
    assert.ok(category !== undefined)
    const [subcategory] = category.subcategories
    await registry.evidences.createMany(scope, {
      categoryId: category.id,
      subcategoryId: subcategory?.id ?? '',
      evidences: inputs,
    })
    await registry.sealNow()
    assert.deepEqual(await differencesNow(), [])
    const [tile] = await records.get([logKeys.tile(1, 0)])
    assert.ok(tile !== undefined)
    const other = tile.value.slice()
    other[0] = (other[0] ?? 0) ^ 1
    for (const changedKey of [logKeys.tile(1, 0), logKeys.tile(0, 1), logKeys.tile(0, 2)])
      assert.deepEqual(
        (await differencesWith(changedKey, other)).map(({ kind, key }) => [kind, key]),
        [['tile', changedKey]],
      )
  })
})

const failOnDifference = ({ kind, key, message }: Difference): never => assert.fail(`${kind} ${key}: ${message}`)

/** Another value of the same kind. */
function changed(value: unknown): unknown {
  if (typeof value === 'number') return value + 1
  if (typeof value === 'boolean') return !value
  if (value === null) return '0'.repeat(64)
  if (typeof value === 'object') {
    const entries = Object.entries(value)
    const [first] = entries
    return first === undefined ? { unknown: 'x' } : { ...value, [first[0]]: changed(first[1]) }
  }
  const text = value as string
  return text.slice(0, -1) + (text.endsWith('1') ? '2' : '1')
}
/** Families whose records may have any members: only that they are JSON is checked. */
const WITHOUT_CHECKED_MEMBERS = new Set<string>(['co', 'lu', 'op'])
