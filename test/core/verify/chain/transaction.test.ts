import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { secp256k1 } from '@noble/curves/secp256k1.js'
import { SigningKey } from 'ethers/crypto'
import { Transaction } from 'ethers/transaction'
import fc from 'fast-check'
import { decodeRlp, encodeRlp, type RlpItem } from '../../../../core/verify/chain/rlp.ts'
import { parseTransaction, senderOf } from '../../../../core/verify/chain/transaction.ts'

const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n

const bytesOf = (hex: string): Uint8Array => new Uint8Array(Buffer.from(hex.slice(2), 'hex'))
const hexOf = (bytes: Uint8Array): string => `0x${Buffer.from(bytes).toString('hex')}`
const address = fc.uint8Array({ minLength: 20, maxLength: 20 }).map(hexOf)
const word = fc.uint8Array({ minLength: 32, maxLength: 32 }).map(hexOf)
const wei = fc.bigInt({ min: 0n, max: 2n ** 128n })

/** Signed by ethers, with any content. */
const signed = fc
  .record({
    key: fc.bigInt({ min: 1n, max: ORDER - 1n }),
    chainId: fc.nat(),
    nonce: fc.nat(),
    gasLimit: wei,
    maxFeePerGas: wei,
    maxPriorityFeePerGas: wei,
    value: wei,
    to: fc.option(address),
    data: fc.uint8Array({ maxLength: 100 }).map(hexOf),
    accessList: fc.array(fc.record({ address, storageKeys: fc.array(word, { maxLength: 2 }) }), { maxLength: 2 }),
  })
  .filter(({ maxFeePerGas, maxPriorityFeePerGas }) => maxPriorityFeePerGas <= maxFeePerGas)
  .map(({ key, ...fields }) => {
    const transaction = Transaction.from({ type: 2, ...fields })
    transaction.signature = new SigningKey(`0x${key.toString(16).padStart(64, '0')}`).sign(transaction.unsignedHash)
    return transaction
  })

/** A transaction of which the items are changed before it is encoded again. */
function withItems(change: (items: RlpItem[]) => void): Uint8Array {
  const transaction = Transaction.from({ type: 2, chainId: 5, nonce: 1, gasLimit: 21_000, to: `0x${'ab'.repeat(20)}` })
  transaction.signature = new SigningKey(`0x${'11'.repeat(32)}`).sign(transaction.unsignedHash)
  const decoded = decodeRlp(bytesOf(transaction.serialized).subarray(1))
  assert.ok(typeof decoded !== 'string')
  const items = [...decoded]
  change(items)
  return bytesOf(`0x02${encodeRlp(items).slice(2)}`)
}

describe('a raw transaction of type 2', () => {
  test('has the fields, hash and sender that ethers reads', () => {
    fc.assert(
      fc.property(signed, (transaction) => {
        const parsed = parseTransaction(bytesOf(transaction.serialized))
        assert.ok(parsed)
        const { hash, chainId, nonce, gasLimit, value, to, input, maxFeePerGas, maxPriorityFeePerGas } = parsed
        assert.deepEqual(
          { hash, chainId, nonce, gasLimit, value, to, input, maxFeePerGas, maxPriorityFeePerGas },
          {
            hash: transaction.hash,
            chainId: transaction.chainId,
            nonce: transaction.nonce,
            gasLimit: transaction.gasLimit,
            value: transaction.value,
            to: transaction.to?.toLowerCase() ?? null,
            input: transaction.data,
            maxFeePerGas: transaction.maxFeePerGas,
            maxPriorityFeePerGas: transaction.maxPriorityFeePerGas,
          },
        )
        assert.equal(parsed.signedHash, transaction.unsignedHash)
        assert.equal(senderOf(parsed), transaction.from?.toLowerCase())
      }),
    )
  })

  test('is rejected with other items, types or values out of range', () => {
    assert.ok(parseTransaction(withItems(() => undefined)))
    const changes: Readonly<Record<string, (items: RlpItem[]) => void>> = {
      'an item too few': (items) => items.pop(),
      'an item too many': (items) => items.push('0x01'),
      'no signature': (items) => items.splice(9),
      'a number with a leading zero': (items) => (items[0] = '0x0005'),
      'a number of 33 bytes': (items) => (items[6] = `0x01${'00'.repeat(32)}`),
      'a nonce above the safe integers': (items) => (items[1] = '0xffffffffffffffff'),
      'an address of 19 bytes': (items) => (items[5] = `0x${'ab'.repeat(19)}`),
      'a list instead of bytes': (items) => (items[7] = []),
      'bytes instead of the access list': (items) => (items[8] = '0x'),
      'an access list with a short address': (items) => (items[8] = [['0xab', []]]),
      'an access list with a short key': (items) => (items[8] = [[`0x${'ab'.repeat(20)}`, ['0x01']]]),
      'an access list with another member': (items) => (items[8] = [[`0x${'ab'.repeat(20)}`, [], '0x']]),
      'a parity of 2': (items) => (items[9] = '0x02'),
      'r of 0': (items) => (items[10] = '0x'),
      'r of the order': (items) => (items[10] = `0x${ORDER.toString(16)}`),
      's in the upper half': (items) => (items[11] = `0x${(ORDER - 1n).toString(16)}`),
    }
    for (const [name, change] of Object.entries(changes))
      assert.equal(parseTransaction(withItems(change)), undefined, name)
    for (const bytes of [new Uint8Array(), Uint8Array.of(2), withItems(() => undefined).with(0, 1)])
      assert.equal(parseTransaction(bytes), undefined)
  })

  test('has another sender, or none, if anything in its signature is changed', () => {
    const parsed = parseTransaction(withItems(() => undefined))
    assert.ok(parsed)
    const { r, s, recovery = 0 } = parsed.signature
    const sender = senderOf(parsed)
    const senderWith = (...parts: ConstructorParameters<typeof secp256k1.Signature>): string | undefined =>
      senderOf({ ...parsed, signature: new secp256k1.Signature(...parts) })
    assert.equal(senderWith(r, s, recovery), sender)
    assert.notEqual(senderWith(r, s, 1 - recovery), sender)
    assert.notEqual(senderWith(r + 1n, s, recovery), sender)
    assert.notEqual(senderWith(r, s - 1n, recovery), sender)
    // No point of the curve has this x coordinate.
    assert.equal(senderWith(5n, s, recovery), undefined)
  })
})
