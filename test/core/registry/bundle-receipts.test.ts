import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { ErasureId } from '../../../core/api/scope.ts'
import { MAX_RECEIPTS } from '../../../core/commitment/bundle-format.ts'
import { erasureOpening, receiptHash, receiptText } from '../../../core/commitment/receipt.ts'
import type { Scope } from '../../../core/index.ts'
import { appendControl } from '../../../core/log/payload.ts'
import { txIdOfEntry } from '../../../core/registry/event/make.ts'
import { Bundle } from '../../../core/schemas/bundle.ts'
import { validate } from '../../../core/schemas/validation.ts'
import { putRecord } from '../../../core/store/entries.ts'
import { keys } from '../../../core/store/keys.ts'
import { ExportVerifier, verifyBundle, type ReceiptClaims } from '../../../core/verify/index.ts'
import { tokens } from '../../../core/verify/tokens.ts'
import { openBundleRegistry } from '../../support/bundle-fixture.ts'
import { present } from '../../support/present.ts'
import { temporaryOfSuite } from '../../support/temporary.ts'

const textsOf = ({ receipts = [] }: Bundle) => receipts.map(({ text }) => text)

/** An evidence with two versions. */
async function openUpdated(directory: string) {
  const opened = await openBundleRegistry({ directory, anchor: 'evm' })
  const { registry, scope, evidence } = opened
  await evidence({ owner: 'Ada', files: [await opened.stage('content', 'a.txt')] })
  await registry.evidences.update(scope, 'e-1', { owner: 'Grace' })
  let others = 0
  /** An erasure alone is not stamped. */
  async function settle(): Promise<void> {
    await evidence({ externalId: `other-${others++}` })
    await opened.settle()
  }
  const whole = { externalId: 'e-1', fields: 'all', files: 'all' } as const
  const bundle = async (as: Scope = scope) => validate(Bundle, await registry.proofs.bundle(as, whole))
  const erase = (version: number) =>
    registry.evidences.erase(scope, 'e-1', { fields: ['owner'], versions: [version], reason: 'court' })
  async function receiptsIn(shown: Bundle): Promise<readonly ReceiptClaims[]> {
    const result = verifyBundle(JSON.stringify(shown), { policy: await opened.policy(), tokens })
    assert.equal(result.state, 'proven', JSON.stringify(result.unchecked))
    return 'claims' in result ? result.claims.receipts : []
  }
  return { ...opened, settle, bundle, erase, receiptsIn }
}

/** Stores more receipts of an erasure of version 1. Returns their texts. */
async function storeReceipts({ registry, scope, records }: Awaited<ReturnType<typeof openUpdated>>, times: number[]) {
  const { id: evidence, txId } = (await registry.evidences.get(scope, 'e-1')).evidence
  const { origin: log } = await registry.log.policy()
  const made = times.map((time) => {
    const erased = [{ version: 1, fields: ['owner'], files: [], txId }]
    const text = receiptText({ by: 'operator', erased, log, reason: 'request', time })
    const append = appendControl(erasureOpening(receiptHash(new Uint8Array(32), text)))
    const id = `r-${String(time).padStart(4, '0')}` as ErasureId
    const of = { id, at: time, evidence, reason: 'request', by: 'operator', salt: '0'.repeat(64) } as const
    const record = { ...of, text, txId: txIdOfEntry(append.entry), erased }
    return { text, append, write: putRecord(keys.erasure(scope.companyId, evidence, id), record) }
  })
  const [writes, append] = [made.map(({ write }) => write), made.map((one) => one.append)]
  await records.commit({ checks: [], writes, append })
  return made.map(({ text }) => text)
}

