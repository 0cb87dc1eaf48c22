import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import type { Stored, Key } from '../../../core/ports/index.ts'
import { countOf } from '../../../core/store/counter.ts'
import { derivedWrites } from '../../../core/store/entries.ts'
import { listEntries } from '../../../core/store/read.ts'
import { COUNTED, DERIVED, derivedFrom } from '../../../core/store/derived.ts'
import { isInRange } from '../../../core/store/keys.ts'
import { openFilledRegistry } from '../../support/sealed-registry.ts'
import { entriesOf, keyedHashIn } from '../../support/whole-store.ts'
import { ofSuite } from '../../support/of-suite.ts'

describe('the table of derived records', () => {
  let entries: readonly Stored[]
  const sealed = ofSuite(openFilledRegistry)
  before(async () => {
    const { registry, scope, stage } = sealed()
    const { id } = await registry.sourceSystems.create(scope, { name: 'scanner', permissions: 'I' })
    await registry.sourceSystems.update(scope, id, {
      name: 'camera',
      apiKey: 'its-next-key-of-many',
      graceSeconds: 3_600,
    })
    const image = await stage('icon', 'icon.png', 'image/png')
    const made = await registry.categories.create(scope, { name: 'With a picture', image }, { idempotencyKey: 'once' })
    await registry.categories.create(scope, { name: 'Below' }, { parent: made.id })
    await registry.categories.update(scope, { categoryId: made.id }, { name: 'Renamed' })
    const [{ externalId } = { externalId: '' }] = (await registry.evidences.list(scope)).items
    await registry.evidences.erase(scope, externalId, { fields: ['name'], reason: 'request' })
    entries = await entriesOf(sealed().records)
  })

  const contentOf = ({ key, value }: { readonly key: Key; readonly value: Uint8Array }): string =>
    `${key} ${Buffer.from(value).toString('latin1')}`

  it('gives exactly the entries that the registry has written, each from the record that it names', async () => {
    const hash = await keyedHashIn(sealed().records)
    const expected = entries.flatMap((record) =>
      derivedFrom(record, hash).map((entry) => ({ ...entry, owner: record.key })),
    )
    const stored = DERIVED.flatMap(({ range, ownerOf }) => {
      const found = entries.filter(({ key }) => isInRange(key, range))
      assert.ok(found.length > 0, `nothing in ${range.gte}`)
      return found.map((entry) => ({ ...entry, owner: ownerOf(entry) }))
    })
    const told = (each: { readonly key: Key; readonly value: Uint8Array; readonly owner: Key }): string =>
      `${contentOf(each)} of ${each.owner}`
    assert.deepEqual(stored.map(told).toSorted(), expected.map(told).toSorted())
  })

  it('gives each counter the list that it counts', async () => {
    for (const family of COUNTED) {
      const { counters } = family
      const found = await listEntries(sealed().records, counters)
      assert.ok(found.length > 0, `nothing in ${counters.gte}`)
      for (const counter of found) {
        const list = await listEntries(sealed().records, family.countedBy(counter.key))
        assert.equal(countOf(counter), list.length, counter.key)
      }
    }
  })

  it('writes only what has changed', () => {
    const entry = (key: Key, value = '') => ({ key, value: Buffer.from(value) })
    const old = [entry('same', '1'), entry('changed', '1'), entry('old')]
    const next = [entry('same', '1'), entry('changed', '2'), entry('new')]
    const writes = derivedWrites(old, next).map(({ key, value }) => [key, value && Buffer.from(value).toString()])
    assert.deepEqual(writes, [['changed', '2'], ['new', ''], ['old', null]]) // prettier-ignore
    assert.deepEqual(derivedWrites([], next), next)
  })
})
