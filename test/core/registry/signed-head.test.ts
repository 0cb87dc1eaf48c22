import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { MemorySignedHead } from '../../../adapters/memory/index.ts'
import { adoptSignedHead } from '../../../core/index.ts'
import { logKeys } from '../../../core/log/keys.ts'
import { emptyRoot } from '../../../core/log/tree/hash.ts'
import type { SignedHead } from '../../../core/ports/index.ts'
import type { RegistryOptions } from '../../../core/registry/options.ts'
import { putRecord } from '../../../core/store/entries.ts'
import { readOne } from '../../../core/store/read.ts'
import { confirmAnchorOf } from '../../support/confirmed-anchor.ts'
import { countCommits } from '../../support/count-commits.ts'
import { present } from '../../support/present.ts'
import { openFixture, Stores, type Fixture } from '../../support/registry-fixture.ts'
import { rejectsWith } from '../../contract/blob-bodies.ts'

/** Stores with one sealed evidence, and the head that was signed. */
async function sealedStores(): Promise<{ readonly stores: Stores; readonly head: SignedHead }> {
  const stores = new Stores()
  const first = await openFixture({ stores })
  await first.evidence()
  await first.registry.sealNow()
  await first.close()
  const head = await stores.signedHead.read()
  assert.ok(head)
  return { stores, head }
}

const openWith = (stores: Stores, registry: Partial<RegistryOptions> = {}, isShared = false) =>
  openFixture({ stores, registry, records: { isShared } })

describe('the signed head of a registry', () => {
  it('is written with size 0 before the log exists', async () => {
    const stores = new Stores()
    const sizes: [head: number | undefined, log: number][] = []
    const write = stores.signedHead.write.bind(stores.signedHead)
    stores.signedHead.write = async (head) => {
      sizes.push([head.size, await stores.records.logSize()])
      assert.deepEqual(head.root, emptyRoot())
      return write(head)
    }
    const registry = await openWith(stores)
    assert.deepEqual(sizes, [[0, 0]])
    await registry.close()
  })

  it('must not be missing if the log has entries, sealed or not, and the message says what to do', async () => {
    const { stores } = await sealedStores()
    const unsealed = new Stores()
    await (await openWith(unsealed)).close()
    for (const each of [stores, unsealed]) {
      const signedHead = new MemorySignedHead()
      await assert.rejects(openWith(each, { signedHead }), (error: Error & { code?: string }) => {
        assert.equal(error.code, 'LOG_BEHIND_SIGNED')
        assert.match(error.message, /signed head is missing.*Restore.*adopt.*read-only/is)
        return true
      })
      assert.equal(await signedHead.read(), undefined)
    }
  })

  it('is not accepted if it has the size of the store and another root', async () => {
    const { stores, head } = await sealedStores()
    const signedHead = new MemorySignedHead()
    await signedHead.write({ size: head.size, root: new Uint8Array(32).fill(9) })
    await rejectsWith('LOG_BEHIND_SIGNED', openWith(stores, { signedHead }))
  })

  it('is adopted from a given head that the store holds, and only from such a head', async () => {
    const { stores, head } = await sealedStores()
    for (const wrong of [
      { size: head.size + 1, root: head.root },
      { size: head.size, root: new Uint8Array(32).fill(9) },
    ]) {
      const signedHead = new MemorySignedHead()
      await rejectsWith('LOG_BEHIND_SIGNED', adoptSignedHead({ records: stores.records, signedHead }, wrong))
      assert.equal(await signedHead.read(), undefined)
    }
    const signedHead = new MemorySignedHead()
    await adoptSignedHead({ records: stores.records, signedHead }, head)
    assert.deepEqual(await signedHead.read(), head)
    await rejectsWith('CONFIG_ERROR', adoptSignedHead({ records: stores.records, signedHead }, head))
    const fixture = await openWith(stores, { signedHead })
    await fixture.evidence({ externalId: 'e-2' })
    await fixture.registry.sealNow()
    await fixture.close()
  })

  it('is compared with the heads that are known from elsewhere, such as the ledger', async () => {
    const { stores, head } = await sealedStores()
    for (const known of [
      { size: head.size + 1, root: head.root },
      { size: head.size, root: new Uint8Array(32).fill(9) },
    ])
      await rejectsWith('LOG_BEHIND_SIGNED', openWith(stores, { knownHeads: [known] }))
    await (await openWith(stores, { knownHeads: [head] })).close()
  })
})