describe('the receipts in a bundle', () => {
  const directory = temporaryOfSuite()

  it('are shown when they are sealed, with their texts to A keys alone, also in an export', async () => {
    const { registry, scope, policy, system, erase, bundle, settle, receiptsIn } = await openUpdated(
      `${directory}/keys`,
    )
    const { receipt } = await erase(2)
    await settle()
    await erase(1)
    const shown = await bundle()
    const [{ txId, erasure, notLaterThan }, ...others] = (await receiptsIn(shown)) as [ReceiptClaims]
    const [{ fields, txId: event } = { fields: [] }] = present(erasure).erased
    const [, second] = (await registry.evidences.get(scope, 'e-1')).events
    assert.deepEqual([txId, event, others], [present(receipt).txId, second?.txId, []])
    assert.deepEqual([erasure?.by, erasure?.reason, fields], ['operator', 'court', ['owner']])
    assert.ok(shown.events[1]?.fields?.['owner'] === undefined && present(notLaterThan) > 0)

    const [reader, admin] = [await system('R'), await system('A')]
    const bare = await bundle(reader.scope)
    assert.deepEqual([textsOf(bare), (await receiptsIn(bare)).length], [[undefined], 1])
    assert.deepEqual(await bundle(admin.scope), shown)

    // Its external id is erased, too.
    await registry.evidences.erase(scope, 'e-1', { content: true, reason: 'request' })
    await settle()
    for (const [as, hasTexts] of [[admin.scope, true] as const, [reader.scope, false] as const]) {
      const verifier = new ExportVerifier({ policy: await policy(), tokens })
      let text = ''
      for await (const part of registry.proofs.exportCompany(as)) text += part
      const lines = text.trimEnd().split('\n')
      for (const line of lines) verifier.add(line)
      const [{ bundle: exported }, { sha256 }] = [lines[1], lines.at(-1)].map((line = '') => JSON.parse(line))
      assert.equal(verifier.end(sha256).state, 'proven')
      assert.equal(textsOf(exported).filter((each) => each !== undefined).length, hasTexts ? 3 : 0)
    }
  })

  it('name an event of the bundle', async () => {
    const { erase, anyone, registry, scope, settle } = await openUpdated(`${directory}/events`)
    const [file] = (await registry.evidences.files(scope, 'e-1')).evidence
    const { txId = '' } = (await registry.evidences.get(scope, 'e-1')).events[1] ?? {}
    const ofEvent = async () => {
      const result = await registry.proofs.eventBundle(txId)
      return result.status === 'ok' ? textsOf(result.bundle) : assert.fail(result.error)
    }
    const ofFirst = async () => [await anyone('e-1'), await anyone('e-1', present(file).id)].map(textsOf)
    await erase(2)
    await settle()
    assert.deepEqual([await ofFirst(), await ofEvent()], [[[], []], [undefined]])
    await erase(1)
    await settle()
    assert.deepEqual([await ofFirst(), await ofEvent()], [[[undefined], [undefined]], [undefined]])
  })

  it('are only read for bundles in which something is erased', async () => {
    const { registry, scope, records, bundle, anyone, erase } = await openUpdated(`${directory}/reads`)
    const [list, read] = [records.list.bind(records), [] as string[]]
    records.list = (range) => {
      if (range.gte.startsWith('er/')) read.push(range.gte)
      return list(range)
    }
    const makeAll = async (): Promise<number> => {
      await Promise.all([bundle(), anyone('e-1')])
      for await (const _ of registry.proofs.exportCompany(scope));
      return read.splice(0).length
    }
    assert.equal(await makeAll(), 0)
    await erase(2)
    assert.equal(await makeAll(), 2, 'for the history and the export')
  })

  it('are as many as a verifier reads, the newest ones', async () => {
    const opened = await openUpdated(`${directory}/many`)
    await opened.erase(1)
    const times = Array.from({ length: MAX_RECEIPTS + 1 }, (_, i) => i)
    const texts = await storeReceipts(opened, times)
    await opened.settle()
    const bundle = await opened.bundle()
    assert.deepEqual(textsOf(bundle), texts.slice(1))
    assert.equal((await opened.receiptsIn(bundle)).length, MAX_RECEIPTS)
  })

  it('share checkpoints if a verifier would refuse all of them, also in another order than their ids', async () => {
    const opened = await openUpdated(`${directory}/shared`)
    const count = 80
    await opened.erase(1)
    for (let time = count; time > 1; time--) {
      await storeReceipts(opened, [time])
      await opened.settle()
    }
    const bundle = await opened.bundle()
    const sizes = new Set(bundle.receipts?.map(({ inclusion }) => String(inclusion.map(({ treeSize }) => treeSize))))
    assert.ok(sizes.size > 1 && sizes.size < count, `${sizes.size} checkpoints`)
    assert.equal((await opened.receiptsIn(bundle)).length, count)
  })
})
