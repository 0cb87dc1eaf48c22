import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { gwei, isOutbid, offerFor, type FeeOffer } from '../../../adapters/evm/fees.ts'
import { isRegistryError } from '../../../core/errors.ts'
import { GWEI } from '../../support/anvil.ts'

const wei = (max: bigint): fc.Arbitrary<bigint> => fc.bigInt({ min: 0n, max })
const market = fc.record({ baseFee: wei(200n * GWEI), priorityFee: wei(50n * GWEI) })
const rival = fc.record({ maxFeePerGas: wei(100n * GWEI), maxPriorityFeePerGas: wei(50n * GWEI) })

describe('the fees that a transaction offers', () => {
  test('are at most the cap, at least the base fee, and a tenth above each rival; otherwise it throws', () => {
    fc.assert(
      fc.property(
        market,
        fc.bigInt({ min: 1n, max: 150n * GWEI }),
        fc.array(rival, { maxLength: 4 }),
        (now, cap, rivals) => {
          let offer: FeeOffer
          try {
            offer = offerFor(now, cap, rivals)
          } catch (error) {
            assert.ok(isRegistryError(error, 'ANCHOR_FAILED'))
            const isAboveCap = now.baseFee >= cap
            assert.ok(
              isAboveCap ||
                rivals.some((each) => each.maxFeePerGas * 9n > cap * 7n || each.maxPriorityFeePerGas * 9n > cap * 7n),
            )
            return
          }
          assert.ok(offer.maxFeePerGas <= cap)
          // Twice a base fee of 0, without a tip, is 0.
          assert.ok(offer.maxFeePerGas > now.baseFee || now.baseFee === 0n)
          assert.ok(offer.maxPriorityFeePerGas <= offer.maxFeePerGas)
          for (const each of rivals) {
            assert.ok(offer.maxFeePerGas * 10n >= each.maxFeePerGas * 11n && offer.maxFeePerGas > each.maxFeePerGas)
            assert.ok(offer.maxPriorityFeePerGas * 10n >= each.maxPriorityFeePerGas * 11n)
          }
        },
      ),
    )
  })

  test('are not outbid in the market that they were made for, if the cap leaves room', () => {
    fc.assert(
      fc.property(market, (now) => {
        assert.equal(isOutbid(offerFor(now, 10_000n * GWEI, []), now), false)
      }),
    )
  })

  test('are outbid by a base fee that they cannot pay, or a higher tip', () => {
    const offer = { maxFeePerGas: 10n * GWEI, maxPriorityFeePerGas: 2n * GWEI }
    const outbid = (baseFee: bigint, priorityFee: bigint): boolean => isOutbid(offer, { baseFee, priorityFee })
    assert.deepEqual(
      [
        outbid(8n * GWEI, 2n * GWEI),
        outbid(8n * GWEI, 2n * GWEI + 1n),
        outbid(8n * GWEI + 1n, 2n * GWEI),
        outbid(11n * GWEI, 0n),
      ],
      [false, true, true, true],
    )
  })

  test('are formatted in gwei', () => {
    assert.deepEqual(
      [gwei(0n), gwei(1n), gwei((15n * GWEI) / 10n), gwei(50n * GWEI)],
      ['0', '0.000000001', '1.5', '50'],
    )
  })
})