describe('a registry that is opened read-only', () => {
  /** A store that lost its last batch: the head is newer. */
  async function behindHead(): Promise<Fixture> {
    const { stores, head } = await sealedStores()
    await stores.signedHead.write({ size: head.size + 5, root: new Uint8Array(32).fill(9) })
    await rejectsWith('LOG_BEHIND_SIGNED', openWith(stores))
    const commits = countCommits(stores.records)
    const fixture = await openWith(stores, { readOnly: true, operatorKey: 'a'.repeat(20) })
    assert.equal(commits.count, 0)
    return fixture
  }

  it('serves every proof of a store that is behind its head, and signs and writes nothing', async () => {
    const fixture = await behindHead()
    const { registry, scope, stores } = fixture
    const before = await stores.signedHead.read()
    const proof = await registry.proofs.evidence({ evidenceId: 'e-1' })
    assert.equal(proof.status, 'ok')
    assert.equal((await registry.evidences.list(scope)).count, 1)
    const { writesRefused, sealedSize, logSize } = registry.status()
    assert.deepEqual([writesRefused, sealedSize, logSize], ['READ_ONLY', 2, 2])
    const writes = [
      () => fixture.evidence({ externalId: 'e-2' }),
      () => fixture.stage(),
      () => registry.evidences.update(scope, 'e-1', { description: 'x' }),
      () => registry.categories.create(scope, { name: 'x' }),
      () => registry.sourceSystems.create(scope, { name: 'x' }),
      () => registry.sourceSystems.setOperatorKey('b'.repeat(20)),
      () => registry.sealNow(),
    ]
    for (const write of writes)
      await assert.rejects(write, (error: Error & { code?: string }) => {
        assert.equal(error.code, 'UNAVAILABLE')
        assert.match(error.message, /read-only/)
        return true
      })
    assert.deepEqual(await stores.signedHead.read(), before)
    assert.deepEqual([...stores.blobs.kept], [])
    await fixture.close()
  })

  it('needs an existing log, and creates none', async () => {
    const stores = new Stores()
    await rejectsWith('CONFIG_ERROR', openWith(stores, { readOnly: true }))
    assert.deepEqual([await stores.records.logSize(), await stores.signedHead.read()], [0, undefined])
  })
})

describe('a registry on shared records without a signed head', () => {
  it('adopts the newest confirmed anchor, and is not opened before there is one', async () => {
    const { stores } = await sealedStores()
    const signedHead = new MemorySignedHead()
    await assert.rejects(openWith(stores, { signedHead }, true), {
      code: 'LOG_BEHIND_SIGNED',
      message: /evidence-registry adopt head/,
    })
    assert.equal(await signedHead.read(), undefined)
    await confirmAnchorOf(stores.records)
    await rejectsWith('LOG_BEHIND_SIGNED', openWith(stores, { signedHead }))
    const key = logKeys.anchor(2)
    const anchor = present(await readOne(stores.records, key))
    await stores.records.commit({ writes: [putRecord(key, { ...anchor, root: '09'.repeat(32) })] })
    await rejectsWith('LOG_BEHIND_SIGNED', openWith(stores, { signedHead }, true))
    assert.equal(await signedHead.read(), undefined, 'the records must hold it')
    await stores.records.commit({ writes: [putRecord(key, anchor)] })
    const joining = await openWith(stores, { signedHead }, true)
    assert.equal((await signedHead.read())?.size, 2)
    await joining.evidence({ externalId: 'e-2' })
    await joining.registry.sealNow()
    assert.equal((await signedHead.read())?.size, 3)
    await joining.close()
  })
})
