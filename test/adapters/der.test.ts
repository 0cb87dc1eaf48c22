import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as asn1js from 'asn1js'
import * as fc from 'fast-check'
import {
  bitString,
  boolean,
  certificateTime,
  generalizedTime,
  integer,
  objectIdentifier,
  octetString,
  sequence,
  setOf,
  utf8String,
} from '../../adapters/der.ts'
import { toHex } from '../../core/bytes.ts'

const hexOf = (value: asn1js.BaseBlock): string => toHex(new Uint8Array(value.toBER()))

test('integer: uses the shortest encoding and stays positive', () => {
  // X.690 § 8.3.
  const vectors: readonly [readonly number[], string][] = [
    [[], '020100'],
    [[0], '020100'],
    [[0x7f], '02017f'],
    [[0x80], '02020080'],
    [[0, 0, 1, 0], '02020100'],
    [[0xff, 0xff], '020300ffff'],
  ]
  for (const [bytes, hex] of vectors) assert.equal(toHex(integer(Uint8Array.from(bytes))), hex)
})

test('integer: equals what asn1js writes', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: 2n ** 160n }), (value) => {
      const hex = value.toString(16)
      const bytes = new Uint8Array(Buffer.from(hex.padStart(hex.length + (hex.length % 2), '0'), 'hex'))
      assert.equal(toHex(integer(bytes)), hexOf(asn1js.Integer.fromBigInt(value)))
    }),
  )
})

test('objectIdentifier: equals what asn1js writes', () => {
  for (const value of [
    '1.2.840.113549.1.9.16.1.4',
    '2.5.29.37',
    '2.16.840.1.101.3.4.2.1',
    '0.9.2342',
    '1.3.6.1.4.1.4294967295',
  ])
    assert.equal(toHex(objectIdentifier(value)), hexOf(new asn1js.ObjectIdentifier({ value })))
  // X.690 § 8.19.5.
  assert.equal(toHex(objectIdentifier('2.999.3')), '0603883703')
})

test('lengths use as few bytes as possible', () => {
  for (const [length, head] of [
    [0, '0400'],
    [127, '047f'],
    [128, '048180'],
    [255, '0481ff'],
    [256, '04820100'],
    [65536, '0483010000'],
  ] as const)
    assert.equal(toHex(octetString(new Uint8Array(length)).subarray(0, head.length / 2)), head)
})

test('setOf: sorts the encodings; sequence: keeps the order', () => {
  const [a, b, c] = [octetString(Uint8Array.of(2)), octetString(Uint8Array.of(1)), boolean(true)]
  assert.equal(toHex(setOf(a, b, c)), `3109${toHex(c)}${toHex(b)}${toHex(a)}`)
  assert.equal(toHex(sequence(a, b)), `3006${toHex(a)}${toHex(b)}`)
})

test('bitString, boolean and utf8String', () => {
  assert.equal(toHex(bitString(Uint8Array.of(0x80), 7)), '03020780')
  assert.equal(toHex(boolean(false)), '010100')
  assert.equal(toHex(utf8String('é')), '0c02c3a9')
})

test('generalizedTime drops trailing zeros; certificateTime uses two-digit years until 2049', () => {
  const text = (der: Uint8Array): string => `${der[0]?.toString(16)} ${Buffer.from(der.subarray(2)).toString()}`
  assert.equal(text(generalizedTime(Date.UTC(2026, 0, 2, 3, 4, 5))), '18 20260102030405Z')
  assert.equal(text(generalizedTime(Date.UTC(2026, 0, 2, 3, 4, 5, 120))), '18 20260102030405.12Z')
  assert.equal(text(generalizedTime(Date.UTC(2026, 0, 2, 3, 4, 5, 7))), '18 20260102030405.007Z')
  assert.equal(text(certificateTime(Date.UTC(2049, 11, 31, 23, 59, 59, 999))), '17 491231235959Z')
  assert.equal(text(certificateTime(Date.UTC(2050, 0, 1))), '18 20500101000000Z')
  assert.throws(() => generalizedTime(Date.UTC(10000, 0, 1)), RangeError)
})
