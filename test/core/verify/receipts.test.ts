import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { toHex } from '../../../core/bytes.ts'
import { canonicalJson, type Json } from '../../../core/commitment/canonical-json.ts'
import { erasureOpening, receiptHash } from '../../../core/commitment/receipt.ts'
import { MAX_RECEIPTS } from '../../../core/commitment/bundle-format.ts'
import { parsePolicy, verifyBundle, type BundleResult } from '../../../core/verify/index.ts'
import { present } from '../../support/present.ts'
import { entryAt, forgeBundle, type Members } from './bundle-forger.ts'
import { FILE, fileText, ForgedLog, forgeEvent, ruleOf, SLOT_KEY } from './forger.ts'

/** Other rules of receipts are in the vectors: test/vectors/bundle. */

const SALT = new Uint8Array(32).fill(3)
const { origin } = new ForgedLog()
const content = { fields: { owner: 'Ada' }, files: { [FILE]: fileText } }
const event = forgeEvent({ origin, slotKey: SLOT_KEY, version: 1, time: 1_000, ...content })
const RECEIPT = { by: 'operator', log: origin, reason: 'court', time: 2_000, v: 1 }
const erased = { fields: ['name'], files: ['f-1'], txId: event.txId }
const receiptOf = (change: Readonly<Record<string, Json>> = {}): string =>
  canonicalJson({ ...RECEIPT, erased: [erased], ...change })

/** A log of the event, a receipt with this text, and with `isRetired` a key that signs what comes after the event. */
function logWith(text: string, isRetired = false) {
  const log = new ForgedLog()
  log.add(event.opening)
  if (isRetired) log.addKey()
  const position = log.add(erasureOpening(receiptHash(SALT, text)))
  const keys = log.pinned.slice(0, 1).map(({ root, ...key }) => ({ ...key, ...(root && { root: toHex(root) }) }))
  return { log, position, policy: parsePolicy(JSON.stringify({ origin, keys })) }
}

function verify(text: string, members: Members = { text, salt: toHex(SALT) }, count = 1): BundleResult {
  const { log, position, policy } = logWith(text)
  const receipt = { ...entryAt(log, position, [log.tree.size]), ...members }
  const receipts = Array.from({ length: count }, () => receipt)
  return verifyBundle(JSON.stringify({ ...forgeBundle(log, [event]), receipts }), { policy })
}

const claimsOf = (result: BundleResult) => ('claims' in result ? result.claims : assert.fail(result.reason))
const doubtsOf = ({ unchecked }: BundleResult): readonly string[] => unchecked.map(({ what }) => what)

describe('the receipts of a bundle', () => {
  it('are claims, with what they state and their place in the log', () => {
    const result = verify(receiptOf())
    const [receipt, ...others] = claimsOf(result).receipts
    const { v: _, ...stated } = RECEIPT
    assert.deepEqual(present(receipt).erasure, { ...stated, erased: [erased] })
    assert.deepEqual(present(receipt).log, { position: 2, treeSize: 3 })
    assert.deepEqual([result.state, present(receipt).notLaterThan, others], ['proven', undefined, []])
    assert.ok(doubtsOf(result).includes('copies of what was erased'))
  })

  it('state nothing without their texts', () => {
    const result = verify(receiptOf(), {})
    const [receipt] = claimsOf(result).receipts
    assert.equal(present(receipt).erasure, undefined)
    assert.ok(doubtsOf(result).includes('what was erased'))
  })

  it('refute nothing that the bundle discloses, but say so', () => {
    for (const shown of [{ fields: ['owner'] }, { files: [FILE] }]) {
      const result = verify(receiptOf({ erased: [{ ...erased, ...shown }] }))
      assert.equal(result.state, 'proven')
      assert.ok(doubtsOf(result).includes(`the erasure in the event ${event.txId}`))
    }
    assert.deepEqual(claimsOf(verifyBundle(JSON.stringify(forgeBundle(logWith('').log, [event])))).receipts, [])
  })

  it('are refused in another form', () => {
    const cases: readonly (readonly [string, Members | undefined, readonly string[]])[] = [
      [receiptOf({ more: 1 }), undefined, ['events', 'form.members']],
      [receiptOf({ v: 2 }), undefined, ['events', 'receipt.malformed']],
      [receiptOf({ by: 1 }), undefined, ['events', 'form.value']],
      [receiptOf({ erased: [{ ...erased, fields: [1] }] }), undefined, ['events', 'form.value']],
      [receiptOf({ erased: [{ ...erased, more: 1 }] }), undefined, ['events', 'form.members']],
      [receiptOf({ log: 'other/log' }), undefined, ['events', 'receipt.other-subject']],
      ['{', undefined, ['events', 'form.json']],
      [receiptOf(), { salt: toHex(SALT) }, ['document', 'form.value']],
      [receiptOf(), { opening: '00' }, ['document', 'value.malformed']],
    ]
    for (const [text, members, expected] of cases)
      assert.deepEqual(ruleOf(verify(text, members)), expected, `${text} ${JSON.stringify(members)}`)
    assert.deepEqual(ruleOf(verify(receiptOf(), {}, MAX_RECEIPTS)), ['proven'])
    assert.deepEqual(ruleOf(verify(receiptOf(), {}, MAX_RECEIPTS + 1)), ['document', 'form.length'])
  })

  it('prove nothing in a tree that does not count', () => {
    const { log, position, policy } = logWith(receiptOf(), true)
    const sizes = [2, log.tree.size]
    const receipts = [{ ...entryAt(log, position, sizes), text: receiptOf(), salt: toHex(SALT) }]
    const result = verifyBundle(JSON.stringify({ ...forgeBundle(log, [event], { sizes }), receipts }), { policy })
    assert.deepEqual([result.state, claimsOf(result).receipts], ['proven', []])
  })
})
