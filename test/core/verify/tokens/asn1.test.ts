import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import * as asn1js from 'asn1js'
import { AttributeTypeAndValue, RelativeDistinguishedNames } from 'pkijs'
import { concatBytes } from '../../../../core/bytes.ts'
import { parseAsn1 } from '../../../../core/verify/tokens/asn1.ts'
import { certificateOnce } from '../../../../core/verify/tokens/certificate.ts'
import { isEqualName } from '../../../../core/verify/tokens/name.ts'
import { SignatureBudget } from '../../../../core/verify/untrusted.ts'
import { authorityNamed, derOf, extension } from '../../../support/test-authority.ts'

const VALUES = 7_500
const NULL = Uint8Array.of(5, 0)
const nulls = concatBytes(...Array.from({ length: VALUES }, () => NULL))

/** A value with this content. */
function valueOf(tag: readonly number[], ...content: readonly Uint8Array[]): Uint8Array {
  const bytes = concatBytes(...content)
  return concatBytes(Uint8Array.of(...tag, 0x82, bytes.length >> 8, bytes.length & 255), bytes)
}

interface Attempt {
  readonly units: number
  readonly isParsed: boolean
}

function attempt(bytes: Uint8Array, limit = 10_000): Attempt {
  const budget = new SignatureBudget(limit)
  try {
    parseAsn1(bytes, 'It', budget)
    return { units: budget.used, isParsed: true }
  } catch {
    return { units: budget.used, isParsed: false }
  }
}

describe('parseAsn1', () => {
  test('costs a unit for each 75 values, also if it fails', () => {
    const parsed = [valueOf([0x30], nulls), concatBytes(Uint8Array.of(0x30, 0x80), nulls, Uint8Array.of(0, 0))]
    for (const bytes of parsed) assert.deepEqual(attempt(bytes), { units: 100, isParsed: true })
    const failed = [
      // A reserved tag, one that is cut off, one that is longer than what is around it, and bytes after the end.
      valueOf([0x30], nulls, Uint8Array.of(0x0f, 0)),
      valueOf([0x30], nulls, Uint8Array.of(2)),
      valueOf([0x30], nulls, Uint8Array.of(2, 9, 1)),
      concatBytes(valueOf([0x30], nulls), NULL),
      concatBytes(Uint8Array.of(0x30, 0x80), nulls),
    ]
    for (const bytes of failed) assert.deepEqual(attempt(bytes), { units: 100, isParsed: false })
  })

  test('does not begin if the budget does not suffice', () => {
    assert.deepEqual(attempt(valueOf([0x30], nulls), 3), { units: 4, isParsed: false })
  })

  test('costs nothing for what is in octets and bits, but a third of a value for a part of an OID', () => {
    for (const tag of [4, 3])
      assert.deepEqual(attempt(valueOf([tag], Uint8Array.of(0), nulls)), { units: 0, isParsed: true })
    const parts = new Uint8Array(22_500).fill(1)
    assert.deepEqual(attempt(valueOf([6], parts)), { units: 100, isParsed: true })
    // A universal tag of two bytes would be an OID as well.
    assert.equal(attempt(valueOf([0x1f, 6], parts)).isParsed, false)
  })

  test('costs a value for each 64 bytes of a text, also of one that says that values are in it', () => {
    for (const tag of [0x0c, 0x0e, 0x12, 0x1e, 0x3c])
      assert.deepEqual(attempt(valueOf([tag], valueOf([4], new Uint8Array(4_796)))), { units: 1, isParsed: true })
    assert.equal(attempt(valueOf([0x0c], new Uint8Array(63))).units, 0)
  })

  test('ends after 10,000 values, and at a depth of 100', () => {
    assert.deepEqual(attempt(valueOf([0x30], nulls, nulls)), { units: 133, isParsed: false })
    const nested = (depth: number): Uint8Array =>
      Array.from({ length: depth }).reduce<Uint8Array>((inner) => valueOf([0x30], inner), NULL)
    assert.deepEqual([attempt(nested(90)).isParsed, attempt(nested(200)).isParsed], [true, false])
  })
})

test('a certificate costs as much as what pkijs parses in its extensions', async () => {
  const usage = new asn1js.Sequence({ value: [new asn1js.OctetString({ valueHex: nulls.slice().buffer })] })
  const costOf = async (extensions: readonly ReturnType<typeof extension>[]): Promise<number> => {
    const budget = new SignatureBudget()
    certificateOnce(derOf((await authorityNamed('any', { extensions })).certificate), budget)
    return budget.used
  }
  const [plain, read] = await Promise.all([[], [extension('2.5.29.37', false, usage)]].map(costOf))
  assert.equal(read, Number(plain) + 100)
})

test('the comparison of long names costs as much as the time that it takes', () => {
  const nameOf = (value: string): RelativeDistinguishedNames => {
    const typesAndValues = [new AttributeTypeAndValue({ type: '2.5.4.3', value: new asn1js.Utf8String({ value }) })]
    const der = new RelativeDistinguishedNames({ typesAndValues }).toSchema().toBER()
    return new RelativeDistinguishedNames({ schema: asn1js.fromBER(der).result })
  }
  const budget = new SignatureBudget(100)
  assert.equal(isEqualName(nameOf('C'.repeat(200)), nameOf('c'.repeat(200)), budget), true)
  assert.equal(budget.used, 0, 'those of real certificates cost nothing')
  const long = [nameOf('a'.repeat(20_000)), nameOf(`${'a'.repeat(19_999)}b`)] as const
  assert.equal(isEqualName(...long, budget), false)
  assert.equal(budget.used, 78)
  assert.throws(() => isEqualName(...long, budget), { rule: 'limit.signatures' })
})
